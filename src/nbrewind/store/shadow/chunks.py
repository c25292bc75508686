"""Large files as chunks: the pointer that stands for one, and the coding of its pieces.

A pointer is a text blob: `nbrewind-chunks 1`, `size N`, `tree <oid>`, then one line for each 4 MiB of the file:
`<digest of the raw bytes> <blob> <length>`. A chunk blob is one tag byte (0 raw, 1 zstd) and the data. The tree names
the blobs `000000`, `000001` ... for git, which does not know pointers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

from nbrewind.errors import DamagedObject, StoreError
from nbrewind.model import ObjectId

blake3: ModuleType | None
zstandard: ModuleType | None
try:
    # Both have binary parts: protection must not hang on them.
    blake3 = import_module("blake3")
except ImportError:
    blake3 = None
try:
    zstandard = import_module("zstandard")
except ImportError:
    zstandard = None

__all__ = [
    "CHUNK",
    "LARGE",
    "ZEROS",
    "ZSTD_MAGIC",
    "Chunk",
    "Pointer",
    "chunk_digest",
    "chunk_names",
    "decoded",
    "encoded",
    "packed_text",
    "squeezed",
    "unpacked_text",
    "zero_digest",
]

CHUNK = 4 << 20
LARGE = 8 << 20
ZEROS = bytes(CHUNK)
"""One chunk of nothing: what a hole reads as. Never copied; `content` yields this very object for such a chunk."""

_MAGIC = "nbrewind-chunks 1"
_RAW, _ZSTD = b"\0", b"\1"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_WORTH = 0.97
_LARGEST_TEXT = 256 << 20
_SMALL = 1 << 20
# Idle ones, by level. What larger data leaves behind in one is not worth its memory.
_compressors: dict[int, list[Any]] = {1: [], 3: []}
_decompressors: list[Any] = []


class Chunk(NamedTuple):
    """One line of a pointer."""

    digest: str
    oid: ObjectId
    length: int


class Pointer(NamedTuple):
    """What stands in the tree for a large file."""

    size: int
    tree: ObjectId
    chunks: tuple[Chunk, ...]

    def to_bytes(self) -> bytes:
        """Return the blob."""
        head = f"{_MAGIC}\nsize {self.size}\ntree {self.tree}\n"
        return (head + "".join([f"{digest} {oid} {length}\n" for digest, oid, length in self.chunks])).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Pointer:
        """Return the pointer that *data* is.

        Raises:
            DamagedObject: It is none, or its lengths do not add up.
        """
        try:
            magic, size, tree, *lines = data.decode("ascii").splitlines()
            chunks = tuple(_chunk(line.split(" ")) for line in lines)
            pointer = cls(int(size.removeprefix("size ")), ObjectId(tree.removeprefix("tree ")), chunks)
        except ValueError as problem:
            raise DamagedObject("The list of chunks of a large file cannot be read.") from problem
        if magic != _MAGIC or pointer.size != sum(chunk.length for chunk in chunks):
            raise DamagedObject("The list of chunks of a large file does not add up.")
        return pointer


def chunk_digest(data: bytes | memoryview) -> str:
    """Return the 128-bit digest by which equal chunks are known without compressing them."""
    if blake3 is None:
        return hashlib.blake2b(data, digest_size=16).hexdigest()
    return str(blake3.blake3(data).digest(length=16).hex())


@lru_cache(maxsize=2)
def zero_digest(length: int) -> str:
    """Return the digest of *length* zero bytes, the piece that a hole is."""
    return chunk_digest(memoryview(ZEROS)[:length])


def squeezed(data: bytes | memoryview, level: int) -> bytes:
    """Return *data* as a zstd frame; there is zstandard. Any thread, several at once."""
    # Making a compressor takes five times as long as using it on a small text; the thread that did is gone by now.
    try:
        one: Any = _compressors[level].pop()
    except IndexError:
        one = import_module("zstandard").ZstdCompressor(level=level, write_checksum=False)
    frame: bytes = one.compress(data)
    if len(data) <= _SMALL:
        _compressors[level].append(one)
    return frame


def encoded(data: bytes | memoryview) -> tuple[bytes, bool]:
    """Return the blob of a chunk, and whether git should still compress it (there is no zstd)."""
    if zstandard is None:
        return _RAW + data, True
    small = squeezed(data, 1)
    if len(small) < len(data) * _WORTH:
        return _ZSTD + small, False
    return _RAW + data, False


def decoded(blob: bytes, length: int) -> bytes:
    """Return the *length* raw bytes of a chunk.

    Raises:
        DamagedObject: The blob is no chunk of that length.
        StoreError: It needs zstandard, which is not installed.
    """
    tag = blob[:1]
    if tag == _RAW:
        data = blob[1:]
    elif tag == _ZSTD and length <= CHUNK:
        data = _inflate(memoryview(blob)[1:], length)
    else:
        raise DamagedObject("A chunk of a large file cannot be read.")
    if len(data) != length:
        raise DamagedObject("A chunk of a large file has the wrong length.")
    return data


def packed_text(data: bytes) -> tuple[bytes, bool]:
    """Return *data* with zstd inside, and whether git should still compress it (there is no zstd)."""
    if zstandard is None:
        return data, True
    return squeezed(data, 3), False


def unpacked_text(blob: bytes) -> bytes:
    """Return what `packed_text` was given.

    Raises:
        DamagedObject: The blob is broken.
        StoreError: It needs zstandard, which is not installed.
    """
    if blob[:4] != ZSTD_MAGIC:
        return blob
    return _inflate(blob, _LARGEST_TEXT)


def _inflate(data: bytes | memoryview, most: int) -> bytes:
    if zstandard is None:
        raise StoreError("This was stored with zstandard, which is not installed.", hint="pip install zstandard")
    try:
        size = zstandard.frame_content_size(bytes(data[:18]))
        if not 0 <= size <= most:
            raise DamagedObject("A compressed object of the shadow repository claims an impossible size.")
        try:
            one: Any = _decompressors.pop()
        except IndexError:
            one = zstandard.ZstdDecompressor()
        whole: bytes = one.decompress(data, max_output_size=size)
        _decompressors.append(one)
        return whole
    except zstandard.ZstdError as problem:
        raise DamagedObject(f"A compressed object of the shadow repository cannot be read: {problem}.") from problem


def chunk_names(count: int) -> Sequence[bytes]:
    """Return the names in the tree of *count* chunks."""
    return [b"%06d" % number for number in range(count)]


def _chunk(fields: Sequence[str]) -> Chunk:
    digest, oid, length = fields
    if len(oid) != 40 or not 0 < int(length) <= CHUNK:
        raise ValueError("no chunk")
    return Chunk(digest, ObjectId(oid), int(length))
