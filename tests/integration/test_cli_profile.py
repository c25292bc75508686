"""Protecting every notebook, the configuration files on the command line, and notebooks rebuilt from the log."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from nbrewind.errors import SettingError, UsageError
from nbrewind.extension.command import configured
from nbrewind.extension.configuration import profile_config
from nbrewind.session.turns import TurnEnd, TurnStart
from nbrewind.ui.cli import main
from nbrewind.ui.export import notebook_of
from nbrewind.ui.profile import disable_page, enable_page
from tests.builders import TestKernel
from tests.sessions import attached


@pytest.fixture
def profile(home: Path) -> Path:
    found = home / ".ipython" / "profile_default"
    found.mkdir(parents=True, exist_ok=True)
    return found / "ipython_config.py"


def command(*words: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    code = "from nbrewind.extension.command import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


# -- enable, disable ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [None, b"", b"c = get_config()\nc.x = 1", b"# caf\xe9\n"])
def test_enable_adds_one_line_and_disable_takes_it_out(profile, before):
    if before is not None:
        profile.write_bytes(before)

    assert enable_page("default").data["changed"] and not enable_page("default").data["changed"]
    lines = profile.read_bytes().splitlines()
    assert lines[:-1] == (before or b"").splitlines() and b"nbrewind" in lines[-1]
    assert disable_page("default").data["changed"] and not disable_page("default").data["changed"]

    assert (profile.read_bytes() if profile.exists() else b"").strip() == (before or b"").strip()


def test_a_linked_configuration_stays_a_link_with_its_mode(profile, tmp_path):
    kept = tmp_path / "dotfiles.py"
    kept.write_text("x = 1\n")
    kept.chmod(0o600)
    profile.symlink_to(kept)

    enable_page("default")

    assert profile.is_symlink() and kept.stat().st_mode & 0o777 == 0o600 and "nbrewind" in kept.read_text()


def test_a_profile_is_a_name(profile):
    with pytest.raises(UsageError):
        enable_page("../x")


@pytest.mark.kernel
def test_an_enabled_notebook_is_protected_from_its_first_cell(workspace, home, profile):
    enable_page("default")
    workspace.write({"a": "0"})
    kernel = TestKernel(workspace.root, home)
    kernel.start()
    try:
        first = kernel.run("n = open('a', 'w').write('1'); print('fine')")
        assert first.text == "fine\n"
        assert kernel.run("%rewind before 1 --yes").status == "ok"
        assert workspace.read("a") == b"0"
        assert kernel.run("%load_ext nbrewind").status == "ok"
        assert kernel.run("%unload_ext nbrewind.extension.automatic").status == "ok"
        assert kernel.run("%rewind").status == "error"
    finally:
        kernel.stop()


@pytest.mark.kernel
def test_a_batch_run_is_left_out(workspace, home, profile):
    enable_page("default")
    kernel = TestKernel(workspace.root, home)
    kernel.headless = True
    kernel.start()
    try:
        kernel.run("n = open('a', 'w').write('1')")
        assert kernel.run("%rewind").status == "error"
    finally:
        kernel.stop()
    (Path(workspace.root) / "s.py").write_text("import sys; print('nbrewind.session.session' in sys.modules)")
    done = subprocess.run([sys.executable, "-m", "IPython", "s.py"], cwd=workspace.root, capture_output=True, text=True)
    assert done.stdout.strip() == "False", done


# -- configuration files -----------------------------------------------------------------------------------------------


def test_the_command_line_finds_the_store_that_the_configuration_names(profile, workspace, tmp_path):
    store = tmp_path / "my store"
    profile.write_text(f"c = get_config()\nc.NBRewind.store_dir = {str(store)!r}\n")
    with attached(workspace, tmp_path, store_dir=str(store)) as book:
        with book.turn("first"):
            workspace.write({"a": "1"})
        with book.turn("second"):
            workspace.write({"a": "2"})
        book.session.settle()

    assert configured()["store_dir"] == str(store)
    done = command("restore", "a", "--from", "1", "--yes", folder=workspace.root)
    assert done.returncode == 0, done
    assert workspace.read("a") == b"1"


def test_a_store_of_one_place_for_all_is_not_taken_for_another_folders(profile, workspace, tmp_path):
    store = tmp_path / "store"
    profile.write_text(f"c = get_config()\nc.NBRewind.store_dir = {str(store)!r}\n")
    with attached(workspace, tmp_path, store_dir=str(store)) as book, book.turn("first"):
        workspace.write({"a": "1"})
    other = tmp_path / "elsewhere"
    other.mkdir()

    done = command("undo", folder=other)

    assert done.returncode in (3, 6), done


def test_json_configuration_counts_too_and_a_wrong_setting_is_named(profile):
    profile.with_suffix(".json").write_text(json.dumps({"NBRewind": {"keepSessions": 3, "maxfilesize": 1}}))

    with pytest.raises(SettingError, match="maxfilesize"):
        configured()


def test_a_configuration_that_fails_is_one_line(profile, workspace):
    profile.write_text("1/0\n")

    done = command("list", folder=workspace.root)

    assert done.returncode == 2 and "ZeroDivisionError" in done.stderr and len(done.stderr.splitlines()) == 1


def test_jupyters_own_configuration_counts_and_the_profile_goes_before(profile, workspace, home, monkeypatch):
    folder = home / "jupyter-config"
    folder.mkdir()
    (folder / "nbrewind.json").write_text(json.dumps({"NBRewind": {"keep_sessions": 3, "turn_budget": 2.0}}))
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(folder))
    profile.write_text("c = get_config()\nc.NBRewind.turn_budget = 1.0\n")

    found = profile_config()["NBRewind"]

    assert (found["keep_sessions"], found["turn_budget"]) == (3, 1.0)


@pytest.mark.kernel
def test_a_kernel_heeds_jupyters_configuration(workspace, home):
    folder = home / "jupyter-config"
    folder.mkdir()
    (folder / "nbrewind.json").write_text(json.dumps({"NBRewind": {"store_dir": "workspace"}}))
    kernel = TestKernel(workspace.root, home, environment={"JUPYTER_CONFIG_DIR": str(folder)})
    kernel.start()
    try:
        kernel.load()
    finally:
        kernel.stop()

    assert workspace.exists(".nbrewind/format")


# -- export ------------------------------------------------------------------------------------------------------------

OUTPUTS = [
    {"output_type": "stream", "name": "stdout", "text": "hello\n"},
    {"output_type": "execute_result", "data": {"text/plain": "2"}, "metadata": {}, "execution_count": 1},
]


@pytest.fixture
def written(workspace, home, monkeypatch):
    monkeypatch.chdir(workspace.root)
    with attached(workspace, home) as book:
        rows = [(1, "cell-a", "print('hello')\n1 + 1", OUTPUTS), (2, "", "x = 1", []), (3, "cell-a", "1/0", [])]
        for number, cell, code, outputs in rows:
            book.session.begin_turn(TurnStart(code=code, number=number, cell_id=cell or None))
            workspace.write({"n": str(number)})
            book.session.end_turn(TurnEnd(outputs=json.dumps(outputs)))
        book.session.settle()
        yield book.session


def test_a_rebuilt_notebook_is_valid_and_holds_the_last_run_of_each_cell(written):
    notebook = nbformat.from_dict(notebook_of(written))

    nbformat.validate(notebook)
    assert [cell["execution_count"] for cell in notebook.cells] == [3, 2]
    earlier = nbformat.from_dict(notebook_of(written, "2"))
    assert earlier.cells[0].outputs[0].text == "hello\n" and "".join(earlier.cells[0].source).endswith("1 + 1")


def test_every_run_is_there_if_asked_for(written):
    notebook = nbformat.from_dict(notebook_of(written, all_runs=True))

    nbformat.validate(notebook)
    assert [cell["execution_count"] for cell in notebook.cells] == [1, 2, 3]


def test_export_writes_a_file_once(written, workspace, capsys):
    for words, status in ((["out.ipynb"], 0), (["out.ipynb"], 2), (["out.ipynb", "--overwrite"], 0)):
        with pytest.raises(SystemExit) as ended:
            main(["export", *words])
        assert (ended.value.code or 0) == status
    assert "is there already" in capsys.readouterr().err
    nbformat.validate(nbformat.read(workspace.path("out.ipynb"), as_version=4))


def test_export_to_standard_output_is_only_the_notebook(written, workspace):
    written.close()
    done = command("export", "-", folder=workspace.root)

    assert done.returncode == 0 and nbformat.reads(done.stdout, as_version=4).cells, done.stderr


# -- a locale of ASCII only --------------------------------------------------------------------------------------------

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def test_names_that_are_not_ascii_come_back_in_an_ascii_locale(workspace, home):
    names = ("größe.txt", b"b\xff.txt")
    with attached(workspace, home) as book:
        for text in ("1", "2"):
            with book.turn("zwölf"):
                workspace.write(dict.fromkeys(names, text))
        book.session.settle()

    done = command("restore", "größe.txt", "b\\xff.txt", "--from", "1", "--yes", folder=workspace.root, **ASCII)

    assert done.returncode == 0, done
    assert [workspace.read(name) for name in names] == [b"1", b"1"]


def test_a_python_that_reads_names_as_ascii_is_told_so(workspace, home):
    code = "import nbrewind\nwith nbrewind.turn('x'): pass"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=workspace.root, env={**os.environ, **ASCII}, capture_output=True, text=True
    )

    assert "Start it with PYTHONUTF8=1" in done.stderr or "names of files as ascii" in done.stderr
    assert not list(Path(home).rglob("format"))
