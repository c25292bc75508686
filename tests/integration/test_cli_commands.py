"""The command line on sessions that no kernel holds: every verb, JSON, and a stable exit status per class of error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nbrewind.ui.cli import main
from tests.builders import TestWorkspace
from tests.sessions import Book, attached
from tests.stores import stores_below


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


class Shell:
    """Calls the command line as a person in the workspace does."""

    def __init__(self, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
        self.captured = capsysbinary

    def __call__(self, *words: str, status: int = 0) -> Ran:
        self.captured.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(list(words))
        out, err = self.captured.readouterr()
        ran = Ran(int(ended.value.code or 0), os.fsdecode(out), os.fsdecode(err))
        assert ran.status == status, ran
        return ran


@pytest.fixture
def shell(capsysbinary: pytest.CaptureFixture[bytes]) -> Shell:
    return Shell(capsysbinary)


@pytest.fixture
def kept(workspace: TestWorkspace, home: Path, monkeypatch: pytest.MonkeyPatch) -> TestWorkspace:
    """Return a workspace with a closed session: sales.csv is written by [1] and damaged by [2], which adds raw/."""
    monkeypatch.chdir(workspace.root)
    with attached(workspace, home) as book:
        fill(book, workspace)
    return workspace


def fill(book: Book, workspace: TestWorkspace) -> None:
    with book.turn("write()"):
        workspace.write({"sales.csv": "a,b\n1,2\n"})
    with book.turn("clean()"):
        workspace.write({"sales.csv": "a,b\n1,3\n", "raw/1": "1"})


def test_list_shows_the_cells_and_is_what_comes_without_a_word(kept, shell):
    listed = shell("list")

    assert "[2]" in listed.out
    assert "write()" in listed.out
    assert shell().out == listed.out
    assert [point["number"] for point in shell("list", "--json").data["points"] if point["number"]] == [1, 2]


def test_to_with_yes_goes_back_and_undo_forward(kept, shell):
    assert shell("to", "1", "--yes").out.startswith("Back to just after [1]: 2 files. Nothing was thrown away.")
    assert kept.read("sales.csv") == b"a,b\n1,2\n"
    assert not kept.exists("raw")

    assert shell("undo").out.startswith("Undone, [2] is back: 2 files.")
    assert kept.read("sales.csv") == b"a,b\n1,3\n"
    shell("redo")
    assert kept.read("sales.csv") == b"a,b\n1,2\n"


@pytest.mark.parametrize("words", [("to", "-1"), ("back",), ("before", "2"), ("to", "before", "2"), ("back", "1")])
def test_targets_with_a_dash_or_two_words_are_taken(words, kept, shell):
    shell(*words, "--yes")

    assert kept.read("sales.csv") == b"a,b\n1,2\n"


def test_a_preview_changes_nothing_and_without_a_terminal_says_to_add_yes(kept, shell):
    ran = shell("to", "1", status=2)

    assert "Back to just after [1]. [1] stays; [2] is taken back." in ran.out
    assert ran.err == "Nothing changed: nobody can be asked here. Add --yes.\n"
    assert kept.exists("raw/1")
    plan = shell("to", "1", "--json").data["plan"]
    assert {row["path"] for row in plan["files"]} == {"raw", "raw/1", "sales.csv"}


def test_restore_cat_diff_show_history_and_name(kept, shell):
    assert shell("cat", "1", "sales.csv").out == "a,b\n1,2\n"
    assert "sales.csv" in shell("diff", "1").out
    assert "row 0: b 2 → 3" in shell("diff", "1", "sales.csv").out
    assert "clean()" in shell("show", "2").out
    assert "[2]" in shell("history", "sales.csv").out
    assert shell("name", "the right state").out.startswith('Named "the right state"')
    shell("restore", "sales.csv", "--from", "1", "--as", "old.csv")
    assert kept.read("old.csv") == b"a,b\n1,2\n"
    shell("to", "the right state", "--yes")
    assert shell("status", "--json").data["status"]["workspace"] == str(kept.root)


def test_cat_gives_every_byte(kept, shell, home):
    content = bytes(range(256)) * 3
    with attached(kept, home) as book:
        book.count = 2
        with book.turn("binary"):
            kept.write({"a.bin": content})

    shell.captured.readouterr()
    with pytest.raises(SystemExit):
        main(["cat", "3", "a.bin"])

    assert shell.captured.readouterr().out == content


def test_sessions_verify_gc_doctor_and_help(kept, shell):
    rows = shell("sessions", "--json").data["sessions"]
    assert [row["turns"] for row in rows] == [2]
    assert rows[0]["id"] in shell("sessions").out
    assert "all is well" in shell("verify").out
    assert "packed" in shell("gc").out
    assert shell("doctor", "--json").data["checks"]
    assert "git" in shell("doctor").out
    assert "Go back to just after a cell" in shell("help", "to").out
    assert "restore" in shell("help").out


def test_a_subfolder_finds_the_workspace_above_and_a_path_may_be_named(kept, shell, monkeypatch, tmp_path):
    monkeypatch.chdir(kept.path("raw"))
    assert "[2]" in shell("list").out

    monkeypatch.chdir(tmp_path)
    assert "[2]" in shell("list", "--workspace", str(kept.root)).out
    store = shell("status", "--json", "--workspace", str(kept.root)).data["status"]["store"]
    assert "[2]" in shell("list", "--workspace", str(kept.root), "--store", store).out


def test_a_session_is_chosen_by_the_beginning_of_its_id(kept, shell):
    identifier = shell("sessions", "--json").data["sessions"][0]["id"]

    assert "[2]" in shell("list", "--session", identifier[:12]).out
    assert "No session" in shell("list", "--session", "zzz", status=2).err


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("to", "12", "--yes"), 2, "No cell [12]; the newest is [2]. Nothing changed."),
        (("to", "nowhere", "--yes"), 2, 'No point is called "nowhere". Nothing changed.'),
        (("rollback", "1"), 2, 'Unknown "rollback". Nothing changed.'),
        (("lst",), 2, 'Unknown "lst". Nothing changed. Did you mean: nbrewind list?'),
        (("to", "1", "--yse"), 2, 'Unknown option "--yse"'),
        (("list", "--bad"), 2, "No such option"),
        (("to",), 2, "Missing argument"),
        (("to", "1", "--only", "file", "--yes"), 2, "--only takes"),
        (("cat", "1", "nothing"), 2, "nothing was not there just after [1]. Nothing changed."),
        (("restore", "/etc/passwd", "--from", "1"), 2, "/etc/passwd"),
        (("restore", "sales.csv", "--from", "1", "--as", "raw/1"), 3, "raw/1 exists already"),
        (("undo",), 3, "There is no rewind to undo. Nothing changed. nbrewind back 1"),
        (("redo",), 3, "There is no undo"),
    ],
)
def test_errors_are_one_line_with_the_status_of_their_class(words, status, said, kept, shell):
    before = kept.tree()

    ran = shell(*words, status=status)

    assert said in ran.err
    assert ran.err.count("\n") == 1
    assert "Traceback" not in ran.err + ran.out
    assert kept.tree() == before


def test_errors_are_json_on_demand(kept, shell):
    assert shell("undo", "--json", status=3).data["error"] == {
        "code": "refused",
        "reason": "unknown-checkpoint",
        "message": "There is no rewind to undo. Nothing changed.",
        "hint": "%rewind back 1 goes one turn back.",
        "exit_status": 3,
    }


def test_a_folder_without_a_store_says_so(shell, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert "Nothing is kept for" in shell("list", status=6).err
    assert "Nothing is kept for" in shell("sessions", status=6).err


def test_a_store_of_a_later_version_is_neither_read_nor_changed(kept, shell):
    store = Path(shell("status", "--json").data["status"]["store"])
    (store / "format").write_text("nbrewind-store 99\n")

    assert shell("list", status=6).err.count("\n") == 1
    assert shell("to", "1", "--yes", status=6).err
    assert kept.read("sales.csv") == b"a,b\n1,3\n"


def test_a_session_that_a_kernel_holds_is_looked_at_but_not_moved(workspace, home, shell, monkeypatch):
    monkeypatch.chdir(workspace.root)
    with attached(workspace, home) as book:
        fill(book, workspace)
        book.session.settle()

        assert "[2]" in shell("list").out
        assert shell("cat", "1", "sales.csv").out == "a,b\n1,2\n"
        assert "held by" in shell("sessions").out
        ran = shell("to", "1", "--yes", status=7)
        assert "test" in ran.err
        assert "[2] is taken back" in shell("to", "1", status=2).out
    assert workspace.read("sales.csv") == b"a,b\n1,3\n"


def test_the_real_command_prints_names_that_no_encoding_has(kept, home):
    with attached(kept, home) as book:
        book.count = 2
        with book.turn("odd"):
            kept.write({b"b\xff\n\x1b[31m.txt": "1", "Zürich 🎉": "1"})
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}

    def run(*words: str) -> bytes:
        command = [sys.executable, "-m", "nbrewind.ui.cli", *words]
        done = subprocess.run(command, capture_output=True, check=True, env=environment)
        return done.stdout

    shown = run("show", "3")
    assert b"b\\xff\\n\\x1b[31m.txt" in shown
    assert b"\x1b" not in shown
    paths = [row["path"] for row in json.loads(run("show", "3", "--json"))["changes"]]
    assert set(paths) == {os.fsdecode(b"b\xff\n\x1b[31m.txt"), "Zürich 🎉"}
    run("restore", "b\\xff\\n\\x1b[31m.txt", "--from", "3", "--as", "plain.txt")
    assert kept.read("plain.txt") == b"1"


def test_a_store_of_another_folder_is_looked_at_and_never_poured_into_this_one(kept, shell, tmp_path, monkeypatch):
    store = shell("status", "--json").data["status"]["store"]
    other = TestWorkspace(tmp_path / "worktree")
    other.write({"sales.csv": "of the other worktree"})
    monkeypatch.chdir(other.root)
    named = ("--store", store, "--workspace", str(other.root))

    assert shell("cat", "1", "sales.csv", *named).out == "a,b\n1,2\n"
    ran = shell("to", "1", "--yes", *named, status=3)
    assert f"belongs to {kept.root}" in ran.err
    assert other.read("sales.csv") == b"of the other worktree"

    shell("to", "1", "--yes", "--store", store)
    assert kept.read("sales.csv") == b"a,b\n1,2\n"
    assert other.read("sales.csv") == b"of the other worktree"


def test_a_store_inside_the_workspace_is_found_and_goes_along_with_a_renamed_folder(
    workspace, home, shell, monkeypatch, tmp_path
):
    monkeypatch.chdir(workspace.root)
    with attached(workspace, home, store_dir="workspace") as book:
        fill(book, workspace)
    assert "[2]" in shell("list").out

    os.rename(workspace.root, tmp_path / "renamed")
    monkeypatch.chdir(tmp_path / "renamed")
    shell("to", "1", "--yes")

    assert (tmp_path / "renamed" / "sales.csv").read_text() == "a,b\n1,2\n"


def test_a_reader_that_has_seen_enough_ends_it_without_complaint(kept):
    command = f"{sys.executable} -m nbrewind.ui.cli list --json | head -c 1"

    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, check=False)

    assert done.stdout == b"{"
    assert done.stderr == b""


def test_verify_tells_by_its_exit_status_and_list_shows_the_damaged_point(
    shell: Shell, kept: TestWorkspace, home: Path
) -> None:
    shell("verify")
    (store,) = stores_below(home)
    for pack in (store / "shadow" / "objects" / "pack").glob("*.pack"):
        data = bytearray(pack.read_bytes())
        data[len(data) // 2] ^= 1
        pack.chmod(0o600)
        pack.write_bytes(data)

    ran = shell("verify", status=6)

    assert "Damaged; everything else can be used:" in ran.out
    assert "✕ damaged" in shell("list").out


def test_without_git_gc_is_one_clear_line_and_changes_nothing(
    shell: Shell, kept: TestWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))

    ran = shell("gc", status=8)

    assert ran.out == ""
    (line,) = ran.err.splitlines()
    assert line.startswith("Not packed, nothing changed: git is not installed, or older than 2.30.")
