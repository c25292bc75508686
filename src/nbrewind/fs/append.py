"""A file that grows at its end by whole records."""

from __future__ import annotations

import errno
import os

from nbrewind.fs.descriptors import reserve, set_exact_mode, sync_data
from nbrewind.fs.probe import Buffer, StrPath, mutate, mutate_bytes

__all__ = ["AppendFile"]

_FLAGS = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


class AppendFile:
    """A file with one writer, which adds records at the end.

    Invariant: after every call that returns or raises, the file ends after the last record whose `append` returned, or
    the object is *broken* and refuses further use. A death inside `append` leaves a beginning of the record.
    Records survive the death of this process when `append` has returned, and a power cut when `sync` has.
    """

    __slots__ = ("_broken", "_fd", "created", "path", "size")

    def __init__(self, path: StrPath, mode: int = 0o600) -> None:
        self.path = os.fspath(path)
        self._broken = ""
        self._fd, self.created = self._opened(mode)
        self.size = os.fstat(self._fd).st_size

    def _opened(self, mode: int) -> tuple[int, bool]:
        while True:
            try:
                return os.open(self.path, _FLAGS), False
            except FileNotFoundError:
                pass
            try:
                fd = mutate("create", self.path, os.open, self.path, _FLAGS | os.O_CREAT | os.O_EXCL, mode)
            except FileExistsError:
                if os.path.islink(self.path):
                    raise
                continue  # somebody created it in between
            try:
                set_exact_mode(fd, mode)
            except BaseException:
                os.close(fd)
                raise
            return fd, True

    def append(self, data: Buffer) -> int:
        """Add *data* and return the offset at which it stands.

        Raises:
            OSError: Nothing was added, or, where cutting back failed too, the object is `broken` from now on.
        """
        if self._broken:
            raise self._refusal()
        offset = self.size
        try:
            mutate_bytes(self._fd, data)
        except BaseException:
            # Cut even after an error that came with the last byte: the caller believes that nothing was added.
            self.cut(offset)
            raise
        self.size = offset + (data.nbytes if isinstance(data, memoryview) else len(data))
        return offset

    def reserve(self, size: int) -> bool:
        """Reserve room for *size* more bytes without making the file longer; return False where this is unknown here.

        Raises:
            OSError: There is no room.
        """
        if self._broken:
            raise self._refusal()
        return reserve(self._fd, self.size, size)

    def sync(self) -> None:
        """Flush what was appended.

        Raises:
            OSError: What is on the disk is unknown, and the object is `broken`: a second try could report success
                though the kernel has dropped the pages.
        """
        if self._broken:
            raise self._refusal()
        try:
            sync_data(self._fd)
        except OSError as error:
            self._broken = f"flushing failed: {error.strerror}"
            raise

    def cut(self, length: int) -> None:
        """Make the file end at *length*.

        Raises:
            OSError: The object is `broken`.
        """
        if self._broken:
            raise self._refusal()
        try:
            mutate("truncate", self.path, os.ftruncate, self._fd, length)
        except BaseException as error:
            self._broken = f"cutting failed: {error}"
            raise
        self.size = length

    def read(self) -> bytes:
        """Return the whole content."""
        parts, position = [], 0
        while data := os.pread(self._fd, 1 << 20, position):
            parts.append(data)
            position += len(data)
        return b"".join(parts)

    @property
    def broken(self) -> str:
        """Why the object refuses further use; empty while it does not."""
        return self._broken

    def close(self) -> None:
        """Close the file; twice is fine."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            self._broken = self._broken or "closed"
            os.close(fd)

    def __enter__(self) -> AppendFile:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()

    def _refusal(self) -> OSError:
        return OSError(errno.EIO, f"no longer written ({self._broken})", self.path)
