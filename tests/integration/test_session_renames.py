"""Directories that a cell renames, and what it then does below their new names."""

import shutil
from pathlib import Path

import pytest

from tests.builders import TestWorkspace
from tests.sessions import attached


@pytest.mark.parametrize("is_old", [True, False], ids=["kept already", "of just now"])
def test_file_written_below_a_new_name_goes_back_to_the_old_name_alone(
    workspace: TestWorkspace, home: Path, is_old: bool
) -> None:
    workspace.write({"old/in it": "first", "old/deep/leaf": "leaf"})
    with attached(workspace, home) as book:
        if not is_old:
            workspace.write({"old/in it": "again"})
        before = workspace.tree()
        with book.turn():
            (workspace.root / "old").rename(workspace.root / "new")
            workspace.write({"new/in it": "second", "new/deep/other": "made"})
            (workspace.root / "new" / "deep").rename(workspace.root / "new" / "deeper")
            workspace.write({"new/deeper/leaf": "leaf now"})
        after = workspace.tree()

        book.to("before 1")
        assert workspace.tree() == before
        book.session.undo()
        assert workspace.tree() == after


def test_tree_that_was_renamed_and_removed_comes_back_under_its_old_name(workspace: TestWorkspace, home: Path) -> None:
    workspace.write({"old/deep/leaf": "leaf", "stays": "stays"})
    before = workspace.tree()
    with attached(workspace, home) as book:
        with book.turn():
            (workspace.root / "old").rename(workspace.root / "new")
            shutil.rmtree(workspace.root / "new")

        book.to("before 1")

        assert workspace.tree() == before


def test_file_under_a_name_that_a_rename_did_not_get_keeps_its_bytes(workspace: TestWorkspace, home: Path) -> None:
    workspace.write({"old/in it": "first"})
    with attached(workspace, home) as book:
        workspace.write({"full/in it": "precious"})
        before = workspace.tree()
        with book.turn():
            with pytest.raises(OSError, match="not empty"):
                (workspace.root / "old").rename(workspace.root / "full")
            workspace.write({"full/in it": "second"})

        book.to("before 1")

        assert workspace.tree() == before
