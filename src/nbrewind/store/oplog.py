"""The operation log: the append-only truth about a session."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import time

from nbrewind import fs
from nbrewind.errors import InconsistentState, StoreError
from nbrewind.model import Operation, SessionId
from nbrewind.store.codec import dump_operation, to_json
from nbrewind.store.frames import SALT_SIZE, encode_frame
from nbrewind.store.layout import SessionPaths, is_id
from nbrewind.store.reading import HEADER, OPERATION, LogHeader, LogReading, parse_log, read_log

__all__ = ["HEADER", "OPERATION", "LogHeader", "LogReading", "OperationLog", "read_log"]

_LOG_FORMAT = 1


class OperationLog:
    """The log of a session whose lock this process holds.

    Layout: a header frame, then one frame for each operation (see `frames`); frames are only ever added.
    Invariant: an operation is in the log exactly when its frame is whole. Appending it is the commit point.
    Crash rule: a death inside `append` leaves a torn tail, which no reader takes for an operation; the next `open`
    copies it aside to `log.torn-<n>` and cuts it (on a full disk it stays). Damage that a frame follows is never cut.
    A failed write is cut back. A failed flush is not: the frame may or may not be on the disk, so the log refuses all
    further use and the next `open` finds out. `torn_at` is where `open` found a torn tail, None if there was none.
    """

    def __init__(self, paths: SessionPaths, file: fs.AppendFile, reading: LogReading) -> None:
        self.paths = paths
        self.damaged = reading.damaged
        self.header = reading.header
        self.torn_at = reading.torn_at
        self._file = file
        self._salt = reading.salt
        self._operations = list(reading.operations)
        self._snapshot: tuple[Operation, ...] | None = reading.operations
        self._next_seq = reading.next_seq

    @classmethod
    def open(cls, paths: SessionPaths, session: SessionId) -> OperationLog:
        """Open the log of *session* for appending; create it where there is none. The caller holds the session's lock.

        Raises:
            StoreError: It cannot be read or written, or it belongs to another session.
        """
        try:
            fs.make_directories(paths.root)
            fs.sweep_temporaries(paths.root)
            file = fs.AppendFile(paths.log)
            try:
                reading = _opened(paths, file, session)
            except BaseException:
                file.close()
                raise
        except OSError as error:
            raise StoreError(f"The session log {paths.log} cannot be opened: {error.strerror or error}.") from error
        return cls(paths, file, reading)

    @property
    def operations(self) -> tuple[Operation, ...]:
        """All operations that can be read, in the order of the log."""
        if self._snapshot is None:
            self._snapshot = tuple(self._operations)
        return self._snapshot

    @property
    def next_seq(self) -> int:
        """The `seq` that the next operation gets."""
        return self._next_seq

    @property
    def refuses(self) -> str:
        """Why nothing can be appended any more; empty while it can."""
        return self._file.broken

    def append(self, operation: Operation, *, sync: bool = True) -> None:
        """Add *operation*; when this returns it is true. Without *sync* it survives a kill but not a power cut.

        Raises:
            StoreError: Nothing was added.
            InconsistentState: Whether it was added is unknown, and the log refuses further use.
        """
        self._check(operation)
        frame = encode_frame(
            dump_operation(operation),
            salt=self._salt,
            offset=self._file.size,
            kind=OPERATION,
            ordinal=operation.seq,
            ids=(operation.id, operation.parent or "", operation.grandparent or ""),
        )
        try:
            self._file.append(frame)
        except BaseException as error:
            self._settle_failure(error)
            raise
        if sync:
            self._sync()
        self._operations.append(operation)
        self._snapshot = None
        self._next_seq = operation.seq + 1

    def reserve(self, size: int) -> bool:
        """Reserve room for *size* more bytes, so that a full disk is met before a rewind and not at its commit point.

        Return False where this file system cannot tell.

        Raises:
            StoreError: There is no room; nothing was changed.
        """
        try:
            return self._file.reserve(size)
        except OSError as error:
            raise StoreError(f"There is no room for the session log: {error.strerror or error}.") from error

    def sync(self) -> None:
        """Flush what was appended without *sync*.

        Raises:
            InconsistentState: As `append`.
        """
        self._sync()

    def close(self) -> None:
        """Close the file; twice is fine."""
        self._file.close()

    def _check(self, operation: Operation) -> None:
        if self._file.broken:
            raise InconsistentState(
                f"The session log takes nothing more ({self._file.broken}).", hint="Restart the kernel to recover."
            )
        ids = (operation.id, operation.parent, operation.grandparent, operation.previous, operation.undone)
        if not all(is_id(one) for one in ids if one is not None):
            raise ValueError(f"BUG: {ids} are not all our ids")
        if operation.seq < self._next_seq:
            raise ValueError(f"BUG: seq {operation.seq} was used before; the next is {self._next_seq}")

    def _settle_failure(self, error: BaseException) -> None:
        """After a failed append: make sure that the frame is gone from the disk too, else nobody knows."""
        if not self._file.broken:
            # The cut frame may have been written back before it was cut: a power cut must not bring it to life.
            with contextlib.suppress(OSError):
                self._file.sync()
        if self._file.broken:
            raise InconsistentState(
                f"The session log could not be put back after a failed write ({error}).",
                hint="Restart the kernel to recover.",
            ) from error
        if isinstance(error, OSError):
            raise StoreError(f"The session log could not be written: {error.strerror or error}.") from error

    def _sync(self) -> None:
        try:
            self._file.sync()
        except OSError as error:
            raise InconsistentState(
                f"The session log could not be flushed ({error.strerror or error}).",
                hint="Restart the kernel to recover.",
            ) from error


def _opened(paths: SessionPaths, file: fs.AppendFile, session: SessionId) -> LogReading:
    """Bring the log into a state in which frames can be added, and return what it holds."""
    data = file.read()
    reading = parse_log(data)
    owner = reading.header.session if reading.header else next((one.session for one in reading.operations), session)
    if owner != session:
        raise StoreError(f"The log {paths.log} belongs to the session {owner}, not {session}.")
    if reading.header is not None and reading.header.format > _LOG_FORMAT:
        raise StoreError(f"The log {paths.log} was written by a later version.", hint="Upgrade nbrewind.")
    if reading.torn_at is not None and _set_aside(paths.log, data[reading.torn_at :]):
        file.cut(reading.torn_at)
    if reading.salt:
        return reading
    header, salt = _begun(file, session)
    return LogReading(header, (), reading.damaged, reading.torn_at, file.size, salt, reading.next_seq)


def _set_aside(log: str, tail: bytes) -> bool:
    """Keep *tail* beside the log: should it be rot and not a torn write, its bytes are all there is.

    Return False on a full disk. The tail then stays where it is and frames follow it, which readers manage: nothing
    must keep a session from being opened that has a rewind to roll back.
    """
    number = 1
    while True:
        try:
            # Flushed before the caller cuts, so that the bytes are always in one of the two files.
            fs.write_new(f"{log}.torn-{number}", tail, sync=True)
            return True
        except FileExistsError:
            number += 1
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                return False
            raise


def _begun(file: fs.AppendFile, session: SessionId) -> tuple[LogHeader, bytes]:
    salt = secrets.token_bytes(SALT_SIZE)
    header = LogHeader(format=_LOG_FORMAT, session=session, salt=salt.hex(), created=time.time())
    content = to_json(header).encode("ascii") + b"\n"
    file.append(encode_frame(content, salt=salt, offset=file.size, kind=HEADER))
    file.sync()
    # The names too, or a power cut after the first operation leaves a synced file that no directory names.
    directory = os.path.dirname(file.path)
    for name in (directory, os.path.dirname(directory)):
        fs.sync_directory(name)
    return header, salt
