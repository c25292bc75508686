"""Memory of arrays, hashed in place: what changed since the last capture, and the bytes of that alone."""

from __future__ import annotations

import ctypes
import hashlib
from dataclasses import dataclass, field

from nbrewind.resources.variables.graph.digests import digest
from nbrewind.store.shadow.objects import Unstable

__all__ = ["CHUNK", "Buffer", "BufferTable", "HashCache", "chunk_hashes", "memory_at"]

CHUNK = 64 << 10
_BLOCK = 1 << 20
_REMEMBERED = 10_000
_PER_BLOCK = _BLOCK // CHUNK


def memory_at(address: int, size: int) -> memoryview:
    """Return the *size* bytes at *address*; the caller holds their owner for as long as it looks at them."""
    if size == 0:
        return memoryview(b"")
    return memoryview((ctypes.c_char * size).from_address(address)).cast("B")


@dataclass(frozen=True, slots=True)
class Hashes:
    """Digests of one buffer: *blocks* of 1 MiB find a change fast, *chunks* of 64 KiB say what to store."""

    size: int
    blocks: tuple[bytes, ...]
    chunks: tuple[bytes, ...]


class HashCache:
    """The digests of the last capture, by address and size. Holds no memory; a stale entry costs time, never truth."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], Hashes] = {}

    def get(self, address: int, size: int) -> Hashes | None:
        """Return the digests that the memory at *address* had."""
        return self._known.get((address, size))

    def put(self, address: int, hashes: Hashes) -> None:
        """Remember *hashes*."""
        self._known.pop((address, hashes.size), None)
        self._known[address, hashes.size] = hashes
        if len(self._known) > _REMEMBERED:
            # The oldest half: what lives is entered anew by every capture that meets it.
            for place in list(self._known)[: _REMEMBERED // 2]:
                del self._known[place]


def chunk_hashes(memory: memoryview, previous: Hashes | None = None) -> Hashes:
    """Return the digests of *memory*; only blocks that differ from *previous* are looked at a second time."""
    size = len(memory)
    if size <= CHUNK:
        whole = digest(memory)
        return Hashes(size, (whole,), (whole,))
    blocks = tuple([digest(memory[at : at + _BLOCK]) for at in range(0, size, _BLOCK)])
    if previous is not None and previous.blocks == blocks:
        return previous
    chunks: list[bytes] = []
    for number, block in enumerate(blocks):
        if previous is not None and number < len(previous.blocks) and previous.blocks[number] == block:
            chunks += previous.chunks[number * _PER_BLOCK : (number + 1) * _PER_BLOCK]
        else:
            start = number * _BLOCK
            end = min(start + _BLOCK, size)
            chunks += [digest(memory[at : min(at + CHUNK, end)]) for at in range(start, end, CHUNK)]
    return Hashes(size, blocks, tuple(chunks))


@dataclass(slots=True)
class Buffer:
    """One piece of memory of this capture: *owner* keeps it alive until the capture is stored.

    *writable* memory may be patched in place by a rewind.
    """

    address: int
    size: int
    owner: object
    hashes: Hashes
    writable: bool = True
    copies: dict[int, bytes] = field(default_factory=dict)

    @property
    def digest(self) -> bytes:
        """The digest of the whole."""
        whole: bytes = hashlib.blake2b(
            b"".join(self.hashes.blocks) + self.size.to_bytes(8, "little"), digest_size=16
        ).digest()
        return whole

    def memory(self) -> memoryview:
        """Return the live bytes."""
        return memory_at(self.address, self.size)

    def verified_chunk(self, number: int, key: bytes) -> bytes:
        """Return the bytes of one chunk whose digest is *key*.

        Raises:
            Unstable: Somebody changed them since.
        """
        data = self.copies.get(number)
        if data is None:
            data = bytes(self.memory()[number * CHUNK : (number + 1) * CHUNK])
        if digest(data) != key:
            raise Unstable("A variable changed while it was saved.")
        return data


class BufferTable:
    """The buffers of one capture, each hashed once however many streams name it."""

    def __init__(self, cache: HashCache) -> None:
        self._cache = cache
        self._buffers: dict[tuple[int, int], Buffer] = {}

    def add(self, address: int, size: int, owner: object, *, writable: bool = True) -> Buffer:
        """Return the buffer for the *size* bytes at *address*, which *owner* keeps alive."""
        known = self._buffers.get((address, size))
        if known is None:
            hashes = chunk_hashes(memory_at(address, size), self._cache.get(address, size))
            known = self._buffers[address, size] = Buffer(address, size, owner, hashes, writable)
            self._cache.put(address, hashes)
        return known

    def add_bytes(self, data: bytes) -> Buffer:
        """Return a buffer for bytes that are no object of the user's."""
        hashes = chunk_hashes(memoryview(data))
        address = id(data)
        copies = {number: data[at : at + CHUNK] for number, at in enumerate(range(0, len(data), CHUNK))}
        return self._buffers.setdefault((-address, len(data)), Buffer(address, len(data), data, hashes, False, copies))
