"""Faults of comparable tools that only a real kernel shows: start-up, silence, kills, slow prompts, two at once."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.builders import TestKernel, TestWorkspace
from tests.stores import stores_below

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("sound_stores")]


def test_b10_b11_a_large_folder_does_not_hold_up_the_first_cells(workspace: TestWorkspace, home: Path) -> None:
    workspace.write({f"d{number % 100}/{number}": "x" for number in range(20_000)})
    kernel = TestKernel(workspace.root, home)
    kernel.start()
    try:
        start = time.perf_counter()
        kernel.load()
        loaded = time.perf_counter() - start
        waits = []
        for _ in range(4):
            start = time.perf_counter()
            assert kernel.run("print(1)").text == "1\n"
            waits.append(time.perf_counter() - start)
        assert kernel.run("%rewind status").status == "ok"
        children = subprocess.run(["pgrep", "-P", str(kernel.pid), "git"], capture_output=True, check=False).stdout
    finally:
        kernel.stop()

    assert loaded < 2.0
    assert max(waits) < 2.5
    assert waits[-1] < 0.6
    assert children == b""


def test_b49_a_shell_deletion_in_a_cell_comes_back(kernel: TestKernel, workspace: TestWorkspace) -> None:
    kernel.run("open('data.csv','w').write('1')")
    kernel.run("!rm data.csv")

    assert kernel.run("%rewind to 1 --yes").status == "ok"

    assert workspace.read("data.csv") == b"1"


def test_b74_a_rewind_queued_behind_fast_cells_hits_the_right_one(kernel: TestKernel, workspace: TestWorkspace) -> None:
    for number in range(1, 11):
        kernel.client.execute(f"_ = open('a','w').write('{number}')")
    kernel.client.execute("%rewind to 7 --yes")
    for _ in range(11):
        kernel.client.get_shell_msg(timeout=60)

    assert workspace.read("a") == b"7"


def test_b75_the_first_cell_of_a_fresh_kernel_can_be_taken_back(kernel: TestKernel, workspace: TestWorkspace) -> None:
    kernel.run("open('a','w').write('1')")

    assert kernel.run("%rewind to before 1 --yes").status == "ok"

    assert not workspace.exists("a")


@pytest.mark.parametrize("script", ["exit 1", "sleep 600", "echo git version 1.7.0", "kill -9 $$"])
def test_b80_b81_a_broken_git_stops_no_kernel_and_is_named(
    script: str, workspace: TestWorkspace, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    git = tmp_path / "bin" / "git"
    git.write_text(f"#!/bin/sh\n{script}\n")
    git.chmod(0o755)
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    kernel = TestKernel(workspace.root, home, environment={"PATH": path})
    kernel.start()
    try:
        start = time.perf_counter()
        kernel.load()
        assert time.perf_counter() - start < 3
        assert kernel.run("x = 1; print(x)").text == "1\n"
        kernel.run("open('a','w').write('1')")
        assert "git" in kernel.run("%rewind status").text
        assert kernel.run("%rewind back 1 --yes").status == "ok"
    finally:
        kernel.stop()


def test_b80_b81_a_read_only_store_stops_no_kernel_and_is_named(workspace: TestWorkspace, home: Path) -> None:
    kernel = TestKernel(workspace.root, home)
    kernel.start()
    try:
        kernel.load()
        kernel.run("open('a','w').write('1')")
        kernel.run("1")
    finally:
        kernel.stop()
    (store,) = stores_below(home)
    paths = [str(path) for path in (store, *store.rglob("*"))]
    if subprocess.run(["chattr", "+i", *paths], capture_output=True, check=False).returncode:
        subprocess.run(["chattr", "-i", *paths], capture_output=True, check=False)
        pytest.skip("a store cannot be made immutable here")
    try:
        kernel.start()
        loaded = kernel.run("%load_ext nbrewind")
        assert loaded.status == "ok"
        assert kernel.run("x = 1; print(x)").text == "1\n"
        said = kernel.run("%rewind status").text.lower()
        assert "read-only" in said or "cannot be written" in said or "not protected" in said
    finally:
        subprocess.run(["chattr", "-i", *paths], check=True)
        kernel.stop()


def test_b82_the_command_line_lists_and_restores_when_the_notebook_is_gone(
    kernel: TestKernel, workspace: TestWorkspace
) -> None:
    workspace.write({"nb.ipynb": "{}"})
    kernel.run("open('a','w').write('1')")
    kernel.run("open('a','w').write('2')")
    kernel.shut_down()
    os.remove(workspace.path("nb.ipynb"))

    listed = _command(workspace, "list")
    restored = _command(workspace, "restore", "a", "--from", "1", "--yes")

    assert "open('a','w').write('1')" in listed
    assert restored is not None
    assert workspace.read("a") == b"1"
    kernel.start()


def _command(workspace: TestWorkspace, *words: str) -> str:
    command = [sys.executable, "-m", "nbrewind.ui.cli", *words]
    done = subprocess.run(command, cwd=workspace.root, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done
    return done.stdout


def test_b89_after_a_kill_the_next_kernel_lists_what_comes_back(kernel: TestKernel, workspace: TestWorkspace) -> None:
    kernel.run("open('a','w').write('1'); x = 1")
    kernel.run("open('a','w').write('2')")
    kernel.kill_after(1.0, "f = open('a','w'); import time; time.sleep(60)")
    assert workspace.read("a") == b""

    kernel.restart()
    listed = kernel.run("%rewind").text
    assert "open('a','w').write('1')" in listed
    assert "time.sleep(60)" in listed
    assert kernel.run("%rewind to 2 --yes").status == "ok"
    assert workspace.read("a") == b"2"
    assert kernel.run("%rewind to 1 --yes").status == "ok"
    assert workspace.read("a") == b"1"


def test_os_exit_in_a_cell_loses_no_bytes(kernel: TestKernel, workspace: TestWorkspace) -> None:
    kernel.run("import os; open('a','w').write('1')")
    kernel.client.execute("open('a','w').write('2'); os._exit(3)")
    deadline = time.monotonic() + 20
    while kernel.alive() and time.monotonic() < deadline:
        time.sleep(0.05)

    kernel.restart()

    assert kernel.run("%rewind to 1 --yes").status == "ok"
    assert workspace.read("a") == b"1"


def test_b42_a_kernel_without_changes_takes_nothing_of_the_other_back(
    kernel: TestKernel, workspace: TestWorkspace, home: Path
) -> None:
    other = TestKernel(workspace.root, home)
    other.start()
    try:
        other.load()
        other.run("1")
        kernel.run("open('mine','w').write('1')")
        other.run("2")
        assert other.run("%rewind to 1 --yes").status == "ok"
    finally:
        other.stop()

    assert workspace.read("mine") == b"1"


@pytest.mark.parametrize("delay", [0.02, 0.05, 0.1, 0.2])
def test_b78_a_kill_in_a_rewind_ends_before_or_after_it(
    delay: float, kernel: TestKernel, workspace: TestWorkspace
) -> None:
    kernel.run("for n in range(200): open(f'f{n}','w').write('old' * 100)")
    kernel.run("for n in range(200): open(f'f{n}','w').write('new'); open(f'made{n}','w').write('x')")
    before = workspace.tree()
    kernel.run("%rewind to 1", silent=True)
    kernel.client.execute("%rewind to 1 --yes")
    time.sleep(delay)
    kernel.kill()

    kernel.restart()

    names = {f"f{number}".encode() for number in range(200)}
    found = workspace.tree()
    assert found == before or (found.keys() == names and all(workspace.read(name) == b"old" * 100 for name in names))
