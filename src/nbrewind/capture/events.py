"""Audit events of CPython as touches: which path is about to be changed, and how.

Every event comes before its effect and also when the call then fails, so a touch is intent, not proof. Measured on
3.11, 3.12 and 3.13; what raises no event at all is in `wraps` or left to the scan.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from nbrewind.capture.resolution import entry, is_directory, is_regular, state, target
from nbrewind.capture.span import DATABASE_SIBLINGS

__all__ = ["FILE_EVENTS", "WRITE_FLAGS", "Touch", "TouchKind", "asked_directory", "touches"]

WRITE_FLAGS: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_O_TMPFILE: Final = getattr(os, "O_TMPFILE", 0)
_READ_ONLY_MAPS: Final = (1, 3)
"""`mmap.ACCESS_READ` and `ACCESS_COPY`: stores through them never reach the file."""


class TouchKind(StrEnum):
    """What the call is about to do to the path."""

    WRITE = "write"
    CREATE = "create"
    REMOVE = "remove"
    RENAME = "rename"
    LINK = "link"
    MKDIR = "mkdir"
    RMDIR = "rmdir"
    META = "meta"
    TRUNCATE = "truncate"
    MAP = "map"
    CONNECT = "connect"


@dataclass(frozen=True, slots=True)
class Touch:
    """One path that a call is about to change, resolved, with its `lstat` (*found*; None where nothing stands).

    *target* is the other end of a rename, *target_found* what stands there.
    """

    kind: TouchKind
    path: str
    event: str
    found: os.stat_result | None
    target: str | None = None
    target_found: os.stat_result | None = None


class _Asked(threading.local):
    """The `dir_fd` of the `os.open` that this thread is in: its audit event leaves it out."""

    directory: int | None = None


asked_directory: Final = _Asked()


def _open(args: tuple[Any, ...], event: str) -> Iterator[Touch]:
    path, _mode, flags = args
    if not flags & WRITE_FLAGS or (_O_TMPFILE and flags & _O_TMPFILE == _O_TMPFILE):
        return
    directory = None if isinstance(path, int) else asked_directory.directory
    exclusive = flags & os.O_CREAT and flags & os.O_EXCL
    name = entry(path, directory) if exclusive else target(path, directory)
    found = state(name)
    if found is None and flags & os.O_CREAT:
        yield Touch(TouchKind.CREATE, name, event, None)
    elif is_regular(found) and not exclusive:
        yield Touch(TouchKind.WRITE, name, event, found)


def _changed(kind: TouchKind, descriptor_at: int | None = None) -> Callable[[tuple[Any, ...], str], Iterator[Touch]]:
    """Return the reader of events that change what exists, links followed."""

    def read(args: tuple[Any, ...], event: str) -> Iterator[Touch]:
        name = target(args[0], None if descriptor_at is None else args[descriptor_at])
        found = state(name)
        if is_regular(found) or (kind is TouchKind.META and is_directory(found)):
            yield Touch(kind, name, event, found)

    return read


def _removed(kind: TouchKind) -> Callable[[tuple[Any, ...], str], Iterator[Touch]]:
    def read(args: tuple[Any, ...], event: str) -> Iterator[Touch]:
        name = entry(args[0], args[1])
        found = state(name)
        if found is not None and is_directory(found) is (kind is TouchKind.RMDIR):
            yield Touch(kind, name, event, found)

    return read


def _made(kind: TouchKind, path_at: int, descriptor_at: int) -> Callable[[tuple[Any, ...], str], Iterator[Touch]]:
    """Return the reader of events that make a new name and fail where one stands."""

    def read(args: tuple[Any, ...], event: str) -> Iterator[Touch]:
        name = entry(args[path_at], args[descriptor_at])
        if state(name) is None:
            yield Touch(kind, name, event, None)

    return read


def _linked(args: tuple[Any, ...], event: str) -> Iterator[Touch]:
    yield from _made(TouchKind.LINK, 1, 3)(args, event)
    # From now on the same bytes can be changed under the new name, whose own state before was absence.
    name = entry(args[0], args[2])
    found = state(name)
    if is_regular(found):
        yield Touch(TouchKind.META, name, event, found)


def _rename(args: tuple[Any, ...], event: str) -> Iterator[Touch]:
    source, wanted = entry(args[0], args[2]), entry(args[1], args[3])
    found = state(source)
    if found is not None and source != wanted:
        yield Touch(TouchKind.RENAME, source, event, found, wanted, state(wanted))


def _map(args: tuple[Any, ...], event: str) -> Iterator[Touch]:
    descriptor, _length, access = args[:3]
    if descriptor < 0 or access in _READ_ONLY_MAPS:
        return
    name = target(descriptor)
    found = state(name)
    if is_regular(found) and _writable(descriptor):
        yield Touch(TouchKind.MAP, name, event, found)


def _writable(descriptor: int) -> bool:
    return bool(fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE)


def _database(given: object) -> str | bytes | os.PathLike[Any] | None:
    """Return the file of an SQLite connection, None for memory, temporary and read-only ones."""
    if isinstance(given, str | bytes):
        text = os.fsdecode(given)
        if text in ("", ":memory:"):
            return None
        if not text.startswith("file:"):
            return given
        parts = urlsplit(text)
        options = {key: values[-1] for key, values in parse_qs(parts.query).items()}
        if options.get("mode") in ("ro", "memory") or options.get("immutable") == "1":
            return None
        return unquote(parts.path) or None
    return given if isinstance(given, os.PathLike) else None


def _connect(args: tuple[Any, ...], event: str) -> Iterator[Touch]:
    database = _database(args[0])
    if database is None:
        return
    name = target(database)
    for sibling in (name, *(name + ending for ending in DATABASE_SIBLINGS[:2])):
        found = state(sibling)
        if found is None or is_regular(found):
            yield Touch(TouchKind.CONNECT, sibling, event, found)


_READERS: Final[dict[str, Callable[[tuple[Any, ...], str], Iterator[Touch]]]] = {
    "open": _open,
    "os.truncate": _changed(TouchKind.TRUNCATE),
    "os.remove": _removed(TouchKind.REMOVE),
    "os.rmdir": _removed(TouchKind.RMDIR),
    "os.rename": _rename,
    "os.mkdir": _made(TouchKind.MKDIR, 0, 2),
    "os.link": _linked,
    "os.symlink": _made(TouchKind.LINK, 1, 2),
    "os.mkfifo": _made(TouchKind.CREATE, 0, 1),
    "os.mknod": _made(TouchKind.CREATE, 0, 1),
    "os.chmod": _changed(TouchKind.META, 2),
    "os.chown": _changed(TouchKind.META, 3),
    "os.utime": _changed(TouchKind.META, 3),
    "os.setxattr": _changed(TouchKind.META),
    "os.removexattr": _changed(TouchKind.META),
    "mmap.__new__": _map,
    "sqlite3.connect": _connect,
}
FILE_EVENTS: Final = frozenset(_READERS)


def touches(event: str, args: tuple[Any, ...]) -> Iterator[Touch]:
    """Yield what the call behind *event* is about to change. `os.mkfifo` and `os.mknod` come from `wraps`.

    Raises:
        Unresolvable: The path cannot be followed.
    """
    return _READERS[event](args, event)
