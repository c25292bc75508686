"""What goes along with the variables of a session: process state, and the key that proves whose they are."""

from __future__ import annotations

from collections.abc import Mapping

from nbrewind.model import Note
from nbrewind.resources.variables.providers import Undo
from nbrewind.resources.variables.providers.state import ProcessState, added_providers
from nbrewind.resources.variables.trust import UserKey

__all__ = ["States", "TrustingKey"]

_STAYS = "stays imported"
_SHOWN = 4


class TrustingKey:
    """The user's key, or the user's word: after `%rewind trust` every store is believed in this kernel."""

    def __init__(self, path: str) -> None:
        self._key = UserKey(path)
        self.trusted = False

    def seal(self, record: bytes) -> bytes:
        """Return the seal for *record*."""
        return self._key.seal(record)

    def holds(self, record: bytes, seal: bytes) -> bool:
        """Return whether *seal* is this user's for *record*, or the store is trusted."""
        return self.trusted or self._key.holds(record, seal)


class States:
    """`StatePort` over all providers."""

    def __init__(self) -> None:
        self.process = ProcessState()
        self.process.add(added_providers())
        self.held: Mapping[str, bytes] | None = None

    def capture(self) -> Mapping[str, bytes]:
        """Return the present states; while *held* is set, those: in a rewind signal handlers are not the user's."""
        return self.process.capture() if self.held is None else self.held

    def restore(self, states: Mapping[str, bytes]) -> Undo:
        """Make *states* stand; return what puts back the ones before."""
        undo = self.process.restore(states)
        undo.notes = _without_modules(undo.notes)
        return undo


def _without_modules(notes: tuple[Note, ...]) -> tuple[Note, ...]:
    """Say in one note which modules stay imported."""
    stay = [note.subject for note in notes if note.reason == _STAYS]
    if not stay:
        return notes
    said = ", ".join(stay[:_SHOWN]) + (f" and {len(stay) - _SHOWN} more" if len(stay) > _SHOWN else "")
    verb = "stays" if len(stay) == 1 else "stay"
    others = (note for note in notes if note.reason != _STAYS)
    return (*others, Note("imported modules", f"{said} {verb} loaded; importlib.reload reads a changed file anew"))
