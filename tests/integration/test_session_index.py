"""A session taken up again: unchanged files are not read, and every change since is found all the same."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from nbrewind.model import OperationKind
from nbrewind.resources.files.intake import Intake
from nbrewind.resources.files.mounts import Mount
from tests.builders import TestWorkspace
from tests.faults import run_in_child
from tests.sessions import attached


@pytest.fixture(autouse=True)
def _stamps(monkeypatch: pytest.MonkeyPatch) -> None:
    # Whatever the temporary folder lies on.
    monkeypatch.setattr(Mount, "stamps_mappings", True)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    real = Intake._file

    def recorded(self: Intake, rel: str, *rest: object) -> object:
        found.append(rel)
        return real(self, rel, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Intake, "_file", recorded)
    return found


@pytest.fixture
def workspace(tmp_path: Path) -> TestWorkspace:
    made = TestWorkspace(tmp_path / "work")
    made.write({f"d{number % 7}/f{number}": str(number) for number in range(50)})
    # Older than the tick in which a later write could leave the same stamps.
    time.sleep(0.05)
    return made


def test_the_next_kernel_reads_only_what_changed_while_none_ran(
    workspace: TestWorkspace, tmp_path: Path, read: list[str]
) -> None:
    with attached(workspace, tmp_path) as book, book.turn():
        workspace.write({"d0/f0": "by the cell"})
    time.sleep(0.05)
    with attached(workspace, tmp_path):
        pass
    workspace.write({"d1/f1": "by hand"})
    read.clear()

    with attached(workspace, tmp_path) as book:
        book.session.settle()
        external = [one for one in book.session.operations if one.kind is OperationKind.EXTERNAL]

        assert [change.path for one in external for change in one.changes] == ["d1/f1"]
        assert set(read) == {"d1/f1"}


def test_after_a_death_what_a_capture_noted_counts(workspace: TestWorkspace, tmp_path: Path, read: list[str]) -> None:
    def die_after_a_capture() -> None:
        with attached(workspace, tmp_path) as book:
            # As in a kernel: the capture comes after the reply.
            book.session.scheduler = lambda capture: True
            with book.turn():
                workspace.write({"d0/f0": "by the cell"})
            book.session._capture_in_background()
            os._exit(0)

    run_in_child(die_after_a_capture)
    workspace.write({"d2/f2": "by hand"})
    read.clear()

    with attached(workspace, tmp_path) as book:
        book.session.settle()

        # The cell's file was written too shortly before it was captured.
        assert set(read) <= {"d2/f2", "d0/f0"}
        assert [change.path for one in book.session.operations for change in one.changes] == ["d0/f0", "d2/f2"]


def test_a_kernel_that_finds_nothing_new_reads_everything_only_once(
    workspace: TestWorkspace, tmp_path: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Mount, "stamps_mappings", False)
    with attached(workspace, tmp_path) as book, book.turn():
        pass
    read.clear()
    with attached(workspace, tmp_path) as book:
        assert len(read) == 50
        read.clear()

        with book.turn():
            pass
        book.session.settle()

    assert read == []
