"""What an operation log holds, read without changing anything."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from nbrewind.errors import DamagedObject, StoreError
from nbrewind.model import Operation, SessionId
from nbrewind.store.codec import from_json, load_operation
from nbrewind.store.frames import Damage, Frame, Torn, read_frames

__all__ = ["HEADER", "OPERATION", "LogHeader", "LogReading", "parse_log", "read_log"]

HEADER, OPERATION = 1, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class LogHeader:
    """The first frame. *salt* is that of every frame, *created* in seconds since the epoch, for display only."""

    format: int
    session: SessionId
    salt: str
    created: float


@dataclass(frozen=True, slots=True)
class LogReading:
    """What a log holds. *damaged* lists what it cannot tell; *torn_at* is where an unfinished tail begins.

    *size* is the length up to the tail; *next_seq* has never been used.
    """

    header: LogHeader | None = None
    operations: tuple[Operation, ...] = ()
    damaged: tuple[Damage, ...] = ()
    torn_at: int | None = None
    size: int = 0
    salt: bytes = b""
    next_seq: int = 0


def read_log(path: str) -> LogReading:
    """Return what the log at *path* holds. Never writes, and takes no lock: a log only grows.

    A frame that is being appended right now shows as a torn tail.

    Raises:
        StoreError: The file cannot be read. Damage is no error.
    """
    try:
        return parse_log(_bytes_of(path))
    except OSError as error:
        raise StoreError(f"The session log {path} cannot be read: {error.strerror or error}.") from error


def _bytes_of(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    with open(fd, "rb") as file:
        return file.read()


@dataclass
class _Gathering:
    """A reading while it is built."""

    header: LogHeader | None = None
    operations: list[Operation] = field(default_factory=list)
    damaged: list[Damage] = field(default_factory=list)
    salt: bytes = b""
    next_seq: int = 0

    def add(self, frame: Frame) -> None:
        self.salt = self.salt or frame.salt
        try:
            if frame.kind == HEADER:
                self.header = from_json(LogHeader, frame.content)
            elif frame.kind == OPERATION:
                self.operations.append(_operation(frame))
                self.next_seq = max(self.next_seq, frame.ordinal + 1)
            # Other kinds are a later version's additions; an older reader leaves them be.
        except DamagedObject as error:
            reason = error.message
            ids = frame.id, frame.parent, frame.grandparent
            self.lose(Damage(frame.offset, frame.length, reason, *ids, frame.kind, frame.ordinal, frame.salt))

    def lose(self, damage: Damage) -> None:
        self.damaged.append(damage)
        self.salt = self.salt or damage.salt
        if damage.kind in (OPERATION, -1):
            # An unreadable operation keeps its number: the ordinal in its head, or at least one.
            self.next_seq = max(self.next_seq + 1, damage.ordinal + 1)


def parse_log(data: bytes) -> LogReading:
    """Return what *data*, a whole log, holds. Damage is no error."""
    gathered, torn_at = _Gathering(), None
    for item in read_frames(data):
        if isinstance(item, Frame):
            gathered.add(item)
        elif isinstance(item, Damage):
            gathered.lose(item)
        elif isinstance(item, Torn):
            torn_at = item.offset
    return LogReading(
        gathered.header,
        tuple(gathered.operations),
        tuple(gathered.damaged),
        torn_at,
        len(data) if torn_at is None else torn_at,
        gathered.salt,
        gathered.next_seq,
    )


def _operation(frame: Frame) -> Operation:
    operation = load_operation(frame.content)
    if (operation.id, operation.seq) != (frame.id, frame.ordinal):
        raise DamagedObject(f"The operation {operation.id} stands in the frame of {frame.id}.")
    return operation
