"""Where In, Out and the counter go with a move: from the lines of the timeline alone. Pure."""

from __future__ import annotations

from collections.abc import Callable

from nbrewind.model import Operation, OperationId, OperationKind
from nbrewind.rewind.timeline import Timeline
from nbrewind.session.shell import ShellMove

__all__ = ["shell_move"]


def shell_move(before: Timeline, move: Operation, code_of: Callable[[Operation], str], first_number: int) -> ShellMove:
    """Return where *move* brings the shell.

    *before* is the timeline without it, *first_number* the number that this kernel's first cell had after the attach,
    for a target without any numbered cell.
    """
    head, target = before.head, move.parent
    if head is None or target is None:
        return ShellMove(operation=move.id, undone=move.undone, next_number=first_number, cut_from=first_number)
    common = before.common(head, target)
    back, again = before.after(common, head), before.after(common, target)
    crossed = any(operation.kind is OperationKind.ATTACH for operation in (*back, *again))
    segment = _segment(before, target)
    numbers = [number for operation in segment if (number := _number(operation)) is not None]
    own = not crossed or _is_newest_attach(before, segment)
    next_number = numbers[-1] + 1 if numbers else (first_number if own else 1)
    moved = [number for operation in (*back, *again) if (number := _number(operation)) is not None]
    return ShellMove(
        operation=move.id,
        undone=move.undone,
        next_number=next_number,
        cut_from=1 if crossed else min([next_number, *moved]),
        inputs=tuple(
            (number, code_of(operation)) for operation in segment if (number := _number(operation)) is not None
        ),
    )


def _segment(timeline: Timeline, target: OperationId) -> tuple[Operation, ...]:
    """Return the operations of one kernel's numbering that end at *target*: those since the last attach."""
    line = timeline.line_of(target)
    attached = [place for place, operation in enumerate(line) if operation.kind is OperationKind.ATTACH]
    return line[attached[-1] :] if attached else line


def _is_newest_attach(timeline: Timeline, segment: tuple[Operation, ...]) -> bool:
    attaches = [operation.id for operation in timeline.operations if operation.kind is OperationKind.ATTACH]
    return bool(segment and attaches and segment[0].id == attaches[-1])


def _number(operation: Operation) -> int | None:
    return operation.turn.number if operation.turn is not None else None
