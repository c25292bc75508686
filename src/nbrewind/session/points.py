"""What a list of points shows: one row per operation of the session log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from nbrewind.errors import StoreError
from nbrewind.model import Change, Claim, FileState, Note, Operation, OperationId, OperationKind, TurnStatus, Verdict
from nbrewind.rewind.timeline import MOVES, Timeline

__all__ = ["Difference", "HistoryRow", "Line", "Point", "make_points"]


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
        """Return whether the operation changed at least one file or variable of its own."""
        variables = self.operation.variables if self.operation is not None else ()
        return bool(self.added or self.changed or self.removed or variables)


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


def make_points(
    timeline: Timeline,
    damaged: Iterable[Note],
    changes_of: Callable[[Operation], tuple[Change, ...]],
    found: Mapping[OperationId, str] | None = None,
) -> tuple[Point, ...]:
    """Return one row per operation of *timeline*, oldest first, then one per damaged frame.

    *found* is what a verification found: points of which something cannot come back.
    """
    away = _taken_back_by(timeline)
    last_run = {turn.turn.number: turn.id for turn in timeline.turns if turn.turn}
    attached = max(
        (place for place, found in enumerate(timeline.line) if found.kind is OperationKind.ATTACH), default=0
    )
    of_this_kernel = {found.id for found in timeline.line[attached:]}
    names = _names(timeline)
    points = [
        _point(operation, timeline, changes_of, away, names, last_run, of_this_kernel)
        for operation in timeline.operations
    ]
    points = [replace(point, damage=point.damage or (found or {}).get(point.id, "")) for point in points]
    points += [
        Point(
            id=OperationId(note.subject), kind=OperationKind.TURN, at=0.0, line=Line.DAMAGED, has_files=False,
            damage=note.reason,
        )
        for note in damaged
    ]  # fmt: skip
    return tuple(points)


def _point(
    operation: Operation,
    timeline: Timeline,
    changes_of: Callable[[Operation], tuple[Change, ...]],
    away: Mapping[OperationId, OperationId],
    names: Mapping[OperationId, tuple[str, ...]],
    last_run: Mapping[int | None, OperationId],
    of_this_kernel: set[OperationId],
) -> Point:
    turn, present = operation.turn, timeline.is_on_line(operation.id)
    try:
        changes, damage = changes_of(operation), ""
    except StoreError as error:
        changes, damage = (), error.message
    ours = [change for change in changes if change.claim is Claim.OURS]
    number = turn.number if turn else None
    return Point(
        id=operation.id,
        kind=operation.kind,
        at=turn.ended or operation.at if turn else operation.at,
        line=Line.PRESENT if present else Line.TAKEN_BACK,
        operation=operation,
        number=number,
        code=turn.code if turn else "",
        names=names.get(operation.id, ()),
        status=turn.status if turn else TurnStatus.OK,
        verdict=turn.verdict if turn else Verdict.PROTECTED,
        reasons=turn.reasons if turn else (),
        added=sum(change.before is None for change in ours),
        changed=sum(change.before is not None and change.after is not None for change in ours),
        removed=sum(change.after is None for change in ours),
        has_files=operation.checkpoint.files is not None,
        is_head=operation.id == timeline.head,
        earlier_run=present and number is not None and last_run.get(number) != operation.id,
        earlier_kernel=present and operation.id not in of_this_kernel,
        taken_back_by=None if present else away.get(operation.id),
        damage=damage,
    )


def _taken_back_by(timeline: Timeline) -> dict[OperationId, OperationId]:
    found: dict[OperationId, OperationId] = {}
    for move in timeline.operations:
        if move.kind not in MOVES or move.previous is None or move.previous not in timeline:
            continue
        kept = {operation.id for operation in timeline.ancestors(move.id)}
        for operation in timeline.ancestors(move.previous):
            if operation.id in kept:
                break
            found[operation.id] = move.id
    return found


def _names(timeline: Timeline) -> dict[OperationId, tuple[str, ...]]:
    """Return the names of each point: those of the naming operation itself and of the turn that it stands behind."""
    found: dict[OperationId, tuple[str, ...]] = {}
    for operation in timeline.operations:
        if operation.kind is OperationKind.NAME and operation.label:
            turn = timeline.last_turn(operation.id)
            for named in {operation.id, turn.id if turn else operation.id}:
                found[named] = (*found.get(named, ()), operation.label)
    return found
