"""Targets: from the words that a person says (`3`, `before 3`, `-2`, `"clean"`, `start`) to one operation. Pure."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import NamedTuple

from nbrewind.errors import RefusalReason, RewindRefused, TargetError, clipped
from nbrewind.model import Operation, OperationId, OperationKind
from nbrewind.rewind.timeline import Timeline, has_effect
from nbrewind.rewind.titles import cells, clock, sentence, title, when

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


class _Found(NamedTuple):
    """An operation, what has to be said of it, and whether it is the very cell that was named."""

    operation: Operation
    note: str = ""
    itself: bool = True


def resolve(text: str, timeline: Timeline, *, anywhere: bool = False, exact: bool = False, newest: int = 0) -> Target:
    """Return what *text* means on *timeline*.

    *anywhere*: a number may be that of a cell taken back (only to look). A cell that made no point (nothing but magics
    of ours, say) stands for the point before it, unless *exact*; *newest* is the highest number that was given.

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
    numbers = _Numbers(timeline, anywhere, exact, newest)
    if bare is not None:
        operation = _named(bare, timeline)
    elif not words:
        raise TargetError(f"Say where to go. {NOTHING_CHANGED}", hint="For example %rewind to 3, or %rewind to start.")
    elif words in timeline:
        operation = timeline.operation(words)
    elif lowered.startswith("before ") or lowered.startswith("after "):
        side, _, rest = words.partition(" ")
        operation, note, itself = _found(rest.strip(), timeline, numbers)
        if side.lower() == "before" and itself:
            operation = _before(operation, timeline)
    else:
        operation, note, _ = _found(words, timeline, numbers)
    said = sentence(operation, timeline)
    return Target(operation.id, f"{note} {said}" if note else said, title(operation, timeline))


def _unquoted(words: str) -> str | None:
    for quote in ('"', "'"):
        if len(words) >= 2 and words[0] == words[-1] == quote:
            return words[1:-1]
    return None


def _found(words: str, timeline: Timeline, numbers: _Numbers) -> _Found:
    bare = _unquoted(words)
    lowered = words.lower()
    if bare is not None:
        return _Found(_named(bare, timeline))
    if match := _NUMBER.match(words):
        # A name that looks like a number needs its quotes: the number in the brackets is the number.
        return numbers.found(int(match[1]))
    if match := _NUMBER_AT.match(words):
        return _Found(_numbered_at(int(match[1]), match[2], timeline))
    if match := _BACK.match(words):
        return _Found(_back(int(match[1]), timeline))
    if words in timeline.names:
        return _Found(timeline.names[words])
    if lowered == "start":
        return _Found(_start(timeline))
    if lowered in _NOW:
        return _Found(timeline.line[-1])
    if _ID.match(words) and (operation := _by_id(words, timeline)):
        return _Found(operation)
    return _Found(_named(words, timeline))


@dataclass(frozen=True, slots=True)
class _Numbers:
    """What a bracket number means; the arguments are those of `resolve`."""

    timeline: Timeline
    anywhere: bool
    exact: bool
    newest: int

    def found(self, number: int) -> _Found:
        timeline = self.timeline
        runs = [found for found in timeline.turns if found.turn is not None and found.turn.number == number]
        if len(runs) == 1:
            return _Found(runs[0])
        if runs:
            others = " and ".join(clock(when(found)) for found in runs[:-1])
            ran = f"[{number}] ran {_times(len(runs))}: the one of {clock(when(runs[-1]))} is meant, not {others}."
            return _Found(runs[-1], ran)
        away = [found for found in timeline.taken_back if found.turn is not None and found.turn.number == number]
        if away and self.anywhere:
            return _Found(away[-1])
        if away:
            said = ", ".join(f"{number}@{clock(when(found))}" for found in away[-3:])
            raise TargetError(
                f"[{number}] was taken back. {NOTHING_CHANGED}", hint=f"Say {said} to bring that line back."
            )
        before = None if self.exact or not number else self._before(number)
        if before is None:
            raise _no_cell(number, timeline)
        return _Found(before, f"[{number}] made no point of its own; the one before it is meant.", itself=False)

    def _before(self, number: int) -> Operation | None:
        """Return the last point before a cell that was no turn; None if no cell had that number."""
        numbered = [(found.turn.number, found) for found in self.timeline.turns if found.turn and found.turn.number]
        later: tuple[int, Operation] | None = None
        for known, found in reversed(numbered):
            if later is None:
                if known < number <= self.newest:
                    return found
            elif known >= later[0]:
                # A kernel began anew in between: its first cells may be meant.
                if number < later[0]:
                    return _before(later[1], self.timeline)
            elif known < number < later[0]:
                return found
            later = (known, found)
        if later is not None:
            return _before(later[1], self.timeline) if number < later[0] else None
        return self.timeline.line[-1] if number <= self.newest else None


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
                f"No cell on this line changed anything. {NOTHING_CHANGED}", hint="%rewind to N still goes to a cell."
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
    close = difflib.get_close_matches(clipped(name), [*names, "start", "before"], n=1, cutoff=0.6)
    hint = f'Did you mean "{close[0]}"?' if close else "%rewind lists cells and names; names stand in quotes."
    raise TargetError(f'No point is called "{clipped(name)}". {NOTHING_CHANGED}', hint=hint)
