"""The byte format of append-only files: checked frames that readers find again after damage.

A file is a sequence of frames and, read as a whole, an ordinary zstd stream: `zstd -dc FILE` prints the contents, which
are lines of text. One frame, all numbers little-endian:

    zstd skippable frame        magic 0x184D2A5E (u32), size of the rest of this head (u32)
      "nbrw"                    our magic
      format (u8) codec (u8)    1; codec 0: the payload is stored raw, 1: compressed
      kind (u16)                what the frame is, for the file's owner
      salt (8 bytes)            one random value for the whole file
      offset (u64)              where the frame stands in the file
      ordinal (u64)             a number of the owner's, e.g. `seq`
      length (u32)              of the payload
      ids                       three texts: own, parent's, grandparent's; each its length (u8) and ASCII bytes
      payload crc (u32)         crc32 of the salt, the offset and the payload
      head crc (u32)            crc32 of everything above, from the skippable magic on
    zstd frame                  the payload; codec 0 uses raw blocks, which need no library to write or to read;
                                codec 1 carries zstd's own content checksum too

Salt and offset make a frame valid only in its file and place, so that a reader may look for the next frame anywhere,
even inside a damaged payload. Damage costs the frames that it touches and no other: a damaged payload leaves the ids,
a damaged head leaves the gap. A tail after which no frame follows is *torn*: what a death in `write` leaves, and a
power cut, after which the last frame may have its length and zeros for some of its sectors.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from nbrewind.store.payload import MAX_CONTENT, NEEDS_ZSTANDARD, pack, unpack

__all__ = [
    "MAX_CONTENT",
    "NEEDS_ZSTANDARD",
    "NO_FRAME",
    "SALT_SIZE",
    "Damage",
    "Frame",
    "Torn",
    "encode_frame",
    "read_frames",
]

SALT_SIZE = 8
NO_FRAME = "no valid frame here"

_SKIPPABLE = struct.pack("<I", 0x184D2A5E)
_FIXED = struct.Struct("<4sI4sBBH8sQQI")
_MARK = b"nbrw"
_FORMAT = 1
_CRCS = struct.Struct("<II")
_SMALLEST = _FIXED.size + 3 + _CRCS.size
_LARGEST = _FIXED.size + 3 * 256 + _CRCS.size
_SECTOR = 512


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame whose bytes are all as written. *length* is that of the whole frame in the file."""

    offset: int
    length: int
    kind: int
    ordinal: int
    content: bytes
    id: str = ""
    parent: str = ""
    grandparent: str = ""
    salt: bytes = b""


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes that cannot be read, between frames that can, or a frame whose head is well and whose payload is not.

    In the second case *id*, *parent*, *grandparent*, *kind*, *ordinal* and *salt* are known (else -1 or empty).
    """

    offset: int
    length: int
    reason: str
    id: str = ""
    parent: str = ""
    grandparent: str = ""
    kind: int = -1
    ordinal: int = -1
    salt: bytes = b""


@dataclass(frozen=True, slots=True)
class Torn:
    """Bytes up to the end of the file, from *offset* on, in which no frame is complete."""

    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class _Head:
    length: int
    codec: int
    kind: int
    salt: bytes
    ordinal: int
    payload: int
    payload_crc: int
    ids: tuple[str, str, str]


def encode_frame(
    content: bytes,
    *,
    salt: bytes,
    offset: int,
    kind: int,
    ordinal: int = 0,
    ids: tuple[str, str, str] = ("", "", ""),
    compress: bool = True,
) -> bytes:
    """Return the frame that holds *content* at *offset* of the file with *salt*.

    *ids* are the frame's own, its parent's and its grandparent's. *compress* is a wish: without `zstandard` the
    content is stored raw.
    """
    if len(content) > MAX_CONTENT:
        raise ValueError(f"BUG: a frame of {len(content)} bytes; larger values are objects of the shadow repository")
    codec, payload = pack(content, compress=compress)
    texts = b"".join(bytes([len(raw)]) + raw for raw in (text.encode("ascii") for text in ids))
    size = _SMALLEST - 3 + len(texts) - 8
    fixed = _FIXED.pack(_SKIPPABLE, size, _MARK, _FORMAT, codec, kind, salt, offset, ordinal, len(payload))
    head = fixed + texts + struct.pack("<I", _payload_crc(salt, offset, payload))
    return b"".join((head, struct.pack("<I", zlib.crc32(head)), payload))


def read_frames(data: bytes, *, start: int = 0) -> Iterator[Frame | Damage | Torn]:
    """Yield what *data*, a whole file, holds from *start* on, in order and without a gap. Never raises.

    `Torn` comes last if at all.
    """
    salt = b""
    position = start
    while position < len(data):
        head = _head_at(data, position, salt)
        if head is None:
            found = _next_frame(data, position + 1, salt)
            if found < 0:
                yield Torn(position, len(data) - position)
                return
            yield Damage(position, found - position, NO_FRAME)
            position = found
            continue
        salt = salt or head.salt
        end = position + head.length + head.payload
        item = _frame_at(data, position, head)
        if isinstance(item, Damage) and item.reason != NEEDS_ZSTANDARD:
            # A frame inside the damaged payload: bytes are missing, and the file goes on earlier than this head says.
            inside = _next_frame(data, position + head.length, salt, end)
            if 0 <= inside < end:
                item, end = _damage(position, inside - position, head, "cut short"), inside
            elif end > len(data) or (end == len(data) and _has_hole(data, position + head.length)):
                yield Torn(position, len(data) - position)
                return
        yield item
        position = end


def _head_at(data: bytes, position: int, salt: bytes) -> _Head | None:
    """Return the head at *position* if every bit of it is right (and of the file with *salt*, when known)."""
    if data[position : position + 4] != _SKIPPABLE or position + _SMALLEST > len(data):
        return None
    fields = _FIXED.unpack_from(data, position)
    _, size, mark, form, codec, kind, own_salt, offset, ordinal, payload = fields
    length = size + 8
    if mark != _MARK or form != _FORMAT or offset != position or (salt and own_salt != salt):
        return None
    if not _SMALLEST <= length <= _LARGEST or position + length > len(data):
        return None
    payload_crc, head_crc = _CRCS.unpack_from(data, position + length - _CRCS.size)
    if zlib.crc32(data[position : position + length - 4]) != head_crc:
        return None
    ids = _ids(data[position + _FIXED.size : position + length - _CRCS.size])
    if ids is None:
        return None
    return _Head(length, codec, kind, own_salt, ordinal, payload, payload_crc, ids)


def _ids(texts: bytes) -> tuple[str, str, str] | None:
    found, position = [], 0
    for _ in range(3):
        if position >= len(texts):
            return None
        end = position + 1 + texts[position]
        found.append(texts[position + 1 : end].decode("ascii", "replace"))
        position = end
    return (found[0], found[1], found[2]) if position == len(texts) else None


def _frame_at(data: bytes, position: int, head: _Head) -> Frame | Damage:
    start = position + head.length
    payload = data[start : start + head.payload]
    length = head.length + head.payload
    if len(payload) != head.payload:
        return _damage(position, len(data) - position, head, "cut short")
    if _payload_crc(head.salt, position, payload) != head.payload_crc:
        return _damage(position, length, head, "checksum differs")
    content = unpack(payload, head.codec)
    if isinstance(content, str):
        return _damage(position, length, head, content)
    return Frame(position, length, head.kind, head.ordinal, content, *head.ids, head.salt)


def _has_hole(data: bytes, position: int) -> bool:
    """Return whether a sector from *position* on is all zeros: the file got its length, and not yet its bytes."""
    while position < len(data):
        end = position - position % _SECTOR + _SECTOR
        if not any(data[position:end]):
            return True
        position = end
    return False


def _damage(position: int, length: int, head: _Head, reason: str) -> Damage:
    return Damage(position, length, reason, *head.ids, head.kind, head.ordinal, head.salt)


def _next_frame(data: bytes, position: int, salt: bytes, end: int | None = None) -> int:
    """Return where the next valid head begins, from *position* on and before *end*; -1 if there is none."""
    # The mark itself may reach beyond the end.
    limit = len(data) if end is None else end + len(_SKIPPABLE) - 1
    while True:
        position = data.find(_SKIPPABLE, position, limit)
        if position < 0 or _head_at(data, position, salt) is not None:
            return position
        position += 1


def _payload_crc(salt: bytes, offset: int, payload: bytes) -> int:
    return zlib.crc32(payload, zlib.crc32(salt + struct.pack("<Q", offset)))
