"""The pulse: what a front end shows all the time, read without waiting for anything."""

from __future__ import annotations

from dataclasses import dataclass

from nbrewind.model import Note

__all__ = ["Pulse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulse:
    """How a session is at this moment.

    *state* is that of `Status`. *running* is the turn that is open, or the cell that makes none ("" where no cell
    runs), *number* its number and *since* its start. *copied* and *files* count the first copy.
    """

    state: str
    running: str = ""
    number: int | None = None
    since: float = 0.0
    frozen: Note | None = None
    not_protected: Note | None = None
    read_only: bool = False
    copying: bool = False
    files: int = 0
    copied: int = 0
    bytes: int = 0
