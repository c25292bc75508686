from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from nbrewind.capture.children import command, command_of_cell, live_children
from nbrewind.capture.span import SpanRecord
from tests.unit.capture.conftest import Rig


@pytest.mark.parametrize(
    ("event", "args", "text"),
    [
        ("subprocess.Popen", ("rm", ["rm", "-rf", "a b"], None, None), "rm -rf 'a b'"),
        ("subprocess.Popen", (None, "ls | wc", None, None), "ls | wc"),
        ("subprocess.Popen", (None, [b"caf\xc3\xa9", Path("x")], None, None), "'café' x"),
        ("os.system", (b"ls",), "ls"),
        ("os.exec", ("/bin/ls", ["ls", "-l"], None), "ls -l"),
        ("os.posix_spawn", ("/bin/ls", ["ls"], {}), "ls"),
        ("pty.spawn", (["bash"],), "bash"),
        ("os.fork", (), ""),
        ("os.forkpty", (), ""),
        ("os.system", ("curl -H token=abcdef --password hunter2",), "curl -H token=*** --password ***"),
        ("os.system", ("API_KEY=zzz run",), "API_KEY=*** run"),
    ],
)
def test_command_text(event: str, args: tuple[Any, ...], text: str) -> None:
    assert command(event, args) == text


@pytest.mark.parametrize(
    ("code", "told", "text"),
    [
        ("import os\nx = 1\n!rm -rf raw\n", "", "rm -rf raw"),
        ("files = !ls *.csv", "", "ls *.csv"),
        ("if True:\n    !!ls", "", "ls"),
        ("%%bash\n# tidy up\nrm -rf raw\nls", "bash", "rm -rf raw …"),
        ("%%bash -e\nrm x", "bash -e", "rm x"),
        ("%%bash\nrm x", "curl example.org", "curl example.org"),
        ("%%time\n!make", "", "make"),
        ("%%bash", "bash", "bash"),
        ("os.fork()\nmore()", "", "os.fork()"),
        ("run()", "make all", "make all"),
        ("!login --password hunter2", "", "login --password ***"),
        ("", "", ""),
    ],
)
def test_command_of_a_cell_is_one_line(code: str, told: str, text: str) -> None:
    assert command_of_cell(code, told) == text


def test_command_of_several_lines_is_its_first() -> None:
    assert command("os.system", ("\n  make\n  make install\n",)) == "make …"


def test_long_command_is_shortened() -> None:
    assert len(command("os.system", ("x" * 1000,)) or "") == 200


def test_helper_of_a_library_is_no_cause_and_the_cells_own_is() -> None:
    module = types.ModuleType("drawing")
    source = "def fonts(command):\n    return command('subprocess.Popen', ('fc-list', ['fc-list', ':'], None, None))\n"
    exec(compile(source, "/usr/lib/python3/site-packages/drawing.py", "exec"), module.__dict__)

    assert module.fonts(command) is None
    assert command("subprocess.Popen", ("fc-list", ["fc-list"], None, None)) == "fc-list"


def test_child_of_a_library_during_its_import_is_no_cause(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, name in (("site-packages", "asks_the_machine"), ("own", "asks_too")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{name}.py").write_text("import subprocess\nsubprocess.run(['true'])\n")
        monkeypatch.syspath_prepend(str(tmp_path / folder))
    rig.begin()
    __import__("asks_the_machine")
    library = rig.finish()
    rig.begin()
    __import__("asks_too")
    own = rig.finish()

    assert library.ran == () and own.ran == ("true",)


def test_causes_are_in_the_record(rig: Rig) -> None:
    rig.begin("!ls")
    os.system("true")
    subprocess.run(["true", "x"], check=True)
    subprocess.run("true && true", shell=True, check=True)
    os.waitpid(os.posix_spawn("/bin/true", ["true", "spawned"], {}), 0)
    os.popen("true popen").close()
    record = rig.finish()

    assert record.ran == (
        "true",
        "true x",
        "/bin/sh -c 'true && true'",
        "true spawned",
        "/bin/sh -c 'true popen'",
    )
    assert not record.forked


def test_forkpty_is_told_by_the_cells_text(rig: Rig) -> None:
    rig.begin("!rm keep.txt")
    child, terminal = os.forkpty()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    os.close(terminal)
    record = rig.finish()

    assert record.ran == ("rm keep.txt",) and record.forked


def target(path: str) -> None:
    Path(path).write_text("child")


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing_is_a_cause_in_every_start_method(rig: Rig, method: str) -> None:
    context = multiprocessing.get_context(method)
    rig.begin()
    process = context.Process(target=target, args=(str(rig.work / "made"),), name="worker")  # type: ignore[attr-defined] # the contexts have it
    process.start()
    process.join(30)
    record = rig.finish()
    stop_forkserver()

    assert process.exitcode == 0
    assert record.ran[0] == "multiprocessing: worker"
    assert str(rig.work / "made") not in record.touches and record.hook_errors == ()
    assert (rig.work / "made").read_text() == "child"


def stop_forkserver() -> None:
    from multiprocessing import forkserver, resource_tracker

    forkserver._forkserver._stop()  # type: ignore[attr-defined] # there is no public way
    resource_tracker._resource_tracker._stop()  # type: ignore[attr-defined] # likewise


def test_live_children_are_named_without_zombies_and_python_helpers() -> None:
    sleeper = subprocess.Popen(["sleep", "30"])
    gone = subprocess.Popen(["true"])
    os.waitid(os.P_PID, gone.pid, os.WEXITED | os.WNOWAIT)
    try:
        found = live_children(lambda: (sleeper.pid, gone.pid, 2**22 - 1))
        assert found == {sleeper.pid: "sleep 30"}
    finally:
        sleeper.send_signal(signal.SIGKILL)
        sleeper.wait()
        gone.wait()


def test_children_that_outlive_the_turn_are_told_apart(rig: Rig) -> None:
    command_line = [sys.executable, "-c", "import time; time.sleep(30)"]
    rig.begin()
    child = subprocess.Popen(command_line)
    rig.live = [child.pid]
    first = rig.finish()
    rig.begin()
    second = rig.finish()
    child.kill()
    child.wait()

    assert [len(record.new_children) for record in (first, second)] == [1, 0]
    assert len(second.children) == 1 and isinstance(second, SpanRecord)
