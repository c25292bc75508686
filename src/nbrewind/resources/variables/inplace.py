"""Changing big things where they are: only those chunks of an array, and slices of a list, that differ."""

from __future__ import annotations

import marshal
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from nbrewind.resources.variables.graph.slices import SLICE
from nbrewind.resources.variables.patching import Steps
from nbrewind.resources.variables.reading import buffer_pieces, chunk_bytes
from nbrewind.resources.variables.rows import Row
from nbrewind.resources.variables.storing import Fresh
from nbrewind.store.shadow.repository import ShadowRepository

__all__ = ["Patch", "patch_for"]

_LEAST = 256 << 10


@dataclass(slots=True)
class Patch:
    """What turns a live component into the target: *memory* as address, bytes and owner; *slices* of a list."""

    memory: list[tuple[int, bytes, object]] = field(default_factory=list)
    target: list[Any] | None = None
    slices: list[tuple[int, list[Any]]] = field(default_factory=list)

    def apply(self, steps: Steps) -> None:
        """Make it so."""
        for address, data, owner in self.memory:
            steps.patch_memory(address, data, owner)
        if self.target is not None:
            for start, elements in self.slices:
                steps.patch_slice(self.target, start, elements)


def patch_for(repository: ShadowRepository, now: Row | None, live: Fresh | None, row: Row, value: Any) -> Patch | None:
    """Return how *live*, stored as *now* and bound to *value*, becomes *row*; None where it has to be built anew.

    Where everything but the bytes of arrays is the same, the objects are too: nothing that follows from those bytes is
    kept in an object whose stream tells everything (`Row.opaque`).

    Raises:
        StoreError: Something cannot be read.
    """
    if now is None or live is None or now.names != row.names or now.sliced != row.sliced:
        return None
    if row.sliced:
        return _sliced(repository, now, row, value)
    if now.stream_digest != row.stream_digest or now.heads != row.heads or row.opaque or now.opaque:
        return None
    if [one.size for one in now.buffers] != [one.size for one in row.buffers] or len(live.buffers) != len(row.buffers):
        return None
    if sum(one.size for one in row.buffers) < _LEAST:
        return None
    patch = Patch()
    for number, (old, new) in enumerate(zip(now.buffers, row.buffers, strict=True)):
        if old.digest == new.digest:
            continue
        buffer = live.buffers[number]
        if not (buffer.writable and new.writable and old.writable):
            return None
        for at, data in _differing(repository, row, number, old.oids):
            patch.memory.append((buffer.address + at, data, buffer.owner))
    return patch


def _differing(
    repository: ShadowRepository, row: Row, number: int, present: tuple[Any, ...]
) -> Iterator[tuple[int, bytes]]:
    for place, (at, oid, length) in enumerate(buffer_pieces(repository, row, number)):
        if place >= len(present) or present[place] != oid:
            yield at, chunk_bytes(repository, oid, length)


def _sliced(repository: ShadowRepository, now: Row, row: Row, value: Any) -> Patch | None:
    if row.sliced != "list" or type(value) is not list or len(now.buffers) != len(row.buffers):
        return None
    patch = Patch(target=value)
    # Last first: only the last slice may have another length.
    for number in reversed(range(len(row.buffers))):
        if now.buffers[number].digest != row.buffers[number].digest:
            pieces = buffer_pieces(repository, row, number)
            data = b"".join([chunk_bytes(repository, oid, length) for _, oid, length in pieces])
            patch.slices.append((number * SLICE, marshal.loads(data)))
    return patch
