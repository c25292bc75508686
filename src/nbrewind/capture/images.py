"""Before-images: what stood at a path, with its bytes where the shadow repository does not hold them."""

from __future__ import annotations

import os
import stat as stats
import threading
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from nbrewind import fs
from nbrewind.capture.span import SECRET
from nbrewind.model import EntryKind, FileState, Settings
from nbrewind.resources.files.signature import entry_kind
from nbrewind.store.layout import SessionPaths

__all__ = ["BeforeImages", "Held", "Image", "Place", "checksum", "described"]

_SECRET_LIMIT: Final = 1 << 20
_ROOM_FROM: Final = 1 << 20
"""Smaller copies are made without asking the file system for its room."""
_PIECE: Final = 1 << 20
_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY

Held = Callable[[str, os.stat_result], FileState | None]
"""Returns the state at a path of the workspace if the shadow repository provably holds just what stands there."""


class Place(Protocol):
    """Where a path lies: *inside* is relative to the workspace, None outside of it."""

    @property
    def inside(self) -> str | None:
        """The path relative to the workspace."""

    @property
    def secret(self) -> bool:
        """Whether its bytes must never be stored."""


@dataclass(frozen=True, slots=True)
class Image:
    """A state, and where its bytes are: in the shadow repository (`state.object`), at *path* or in *memory*.

    *crc* is that of the copy at *path*.
    """

    state: FileState | None
    path: str = ""
    crc: int | None = None
    link: str | None = None
    memory: bytes | None = None


def described(found: os.stat_result, *, missing: str = "") -> FileState:
    """Return the state that *found* tells, without bytes."""
    kind = entry_kind(found.st_mode)
    return FileState(
        kind=kind,
        size=0 if kind is EntryKind.DIRECTORY else found.st_size,
        mode=stats.S_IMODE(found.st_mode),
        mtime_ns=found.st_mtime_ns,
        missing=missing,
        owner=fs.owner_of(found) if kind is EntryKind.FILE else (),
    )


def checksum(descriptor: int) -> int:
    """Return the CRC-32 of a whole file: a power cut may leave a copy with its length, and zeros for its bytes."""
    crc = position = 0
    while data := os.pread(descriptor, _PIECE, position):
        crc = zlib.crc32(data, crc)
        position += len(data)
    return crc


class BeforeImages:
    """The raw copies of one span, in the session's `images` folder as `<operation id>-<n>`.

    Copies are raw: compressing inside a user's call would cost several times as much. A row of the journal names a copy
    only when it is whole, so what a kill leaves half-done is named by nothing.
    """

    def __init__(self, paths: SessionPaths, settings: Settings, prefix: str, held: Held) -> None:
        self._folder = paths.images
        self._settings = settings
        self._prefix = prefix
        self._held = held
        self._lock = threading.Lock()
        self._count = 0
        self._copied = 0

    def keep(self, path: str, found: os.stat_result | None, place: Place) -> Image:
        """Return what stands at *path* now, with its bytes kept. Never raises for what cannot be read or stored."""
        if found is None:
            return Image(None)
        kind = entry_kind(found.st_mode)
        if kind in (EntryKind.DIRECTORY, EntryKind.SPECIAL):
            return Image(described(found))
        held = self._held(place.inside, found) if place.inside is not None else None
        try:
            if kind is EntryKind.SYMLINK:
                return Image(held or described(found), link=os.readlink(path))
            if held is not None and held.object is not None:
                return Image(held)
            if place.secret:
                return self._in_memory(path, found)
            return self._copy(path, found)
        except OSError as error:
            # What is there but cannot be read is never taken for absent.
            return Image(described(found, missing=f"unreadable: {error.strerror or error}"))

    def _in_memory(self, path: str, found: os.stat_result) -> Image:
        if found.st_size > _SECRET_LIMIT:
            return Image(described(found, missing="secret, and too large to keep in memory"))
        descriptor = os.open(path, _READ)
        try:
            content = os.pread(descriptor, _SECRET_LIMIT, 0)
        finally:
            os.close(descriptor)
        return Image(described(found, missing=SECRET), memory=content)

    def _copy(self, path: str, found: os.stat_result) -> Image:
        refusal = self._refusal(found.st_size)
        if refusal:
            return Image(described(found, missing=refusal))
        source = os.open(path, _READ)
        try:
            now = os.fstat(source)
            if not stats.S_ISREG(now.st_mode):
                return Image(described(now))
            try:
                name, crc = self._write(source, now.st_size)
            except OSError as error:
                return Image(described(now, missing=f"before-image not kept: {error.strerror or error}"))
        finally:
            os.close(source)
        return Image(described(now), path=name, crc=crc)

    def _write(self, source: int, size: int) -> tuple[str, int]:
        name = self._name()
        try:
            descriptor = fs.create_file(name, 0o600)
        except FileNotFoundError:
            fs.make_directories(self._folder)
            descriptor = fs.create_file(name, 0o600)
        try:
            fs.copy_bytes(source, descriptor, size)
            crc = checksum(descriptor)
        except BaseException:
            fs.unlink(name)
            raise
        finally:
            os.close(descriptor)
        return name, crc

    def _name(self) -> str:
        with self._lock:
            self._count += 1
            return f"{self._folder}/{self._prefix}-{self._count}"

    def _refusal(self, size: int) -> str:
        """Return why *size* more bytes are not copied, "" if they are; then they count."""
        if size > self._settings.max_file_size:
            return "too large"
        if size >= _ROOM_FROM:
            room = self._room()
            if room is not None and room < size:
                return "the disk is nearly full"
        with self._lock:
            if self._copied + size > self._settings.first_copy:
                return "over the budget for before-images"
            self._copied += size
        return ""

    def _room(self) -> int | None:
        """Return how many bytes may be written without going below the free space that is left to others."""
        folder = self._folder if os.path.isdir(self._folder) else os.path.dirname(self._folder)
        try:
            found = os.statvfs(folder)
        except OSError:
            return None
        return int((found.f_bavail - self._settings.min_free_disk * found.f_blocks) * found.f_frsize)
