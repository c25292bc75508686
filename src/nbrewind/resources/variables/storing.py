"""Components into the shadow repository: only pieces that are new, and trees by which git reaches all of them."""

from __future__ import annotations

import hashlib
import json
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from types import ModuleType

from nbrewind.model import ObjectId
from nbrewind.resources.variables.graph.buffers import Buffer
from nbrewind.resources.variables.ports import Sealer
from nbrewind.resources.variables.rows import BufferAt, Pieces, Row
from nbrewind.store.shadow.chunks import squeezed
from nbrewind.store.shadow.objects import DIRECTORY_MODE, TreeEntry
from nbrewind.store.shadow.writer import PackWriter

__all__ = ["LIBRARIES", "Fresh", "Shelf", "Shelves", "library_versions", "store_rows"]

zstandard: ModuleType | None
try:
    zstandard = import_module("zstandard")
except ImportError:
    zstandard = None

FORMAT = 1
LIBRARIES = ("numpy", "pandas", "polars", "pyarrow", "scipy", "sklearn", "torch", "xarray", "matplotlib", "networkx")
"""Libraries whose objects another version of them may not load."""
_FILE = 0o100644
_FAN = 64
_INLINE = 2048
_PIECE = 64 << 10
_FANS = (8, 64)
_MANY = 200
_SAMPLE = 4096


@dataclass(slots=True)
class Fresh:
    """A component as it was just examined: a row whose stream and buffers are not stored yet."""

    row: Row
    stream: bytes
    buffers: list[Buffer]
    previous: Row | None = None


@dataclass(frozen=True, slots=True)
class Shelf:
    """One part of the rows: *rows* is a blob of their texts, *objects* a tree of all that they name."""

    rows: ObjectId
    digest: str
    objects: ObjectId | None = None


@dataclass(frozen=True, slots=True)
class States:
    """Where process state is: *index* is a blob that names and proves each state, *objects* a tree of them."""

    index: ObjectId
    digest: str
    objects: ObjectId


@dataclass(frozen=True, slots=True)
class Shelves:
    """Where a checkpoint's rows are, with the text of each, so that a change rewrites one shelf of *fan*."""

    address: ObjectId | None = None
    parts: Mapping[int, Shelf] = field(default_factory=dict)
    texts: Mapping[int, Mapping[str, tuple[str, tuple[Pieces, ...]]]] = field(default_factory=dict)
    process: Mapping[str, tuple[bytes, ObjectId]] = field(default_factory=dict)
    states: States | None = None
    fan: int = _FANS[0]

    def sorted_anew(self, fan: int) -> Shelves:
        """Return the same rows on *fan* shelves, none of which is stored yet."""
        texts: dict[int, dict[str, tuple[str, tuple[Pieces, ...]]]] = {}
        for content in self.texts.values():
            for name, text in content.items():
                texts.setdefault(_shelf(name, fan), {})[name] = text
        return Shelves(None, {}, texts, self.process, self.states, fan)


def store_rows(
    writer: PackWriter,
    fresh: Iterable[Fresh],
    gone: Iterable[Row],
    shelves: Shelves,
    process: Mapping[str, bytes],
    held: Callable[[], Mapping[bytes, ObjectId]],
    sealer: Sealer | None,
) -> tuple[Shelves, list[Row]]:
    """Store *fresh* components in the place of the rows *gone*; return where all is now, and the stored rows.

    *held* returns the pieces that the present checkpoint holds, by their digest; it is asked at most once.
    """
    storing = _Storing(writer, held)
    rows = [storing.row(one) for one in fresh]
    fan = _FANS[sum(map(len, shelves.texts.values())) + len(rows) > _MANY]
    touched: dict[int, dict[str, tuple[str, tuple[Pieces, ...]]]] = {}
    if fan > shelves.fan:
        shelves = shelves.sorted_anew(fan)
        touched = {number: dict(content) for number, content in shelves.texts.items()}

    def texts_of(name: str) -> dict[str, tuple[str, tuple[Pieces, ...]]]:
        number = _shelf(name, shelves.fan)
        if number not in touched:
            touched[number] = dict(shelves.texts.get(number, {}))
        return touched[number]

    for old in gone:
        texts_of(old.names[0]).pop(old.names[0], None)
    for row in rows:
        texts_of(row.names[0])[row.names[0]] = (row.to_text(), _objects(row))
    parts = dict(shelves.parts)
    texts = dict(shelves.texts)
    for number, content in touched.items():
        parts.pop(number, None)
        texts.pop(number, None)
        if content:
            texts[number] = content
            parts[number] = storing.shelf(content)
    stored, states = shelves.process, shelves.states
    if states is None or {name: state for name, (state, _) in stored.items()} != process:
        stored, states = storing.states(process, stored)
    address = storing.root(parts, states, shelves.fan, sealer)
    return Shelves(address, parts, texts, stored, states, shelves.fan), rows


def _shelf(name: str, fan: int) -> int:
    return zlib.crc32(name.encode("utf-8", "surrogatepass")) % fan


def _objects(row: Row) -> tuple[Pieces, ...]:
    found = [one.pieces for one in row.buffers]
    if row.stream_at is not None:
        found.append(row.stream_at)
    return tuple(found)


class _Storing:
    """Writes into one pack."""

    def __init__(self, writer: PackWriter, held: Callable[[], Mapping[bytes, ObjectId]]) -> None:
        self._writer = writer
        self._held = held
        self._known: dict[bytes, ObjectId] | None = None

    def row(self, fresh: Fresh) -> Row:
        """Return the row of *fresh*, stored."""
        previous = fresh.previous.buffers if fresh.previous is not None else ()
        old = {(one.size, number): one for number, one in enumerate(previous)}
        buffers = tuple(
            self._buffer(buffer, old.get((buffer.size, number))) for number, buffer in enumerate(fresh.buffers)
        )
        if len(fresh.stream) <= _INLINE:
            return replace(fresh.row, stream=fresh.stream, buffers=buffers)
        if fresh.previous is not None and fresh.previous.stream_digest == fresh.row.stream_digest:
            return replace(fresh.row, stream=fresh.previous.stream, stream_at=fresh.previous.stream_at, buffers=buffers)
        oids = [self._writer.zblob(piece) for piece in _cut(fresh.stream)]
        return replace(fresh.row, stream_at=self._pieces(oids)[0], buffers=buffers)

    def _buffer(self, buffer: Buffer, old: BufferAt | None) -> BufferAt:
        hashes = buffer.hashes.chunks
        digest = buffer.digest.hex()
        if old is not None and old.hashes == hashes:
            return replace(old, writable=buffer.writable)
        oids: list[ObjectId] = []
        for number, key in enumerate(hashes):
            if old is not None and number < len(old.hashes) and old.hashes[number] == key:
                oids.append(old.oids[number])
            else:
                oids.append(self._chunk(buffer, number, key))
        pieces, segments = self._pieces(oids, old)
        return BufferAt(buffer.size, pieces, digest, buffer.writable, hashes, tuple(oids), segments)

    def _chunk(self, buffer: Buffer, number: int, key: bytes) -> ObjectId:
        if self._known is None:
            self._known = dict(self._held())
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._writer.packed(_encoded(buffer.verified_chunk(number, key)))
        return known

    def _pieces(self, oids: Sequence[ObjectId], old: BufferAt | None = None) -> tuple[Pieces, tuple[ObjectId, ...]]:
        if len(oids) == 1:
            return Pieces(oids[0]), ()
        if len(oids) <= _FAN:
            return Pieces(self._tree(oids, _FILE), 1), ()
        segments: list[ObjectId] = []
        for number, start in enumerate(range(0, len(oids), _FAN)):
            part = tuple(oids[start : start + _FAN])
            if old is not None and number < len(old.segments) and old.oids[start : start + _FAN] == part:
                segments.append(old.segments[number])
            else:
                segments.append(self._tree(part, _FILE))
        return Pieces(self._tree(segments, DIRECTORY_MODE), 2), tuple(segments)

    def _tree(self, oids: Iterable[ObjectId], mode: int) -> ObjectId:
        return self._writer.tree(TreeEntry(mode, b"%06d" % number, oid) for number, oid in enumerate(oids))

    def shelf(self, content: Mapping[str, tuple[str, tuple[Pieces, ...]]]) -> Shelf:
        """Store the rows of one shelf."""
        text = "\n".join([content[name][0] for name in sorted(content)]).encode("ascii")
        objects = {one.oid: one.depth for name in content for one in content[name][1]}
        tree = None
        if objects:
            tree = self._writer.tree(
                TreeEntry(DIRECTORY_MODE if depth else _FILE, oid.encode("ascii"), oid)
                for oid, depth in objects.items()
            )
        digest = hashlib.blake2b(text, digest_size=32).hexdigest()
        return Shelf(self._writer.zblob(text), digest, tree)

    def states(
        self, process: Mapping[str, bytes], stored: Mapping[str, tuple[bytes, ObjectId]]
    ) -> tuple[dict[str, tuple[bytes, ObjectId]], States]:
        """Store process state; what is in *stored* already is not stored again."""
        found: dict[str, tuple[bytes, ObjectId]] = {}
        for name, state in process.items():
            old = stored.get(name)
            found[name] = old if old is not None and old[0] == state else (state, self._writer.zblob(state))
        index = {
            name: [oid, hashlib.blake2b(state, digest_size=32).hexdigest()]
            for name, (state, oid) in sorted(found.items())
        }
        text = json.dumps(index, separators=(",", ":")).encode("ascii")
        digest = hashlib.blake2b(text, digest_size=32).hexdigest()
        return found, States(self._writer.zblob(text), digest, self._tree([oid for _, oid in found.values()], _FILE))

    def root(self, parts: Mapping[int, Shelf], states: States, fan: int, sealer: Sealer | None) -> ObjectId:
        """Store the tree that is the address; its record says all that is sealed."""
        record = {
            "format": FORMAT,
            "python": ".".join(map(str, sys.version_info[:3])),
            "libraries": library_versions(LIBRARIES),
            "fan": fan,
            "shelves": {f"{number:02x}": [part.rows, part.digest] for number, part in sorted(parts.items())},
            "process": [states.index, states.digest],
        }
        data = json.dumps(record, separators=(",", ":")).encode("ascii")
        entries = [TreeEntry(_FILE, b"root", self._writer.blob(data))]
        if sealer is not None:
            entries.append(TreeEntry(_FILE, b"seal", self._writer.blob(sealer.seal(data))))
        for number, part in parts.items():
            entries.append(TreeEntry(_FILE, b"r%02x" % number, part.rows))
            if part.objects is not None:
                entries.append(TreeEntry(DIRECTORY_MODE, b"o%02x" % number, part.objects))
        entries.append(TreeEntry(_FILE, b"index", states.index))
        entries.append(TreeEntry(DIRECTORY_MODE, b"process", states.objects))
        return self._writer.tree(entries)


def library_versions(names: Iterable[str]) -> dict[str, str]:
    """Return the versions of those libraries *names* that are loaded."""
    found = {}
    for name in names:
        version = getattr(sys.modules.get(name), "__version__", None)
        if isinstance(version, str):
            found[name] = version
    return found


def _encoded(data: bytes) -> bytes:
    """Return a chunk's blob: a tag (0 raw, 1 zstd) and the data; what a sample shows to be noise is not squeezed."""
    if zstandard is None:
        return b"\0" + data
    if len(data) > 4 * _SAMPLE:
        middle = len(data) // 2
        if len(squeezed(data[middle : middle + _SAMPLE], 1)) > _SAMPLE * 0.85:
            return b"\0" + data
    packed = squeezed(data, 1)
    return b"\1" + packed if len(packed) < len(data) * 0.97 else b"\0" + data


def _cut(stream: bytes) -> Iterator[bytes]:
    """Yield *stream* in pieces whose ends follow from the content, so that a longer value moves one of them."""
    start, size = 0, len(stream)
    while size - start > _PIECE:
        at = stream.find(b"\x94", start + _PIECE // 4, start + _PIECE)
        while at >= 0 and zlib.crc32(stream[at : at + 16]) & 31:
            at = stream.find(b"\x94", at + 1, start + _PIECE)
        end = at + 1 if at >= 0 else start + _PIECE
        yield stream[start:end]
        start = end
    yield stream[start:]
