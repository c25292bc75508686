"""Cases whose event or check needs the host: outside writes, full disks, secrets, machines without git."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.builders import TestKernel, TestWorkspace
from tests.stores import holding, stores_below, wrong_modes

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("sound_stores")]


def test_a_file_of_another_process_survives_a_rewind(kernel: TestKernel, workspace: TestWorkspace) -> None:
    kernel.run("x=1")
    kernel.run("y=2; open('own.txt','w').write('own')")
    kernel.run("", silent=True)
    workspace.write({"other/eval.jsonl": "DATA"})

    report = kernel.run("%rewind to 1 --yes")

    assert report.status == "ok"
    assert workspace.read("other/eval.jsonl") == b"DATA"
    assert not workspace.exists("own.txt")
    assert "other/eval.jsonl" in report.text


def test_with_everything_a_file_of_another_process_is_named_first_and_comes_back(
    kernel: TestKernel, workspace: TestWorkspace
) -> None:
    kernel.run("x=1")
    kernel.run("y=2; open('own.txt','w').write('own')")
    workspace.write({"other/eval.jsonl": "DATA"})

    preview = kernel.run("%rewind to 1 --everything")
    assert "other/eval.jsonl" in preview.text
    assert workspace.exists("other/eval.jsonl")
    kernel.run("%rewind confirm")
    assert not workspace.exists("other/eval.jsonl")
    kernel.run("%rewind undo")

    assert workspace.read("other/eval.jsonl") == b"DATA"
    assert workspace.read("own.txt") == b"own"


def _notebook(*sources: str) -> str:
    cells = [
        {
            "cell_type": "code",
            "id": f"cell-{number}",
            "source": source,
            "metadata": {},
            "execution_count": number,
            "outputs": [{"output_type": "stream", "name": "stdout", "text": f"out {number}\n"}],
        }
        for number, source in enumerate(sources, 1)
    ]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells})


def test_a_notebook_rewritten_on_disk_is_kept_and_can_be_restored(workspace: TestWorkspace, home: Path) -> None:
    whole, cut, other = _notebook("a=1", "b=2", "c=3"), _notebook("a=1"), _notebook("z=1")
    workspace.write({"nb.ipynb": whole, "other.ipynb": other})
    kernel = TestKernel(workspace.root, home, environment={"JPY_SESSION_NAME": workspace.path("nb.ipynb")})
    kernel.start()
    try:
        kernel.load()
        kernel.run("a=1")
        kernel.run("open('f','w').write('1')")
        workspace.write({"nb.ipynb": cut})

        moved = kernel.run("%rewind to 1 --yes")
        assert moved.status == "ok"
        assert workspace.read("nb.ipynb") == cut.encode()
        assert not workspace.exists("f")
        restored = kernel.run("%rewind restore nb.ipynb --from 1 --yes")
    finally:
        kernel.stop()

    assert restored.status == "ok", restored
    assert workspace.read("nb.ipynb") == whole.encode()
    assert workspace.read("other.ipynb") == other.encode()


def test_a_rewind_that_cannot_be_completed_changes_nothing(
    kernel: TestKernel, workspace: TestWorkspace, unwritable: Callable[[Path], None]
) -> None:
    kernel.run("open('a','w').write('1'); open('b','w').write('1')")
    kernel.run("open('a','w').write('2'); open('b','w').write('2')")
    before_points = kernel.run("%rewind list").text
    before = workspace.tree()
    unwritable(workspace.root / "b")

    report = kernel.run("%rewind to 1 --yes")

    assert report.status == "error"
    assert "b" in report.error
    assert workspace.tree() == before
    assert kernel.run("%rewind list").text == before_points


def test_after_a_rewind_that_could_not_be_completed_the_next_one_works(
    kernel: TestKernel, workspace: TestWorkspace, unwritable: Callable[[Path], None]
) -> None:
    kernel.run("open('a','w').write('1'); open('b','w').write('1')")
    kernel.run("open('a','w').write('2'); open('b','w').write('2')")
    unwritable(workspace.root / "b")
    assert kernel.run("%rewind to 1 --yes").status == "error"
    subprocess.run(["chattr", "-i", workspace.path("b")], check=True)

    report = kernel.run("%rewind to 1 --yes")

    assert report.status == "ok", report
    assert (workspace.read("a"), workspace.read("b")) == (b"1", b"1")


def _fill(folder: Path) -> Path:
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\xa5" * 4096)
        except OSError:
            return filler


@pytest.mark.parametrize("store_too", [True, False], ids=["store-on-the-full-disk", "store-elsewhere"])
def test_a_full_disk_in_a_rewind_changes_nothing(small_disk: Path, home: Path, store_too: bool) -> None:
    workspace = TestWorkspace(small_disk / "work")
    data = small_disk / "data"
    kernel = TestKernel(workspace.root, home, environment={"JUPYTER_DATA_DIR": str(data)} if store_too else {})
    kernel.start()
    try:
        kernel.load()
        kernel.run("open('a','wb').write(b'1'*50000)")
        kernel.run("open('a','wb').write(b'2'*10)")
        assert "a" in kernel.run("%rewind to 1").text
        before = workspace.tree()
        filler = _fill(small_disk)

        report = kernel.run("%rewind to 1 --yes")
        assert report.status == "error"
        assert "full" in report.error.lower() or "no space" in report.error.lower(), report.error
        assert workspace.tree() == before
        assert kernel.run("6*7").text == "42"

        filler.unlink()
        assert kernel.run("%rewind to 1 --yes").status == "ok"
        assert workspace.read("a") == b"1" * 50000
    finally:
        kernel.stop()


def test_a_full_disk_never_fails_a_cell(small_disk: Path, home: Path) -> None:
    workspace = TestWorkspace(small_disk / "work")
    kernel = TestKernel(workspace.root, home, environment={"JUPYTER_DATA_DIR": str(small_disk / "data")})
    kernel.start()
    try:
        kernel.load()
        kernel.run("import os; open('a','w').write('1')")
        kernel.run("%rewind list")  # waits until the cell is saved
        filler = _fill(small_disk)

        assert kernel.run("os.remove('a'); print('done')").text == "done\n"
        assert kernel.run("x=1; x").text == "1"
        assert "not protected" in kernel.run("%rewind status").text.lower()

        filler.unlink()
        kernel.run("open('b','w').write('2')")
        kernel.run("open('b','w').write('3')")
        assert kernel.run("%rewind back 1").status == "ok"
        assert kernel.run("%rewind confirm").status == "ok"
        assert workspace.read("b") == b"2"
    finally:
        kernel.stop()


MARKER = b"abc123SECRET"


def test_a_secret_is_nowhere_in_the_store(
    kernel: TestKernel, workspace: TestWorkspace, home: Path, tmp_path: Path
) -> None:
    kernel.run("open('.env','w').write('API_KEY=abc123SECRET')")
    kernel.run("open('.env','w').write('API_KEY=zzz'); open('f','w').write('1')")

    report = kernel.run("%rewind to 1 --yes")

    assert report.status == "ok"
    (store,) = stores_below(tmp_path, home)
    assert holding(store, MARKER) == []
    assert not workspace.exists("f")
    assert workspace.read(".env") == b"API_KEY=abc123SECRET" or ".env" in report.text


def test_a_secret_is_not_in_the_open_journal_either(kernel: TestKernel, home: Path, tmp_path: Path) -> None:
    kernel.run("open('.env','w').write('API_KEY=abc123SECRET')")
    kernel.kill_after(1.0, "import time\nopen('.env','w').write('API_KEY=abc123SECRET2')\ntime.sleep(60)")

    (store,) = stores_below(tmp_path, home)
    assert holding(store, MARKER) == []


def test_secrets_that_the_user_includes_come_back(workspace: TestWorkspace, home: Path, tmp_path: Path) -> None:
    profile = home / ".ipython" / "profile_default"
    profile.mkdir(parents=True)
    (profile / "ipython_kernel_config.py").write_text("c.NBRewind.secrets = []\n")
    kernel = TestKernel(workspace.root, home)
    kernel.start()
    try:
        kernel.load()
        kernel.run("open('.env','w').write('API_KEY=abc123SECRET')")
        kernel.run("open('.env','w').write('API_KEY=zzz')")
        kernel.run("%rewind to 1 --yes")
    finally:
        kernel.stop()

    (store,) = stores_below(tmp_path, home)
    assert workspace.read(".env") == b"API_KEY=abc123SECRET"
    assert wrong_modes(store) == []


def test_run_all_with_an_error_makes_no_turn_of_the_aborted_cell(kernel: TestKernel) -> None:
    for code in ("a=1", "a=2; 1/0", "a=3; open('never','w').write('x')"):
        kernel.client.execute(code)
    for _ in range(3):
        kernel.client.get_shell_msg(timeout=30)

    assert "a=1" in kernel.run("%rewind show 1").text
    failed = kernel.run("%rewind show 2").text
    assert "a=2; 1/0" in failed
    assert "ZeroDivisionError" in failed
    assert "a=3" not in kernel.run("%rewind list").text
    assert kernel.run("%rewind show 3").status == "error"


def test_a_deleted_cells_code_and_output_can_be_listed(kernel: TestKernel) -> None:
    kernel.run("secret_recipe=sum(i*i for i in range(10))\nprint('recipe', secret_recipe)")
    kernel.run("1+1")

    shown = kernel.run("%rewind show 1").text

    assert "secret_recipe=sum(i*i for i in range(10))" in shown
    assert "recipe 285" in shown


def test_loading_twice_makes_one_turn_per_cell(kernel: TestKernel, workspace: TestWorkspace) -> None:
    kernel.run("open('x','w').write('1')")
    kernel.run("%load_ext nbrewind\n%load_ext nbrewind\n%reload_ext nbrewind")
    kernel.run("open('x','w').write('2')")

    listed = kernel.run("%rewind list").text
    assert listed.count("open('x','w').write('2')") <= 2  # in the plain and in the HTML form
    assert kernel.run("%rewind to 1 --yes").status == "ok"
    assert workspace.read("x") == b"1"


def test_unloading_leaves_the_builtins_as_they_were(workspace: TestWorkspace, home: Path) -> None:
    kernel = TestKernel(workspace.root, home)
    kernel.start()
    names = [
        "builtins.open",
        "io.open",
        "os.open",
        "os.mkfifo",
        "os.mknod",
        "threading.Thread.start",
        "pathlib.Path.open",
    ]
    look = "import builtins, io, os, threading, pathlib, subprocess\nseen = [" + ", ".join(names) + "]"
    try:
        kernel.run(look.replace("seen", "_before"), silent=True)
        kernel.load()
        kernel.run("%unload_ext nbrewind", silent=True)
        kernel.run(look.replace("seen", "_after"), silent=True)
        assert kernel.value("[a is b for a, b in zip(_before, _after)]") == [True] * len(names)
        assert kernel.run("%rewind").status == "error"
    finally:
        kernel.stop()


def test_no_git_and_no_writable_home(workspace: TestWorkspace, home: Path, tmp_path: Path) -> None:
    empty = tmp_path / "bin"
    empty.mkdir()
    kernel = TestKernel(workspace.root, home, environment={"PATH": str(empty), "HOME": "/proc/nowhere"})
    kernel.start()
    try:
        loaded = kernel.run("%load_ext nbrewind")
        assert loaded.status == "ok"
        kernel.run("x=1; open('g','w').write('1')")
        kernel.run("x=2; open('g','w').write('2')")
        assert "git" in kernel.run("%rewind status").text
        assert kernel.run("%rewind to 2 --yes").status == "ok"
    finally:
        kernel.stop()

    assert workspace.read("g") == b"1"


def test_without_any_place_for_a_store_cells_run_and_the_line_says_so(workspace: TestWorkspace, home: Path) -> None:
    nowhere = dict.fromkeys(("JUPYTER_DATA_DIR", "HOME"), "/proc/nowhere")
    kernel = TestKernel(workspace.root, home, environment=nowhere)
    kernel.start()
    try:
        loaded = kernel.run("%load_ext nbrewind")
        assert loaded.status == "ok"
        assert "nothing is protected" in loaded.text
        assert len(loaded.text.strip().splitlines()) == 1
        assert kernel.run("x=1; x").text == "1"
        assert kernel.run("%rewind status").status == "ok"
        assert kernel.run("x+1").text == "2"
    finally:
        kernel.stop()


def test_a_cell_that_raises_after_truncating_is_listed_with_its_error(kernel: TestKernel) -> None:
    kernel.run("open('rows.csv','w').write('id')")
    kernel.run("fh=open('rows.csv','w')\nraise RuntimeError('service down before the first row')")

    assert "RuntimeError" in kernel.run("%rewind show 2").text


def test_an_interrupted_cell_is_listed_as_interrupted(kernel: TestKernel) -> None:
    kernel.run("import time")
    kernel.interrupt_after(0.5, "time.sleep(30)")

    assert "interrupted" in kernel.run("%rewind show 2").text


def test_a_write_between_turns_is_shown_between_turns(kernel: TestKernel) -> None:
    kernel.run("open('z.txt','w').write('0')")
    kernel.run("import threading,time\nth=threading.Timer(0.5, lambda: open('z.txt','w').write('late')); th.start()")
    kernel.run("th.join()")
    kernel.run("1")

    assert "z.txt" in kernel.run("%rewind history z.txt").text
    assert kernel.run("%rewind to 1 --yes").status == "ok"
    assert kernel.run("open('z.txt').read()").text == "'0'"


def test_a_turn_that_changed_nothing_among_20_000_files_is_quick(kernel: TestKernel) -> None:
    kernel.run("import os\nos.makedirs('imgs')\nfor i in range(20000): open(f'imgs/{i}.txt','w').write('x')")
    kernel.run("1")
    kernel.run("2")
    waits = []
    for _ in range(5):
        start = time.perf_counter()
        kernel.run("3")
        waits.append(time.perf_counter() - start)

    assert min(waits) < 0.3


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_clean_leaves_the_list_of_points(kernel: TestKernel, workspace: TestWorkspace) -> None:
    kernel.run("import subprocess as sp\nsp.run(['git','init','-q','.']); open('u.csv','w').write('1')")
    kernel.run("sp.run(['git','clean','-fdxq'])")

    assert "git clean" in kernel.run("%rewind show 2").text or "clean" in kernel.run("%rewind list").text
    assert kernel.run("%rewind to 1 --yes").status == "ok"
    assert workspace.read("u.csv") == b"1"
