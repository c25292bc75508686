"""The bytes of git objects: identities, trees, commits and their compressed forms."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable
from typing import NamedTuple

from nbrewind.errors import DamagedObject, StoreError
from nbrewind.model import ObjectId

__all__ = [
    "BLOB",
    "COMMIT",
    "DIRECTORY_MODE",
    "KINDS",
    "TREE",
    "TreeEntry",
    "Unstable",
    "commit_bytes",
    "commit_tree",
    "compressed",
    "digest",
    "stored",
    "tree_bytes",
    "tree_entries",
]

COMMIT, TREE, BLOB = 1, 2, 3
KINDS = {COMMIT: "commit", TREE: "tree", BLOB: "blob", 4: "tag"}
_PREFIXES = {kind: name.encode() + b" %d\0" for kind, name in KINDS.items()}
DIRECTORY_MODE = 0o40000

_SAMPLE = 4096
_WORTH = 0.97
_STORED_BLOCK = 0xFFFF


_NO_NAMES = frozenset({b"", b".", b".."})


class Unstable(StoreError):
    """A file changed while it was read; nothing of it was kept."""

    code = "unstable"


class TreeEntry(NamedTuple):
    """One row of a git tree: *mode* as git writes it (0o100644, 0o100755, 0o120000, 0o40000)."""

    mode: int
    name: bytes
    oid: ObjectId


def digest(kind: int, data: bytes) -> bytes:
    """Return the twenty bytes that name an object of *kind* with *data*."""
    sha = hashlib.sha1(_PREFIXES[kind] % len(data), usedforsecurity=False)
    sha.update(data)
    return sha.digest()


def tree_bytes(entries: Iterable[tuple[int, bytes, ObjectId]]) -> bytes:
    """Return *entries* in git's order and form: the bytes of a tree that `git write-tree` would make.

    Raises:
        ValueError: A name that no tree can hold, or one that comes twice.
    """
    rows = sorted([(name + b"/" if mode == DIRECTORY_MODE else name, mode, name, oid) for mode, name, oid in entries])
    names = [row[2] for row in rows]
    distinct = set(names)
    if len(distinct) != len(rows):
        raise ValueError("a tree with one name twice")
    together = b"\0".join(names)
    if not distinct.isdisjoint(_NO_NAMES) or b"/" in together or together.count(b"\0") >= len(names) > 0:
        raise ValueError("a tree with a name that no tree can hold")
    return b"".join([b"%o %b\0%b" % (mode, name, bytes.fromhex(oid)) for _, mode, name, oid in rows])


def tree_entries(data: bytes) -> tuple[TreeEntry, ...]:
    """Return the rows of a tree.

    Raises:
        DamagedObject: *data* is no tree.
    """
    entries: list[TreeEntry] = []
    at = 0
    while at < len(data):
        space = data.find(b" ", at)
        end = data.find(b"\0", space)
        if space < 0 or end < 0 or end + 21 > len(data):
            raise DamagedObject("A tree of the shadow repository cannot be read.")
        try:
            mode = int(data[at:space], 8)
        except ValueError as problem:
            raise DamagedObject("A tree of the shadow repository cannot be read.") from problem
        entries.append(TreeEntry(mode, data[space + 1 : end], ObjectId(data[end + 1 : end + 21].hex())))
        at = end + 21
    return tuple(entries)


def commit_bytes(tree: ObjectId, message: str, when: float) -> bytes:
    """Return a commit without parent, so that any subset of commits can go with all other ids unchanged."""
    who = f"nbrewind <nbrewind@localhost> {max(0, int(when))} +0000"
    text = message.replace("\0", "\N{REPLACEMENT CHARACTER}")
    if not text.endswith("\n"):
        text += "\n"
    return f"tree {tree}\nauthor {who}\ncommitter {who}\n\n{text}".encode("utf-8", "backslashreplace")


def commit_tree(data: bytes) -> ObjectId:
    """Return the tree that a commit names.

    Raises:
        DamagedObject: *data* is no commit.
    """
    if data[:5] != b"tree " or data[45:46] != b"\n":
        raise DamagedObject("A commit of the shadow repository cannot be read.")
    return ObjectId(data[5:45].decode("ascii", "replace"))


def compressed(data: bytes) -> bytes:
    """Return *data* as a zlib stream: level 1, or stored where a sample shows that nothing is gained."""
    if len(data) > 2 * _SAMPLE:
        middle = len(data) // 2
        sample = data[:_SAMPLE] + data[middle : middle + _SAMPLE]
        if len(zlib.compress(sample, 1)) > len(sample) * _WORTH:
            return stored(data)
    return zlib.compress(data, 1)


def stored(data: bytes) -> bytes:
    """Return *data* as a zlib stream without compression (four times faster than zlib's own level 0)."""
    parts: list[bytes | memoryview] = [b"\x78\x01"]
    view = memoryview(data)
    for start in range(0, len(data), _STORED_BLOCK):
        piece = view[start : start + _STORED_BLOCK]
        last = start + _STORED_BLOCK >= len(data)
        parts += (b"%c" % last, len(piece).to_bytes(2, "little"), (len(piece) ^ 0xFFFF).to_bytes(2, "little"), piece)
    if not data:
        parts.append(b"\x01\x00\x00\xff\xff")
    parts.append(zlib.adler32(data).to_bytes(4, "big"))
    return b"".join(parts)
