"""Rows of a variables checkpoint: one for each component, as text that the store keeps."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import compress
from operator import is_not
from typing import Any

from nbrewind.errors import DamagedObject
from nbrewind.model import ObjectId, VariableState

__all__ = ["CLASS", "BufferAt", "Pieces", "Row", "differing", "is_class", "row_from_text"]

CLASS = "class:"
"""First letters of the name under which a class stands as a variable of its own."""


def is_class(name: str) -> bool:
    """Return whether *name* stands for a class and not for a variable."""
    return name.startswith(CLASS)


def differing(before: Mapping[str, Row], after: Mapping[str, Row]) -> set[str]:
    """Return the names in *after* whose row is not the very one in *before*; without a loop of ours over thousands."""
    return set(compress(after, map(is_not, after.values(), map(before.get, after))))


@dataclass(frozen=True, slots=True)
class Pieces:
    """Bytes in the shadow repository: one blob (*depth* 0), a tree of blobs, or a tree of trees."""

    oid: ObjectId
    depth: int = 0


@dataclass(frozen=True, slots=True)
class BufferAt:
    """Where a buffer's bytes are. *hashes*, *oids* and *segments* are known only in the process that stored them."""

    size: int
    pieces: Pieces
    digest: str
    writable: bool = True
    hashes: tuple[bytes, ...] = ()
    oids: tuple[ObjectId, ...] = ()
    segments: tuple[ObjectId, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One component: variables that share objects, in one stream.

    *sliced*: the variable is one plain container, stored in slices. *tokens*: objects kept by reference, with their
    types; *anchors*: classes that the stream names; *heads*: of the classes that the component holds. *opaque*: some
    object may hold what its stream does not tell, so that memory is never patched under it. *outside*: the buffers that
    pickle itself asks for, in that order; *quiet*: like *tokens*, of objects whose state the stream holds.
    """

    names: tuple[str, ...]
    digest: str
    states: Mapping[str, VariableState]
    stream: bytes = b""
    stream_at: Pieces | None = None
    stream_digest: str = ""
    sliced: str = ""
    buffers: tuple[BufferAt, ...] = ()
    tokens: Mapping[str, str] = field(default_factory=dict)
    anchors: tuple[str, ...] = ()
    heads: Mapping[str, bytes] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    opaque: bool = False
    outside: tuple[int, ...] = ()
    quiet: Mapping[str, str] = field(default_factory=dict)

    def to_text(self) -> str:
        """Return the row as one line of JSON."""
        record: dict[str, Any] = {
            "n": self.names,
            "d": self.digest,
            "s": [_state(self.states[name]) for name in self.names],
            "h": self.stream_digest,
        }
        if self.stream_at is not None:
            record["a"] = [self.stream_at.oid, self.stream_at.depth]
        else:
            record["i"] = base64.b64encode(self.stream).decode("ascii")
        optional = {
            "c": self.sliced,
            "b": [[one.size, one.pieces.oid, one.pieces.depth, one.digest, one.writable] for one in self.buffers],
            "t": dict(self.tokens),
            "k": self.anchors,
            "e": {uid: base64.b64encode(head).decode("ascii") for uid, head in self.heads.items()},
            "o": self.notes,
            "p": self.opaque,
            "q": self.outside,
            "u": dict(self.quiet),
        }
        record |= {key: value for key, value in optional.items() if value}
        return json.dumps(record, separators=(",", ":"))


def row_from_text(text: str | bytes) -> Row:
    """Return the row that `to_text` wrote.

    Raises:
        DamagedObject: The text is no row.
    """
    try:
        record = json.loads(text)
        names = tuple(record["n"])
        at = record.get("a")
        return Row(
            names=names,
            digest=record["d"],
            states={name: _read_state(state) for name, state in zip(names, record["s"], strict=True)},
            stream=base64.b64decode(record["i"]) if at is None else b"",
            stream_at=None if at is None else Pieces(ObjectId(at[0]), at[1]),
            stream_digest=record["h"],
            sliced=record.get("c", ""),
            buffers=tuple(
                BufferAt(size, Pieces(ObjectId(oid), depth), digest, writable)
                for size, oid, depth, digest, writable in record.get("b", ())
            ),
            tokens=record.get("t", {}),
            anchors=tuple(record.get("k", ())),
            heads={uid: base64.b64decode(head) for uid, head in record.get("e", {}).items()},
            notes=tuple(record.get("o", ())),
            opaque=record.get("p", False),
            outside=tuple(record.get("q", ())),
            quiet=record.get("u", {}),
        )
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise DamagedObject(f"A row of the variables cannot be read ({error}).") from error


def _state(state: VariableState) -> list[Any]:
    shape = None if state.shape is None else list(state.shape)
    return [state.type, shape, state.dtype, state.length, state.size, state.text, state.digest, state.how]


def _read_state(parts: list[Any]) -> VariableState:
    kind, shape, *rest = parts
    return VariableState(kind, None if shape is None else tuple(shape), *rest)
