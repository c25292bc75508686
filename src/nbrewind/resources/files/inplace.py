"""Files that are rewritten where they stand, because this kernel or another name holds on to them.

While a file is rewritten each of its bytes is the one wanted or the one that stood there. Where the wanted
content is shorter, the old tail stays until after the commit point: so putting back writes only over blocks that the
file has, and needs no space.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from nbrewind import fs
from nbrewind.model import FileState
from nbrewind.resources.files.inspection import read_at
from nbrewind.store.shadow.repository import ShadowRepository

__all__ = ["appended", "complete", "put_back", "reserve", "rewrite"]

_BLOCK = 4096
_PIECE = 16 * _BLOCK
_LARGEST_EXTRA = 64 << 20


class _Reader:
    """A content as a stream of pieces of any length, zeros beyond its end."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = memoryview(b"")

    def take(self, length: int) -> bytes:
        parts: list[bytes | memoryview] = []
        while length:
            if not self._rest:
                self._rest = memoryview(next(self._pieces, b""))
                if not self._rest:
                    parts.append(bytes(length))
                    break
            part = self._rest[:length]
            self._rest = self._rest[len(part) :]
            parts.append(part)
            length -= len(part)
        return b"".join(parts)


def appended(fd: int, before: FileState, after: FileState, repository: ShadowRepository) -> int | None:
    """Return how many bytes somebody appended to a file that holds *before*, *after* or a mix of both.

    None: it holds something else, which is not ours to change.
    """
    size = os.fstat(fd).st_size
    whole = max(before.size, after.size)
    if size == after.size < whole:
        return 0 if _same(fd, after, repository) else None
    if size < before.size:
        return None
    compared = min(size, whole)
    old, new = _Reader(repository.content(before)), _Reader(repository.content(after))
    for position in range(0, compared, _BLOCK):
        length = min(_BLOCK, compared - position)
        was, wanted = old.take(length), new.take(length)
        if position + length > after.size:
            keep = max(0, after.size - position)
            wanted = wanted[:keep] + was[keep:]
        stands = read_at(fd, length, position)
        if stands not in (was, wanted) and not _mixed(stands, was, wanted):
            return None
    return size - compared


def reserve(fd: int, before: FileState, after: FileState) -> None:
    """Reserve the space that *after* needs, so that rewriting cannot meet a full disk."""
    if after.size > before.size:
        fs.allocate(fd, after.size)


def rewrite(fd: int, after: FileState, repository: ShadowRepository) -> None:
    """Write *after* over the beginning of the file. Blocks that are equal are not touched; what follows stays."""
    position, changed = 0, False
    for data in repository.content(after):
        for start in range(0, len(data), _PIECE):
            piece = data[start : start + _PIECE]
            if read_at(fd, len(piece), position) != piece:
                fs.pwrite(fd, piece, position)
                changed = True
            position += len(piece)
    if changed:
        fs.sync_data(fd)


def complete(fd: int, after: FileState, extra: int) -> None:
    """Cut off the old tail behind *after*; *extra* bytes that somebody appended meanwhile move up to its end."""
    size = os.fstat(fd).st_size
    if size == after.size + extra:
        return
    tail = read_at(fd, extra, size - extra) if 0 < extra <= _LARGEST_EXTRA else b""
    if tail:
        fs.pwrite(fd, tail, after.size)
    fs.truncate(fd, after.size + len(tail))
    fs.sync_file(fd)


def put_back(fd: int, before: FileState, extra: int, repository: ShadowRepository) -> None:
    """Make the file what it was: *before*, and behind it the *extra* bytes that somebody appended meanwhile."""
    rewrite(fd, before, repository)
    complete(fd, before, extra)


def _same(fd: int, state: FileState, repository: ShadowRepository) -> bool:
    position = 0
    for data in repository.content(state):
        if read_at(fd, len(data), position) != data:
            return False
        position += len(data)
    return position == os.fstat(fd).st_size


def _mixed(stands: bytes, was: bytes, wanted: bytes) -> bool:
    """Return whether each byte of a block is one of the two that it can be.

    One death leaves a beginning of the wanted bytes, a second one inside the way back a middle of them, and a power cut
    any choice of sectors.
    """
    return all(byte in pair for byte, *pair in zip(stands, was, wanted, strict=True))
