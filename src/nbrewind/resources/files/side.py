"""The side manifest: what git trees cannot say about files, as git objects that mirror the folders.

The side tree of a folder holds `meta` (one JSON object, a line for each name: kind, mode, mtime in ns, size, and where
needed what else there is to say; the empty name is the folder itself, for its mtime), `d` (the side trees of its
subfolders) and `c` (the chunk trees of its large files). With many names `meta` is a tree of parts, so that one changed
file does not write all lines again. At the top there are also `range` (what was covered), `links` (which names are one
file) and `x` (other objects of the same operation).
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from json.encoder import encode_basestring_ascii
from typing import Any, Final

from nbrewind.errors import DamagedObject
from nbrewind.model import EntryKind, FileState, ObjectId
from nbrewind.resources.files.range import Range

__all__ = [
    "CHUNKS",
    "DIRECTORY",
    "EXTRA",
    "FOLDERS",
    "ITSELF",
    "LINKS",
    "META",
    "NOT_COPIED",
    "PARTS_FROM",
    "RANGE",
    "REGULAR",
    "git_mode",
    "links_bytes",
    "meta_bytes",
    "part_of",
    "range_bytes",
    "read_links",
    "read_meta",
    "read_range",
]

META, FOLDERS, CHUNKS = b"meta", b"d", b"c"
RANGE, LINKS, EXTRA = b"range", b"links", b"x"
DIRECTORY: Final = 0o40000
REGULAR: Final = 0o100644
ITSELF: Final = ""
"""The name under which `meta` tells the folder's own time, as it was when its names last changed."""
PARTS_FROM: Final = 1024
"""From this many names on, `meta` is a tree of parts."""

NOT_COPIED: Final = "not copied yet"
"""Why the bytes of a file are missing while the first copy goes on, or where its budget is used up."""

_LETTERS: Final = {
    EntryKind.FILE: "f",
    EntryKind.SYMLINK: "l",
    EntryKind.DIRECTORY: "d",
    EntryKind.SPECIAL: "s",
}
_KINDS: Final = {letter: kind for kind, letter in _LETTERS.items()}
_UNREADABLE = "The side manifest of a checkpoint cannot be read."


def git_mode(state: FileState) -> int:
    """Return the mode that a git tree gives to a file or symlink."""
    if state.kind is EntryKind.SYMLINK:
        return 0o120000
    return 0o100755 if state.mode & 0o100 else REGULAR


def part_of(name: str) -> bytes:
    """Return the part of a large `meta` in which *name* stands."""
    return b"%02x" % (zlib.crc32(os.fsencode(name)) & 0xFF)


def meta_bytes(states: Iterable[tuple[str, FileState]]) -> bytes:
    """Return the `meta` that tells these states, but for their objects."""
    rows = []
    file = EntryKind.FILE
    for name, state in sorted(states):
        more = ""
        if state.chunked or state.missing or state.owner:
            extra: dict[str, Any] = {"c": 1} if state.chunked else {}
            extra |= {key: value for key, value in (("m", state.missing), ("o", state.owner)) if value}
            more = "," + json.dumps(extra, separators=(",", ":"))
        letter = "f" if state.kind is file else _LETTERS[state.kind]
        rows.append(f'{encode_basestring_ascii(name)}:["{letter}",{state.mode},{state.mtime_ns},{state.size}{more}]')
    return ("{\n" + ",\n".join(rows) + "\n}\n").encode("ascii")


def read_meta(data: bytes, objects: Mapping[str, ObjectId]) -> dict[str, FileState]:
    """Return the states that `meta` tells, with the *objects* that the file tree names.

    Raises:
        DamagedObject: It tells nothing that we know, or a file that should have bytes has none.
    """
    states = {}
    try:
        for name, (letter, mode, mtime_ns, size, *more) in json.loads(data).items():
            extra: dict[str, Any] = more[0] if more else {}
            kind, missing = _KINDS[letter], str(extra.get("m", ""))
            oid = objects.get(name) if kind in (EntryKind.FILE, EntryKind.SYMLINK) else None
            if oid is None and not missing and kind in (EntryKind.FILE, EntryKind.SYMLINK):
                raise DamagedObject(_UNREADABLE)
            states[name] = FileState(kind, oid, int(size), int(mode), int(mtime_ns), bool(extra.get("c")), missing)
            if owner := extra.get("o"):
                states[name] = replace(states[name], owner=tuple(map(int, owner)))
    except (ValueError, TypeError, KeyError, AttributeError) as problem:
        raise DamagedObject(_UNREADABLE) from problem
    return states


def links_bytes(groups: Iterable[tuple[int, tuple[str, ...]]]) -> bytes:
    """Return the list of groups of names that are one file, each with the number of names that it has anywhere."""
    rows = [json.dumps([count, *sorted(paths)]) for count, paths in groups]
    return ("[\n" + ",\n".join(sorted(rows)) + "\n]\n").encode("ascii")


def read_links(data: bytes) -> dict[str, tuple[int, tuple[str, ...]]]:
    """Return the group of each path that has one.

    Raises:
        DamagedObject: It cannot be read.
    """
    try:
        groups = [(int(count), tuple(map(str, paths))) for count, *paths in json.loads(data)]
    except (ValueError, TypeError) as problem:
        raise DamagedObject(_UNREADABLE) from problem
    return {path: group for group in groups for path in group[1]}


def range_bytes(range_: Range) -> bytes:
    """Return the record of what was covered."""
    return json.dumps(asdict(range_), indent=0, sort_keys=True).encode("ascii") + b"\n"


def read_range(data: bytes) -> Range:
    """Return what was covered.

    Raises:
        DamagedObject: It cannot be read.
    """
    try:
        fields = json.loads(data).items()
        known: dict[str, Any] = {name: value for name, value in fields if name in Range.__dataclass_fields__}
        whole: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in known.items()
        }
        return Range(**whole)
    except (ValueError, TypeError, AttributeError) as problem:
        raise DamagedObject(_UNREADABLE) from problem
