"""Reading single entries of a pack: headers, zlib streams and deltas."""

from __future__ import annotations

import os
import zlib
from typing import NamedTuple

from nbrewind.errors import DamagedObject

__all__ = [
    "OFFSET_DELTA",
    "REFERENCE_DELTA",
    "Entry",
    "applied",
    "entry_header",
    "inflated",
    "placed_entry",
    "read_entry",
]

OFFSET_DELTA, REFERENCE_DELTA = 6, 7
_FIRST_READ = 4096
_NEXT_READ = 1 << 20
_LARGEST = 256 << 20


class Entry(NamedTuple):
    """What stands at one place of a pack; *base* is the offset or the name of what a delta builds on."""

    kind: int
    data: bytes
    base: int | bytes | None


def entry_header(kind: int, size: int) -> bytes:
    """Return the first bytes of an entry of *kind* with *size* bytes."""
    byte = (kind << 4) | (size & 15)
    size >>= 4
    if not size:
        return bytes((byte,))
    out = bytearray()
    while size:
        out.append(byte | 0x80)
        byte = size & 0x7F
        size >>= 7
    out.append(byte)
    return bytes(out)


def read_entry(fd: int, offset: int) -> Entry:
    """Return the entry at *offset* of the open pack *fd*, inflated, a delta not yet applied.

    Raises:
        DamagedObject: There is no whole entry.
    """
    return placed_entry(fd, offset)[0]


def placed_entry(fd: int, offset: int) -> tuple[Entry, int]:
    """Return what `read_entry` does, and the place where the next entry begins.

    Raises:
        DamagedObject: There is no whole entry.
    """
    head = os.pread(fd, _FIRST_READ, offset)
    try:
        byte = head[0]
        kind, size, shift, at = (byte >> 4) & 7, byte & 15, 4, 1
        while byte & 0x80:
            byte = head[at]
            size |= (byte & 0x7F) << shift
            shift += 7
            at += 1
        base: int | bytes | None = None
        if kind == OFFSET_DELTA:
            byte = head[at]
            distance = byte & 0x7F
            at += 1
            while byte & 0x80:
                byte = head[at]
                distance = ((distance + 1) << 7) | (byte & 0x7F)
                at += 1
            base = offset - distance
        elif kind == REFERENCE_DELTA:
            base = head[at : at + 20]
            at += 20
    except IndexError as problem:
        raise DamagedObject("A pack of the shadow repository ends too early.") from problem
    if kind in (0, 5):
        raise DamagedObject("An object of the shadow repository has no kind.")
    data, end = inflated(fd, offset + len(head), head[at:], size)
    return Entry(kind, data, base), end


def inflated(fd: int, at: int, head: bytes, size: int) -> tuple[bytes, int]:
    """Return *size* bytes out of a zlib stream that begins with *head* and goes on at *at*, and where it ends.

    Raises:
        DamagedObject: The stream is broken, or has another length.
    """
    if size > _LARGEST:
        raise DamagedObject("An object of the shadow repository claims an impossible size.")
    stream = zlib.decompressobj()
    parts: list[bytes] = []
    room = size + 1
    try:
        while not stream.eof and room:
            part = stream.decompress(head, room)
            parts.append(part)
            room -= len(part)
            head = stream.unconsumed_tail
            if not head and not stream.eof:
                head = os.pread(fd, min(_NEXT_READ, room + _FIRST_READ), at)
                if not head:
                    raise DamagedObject("A pack of the shadow repository ends too early.")
                at += len(head)
    except zlib.error as problem:
        raise DamagedObject(f"An object of the shadow repository cannot be read: {problem}.") from problem
    data = parts[0] if len(parts) == 1 else b"".join(parts)
    if len(data) != size or not stream.eof:
        raise DamagedObject("An object of the shadow repository has the wrong length.")
    return data, at - len(stream.unused_data)


def applied(base: bytes, delta: bytes) -> bytes:
    """Return what *delta* makes of *base*.

    Raises:
        DamagedObject: The two do not fit.
    """
    try:
        source, at = _length(delta, 0)
        target, at = _length(delta, at)
        parts: list[bytes] = []
        while at < len(delta):
            command = delta[at]
            at += 1
            if command & 0x80:
                start = length = 0
                for bit in range(4):
                    if command & (1 << bit):
                        start |= delta[at] << (8 * bit)
                        at += 1
                for bit in range(3):
                    if command & (0x10 << bit):
                        length |= delta[at] << (8 * bit)
                        at += 1
                parts.append(base[start : start + (length or 0x10000)])
            else:
                parts.append(delta[at : at + command])
                at += command
    except IndexError as problem:
        raise DamagedObject("A delta of the shadow repository ends too early.") from problem
    data = b"".join(parts)
    if source != len(base) or target != len(data):
        raise DamagedObject("A delta of the shadow repository does not fit its base.")
    return data


def _length(delta: bytes, at: int) -> tuple[int, int]:
    size = shift = 0
    while True:
        byte = delta[at]
        at += 1
        size |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return size, at
