"""What `%rewind status` says: the session's health as one value."""

from __future__ import annotations

from dataclasses import dataclass

from nbrewind.model import Note, OperationId, SessionId, Settings

__all__ = ["Status"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The health of a session.

    *state* is one of `saved`, `saving`, `partly saved`, `first copy`, `paused`, `off`, `not protected`, `frozen`.
    *not_protected* names since when and why ("[12]", "disk full"); None while all is well. *not_covered* are paths of
    the workspace that no rewind brings back, *missing* the optional parts that are not installed, with what is lost.
    *variables*: they are kept here. *disk* counts bytes in the store by kind.
    """

    workspace: str
    store: str
    session: SessionId
    settings: Settings
    state: str
    holder: str = ""
    head: OperationId | None = None
    turns: int = 0
    points: int = 0
    files: int = 0
    bytes: int = 0
    variables: bool = False
    first_copy: float = 1.0
    focus: str = ""
    read_only: bool = False
    not_protected: Note | None = None
    frozen: Note | None = None
    parked: tuple[str, ...] = ()
    not_covered: tuple[Note, ...] = ()
    missing: tuple[Note, ...] = ()
    damaged: tuple[Note, ...] = ()
    hints: tuple[Note, ...] = ()
    recovered: tuple[Note, ...] = ()
    other_sessions: tuple[Note, ...] = ()
    disk: tuple[tuple[str, int], ...] = ()
    free_disk: int = 0
