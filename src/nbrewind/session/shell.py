"""The port through which a session moves In, Out and the prompt number; implemented in the extension."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from nbrewind.model import OperationId

__all__ = ["ShellMove", "ShellPort"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellMove:
    """Where In, Out and the counter go with a move of the session.

    *operation* is the move, *undone* the move whose discarded In and Out come back (undo, redo). *next_number* is the
    number of the next prompt; this kernel's entries from *cut_from* on go (all of them where the target is a turn of an
    earlier kernel). *inputs* are the cells on the line now in force, by number, for what no guard holds.
    """

    operation: OperationId
    undone: OperationId | None
    next_number: int
    cut_from: int
    inputs: tuple[tuple[int, str], ...] = ()


class ShellPort(Protocol):
    """The IPython side of a session. All calls come from the kernel's main thread and never raise."""

    def next_number(self) -> int:
        """Return the number that the next prompt has."""

    def bound_names(self) -> frozenset[str]:
        """Return the names that are bound in the user's namespace now."""

    def may_move(self) -> str:
        """Return "" if files may be moved here and now, else one sentence that says why not."""

    def follow(self, move: ShellMove) -> None:
        """Bring In, Out, counters and the history session to *move*: at once, or after the reply of a running cell."""

    def expire(self) -> None:
        """Drop what is held for an undo: a new turn ran."""
