"""Titles: what points and cells are called, and the sentence that says which cell stays. Pure."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from nbrewind.model import Operation, OperationKind
from nbrewind.rewind.timeline import MOVES, Timeline

__all__ = ["cells", "clock", "sentence", "title", "when"]


def when(operation: Operation) -> float:
    """Return the moment that a row of the list shows: the end of a turn."""
    return (operation.turn.ended if operation.turn else 0.0) or operation.at


def clock(at: float, seconds: bool = False) -> str:
    """Return the local time of day."""
    return time.strftime("%H:%M:%S" if seconds else "%H:%M", time.localtime(at))


def cells(turns: Sequence[Operation], joined: str = "and") -> str:
    """Return turns as people say them: `[4] to [6]`, `[2] and [4]`, `[1], [3] to [5] and a cell without a number`."""
    runs: list[list[int]] = []
    unnumbered = 0
    for operation in turns:
        number = operation.turn.number if operation.turn else None
        if number is None:
            unnumbered += 1
        elif runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts: list[str] = []
    for run in runs:
        if len(run) > 2:
            parts.append(f"[{run[0]}] to [{run[-1]}]")
        else:
            parts.extend(f"[{number}]" for number in run)
    if unnumbered:
        parts.append("a cell without a number" if unnumbered == 1 else f"{unnumbered} cells without a number")
    if len(parts) > 6:
        parts = [*parts[:5], f"{len(parts) - 5} more"]
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + f" {joined} {parts[-1]}" if parts else "no cell"


def title(operation: Operation, timeline: Timeline) -> str:
    """Return what the state after *operation* is called: `just after [3]`, `just before [5]`, `"clean"`."""
    if operation.kind is OperationKind.NAME:
        turn = timeline.last_turn(operation.id)
        return f'"{operation.label}"' + (f" (just after {cells([turn])})" if turn else "")
    if operation.kind is OperationKind.TURN:
        return f"just after {cells([operation])}"
    before = timeline.parent(operation) if operation.kind in MOVES else None
    if before is not None:
        return title(before, timeline)
    following = _next_turn(operation, timeline)
    if following is not None:
        return f"just before {cells([following])}"
    turn = timeline.last_turn(operation.id)
    if operation.kind is OperationKind.ATTACH and turn is None:
        return "the start"
    return f"the point of {clock(when(operation))}" + (f", after {cells([turn])}" if turn else "")


def sentence(operation: Operation, timeline: Timeline) -> str:
    """Return the sentence that says which cell stays, which are taken back and which come back."""
    head = timeline.head
    if head is None:
        return ""
    common = timeline.common(head, operation.id)
    back = _turns(timeline.after(common, head))
    again = _turns(timeline.after(common, operation.id))
    clauses: list[str] = []
    stays = timeline.last_turn(operation.id)
    if again:
        clauses.append(f"{cells(again)} {'come' if len(again) > 1 else 'comes'} back")
    elif stays is not None:
        clauses.append(f"{cells([stays])} stays")
    if back:
        clauses.append(f"{cells(back)} {'are' if len(back) > 1 else 'is'} taken back")
    elif not again:
        clauses.append("no cell is taken back")
    said = "; ".join(clauses)
    return f"Back to {title(operation, timeline)}. {said[0].upper()}{said[1:]}."


def _turns(operations: Iterable[Operation]) -> list[Operation]:
    return [operation for operation in operations if operation.kind is OperationKind.TURN]


def _next_turn(operation: Operation, timeline: Timeline) -> Operation | None:
    """Return the turn that directly follows *operation* on the present line or on a line that was left."""
    for turn in (*timeline.turns, *timeline.taken_back):
        before = timeline.parent(turn)
        if before is not None and before.id == operation.id:
            return turn
    return None
