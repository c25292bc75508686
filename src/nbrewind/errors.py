"""Every error that nbrewind raises, each with a stable code for exit statuses and messages.

Three outcomes of a moving verb exist, and every front end branches on exactly these:
`RewindRefused` (nothing changed), `RewindRolledBack` (put back) and `InconsistentState` (kept for recovery).
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import ClassVar, Final

__all__ = [
    "DamagedObject",
    "GitUnavailable",
    "InconsistentState",
    "MissingObject",
    "RefusalReason",
    "RewindError",
    "RewindRefused",
    "RewindRolledBack",
    "SessionLocked",
    "SettingError",
    "StoreError",
    "StoreReadOnly",
    "StoreTooNew",
    "TargetError",
    "UsageError",
    "clipped",
]

_TYPED: Final = 60
_LONGEST_WORD: Final = 240
_LONGEST_LINE: Final = 400


class RefusalReason(StrEnum):
    """The closed list of reasons for which a rewind is refused (DESIGN §6)."""

    BUSY = "busy"
    STALE_PLAN = "stale-plan"
    EXPIRED = "expired"
    UNKNOWN_CHECKPOINT = "unknown-checkpoint"
    NO_FILE_SNAPSHOT = "no-file-snapshot"
    DAMAGED = "damaged"
    CONFLICT = "conflict"
    NEW_TURNS = "new-turns"
    LOCKED = "locked"
    DISK_FULL = "disk-full"
    READ_ONLY = "read-only"
    OUTSIDE_WORKSPACE = "outside-workspace"
    UNTRUSTED_STORE = "untrusted-store"
    NEEDS_FORCE = "needs-force"


def clipped(text: str, width: int = _TYPED) -> str:
    """Return *text* as messages quote what a person typed: one line of at most *width* characters, both ends kept."""
    line = text if text.isprintable() else " ".join(text.split())
    if len(line) <= width:
        return line
    tail = width // 3
    return f"{line[: width - tail - 1]}…{line[len(line) - tail :]}"


def _line(text: str) -> str:
    """Return *text* as it is, but for words and lines that nobody could read: there the middle is left out."""
    if len(text) <= _LONGEST_WORD:
        return text
    return clipped(re.sub(rf"\S{{{_LONGEST_WORD + 1},}}", lambda found: clipped(found[0]), text), _LONGEST_LINE)


class RewindError(Exception):
    """Base of the tree. *message* is one sentence that names the thing; *hint* says what to do.

    Neither is ever longer than a few lines, whatever was typed or is on the disk.
    """

    code: ClassVar[str] = "error"
    exit_status: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.message = _line(message)
        self.hint = _line(hint)
        super().__init__(self.message)


class UsageError(RewindError):
    """A call whose words cannot be taken."""

    code = "usage"
    exit_status = 2


class TargetError(UsageError):
    """A target (number, name, id, path) that is malformed or ambiguous."""

    code = "target"


class SettingError(UsageError):
    """A setting with a wrong value; the message names the setting."""

    code = "setting"


class RewindRefused(RewindError):
    """Nothing was changed, for a *reason* of the closed list."""

    code = "refused"
    exit_status = 3

    def __init__(self, reason: RefusalReason, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.reason = reason


class RewindRolledBack(RewindError):
    """Something failed before the commit point, and everything was put back as before."""

    code = "rolled-back"
    exit_status = 4


class InconsistentState(RewindError):
    """Putting back failed too: the intent is kept, the next attach recovers."""

    code = "inconsistent"
    exit_status = 5


class StoreError(RewindError):
    """The store cannot be read or written."""

    code = "store"
    exit_status = 6


class MissingObject(StoreError):
    """An object that the shadow repository does not hold."""

    code = "missing-object"


class DamagedObject(StoreError):
    """An object, frame or intent whose bytes do not match its checksum."""

    code = "damaged-object"


class StoreTooNew(StoreError):
    """The store was written by a later version; it is neither read nor repaired."""

    code = "store-too-new"


class StoreReadOnly(StoreError):
    """The store cannot be written."""

    code = "store-read-only"


class SessionLocked(RewindError):
    """Another kernel holds the session; the message names it."""

    code = "locked"
    exit_status = 7


class GitUnavailable(RewindError):
    """git is not installed or too old; only maintenance needs it."""

    code = "git"
    exit_status = 8
