"""Loading, reloading and unloading in real kernels and shells: one line, never an error, no trace."""

import os
import stat
import subprocess
import sys

import pytest

from tests.builders import TestKernel
from tests.stores import stores_below

pytestmark = pytest.mark.kernel

TRACES = (
    "(lambda b, io, os, pathlib, threading, subprocess, signal, sys: [f'{f!r}' for f in (b.open, io.open, os.open, "
    "os.mkfifo, os.mknod, os.rename, pathlib.Path.open, pathlib.Path.unlink, threading.Thread.start, "
    "subprocess.Popen.__init__, signal.getsignal(15), sys.excepthook)])(*map(__import__, "
    "('builtins', 'io', 'os', 'pathlib', 'threading', 'subprocess', 'signal', 'sys')))"
)
SHELL = (
    "(lambda ip: (sorted(ip.magics_manager.magics['line']), len(ip.ast_transformers), "
    "[name for c in ip.configurables if (name := type(c).__name__) != 'ExtensionMagics'], "
    "{name: len(found) for name, found in ip.events.callbacks.items()}, sorted(ip.user_ns)))(get_ipython())"
)


@pytest.fixture
def plain(workspace, home):
    """A kernel without nbrewind."""
    kernel = TestKernel(workspace.root, home)
    kernel.start()
    yield kernel
    kernel.stop()


def test_loading_prints_one_line(plain, workspace):
    workspace.write({"a.csv": "1,2\n" * 1000})

    run = plain.run("%load_ext nbrewind")

    assert run.status == "ok"
    assert run.text.strip() == "nbrewind is on: ./work (1 file, 4.0 kB), variables, outputs. Go back: %rewind", run.text


def test_unloading_leaves_no_trace(plain):
    before = plain.value(TRACES), plain.value(SHELL)
    plain.run("%load_ext nbrewind", silent=True)
    assert (plain.value(TRACES), plain.value(SHELL)) != before
    plain.run("open('a', 'w').write('1')", silent=True)

    plain.run("%unload_ext nbrewind", silent=True)

    assert plain.value(TRACES) == before[0]
    for now, then in zip(plain.value(SHELL), before[1], strict=True):
        assert now == then
    run = plain.run("%rewind")
    assert run.status == "error" and "not found" in run.text


def test_loaded_twice_and_reloaded_there_is_one_turn_per_cell(plain, workspace):
    plain.run("%load_ext nbrewind\n%load_ext nbrewind")
    plain.run("__import__('nbrewind').load_ipython_extension(get_ipython())", silent=True)
    plain.run("open('a', 'w').write('1')")
    plain.run("%reload_ext nbrewind")
    plain.run("open('a', 'w').write('2')")

    rows = plain.value("[(p.kind.value, p.number) for p in __import__('nbrewind').current().points()]")

    assert rows == [("attach", None), ("turn", 2), ("attach", None), ("turn", 4)]
    plain.run("%rewind to 2 --yes")
    assert workspace.read("a") == b"1"


def test_loading_in_a_cell_with_other_code_starts_with_the_next_cell(plain):
    run = plain.run("x = 1\n%load_ext nbrewind\nopen('a', 'w').write('1')")
    assert run.status == "ok"
    plain.run("open('a', 'w').write('2')")

    assert plain.value("[(p.kind.value, p.number) for p in __import__('nbrewind').current().points()]")[-1] == (
        "turn",
        2,
    )


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ("c.NBRewind.max_file_size = 3", "max_file_size"),
        ("c.NBRewind.store_dri = 'x'", "store_dri"),
        ("c.NBRewind.workspace = '/no/such/folder'", "workspace"),
        ("c.NBRewind.store_dir = 'http://x'", "store_dir"),
        ("c.NBRewind.durability = 'never'", "durability"),
    ],
)
def test_wrong_setting_is_one_line_that_names_it(workspace, home, config, named):
    configure(home, config)
    kernel = TestKernel(workspace.root, home)
    kernel.start()
    try:
        run = kernel.run("%load_ext nbrewind")
        assert run.status == "ok" and len(run.text.strip().splitlines()) == 1, run
        assert "nbrewind is off" in run.text and f"NBRewind.{named}" in run.text
        assert kernel.run("open('a', 'w').write('1')").status == "ok"
    finally:
        kernel.stop()


def configure(home, *lines):
    profile = home / ".ipython" / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_config.py").write_text("c = get_config()\n" + "\n".join(lines) + "\n")


def test_older_names_are_taken_with_a_warning(workspace, home):
    configure(home, "c.NBRewind.maxFileSize = 5000", "c.NBRewind.rootDir = 'workspace'")
    kernel = TestKernel(workspace.root, home)
    kernel.start()
    try:
        run = kernel.run("%load_ext nbrewind")
        assert "max_file_size" in run.text and "store_dir" in run.text
        assert kernel.value("__import__('nbrewind').current().settings.max_file_size") == 5000
    finally:
        kernel.stop()
    assert workspace.read(".nbrewind/.gitignore") == b"*\n"
    for folder, _, files in os.walk(workspace.path(".nbrewind")):
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        assert all(stat.S_IMODE(os.lstat(os.path.join(folder, name)).st_mode) & 0o077 == 0 for name in files), folder


def test_empty_scopes_record_nothing(workspace, home):
    configure(home, "c.NBRewind.scopes = []")
    kernel = TestKernel(workspace.root, home)
    kernel.start()
    try:
        run = kernel.run("%load_ext nbrewind")
        assert "records nothing" in run.text, run
        kernel.run("open('a', 'w').write('1')")
        rows = kernel.value("[p.kind.value for p in __import__('nbrewind').current().points()]")
        assert "turn" not in rows
    finally:
        kernel.stop()


def test_without_git_everything_but_packing_works(workspace, home, tmp_path):
    kernel = TestKernel(workspace.root, home, environment={"PATH": str(tmp_path)})
    kernel.start()
    try:
        run = kernel.run("%load_ext nbrewind")
        assert "git is not there" in run.text, run
        kernel.run("open('a', 'w').write('1')")
        kernel.run("open('a', 'w').write('2')")
        assert kernel.run("%rewind to 2 --yes").status == "ok"
        assert workspace.read("a") == b"1"
    finally:
        kernel.stop()


def test_plain_script_with_turns(workspace, home):
    script = (
        "import nbrewind\n"
        "with nbrewind.turn('clean'):\n    open('a', 'w').write('1')\n"
        "try:\n"
        "    with nbrewind.turn('spoil'):\n        open('a', 'w').write('2'); 1/0\n"
        "except ZeroDivisionError: pass\n"
        "s = nbrewind.current()\n"
        "print([(p.kind.value, p.code, p.status.value) for p in s.points()])\n"
        "s.rewind(s.plan('-1'))\n"
        "print(open('a').read())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=workspace.root, capture_output=True, text=True, timeout=60
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "[('attach', '', 'ok'), ('turn', 'clean', 'ok'), ('turn', 'spoil', 'error')]",
        "1",
    ]


def test_ipython_script_names_points_and_goes_back(workspace, home):
    workspace.write(
        {
            "run.ipy": "%load_ext nbrewind\nopen('a', 'w').write('1')\n%rewind name \"right\"\n"
            "open('a', 'w').write('2')\n!rm -f b; echo 3 > b\n%rewind to \"right\" --yes\n"
            "print('read', open('a').read())\n"
        }
    )
    done = subprocess.run(
        [sys.executable, "-m", "IPython", "run.ipy"], cwd=workspace.root, capture_output=True, text=True, timeout=60
    )

    assert "read 1" in done.stdout, done.stdout + done.stderr
    assert not workspace.exists("b")


def test_terminal_session_goes_back_with_its_prompt(workspace, home):
    lines = ["%load_ext nbrewind", "10", "open('a', 'w').write('1')", "open('a', 'w').write('2')", "%rewind to 3 --yes"]
    lines += [
        "print('now', get_ipython().execution_count, open('a').read())",
        "print('then', get_ipython().execution_count)",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "IPython", "--simple-prompt", "--no-banner", "--colors=nocolor"],
        cwd=workspace.root,
        input="\n".join([*lines, "exit", ""]),
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert "In [4]: now 5 1" in done.stdout, done.stdout + done.stderr
    assert "In [5]: then 6" in done.stdout
    assert "not unique" not in done.stdout + done.stderr


def test_status_and_list_say_why_nbrewind_is_off(workspace, home):
    nowhere = dict.fromkeys(("JUPYTER_DATA_DIR", "HOME"), "/proc/nowhere")
    kernel = TestKernel(workspace.root, home, environment=nowhere)
    kernel.start()
    try:
        assert kernel.run("%rewind status").status == "error"
        kernel.run("%load_ext nbrewind")
        for verb in ("status", "list", ""):
            run = kernel.run(f"%rewind {verb}")
            assert run.status == "ok" and "nbrewind is off, nothing is protected" in run.text, run
        refused = kernel.run("%rewind to 1 --yes")
        assert refused.status == "error" and "nbrewind is off" in refused.error
        kernel.run("%unload_ext nbrewind")
    finally:
        kernel.stop()


def test_points_of_a_store_from_a_later_version_are_not_touched_and_status_says_so(workspace, home):
    kernel = TestKernel(workspace.root, home)
    kernel.start()
    try:
        kernel.load()
        kernel.run("open('a','w').write('1')")
        kernel.run("%unload_ext nbrewind")
        (store,) = stores_below(home)
        (store / "format").write_text("nbrewind-store 99\n")
        kernel.run("%load_ext nbrewind")
        run = kernel.run("%rewind status")
        assert run.status == "ok" and "later version" in run.text + run.error, run
    finally:
        kernel.stop()
