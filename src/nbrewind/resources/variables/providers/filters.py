"""The filters of warnings, restored in place."""

from __future__ import annotations

import re
import warnings
from typing import Any

from nbrewind.model import Note
from nbrewind.resources.variables.providers import Undo, decode, encode
from nbrewind.resources.variables.providers.live import LiveObjects, Lost

__all__ = ["WarningFilters"]


class WarningFilters:
    """`warnings.filters`. The list stays the same object, as `catch_warnings` expects."""

    name = "warnings"

    def __init__(self) -> None:
        self._live = LiveObjects()
        self._last: list[Any] = []
        self._state = encode([])

    def capture(self) -> bytes:
        """Return the filters in order."""
        present = list(warnings.filters)
        if len(present) != len(self._last) or any(a is not b for a, b in zip(present, self._last, strict=True)):
            # Entries are tuples of texts, patterns and classes; those made in a cell are named by tokens.
            self._state = encode([self._entry(one) for one in present])
            own = any(one[2].__module__ == "__main__" for one in present)
            self._last = [] if own else present
        return self._state

    def describe(self, before: bytes, after: bytes) -> tuple[Note, ...]:
        """Return whether they differ."""
        if before == after:
            return ()
        was, now = decode(before) or [], decode(after) or []
        return (Note("warnings filters", f"{len(was)} → {len(now)}" if len(was) != len(now) else "changed"),)

    def restore(self, state: bytes) -> Undo:
        """Put the filters back."""
        wanted, held = decode(state), list(warnings.filters)
        if wanted is None or state == self.capture():
            return Undo(lambda: None)
        entries, notes = [], []
        for action, message, category, module, line in wanted:
            try:
                entries.append((action, _pattern(message), self._live.value(category), _pattern(module), line))
            except Lost as lost:
                notes.append(Note("warnings filters", f"{lost.args[0]} is gone; its filter is left out"))
        _put(entries)
        return Undo(lambda: _put(held), notes)

    def _entry(self, entry: Any) -> list[Any]:
        action, message, category, module, line = entry
        return [action, _text(message), self._live.token(category), _text(module), line]


def _put(entries: list[Any]) -> None:
    filters: Any = warnings.filters
    filters[:] = entries
    # Else warnings that were judged under other filters keep their verdict. Newer Pythons renamed it.
    for name in ("_filters_mutated", "_filters_mutated_lock_held"):
        tell = getattr(warnings, name, None)
        if tell is not None:
            tell()
            return


def _text(pattern: Any) -> Any:
    if pattern is None or isinstance(pattern, str):
        return pattern
    return [pattern.pattern, pattern.flags]


def _pattern(text: Any) -> Any:
    return re.compile(text[0], text[1]) if isinstance(text, list) else text
