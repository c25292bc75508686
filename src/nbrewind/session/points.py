"""What a list of points shows: one row per operation of the session log."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from nbrewind.model import Change, FileState, Note, Operation, OperationId, OperationKind, TurnStatus, Verdict

__all__ = ["Difference", "HistoryRow", "Line", "Point"]


class Line(StrEnum):
    """Where a point stands: on the present line, taken back by a rewind, or unreadable."""

    PRESENT = "present"
    TAKEN_BACK = "taken-back"
    DAMAGED = "damaged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One row of the list.

    *number* is the number in the brackets of a turn. *names* were given with `%rewind name`. *added*, *changed* and
    *removed* count the paths that this operation claims as its own. *taken_back_by* is the move that took it off the
    present line. *earlier_run* is set where a later turn on the same line has the same number. A damaged point has no
    *operation*, and *damage* says why.
    """

    id: OperationId
    kind: OperationKind
    at: float
    line: Line
    operation: Operation | None = None
    number: int | None = None
    code: str = ""
    names: tuple[str, ...] = ()
    status: TurnStatus = TurnStatus.OK
    verdict: Verdict = Verdict.PROTECTED
    reasons: tuple[Note, ...] = ()
    added: int = 0
    changed: int = 0
    removed: int = 0
    has_files: bool = True
    is_head: bool = False
    earlier_run: bool = False
    earlier_kernel: bool = False
    taken_back_by: OperationId | None = None
    damage: str = ""

    @property
    def changed_something(self) -> bool:
        """Return whether the operation changed at least one file of its own."""
        return bool(self.added or self.changed or self.removed)


@dataclass(frozen=True, slots=True)
class Difference:
    """A path that differs between a point (*then*) and the disk (*now*); None stands for absence."""

    path: str
    then: FileState | None
    now: FileState | None


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """An operation that changed a path, newest first in lists."""

    point: Point
    change: Change
