"""Reading a variables checkpoint: the record, checked against its seal, then rows, streams and buffers."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from nbrewind.errors import DamagedObject, RefusalReason, RewindRefused
from nbrewind.model import Note, ObjectId
from nbrewind.resources.variables.graph.buffers import CHUNK
from nbrewind.resources.variables.ports import Sealer
from nbrewind.resources.variables.rows import Pieces, Row, row_from_text
from nbrewind.resources.variables.storing import FORMAT, Shelf, Shelves, States, library_versions
from nbrewind.store.shadow import chunks as coding
from nbrewind.store.shadow.repository import ShadowRepository

__all__ = ["StoredVariables", "buffer_pieces", "chunk_bytes", "read_variables", "stream_of"]


@dataclass(frozen=True, slots=True)
class StoredVariables:
    """A checkpoint's variables as they are stored: *rows* by every name in them, and process state by provider."""

    rows: Mapping[str, Row]
    process: Mapping[str, bytes]
    python: str
    shelves: Shelves
    libraries: Mapping[str, str] = field(default_factory=dict)

    def other_versions(self) -> Iterator[Note]:
        """Yield what stored them in another version than is here: what cannot be loaded may be due to that."""
        here = ".".join(map(str, sys.version_info[:2]))
        if self.python.rpartition(".")[0] != here:
            yield Note("Python", f"they were stored by {self.python}, this is {here}; functions of cells need the same")
        for name, now in library_versions(self.libraries).items():
            if now != self.libraries[name]:
                yield Note(name, f"they were stored with {self.libraries[name]}, here is {now}")


def read_variables(repository: ShadowRepository, address: ObjectId, sealer: Sealer | None = None) -> StoredVariables:
    """Return what is stored at *address*. Unpickles nothing.

    Raises:
        RewindRefused: (untrusted-store) the seal does not prove that this user wrote it.
        StoreError: Something cannot be read.
    """
    entries = {entry.name: entry.oid for entry in repository.tree(address)}
    if b"root" not in entries:
        raise DamagedObject("The variables of this checkpoint have no record.")
    record = repository.read(entries[b"root"])
    if sealer is not None:
        seal = entries.get(b"seal")
        if seal is None or not sealer.holds(record, repository.read(seal)):
            raise RewindRefused(
                RefusalReason.UNTRUSTED_STORE,
                "The variables of this store were not written by you on this machine, so they are not loaded.",
                hint="%rewind trust",
            )
    return _read(repository, address, record)


def _read(repository: ShadowRepository, address: ObjectId, record: bytes) -> StoredVariables:
    try:
        root: dict[str, Any] = json.loads(record)
        if root["format"] != FORMAT:
            raise DamagedObject(f"The variables of this checkpoint have the format {root['format']}, which is later.")
        shelves = {int(number, 16): (ObjectId(oid), digest) for number, (oid, digest) in root["shelves"].items()}
        python, fan = str(root["python"]), int(root["fan"])
        libraries = {str(name): str(version) for name, version in root.get("libraries", {}).items()}
        index, digest = ObjectId(root["process"][0]), str(root["process"][1])
        listed = json.loads(_checked(repository.read_text(index), digest))
        process = {
            name: (_checked(repository.read_text(ObjectId(oid)), key), ObjectId(oid))
            for name, (oid, key) in listed.items()
        }
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise DamagedObject(f"The record of the variables cannot be read ({error}).") from error
    trees = {entry.name: entry.oid for entry in repository.tree(address)}
    rows: dict[str, Row] = {}
    texts: dict[int, dict[str, tuple[str, tuple[Pieces, ...]]]] = {}
    parts: dict[int, Shelf] = {}
    for number, (oid, key) in shelves.items():
        text = _checked(repository.read_text(oid), key)
        parts[number] = Shelf(oid, key, trees.get(b"o%02x" % number))
        lines = texts[number] = {}
        for line in text.decode("ascii").split("\n"):
            row = row_from_text(line)
            rows.update(dict.fromkeys(row.names, row))
            objects = [one.pieces for one in row.buffers]
            lines[row.names[0]] = (line, (*objects, *((row.stream_at,) if row.stream_at is not None else ())))
    if b"process" not in trees:
        raise DamagedObject("The variables of this checkpoint have no process state.")
    states = States(index, digest, trees[b"process"])
    return StoredVariables(
        rows,
        {name: state for name, (state, _) in process.items()},
        python,
        Shelves(address, parts, texts, process, states, fan),
        libraries,
    )


def _checked(data: bytes, digest: str) -> bytes:
    if hashlib.blake2b(data, digest_size=32).hexdigest() != digest:
        raise DamagedObject("A part of the variables is not what its record says.")
    return data


def stream_of(repository: ShadowRepository, row: Row) -> bytes:
    """Return the stream of *row*, checked.

    Raises:
        StoreError: It cannot be read, or is not what the row says.
    """
    stream = row.stream
    if row.stream_at is not None:
        stream = b"".join([repository.read_text(oid) for oid in _blobs(repository, row.stream_at)])
    if hashlib.blake2b(stream, digest_size=32).hexdigest() != row.stream_digest:
        raise DamagedObject(f"The stored value of {row.names[0]} is not what its record says.")
    return stream


def _blobs(repository: ShadowRepository, pieces: Pieces) -> Iterator[ObjectId]:
    if pieces.depth == 0:
        yield pieces.oid
        return
    for entry in repository.tree(pieces.oid):
        yield from _blobs(repository, Pieces(entry.oid, pieces.depth - 1))


def buffer_pieces(repository: ShadowRepository, row: Row, number: int) -> Iterator[tuple[int, ObjectId, int]]:
    """Yield place, object and length of every chunk of a buffer."""
    buffer = row.buffers[number]
    oids = buffer.oids or _blobs(repository, buffer.pieces)
    at = 0
    for oid in oids:
        length = min(CHUNK, buffer.size - at)
        yield at, oid, length
        at += length
    if at != buffer.size:
        raise DamagedObject("A stored array has the wrong length.")


def chunk_bytes(repository: ShadowRepository, oid: ObjectId, length: int) -> bytes:
    """Return the bytes of one chunk, verified."""
    return coding.decoded(repository.read(oid), length)
