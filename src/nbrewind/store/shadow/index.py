"""Pack index files (version 2): which object stands where in a pack."""

from __future__ import annotations

import hashlib
import mmap
import os
import struct
from collections.abc import Iterator
from pathlib import Path

from nbrewind.errors import DamagedObject

__all__ = ["PackIndex", "index_bytes"]

_MAGIC = b"\xfftOc\0\0\0\x02"
_FANOUT = struct.Struct(">256I")
_NAMES_AT = len(_MAGIC) + _FANOUT.size
_LARGE = 0x80000000
_MAPPED_FROM = 4 << 20


def index_bytes(entries: dict[bytes, tuple[int, int]], trailer: bytes) -> bytes:
    """Return the index of a pack that ends with *trailer*; *entries* gives crc and offset by object."""
    names = sorted(entries)
    counts = [0] * 256
    for name in names:
        counts[name[0]] += 1
    total = 0
    for first, count in enumerate(counts):
        total += count
        counts[first] = total
    large: list[int] = []
    crcs: list[int] = []
    offsets: list[int] = []
    for name in names:
        crc, offset = entries[name]
        crcs.append(crc)
        if offset >= _LARGE:
            offsets.append(_LARGE | len(large))
            large.append(offset)
        else:
            offsets.append(offset)
    many = len(names)
    body = b"".join(
        (
            _MAGIC,
            _FANOUT.pack(*counts),
            *names,
            struct.pack(f">{2 * many}I", *crcs, *offsets),
            struct.pack(f">{len(large)}Q", *large),
            trailer,
        )
    )
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


class PackIndex:
    """One index, searched by fan-out and bisection.

    Small ones are held as bytes, so that they need no file descriptor and survive the removal of the file; only large
    ones are mapped.
    """

    __slots__ = ("_data", "_fanout", "_large_at", "_offsets_at", "count")

    def __init__(self, path: str, data: bytes | None = None) -> None:
        self._data = _content(path) if data is None else data
        if len(self._data) < _NAMES_AT + 40 or self._data[: len(_MAGIC)] != _MAGIC:
            raise DamagedObject(f"The pack index {path} cannot be read.")
        self._fanout: tuple[int, ...] = (0, *_FANOUT.unpack_from(self._data, len(_MAGIC)))
        self.count: int = self._fanout[256]
        self._offsets_at = _NAMES_AT + 24 * self.count
        self._large_at = self._offsets_at + 4 * self.count
        ordered = all(low <= high for low, high in zip(self._fanout, self._fanout[1:], strict=False))
        if not ordered or len(self._data) < self._large_at + 40:
            raise DamagedObject(f"The pack index {path} cannot be read.")

    def find(self, name: bytes) -> int | None:
        """Return the offset of the object *name* in the pack."""
        position = self.position(name)
        return None if position < 0 else self.offset(position)

    def position(self, name: bytes) -> int:
        """Return the ordinal of *name* in the index, -1 where it is not listed."""
        low, high = self._fanout[name[0]], self._fanout[name[0] + 1]
        data = self._data
        while low < high:
            middle = (low + high) >> 1
            at = _NAMES_AT + 20 * middle
            found = data[at : at + 20]
            if found == name:
                return middle
            if found < name:
                low = middle + 1
            else:
                high = middle
        return -1

    def name(self, position: int) -> bytes:
        """Return the object at *position*."""
        at = _NAMES_AT + 20 * position
        return bytes(self._data[at : at + 20])

    def offset(self, position: int) -> int:
        """Return the place in the pack of the object at *position*."""
        offset: int
        (offset,) = struct.unpack_from(">I", self._data, self._offsets_at + 4 * position)
        if offset & _LARGE:
            (offset,) = struct.unpack_from(">Q", self._data, self._large_at + 8 * (offset & ~_LARGE))
        return offset

    def names(self) -> Iterator[bytes]:
        """Yield every object, in order."""
        for position in range(self.count):
            yield self.name(position)

    @property
    def is_mapped(self) -> bool:
        """Whether it is so large that its bytes are read only where they are asked for."""
        return not isinstance(self._data, bytes)

    @property
    def trailer(self) -> bytes:
        """The checksum of the pack, as the index knows it."""
        return bytes(self._data[-40:-20])

    def intact(self) -> bool:
        """Return whether the index matches its own checksum."""
        body = memoryview(self._data)[:-20]
        try:
            return hashlib.sha1(body, usedforsecurity=False).digest() == bytes(self._data[-20:])
        finally:
            body.release()


def _content(path: str) -> bytes | mmap.mmap:
    with Path(path).open("rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        if size < _MAPPED_FROM:
            return file.read()
        return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
