"""A pack while it grows: a file in `incoming`, invisible to git and to every reader until it is complete."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import itertools
import os
import struct
import zlib

from nbrewind import fs
from nbrewind.store.shadow.entries import entry_header

__all__ = ["PackStream", "temporary_stem"]

_HEADER = struct.Struct(">4sII")
_BUFFER = 1 << 20
_DIRECT = 256 << 10
_counter = itertools.count()


class PackStream:
    """The entries of a new pack, in order, with the file that holds them.

    The file is made when the buffer is full or the pack complete, so that a small pack costs one write. It is locked
    (flock) while its writer lives, and its name says the writer's process, for `incoming.sweep`.
    """

    def __init__(self, incoming: str) -> None:
        self.entries: dict[bytes, tuple[int, int]] = {}
        self.path = f"{incoming}/{temporary_stem()}"
        self._buffer = bytearray(_HEADER.pack(b"PACK", 2, 0))
        self._written = 0
        self._fd = -1
        self._made = False
        self._torn = False

    def append(self, name: bytes, kind: int, size: int, packed: bytes) -> None:
        """Add the object *name*, whose *packed* bytes inflate to *size*.

        Raises:
            OSError: The disk refused; the stream takes nothing more.
        """
        if self._torn:
            raise OSError("this pack took a failure already")
        # Stays set when anything breaks off below (a full disk, an interrupt): bytes without an entry may be in.
        self._torn = True
        header = entry_header(kind, size)
        offset = self.offset
        crc = zlib.crc32(packed, zlib.crc32(header))
        self._buffer += header
        if len(packed) >= _DIRECT:
            self._flush()
            fs.write(self._fd, packed)
            self._written += len(packed)
        else:
            self._buffer += packed
            if len(self._buffer) >= _BUFFER:
                self._flush()
        self.entries[name] = (crc, offset)
        self._torn = False

    @property
    def offset(self) -> int:
        """Where the next entry begins."""
        return self._written + len(self._buffer)

    def mark(self) -> tuple[int, int]:
        """Return the present end, for `cut`."""
        return self.offset, len(self.entries)

    def cut(self, mark: tuple[int, int]) -> None:
        """Take back everything since *mark*.

        Raises:
            OSError: The disk refused; the stream takes nothing more.
        """
        offset, count = mark
        self._torn = True
        while len(self.entries) > count:
            self.entries.popitem()
        if offset >= self._written:
            del self._buffer[offset - self._written :]
        else:
            self._buffer.clear()
            fs.truncate(self._fd, offset)
            os.lseek(self._fd, offset, os.SEEK_SET)
            self._written = offset
        self._torn = False

    def complete(self) -> bytes:
        """Write header and trailer, make the file durable and return the trailer.

        Raises:
            OSError: The disk refused, or failed before.
        """
        if self._torn:
            raise OSError("this pack took a failure already")
        self._torn = True
        header = _HEADER.pack(b"PACK", 2, len(self.entries))
        if self._written:
            self._flush()
            fs.pwrite(self._fd, header, 0)
            trailer = self._digest()
            fs.write(self._fd, trailer)
        else:
            self._buffer[: len(header)] = header
            trailer = hashlib.sha1(self._buffer, usedforsecurity=False).digest()
            self._buffer += trailer
            self._flush()
        fs.sync_file(self._fd)
        return trailer

    def write_index(self, data: bytes) -> str:
        """Write *data* beside the pack, durable, and return its path.

        Raises:
            OSError: The disk refused.
        """
        fd = fs.create_file(self.path + ".idx", 0o600)
        try:
            fs.write(fd, data)
            fs.sync_file(fd)
        finally:
            os.close(fd)
        return self.path + ".idx"

    def close(self) -> None:
        """Close the file and remove what is still in `incoming`; twice is fine."""
        if not self._made:
            return
        self._made = False
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        for path in (self.path + ".idx", self.path + ".pack"):
            if os.path.lexists(path):
                with contextlib.suppress(OSError):
                    fs.unlink(path)

    def _flush(self) -> None:
        if self._fd < 0:
            self._made = True
            self._fd = fs.create_file(self.path + ".pack", 0o600)
            with contextlib.suppress(OSError):
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if self._buffer:
            fs.write(self._fd, self._buffer)
            self._written += len(self._buffer)
            self._buffer.clear()

    def _digest(self) -> bytes:
        sha = hashlib.sha1(usedforsecurity=False)
        buffer = memoryview(bytearray(_BUFFER))
        at = 0
        while at < self._written:
            count = os.preadv(self._fd, [buffer[: self._written - at]], at)
            if not count:
                raise OSError("a pack in the making became shorter")
            sha.update(buffer[:count])
            at += count
        return sha.digest()


def temporary_stem() -> str:
    """Return a new name for files in `incoming`, which begins with this process's number."""
    return f"{os.getpid()}-{next(_counter)}-{os.urandom(4).hex()}"
