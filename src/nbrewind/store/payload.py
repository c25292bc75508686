"""A frame's payload: one zstd frame, compressed or made of raw blocks.

Raw blocks need no library, so a store can be written and read without `zstandard`, and other zstd readers still see one
stream.
"""

from __future__ import annotations

import struct
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import zstandard

__all__ = ["MAX_CONTENT", "NEEDS_ZSTANDARD", "RAW", "ZSTD", "pack", "unpack"]

RAW, ZSTD = 0, 1
MAX_CONTENT = 1 << 28
NEEDS_ZSTANDARD = "compressed; the package zstandard is needed to read it"

_RAW_HEAD = struct.Struct("<IBI")
_ZSTD_MAGIC = 0xFD2FB528
_RAW_DESCRIPTOR = 0xA0  # single segment, 4-byte content size, no checksum (the frame's own covers it)
_BLOCK = 1 << 17
_local = threading.local()  # zstandard's objects must not be used by two threads at once


def pack(content: bytes, *, compress: bool = True) -> tuple[int, bytes]:
    """Return codec and payload. *compress* is a wish: without `zstandard` the content is stored raw."""
    compressor = _compressor() if compress else None
    if compressor is None:
        return RAW, _raw_frame(content)
    return ZSTD, compressor.compress(content)


def unpack(payload: bytes, codec: int) -> bytes | str:
    """Return the content, or why it cannot be had."""
    if codec == RAW:
        content = _raw_content(payload)
        return "malformed" if content is None else content
    if codec != ZSTD:
        return f"unknown codec {codec}"
    decompressor = _decompressor()
    if decompressor is None:
        return NEEDS_ZSTANDARD
    import zstandard

    try:
        # Stated in the frame, and checked before anything is allocated for it.
        if not 0 <= zstandard.frame_content_size(payload) <= MAX_CONTENT:
            return "too large"
        return decompressor.decompress(payload)
    except zstandard.ZstdError as error:
        return str(error)


def _raw_frame(content: bytes) -> bytes:
    parts = [_RAW_HEAD.pack(_ZSTD_MAGIC, _RAW_DESCRIPTOR, len(content))]
    for start in range(0, len(content) or 1, _BLOCK):
        block = content[start : start + _BLOCK]
        last = start + _BLOCK >= len(content)
        parts += [(len(block) << 3 | last).to_bytes(3, "little"), block]
    return b"".join(parts)


def _raw_content(payload: bytes) -> bytes | None:
    if len(payload) < _RAW_HEAD.size + 3:
        return None
    magic, descriptor, size = _RAW_HEAD.unpack_from(payload)
    if magic != _ZSTD_MAGIC or descriptor != _RAW_DESCRIPTOR or size > MAX_CONTENT:
        return None
    parts, position, last = [], _RAW_HEAD.size, False
    while not last and position + 3 <= len(payload):
        block = int.from_bytes(payload[position : position + 3], "little")
        last = bool(block & 1)
        if block & 6:
            return None
        position += 3
        parts.append(payload[position : position + (block >> 3)])
        position += block >> 3
    content = b"".join(parts)
    return content if last and position == len(payload) and len(content) == size else None


def _compressor() -> zstandard.ZstdCompressor | None:
    if not hasattr(_local, "compressor"):
        try:
            import zstandard
        except ImportError:
            return None
        # Without the checksum, a third of all single-bit flips would decode to wrong text in other readers.
        _local.compressor = zstandard.ZstdCompressor(level=3, write_checksum=True, write_content_size=True)
    compressor: zstandard.ZstdCompressor = _local.compressor
    return compressor


def _decompressor() -> zstandard.ZstdDecompressor | None:
    if not hasattr(_local, "decompressor"):
        try:
            import zstandard
        except ImportError:
            return None
        _local.decompressor = zstandard.ZstdDecompressor(max_window_size=MAX_CONTENT)
    decompressor: zstandard.ZstdDecompressor = _local.decompressor
    return decompressor
