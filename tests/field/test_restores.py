"""Faults of comparable tools that have to do with what a restore deletes, keeps, forgets or cannot take back."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path

import pytest

from nbrewind.errors import RefusalReason, RewindError, RewindRefused, TargetError
from nbrewind.model import PlanOptions
from tests.builders import TestWorkspace, hash_tree
from tests.outsider import Outsider
from tests.sessions import Book, attached, without_override
from tests.stores import stores_below

pytestmark = pytest.mark.usefixtures("sound_stores")


def test_b34_a_file_made_by_others_is_listed_kept_and_back_after_undo(
    book: Book, workspace: TestWorkspace, outsider: Outsider
) -> None:
    with book.turn():
        workspace.write({"own": "1"})
    outsider.write(workspace.root, {"theirs": "1"})

    kept = [note.subject for note in book.session.plan("start").kept]
    plan = book.session.plan("start", options := _options(everything=True))
    book.session.rewind(plan)
    gone = not workspace.exists("theirs")
    book.session.undo()

    assert options.everything
    assert "theirs" in kept
    assert "theirs" in [step.path for step in plan.steps]
    assert gone
    assert (workspace.read("theirs"), workspace.read("own")) == (b"1", b"1")


def _options(**more: bool) -> PlanOptions:
    return PlanOptions(**more)


def test_b36_deleting_many_files_of_others_needs_force(
    book: Book, workspace: TestWorkspace, outsider: Outsider
) -> None:
    with book.turn():
        workspace.write({"own": "1"})
    outsider.write(workspace.root, {f"theirs/{number}": "x" for number in range(60)})

    plan = book.session.plan("start", _options(everything=True))
    with pytest.raises(RewindRefused) as refused:
        book.session.rewind(plan)
    assert refused.value.reason is RefusalReason.NEEDS_FORCE
    assert plan.needs_force
    assert len(os.listdir(workspace.path("theirs"))) == 60

    book.to("start", everything=True, force=True)
    assert not workspace.exists("theirs/0")


def test_b36_deleting_many_files_of_its_own_needs_no_force(book: Book, workspace: TestWorkspace) -> None:
    with book.turn():
        workspace.write({f"own/{number}": "x" for number in range(60)})

    book.to("start")

    assert not workspace.exists("own")


def test_b37_what_could_not_be_read_is_never_taken_for_deleted(workspace: TestWorkspace, home: Path) -> None:
    workspace.write({f"d/{number}": str(number) for number in range(5)})
    with without_override(), attached(workspace, home) as book:
        with book.turn():
            workspace.write({"a": "1"})
        os.chmod(workspace.path("d"), 0)
        with book.turn():
            workspace.write({"a": "2"})
        book.to(1, everything=True)
        book.session.undo()
        os.chmod(workspace.path("d"), 0o755)
        book.to("start", everything=True)

    assert [workspace.read(f"d/{number}") for number in range(5)] == [b"0", b"1", b"2", b"3", b"4"]


def test_b38_a_file_that_a_cell_could_not_make_is_not_the_cells(
    book: Book, workspace: TestWorkspace, outsider: Outsider
) -> None:
    outsider.write(workspace.root, {"x": "theirs"})
    with book.turn():
        with pytest.raises(FileExistsError):
            open(workspace.path("x"), "x")
        with pytest.raises(FileNotFoundError):
            open(workspace.path("missing"))
    outsider.write(workspace.root, {"missing": "made by a person"})

    book.to("start")

    assert workspace.read("x") == b"theirs"
    assert workspace.read("missing") == b"made by a person"


@pytest.mark.parametrize("words", ["99", "zzzzzzzzzz", '"no such name"', "-7", "../../etc", "\0", "5@25:99", "", "to"])
def test_b40_an_unknown_point_is_an_error_and_nothing_changes(words: str, book: Book, workspace: TestWorkspace) -> None:
    with book.turn():
        workspace.write({"a": "1"})
    before = workspace.tree()

    with pytest.raises(RewindError) as error:
        book.session.plan(words)

    assert isinstance(error.value, TargetError | RewindRefused)
    assert "\n" not in error.value.message
    assert workspace.tree() == before


def test_b43_an_edit_by_hand_is_back_after_rewind_and_undo(
    book: Book, workspace: TestWorkspace, outsider: Outsider
) -> None:
    with book.turn():
        workspace.write({"a": "1", "b": "1"})
    with book.turn():
        workspace.write({"a": "2"})
    outsider.write(workspace.root, {"a": "by hand", "b": "by hand"})

    book.to(1, overwrite=True)
    assert (workspace.read("a"), workspace.read("b")) == (b"1", b"by hand")
    book.session.undo()

    assert (workspace.read("a"), workspace.read("b")) == (b"by hand", b"by hand")


def test_a_file_that_a_turn_and_then_somebody_changed_is_a_conflict(
    book: Book, workspace: TestWorkspace, outsider: Outsider
) -> None:
    with book.turn():
        workspace.write({"a": "1"})
    with book.turn():
        workspace.write({"a": "2"})
    outsider.write(workspace.root, {"a": "by hand"})

    plan = book.session.plan("1")
    book.session.rewind(plan)

    assert "a" in [note.subject for note in plan.conflicts]
    assert workspace.read("a") == b"by hand"


def test_b45_an_edit_after_the_rewind_survives_its_undo(
    book: Book, workspace: TestWorkspace, outsider: Outsider
) -> None:
    with book.turn():
        workspace.write({"a": "1"})
    with book.turn():
        workspace.write({"a": "2", "b": "2"})
    book.to(1)
    outsider.write(workspace.root, {"a": "edited after", "c": "new after"})

    with contextlib.suppress(RewindRefused):
        book.session.undo()

    assert workspace.read("a") == b"edited after"
    assert workspace.read("c") == b"new after"


def test_b47_later_files_are_gone_and_the_tree_is_the_points(book: Book, workspace: TestWorkspace) -> None:
    with book.turn():
        workspace.write({"d/a": "1", "e/f/g": "1"})
    whole = workspace.tree()
    with book.turn():
        workspace.write({"d/later": "2", "later/deep/er": "2", "e/f/h": "2"})
    with book.turn():
        os.remove(workspace.path("d/a"))

    book.to(1)

    assert workspace.tree() == whole


@pytest.mark.parametrize("command", ["rm data.csv", "rm -rf sub", "mv data.csv x; cp x y", "sed -i s/1/9/ data.csv"])
def test_b49_what_a_shell_did_comes_back(command: str, book: Book, workspace: TestWorkspace) -> None:
    with book.turn():
        workspace.write({"data.csv": "1\n", "sub/f": "1"})
    whole = workspace.tree()
    with book.turn():
        subprocess.run(command, shell=True, cwd=workspace.root, check=True)
    assert book.point(2).changed_something

    book.to(1)

    assert workspace.tree() == whole


def test_b50_going_back_to_an_empty_workspace_works(book: Book, workspace: TestWorkspace) -> None:
    with book.turn():
        workspace.write({"a": "1", "d/b": "1"})

    book.to("start")

    assert workspace.tree() == {}


def test_b50_restoring_a_path_that_was_never_there_names_it(book: Book, workspace: TestWorkspace) -> None:
    with book.turn():
        workspace.write({"a": "1"})

    with pytest.raises(RewindError, match="nowhere"):
        book.session.restore(["nowhere"], "1")

    assert workspace.read("a") == b"1"


def test_b50_a_white_list_whose_path_vanished_still_works(workspace: TestWorkspace, home: Path) -> None:
    workspace.write({"kept/a": "1", "b": "1"})
    with attached(workspace, home, rewind_paths=("kept", "never-there")) as book:
        with book.turn():
            os.remove(workspace.path("kept/a"))
            os.rmdir(workspace.path("kept"))
        book.to("start")

    assert workspace.read("kept/a") == b"1"


def test_b52_a_file_that_a_cell_created_goes_and_comes(book: Book, workspace: TestWorkspace) -> None:
    with book.turn():
        pass
    with book.turn():
        workspace.write({"made": "1"})

    book.to(1)
    assert not workspace.exists("made")
    book.session.undo()

    assert workspace.read("made") == b"1"


def test_b53_a_workspace_that_is_a_subdirectory_leaves_its_siblings_alone(
    tmp_path: Path, home: Path, outsider: Outsider
) -> None:
    whole = TestWorkspace(tmp_path / "repo")
    whole.write({"sub/a": "1", "sibling/b": "1"})
    whole.git("init", "-q")
    with attached(TestWorkspace(tmp_path / "repo" / "sub"), home) as book:
        with book.turn():
            whole.write({"sub/a": "2"})
        outsider.write(whole.root, {"sibling/b": "edited"})
        book.to("start", everything=True)

    assert (whole.read("sub/a"), whole.read("sibling/b")) == (b"1", b"edited")


def test_b54_a_point_of_one_worktree_is_unknown_in_another(tmp_path: Path, home: Path) -> None:
    first, second = TestWorkspace(tmp_path / "first"), TestWorkspace(tmp_path / "second")
    for workspace in (first, second):
        workspace.write({"a": "1"})
    with attached(first, home) as book:
        with book.turn():
            first.write({"a": "2"})
        foreign = book.point(1).id
    with attached(second, home) as book:
        with pytest.raises(RewindError):
            book.session.plan(foreign)
        assert book.session.points()

    assert second.read("a") == b"1"


def test_b55_points_are_ordered_by_number_and_not_by_the_clock(book: Book, workspace: TestWorkspace) -> None:
    for number in range(5):
        with book.turn():
            workspace.write({"a": str(number)})
    book.head()

    operations = book.session.operations
    assert [operation.seq for operation in operations] == sorted({operation.seq for operation in operations})
    assert [operation.parent for operation in operations[1:]] == [operation.id for operation in operations[:-1]]


def test_b56_files_equal_to_the_point_keep_inode_and_time(book: Book, workspace: TestWorkspace) -> None:
    with book.turn():
        workspace.write({"same": "1", "d/same": "1", "other": "1"})
    before = {name: os.stat(workspace.path(name)) for name in ("same", "d/same")}
    with book.turn():
        workspace.write({"other": "2"})

    book.to(1)

    after = {name: os.stat(workspace.path(name)) for name in ("same", "d/same")}
    assert workspace.read("other") == b"1"
    assert {name: (status.st_ino, status.st_mtime_ns, status.st_ctime_ns) for name, status in after.items()} == {
        name: (status.st_ino, status.st_mtime_ns, status.st_ctime_ns) for name, status in before.items()
    }


def test_b41_rewinding_one_session_leaves_the_others_records_byte_identical(
    workspace: TestWorkspace, home: Path, tmp_path: Path
) -> None:
    with attached(workspace, home, notebook="b.ipynb") as other, other.turn():
        workspace.write({"b": "1"})
    (store,) = stores_below(home, tmp_path)
    (folder,) = (store / "sessions").iterdir()
    before = hash_tree(folder)

    with attached(workspace, home, notebook="a.ipynb") as book:
        with book.turn():
            workspace.write({"a": "1"})
        book.to("start", everything=True)
        book.session.undo()

    assert hash_tree(folder) == before
    assert len(list((store / "sessions").iterdir())) == 2
