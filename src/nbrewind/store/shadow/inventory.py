"""Making the index of a pack anew, from nothing but the pack itself."""

from __future__ import annotations

import hashlib
import os
import zlib
from collections import OrderedDict
from dataclasses import dataclass

from nbrewind.errors import DamagedObject
from nbrewind.store.shadow.entries import Entry, applied, placed_entry, read_entry
from nbrewind.store.shadow.index import index_bytes
from nbrewind.store.shadow.objects import digest

__all__ = ["Inventory", "take_inventory"]

_FIRST = 12
_TRAILER = 20
_PIECE = 1 << 20
_CACHED = 16 << 20
_DEEPEST = 5000


@dataclass(frozen=True, slots=True)
class Inventory:
    """An index that was made from its pack, as bytes; *whole*: it lists every object, and the pack is as written."""

    data: bytes
    whole: bool


def take_inventory(path: str) -> Inventory:
    """Return the index of the pack at *path*; each object is named by its content, so none can be listed wrongly.

    What stands behind damage in the pack cannot be found without an index and is left out.

    Raises:
        OSError: The pack cannot be read.
        DamagedObject: It is no pack at all.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return _Survey(fd, os.fstat(fd).st_size).inventory()
    finally:
        os.close(fd)


class _Survey:
    """One reading of a pack from its first byte to its last."""

    def __init__(self, fd: int, size: int) -> None:
        head = os.pread(fd, _FIRST, 0)
        if size < _FIRST + _TRAILER or head[:4] != b"PACK":
            raise DamagedObject("A pack of the shadow repository cannot be read.")
        self._fd = fd
        self._end = size - _TRAILER
        self._count = int.from_bytes(head[8:12], "big")
        self._rows: dict[bytes, tuple[int, int]] = {}
        self._bases: OrderedDict[int, Entry] = OrderedDict()
        self._bases_size = 0

    def inventory(self) -> Inventory:
        trailer = os.pread(self._fd, _TRAILER, self._end)
        waiting = self._walk()
        # A delta may name a base that stands behind it; each round resolves at least one, or nothing more can be.
        while waiting:
            left = [row for row in waiting if not self._listed(*row)]
            if len(left) == len(waiting):
                break
            waiting = left
        whole = len(self._rows) == self._count and trailer == self._checksum()
        return Inventory(index_bytes(self._rows, trailer), whole)

    def _walk(self) -> list[tuple[int, int]]:
        """List every object that can be named at once, and return the places of the others."""
        at, waiting = _FIRST, []
        while at < self._end:
            try:
                _, end = placed_entry(self._fd, at)
            except DamagedObject:
                break
            if not self._listed(at, end):
                waiting.append((at, end))
            at = end
        return waiting

    def _listed(self, at: int, end: int) -> bool:
        try:
            entry = self._resolved(at)
        except (DamagedObject, KeyError):
            return False
        name = digest(entry.kind, entry.data)
        self._rows[name] = (self._crc(at, end), at)
        return True

    def _resolved(self, at: int) -> Entry:
        """Return the object at *at* with its deltas applied.

        Raises:
            KeyError: A base has not been found so far.
            DamagedObject: The pack is damaged.
        """
        deltas: list[tuple[int, bytes]] = []
        while (entry := self._bases.get(at) or read_entry(self._fd, at)).base is not None:
            deltas.append((at, entry.data))
            base = entry.base
            at = self._rows[base][1] if isinstance(base, bytes) else base
            if at < _FIRST or len(deltas) > _DEEPEST:
                raise DamagedObject("A delta of the shadow repository has no base.")
        self._keep(at, entry)
        for place, delta in reversed(deltas):
            entry = Entry(entry.kind, applied(entry.data, delta), None)
            self._keep(place, entry)
        return entry

    def _keep(self, at: int, entry: Entry) -> None:
        if at in self._bases or len(entry.data) > _CACHED // 4:
            return
        self._bases[at] = entry
        self._bases_size += len(entry.data)
        while self._bases_size > _CACHED:
            self._bases_size -= len(self._bases.popitem(last=False)[1].data)

    def _crc(self, at: int, end: int) -> int:
        crc = 0
        while at < end and (part := os.pread(self._fd, min(_PIECE, end - at), at)):
            crc = zlib.crc32(part, crc)
            at += len(part)
        return crc

    def _checksum(self) -> bytes:
        sha, at = hashlib.sha1(usedforsecurity=False), 0
        while at < self._end and (part := os.pread(self._fd, min(_PIECE, self._end - at), at)):
            sha.update(part)
            at += len(part)
        return sha.digest()
