"""The smallest resource there is: one file with a number in it. It is both fixture and documentation."""

from __future__ import annotations

import json
import os

from nbrewind import fs
from nbrewind.errors import RefusalReason, RewindRefused
from nbrewind.model import Change, EntryKind, FileState, Note, RewindPlan
from nbrewind.resources import RewindContext

__all__ = ["ToyResource", "recover_toy"]


class ToyResource:
    """A file *path* that holds a number; a rewind sets it to *wanted*.

    Layout: `<path>.new` while a rewind is in flight.
    Crash rule: the number is replaced in one rename, so it is the old or the new one, and the intent names both.
    """

    name = "toy"

    def __init__(self, path: str, wanted: int) -> None:
        self.path = path
        self.wanted = wanted
        self.before = 0
        self.closed = False

    def prepare(self, plan: RewindPlan, context: RewindContext) -> None:
        """Read the number that stands. A negative one is refused."""
        self.before = _number(self.path)
        if self.before < 0:
            raise RewindRefused(RefusalReason.CONFLICT, f"{self.path} is negative.")

    def intent(self) -> str:
        """Name both numbers."""
        return json.dumps({"path": self.path, "before": self.before, "after": self.wanted})

    def changes(self) -> tuple[Change, ...]:
        """Say that the file changes."""
        state = FileState(EntryKind.FILE)
        return (Change(self.path, state, state),)

    def stage(self) -> None:
        """Write the new number beside, and look again."""
        fs.write_new(self.path + ".new", b"%d" % self.wanted, sync=True)
        if _number(self.path) != self.before:
            raise RewindRefused(RefusalReason.STALE_PLAN, f"{self.path} changed meanwhile.")

    def apply(self) -> None:
        """Put the new number in place."""
        fs.rename(self.path + ".new", self.path)
        fs.sync_directory(os.path.dirname(self.path))

    def rollback(self) -> tuple[Note, ...]:
        """Put the old number back."""
        return _settle(self.path, self.before, self.wanted)

    def finish(self) -> tuple[Note, ...]:
        """Nothing is left to do."""
        return ()

    def close(self) -> None:
        """Remember that it was called."""
        self.closed = True


def recover_toy(intent: str, committed: bool, context: RewindContext) -> tuple[Note, ...]:
    """Finish or put back what died."""
    told = json.loads(intent)
    return () if committed else _settle(told["path"], told["before"], told["after"])


def _settle(path: str, before: int, after: int) -> tuple[Note, ...]:
    if _number(path) == after and after != before:
        fs.replace(path, b"%d" % before)
    if os.path.lexists(path + ".new"):
        fs.unlink(path + ".new")
    return ()


def _number(path: str) -> int:
    with open(path, "rb") as file:
        return int(file.read())
