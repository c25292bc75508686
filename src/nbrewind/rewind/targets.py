"""Targets: from the words that a person says (`3`, `before 3`, `-2`, `"clean"`, `start`) to one operation. Pure."""

from __future__ import annotations

import difflib
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nbrewind.errors import RefusalReason, RewindRefused, TargetError
from nbrewind.model import Operation, OperationId, OperationKind
from nbrewind.rewind.timeline import MOVES, Timeline, has_effect

__all__ = ["NOTHING_CHANGED", "Target", "cells", "clock", "resolve", "sentence", "title", "when"]

NOTHING_CHANGED = "Nothing changed."
_NUMBER = re.compile(r"^(?:in|out)?\s*\[?\s*(\d{1,9})\s*\]?$", re.IGNORECASE)
_NUMBER_AT = re.compile(r"^(?:in|out)?\[?(\d{1,9})\]?@(\d{1,2}:\d{2}(?::\d{2})?)$", re.IGNORECASE)
_BACK = re.compile(r"^-(\d{1,9})$")
_ID = re.compile(r"^[0-9a-z-]{6,40}$")
_NOW = frozenset({"now", "head"})


@dataclass(frozen=True, slots=True)
class Target:
    """The *operation* that a text means. *sentence* says which cell stays and what is taken back."""

    operation: OperationId
    sentence: str
    title: str = ""


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


def resolve(text: str, timeline: Timeline, *, anywhere: bool = False) -> Target:
    """Return what *text* means on *timeline*; *anywhere*: a number may be that of a cell taken back (only to look).

    Accepted: `3`, `[3]`, `5@14:44`, `before 3`, `after 3`, `-2`, a name (quoted or not), `start`, an id or its
    beginning.

    Raises:
        TargetError: malformed, unknown or ambiguous, with a suggestion.
    """
    words = text.strip()
    if timeline.head is None:
        raise TargetError(f"There is no point yet. {NOTHING_CHANGED}", hint="Run a cell; it will appear here.")
    note = ""
    bare = _unquoted(words)
    lowered = words.lower()
    if bare is not None:
        operation = _named(bare, timeline)
    elif not words:
        raise TargetError(f"Say where to go. {NOTHING_CHANGED}", hint="For example %rewind to 3, or %rewind to start.")
    elif words in timeline:
        operation = timeline.operation(words)
    elif lowered.startswith("before ") or lowered.startswith("after "):
        side, _, rest = words.partition(" ")
        operation, note = _found(rest.strip(), timeline, anywhere)
        if side.lower() == "before":
            operation = _before(operation, timeline)
    else:
        operation, note = _found(words, timeline, anywhere)
    said = sentence(operation, timeline)
    return Target(operation.id, f"{note} {said}" if note else said, title(operation, timeline))


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


def _unquoted(words: str) -> str | None:
    for quote in ('"', "'"):
        if len(words) >= 2 and words[0] == words[-1] == quote:
            return words[1:-1]
    return None


def _found(words: str, timeline: Timeline, anywhere: bool) -> tuple[Operation, str]:
    bare = _unquoted(words)
    lowered = words.lower()
    if bare is not None:
        return _named(bare, timeline), ""
    if match := _NUMBER.match(words):
        # A name that looks like a number needs its quotes: the number in the brackets is the number.
        return _numbered(int(match[1]), timeline, anywhere)
    if match := _NUMBER_AT.match(words):
        return _numbered_at(int(match[1]), match[2], timeline), ""
    if match := _BACK.match(words):
        return _back(int(match[1]), timeline), ""
    if words in timeline.names:
        return timeline.names[words], ""
    if lowered == "start":
        return _start(timeline), ""
    if lowered in _NOW:
        return timeline.line[-1], ""
    if _ID.match(words) and (operation := _by_id(words, timeline)):
        return operation, ""
    return _named(words, timeline), ""


def _numbered(number: int, timeline: Timeline, anywhere: bool) -> tuple[Operation, str]:
    runs = [found for found in timeline.turns if found.turn is not None and found.turn.number == number]
    if runs:
        if len(runs) == 1:
            return runs[0], ""
        others = " and ".join(clock(when(found)) for found in runs[:-1])
        return runs[
            -1
        ], f"[{number}] ran {_times(len(runs))}: the one of {clock(when(runs[-1]))} is meant, not {others}."
    away = [found for found in timeline.taken_back if found.turn is not None and found.turn.number == number]
    if away and anywhere:
        return away[-1], ""
    if away:
        said = ", ".join(f"{number}@{clock(when(found))}" for found in away[-3:])
        raise TargetError(f"[{number}] was taken back. {NOTHING_CHANGED}", hint=f"Say {said} to bring that line back.")
    raise _no_cell(number, timeline)


def _no_cell(number: int, timeline: Timeline) -> TargetError:
    numbers = [found.turn.number for found in timeline.turns if found.turn and found.turn.number is not None]
    if not numbers:
        return TargetError(f"No cell [{number}]; none has run yet. {NOTHING_CHANGED}")
    if number > max(numbers):
        return TargetError(f"No cell [{number}]; the newest is [{numbers[-1]}]. {NOTHING_CHANGED}")
    near = sorted(set(numbers), key=lambda known: (abs(known - number), known))[:2]
    said = " and ".join(f"[{known}]" for known in sorted(near))
    return TargetError(f"No cell [{number}]; near it {'are' if len(near) > 1 else 'is'} {said}. {NOTHING_CHANGED}")


def _numbered_at(number: int, moment: str, timeline: Timeline) -> Operation:
    runs = [
        found
        for found in timeline.operations
        if found.kind is OperationKind.TURN and found.turn is not None and found.turn.number == number
    ]
    if not runs:
        raise _no_cell(number, timeline)
    wanted = moment if moment.index(":") == 2 else f"0{moment}"
    fitting = [found for found in runs if wanted in (clock(when(found)), clock(when(found), seconds=True))]
    if len(fitting) == 1:
        return fitting[0]
    said = ", ".join(
        f"{clock(when(found), seconds=True)}{'' if timeline.is_on_line(found.id) else ' (taken back)'}"
        for found in runs
    )
    if not fitting:
        raise TargetError(f"[{number}] did not run at {moment}, but at {said}. {NOTHING_CHANGED}")
    example = f"{number}@{clock(when(fitting[-1]), seconds=True)}"
    same = len({clock(when(found), seconds=True) for found in fitting}) < len(fitting)
    raise TargetError(
        f"[{number}] ran {_times(len(runs))}: {said}. {NOTHING_CHANGED}",
        hint=f"Say the id, {fitting[-1].id}." if same else f"Say {example}.",
    )


def _times(count: int) -> str:
    return "twice" if count == 2 else f"{count} times"


def _back(count: int, timeline: Timeline) -> Operation:
    if count == 0:
        return timeline.line[-1]
    acting = [found for found in timeline.turns if has_effect(found)]
    if count > len(acting):
        if not acting:
            raise TargetError(
                f"No cell on this line changed a file. {NOTHING_CHANGED}", hint="%rewind to N still goes to a cell."
            )
        raise TargetError(
            f"Only {len(acting)} {'cell' if len(acting) == 1 else 'cells'} on this line changed something. "
            f"{NOTHING_CHANGED}",
            hint="%rewind to start goes back to the start.",
        )
    return _before(acting[-count], timeline)


def _before(operation: Operation, timeline: Timeline) -> Operation:
    before = timeline.parent(operation)
    if before is not None and not timeline.has_gap_before(operation):
        return before
    if operation.parent is None:
        raise TargetError(f"There is nothing before {title(operation, timeline)}. {NOTHING_CHANGED}")
    raise RewindRefused(
        RefusalReason.DAMAGED,
        f"Not rewound, nothing changed: the record before {cells([operation])} is damaged.",
        hint="%rewind lists the points that can be read.",
    )


def _start(timeline: Timeline) -> Operation:
    """Return the point before the first cell; where the present line has none, before the first that left it."""
    root = timeline.line[0]
    turns = (*timeline.turns, *timeline.taken_back)
    first = next((turn for turn in turns if any(found.id == root.id for found in timeline.ancestors(turn.id))), None)
    if first is None or timeline.has_gap_before(first):
        return root
    return timeline.parent(first) or root


def _by_id(words: str, timeline: Timeline) -> Operation | None:
    fitting = [operation for operation in timeline.operations if operation.id.startswith(words)]
    if len(fitting) > 1:
        raise TargetError(f"{len(fitting)} points have an id that begins with {words}. {NOTHING_CHANGED}")
    return fitting[0] if fitting else None


def _named(name: str, timeline: Timeline) -> Operation:
    names = timeline.names
    if name in names:
        return names[name]
    folded = [known for known in names if known.casefold() == name.casefold()]
    if len(folded) == 1:
        return names[folded[0]]
    close = difflib.get_close_matches(name, [*names, "start", "before"], n=1, cutoff=0.6)
    hint = f'Did you mean "{close[0]}"?' if close else "%rewind lists cells and names; names stand in quotes."
    raise TargetError(f'No point is called "{name}". {NOTHING_CHANGED}', hint=hint)


def _next_turn(operation: Operation, timeline: Timeline) -> Operation | None:
    """Return the turn that directly follows *operation* on the present line or on a line that was left."""
    for turn in (*timeline.turns, *timeline.taken_back):
        before = timeline.parent(turn)
        if before is not None and before.id == operation.id:
            return turn
    return None
