"""Process state beside the namespace: what a cell can change without binding a name.

Each provider keeps one part of it. Its state is a few bytes, equal exactly when nothing changed. Other packages add
their own through the entry-point group `nbrewind.providers`: each entry is called without arguments and returns a
`Provider`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from nbrewind.model import Note

__all__ = ["ENTRY_POINTS", "Provider", "Undo", "decode", "differences", "encode", "note_differences"]

ENTRY_POINTS = "nbrewind.providers"


class Undo:
    """Puts back the state before a restore; called at most once. *notes* say what could not be restored.

    It holds the objects that the restore took away, so that they live as long as it does.
    """

    def __init__(self, action: Callable[[], object], notes: Iterable[Note] = (), holds: object = None) -> None:
        self._action = action
        self._holds = holds
        self.notes = tuple(notes)

    def __call__(self) -> None:
        """Put back."""
        self._action()


class Provider(Protocol):
    """One part of the process state. Called on the kernel's main thread, in the context that cells run in.

    *name* is the key of its state in checkpoints, and stable for ever. An empty state means that there is nothing of
    it yet (its library is not loaded). It must not import anything, nor hold an object of the user between calls.
    """

    @property
    def name(self) -> str:
        """The key of its state; a plain class attribute serves."""

    def capture(self) -> bytes:
        """Return the present state. Called after each turn: at most 0.1 ms where nothing changed."""

    def describe(self, before: bytes, after: bytes) -> tuple[Note, ...]:
        """Return what differs between two states, one note per thing, for people."""

    def restore(self, state: bytes) -> Undo:
        """Make *state* stand, and return what puts back the one before. What cannot be had is left and noted."""


def encode(value: object) -> bytes:
    """Return *value* as JSON, equal values as equal bytes."""
    if value == {}:
        return b"{}"
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


def decode(state: bytes) -> Any:
    """Return the value of `encode`; None for an empty state."""
    return json.loads(state) if state else None


def differences(before: dict[str, Any], after: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield key, value before and value after for each difference; None where there is no such key."""
    for key in sorted(before.keys() | after.keys()):
        was, now = before.get(key), after.get(key)
        if was != now:
            yield key, was, now


def note_differences(before: dict[str, Any], after: dict[str, Any], subject: str = "{}") -> tuple[Note, ...]:
    """Return one note per difference; *subject* is a format for the key."""
    return tuple(Note(subject.format(key), _change(was, now)) for key, was, now in differences(before, after))


def _change(was: Any, now: Any) -> str:
    if was is None:
        return "set"
    return "removed" if now is None else "changed"
