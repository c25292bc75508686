"""The objects that a rewind took away, held until its undo expires."""

from __future__ import annotations

__all__ = ["Guard"]


class Guard:
    """The only strong references to objects of the user's that outlast a call of nbrewind.

    An undo may need what can only be put back as the same object. Whoever runs the session releases it when the undo
    expires: at the next turn, after the time that is set for it, and at the end.
    """

    def __init__(self) -> None:
        self._held: list[object] = []

    def hold(self, *values: object) -> None:
        """Keep *values* alive."""
        self._held += values

    def release(self) -> None:
        """Let everything go. Finalisers of the user's may run here."""
        held, self._held = self._held, []
        held.clear()
