"""The moves of files that a rewind makes: values that an intent holds and that recovery reads back."""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass
from enum import StrEnum

from nbrewind.model import EntryKind, FileState

__all__ = ["UNFINISHED", "Entry", "Move", "MoveKind", "Moves", "Phase", "unfinished"]

UNFINISHED = ".nbrewind-unfinished-"
_OWNER_MAY_CHANGE = 0o300


class MoveKind(StrEnum):
    """How a path gets from what stands to what is wanted."""

    RENAME = "rename"
    """A directory outside the workspace goes back to the name it had."""
    EXCHANGE = "exchange"
    """Something stands there before and after; the two change places in one call."""
    CREATE = "create"
    REMOVE = "remove"
    IN_PLACE = "in-place"
    """The same file, rewritten: somebody in this kernel, or another name, holds on to it."""
    META = "meta"
    """Only the mode."""
    REMOVE_DIRECTORY = "remove-directory"
    """A directory that is not in the target goes once it is empty."""


class Phase(StrEnum):
    """When a move takes effect: before the others are staged, with the commit point, or after it."""

    EARLY = "early"
    MAIN = "main"
    LATE = "late"


@dataclass(frozen=True, slots=True)
class Entry:
    """What stands at *name*, a path relative to a directory that moves as a whole; *link_to* as for `Move`."""

    name: str
    state: FileState
    link_to: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One path from *before* to *after*; None stands for absence.

    *temp* is a name in the path's own directory: the staged content until the move, what stood there after it.
    *held* is what a directory that goes holds, *built* what a directory that comes holds, parents first.
    *origin* (RENAME) is where the directory stands now; *link_to* the path whose staged file gets this name too.
    *inode* is the one that stood at the path. *names* (IN_PLACE) are the other hard links of the file.
    *disposable* content is nobody's: it is moved away, and not kept (an SQLite `-shm`).
    """

    kind: MoveKind
    path: str
    before: FileState | None = None
    after: FileState | None = None
    temp: str = ""
    held: tuple[Entry, ...] = ()
    built: tuple[Entry, ...] = ()
    origin: str = ""
    link_to: str = ""
    inode: int = 0
    names: tuple[str, ...] = ()
    disposable: bool = False

    @property
    def aside(self) -> str:
        """Return the path of *temp*."""
        return os.path.join(os.path.dirname(self.path), self.temp)

    @property
    def unfinished(self) -> str:
        """Return the path at which a secret is made ready until it is whole; empty for anything else."""
        return unfinished(self.aside) if self.stages and self.after is not None and self.after.is_secret else ""

    @property
    def stages(self) -> bool:
        """Return whether content is made ready at *temp* before the move."""
        return self.kind in (MoveKind.EXCHANGE, MoveKind.CREATE)

    @property
    def phase(self) -> Phase:
        """Return when the move takes effect.

        A directory that becomes writable does so before anything is staged in it, one that becomes unwritable after
        the last name in it was cleaned up.
        """
        if self.kind is MoveKind.RENAME:
            return Phase.EARLY
        if self.kind is MoveKind.REMOVE_DIRECTORY:
            return Phase.LATE
        if self.kind is MoveKind.META and self.after is not None and self.after.kind is EntryKind.DIRECTORY:
            if self.before is not None and not _may_change(self.before.mode) and _may_change(self.after.mode):
                return Phase.EARLY
            if not _may_change(self.after.mode):
                return Phase.LATE
        return Phase.MAIN


@dataclass(frozen=True, slots=True)
class Moves:
    """All moves of a rewind, as its intent holds them."""

    moves: tuple[Move, ...]


def unfinished(path: str) -> str:
    """Return where the secret that will stand at *path* is made ready.

    Recovery cannot tell a beginning of it from somebody else's bytes, so only a whole one ever gets the other name.
    """
    folder, _, name = path.rpartition("/")
    return os.path.join(folder, f"{UNFINISHED}{zlib.crc32(os.fsencode(name)):08x}")


def _may_change(mode: int) -> bool:
    return mode & _OWNER_MAY_CHANGE == _OWNER_MAY_CHANGE
