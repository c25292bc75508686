"""Whether what stands at a path is what is believed to stand there: by its bytes, not by its times."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Sequence

from nbrewind.model import EntryKind, FileState
from nbrewind.resources.files.moves import Entry
from nbrewind.resources.files.places import Places
from nbrewind.store.shadow.chunks import CHUNK, Pointer, chunk_digest
from nbrewind.store.shadow.objects import BLOB, digest
from nbrewind.store.shadow.repository import ShadowRepository

__all__ = ["Inspection", "kind_of", "read_at"]

_STEP = 1 << 20


def kind_of(status: os.stat_result) -> EntryKind:
    """Return what kind of entry *status* describes."""
    if stat.S_ISREG(status.st_mode):
        return EntryKind.FILE
    if stat.S_ISLNK(status.st_mode):
        return EntryKind.SYMLINK
    return EntryKind.DIRECTORY if stat.S_ISDIR(status.st_mode) else EntryKind.SPECIAL


def read_at(fd: int, length: int, position: int) -> bytes:
    """Return *length* bytes from *position*, fewer only at the end of the file."""
    data = os.pread(fd, length, position)
    if len(data) == length or not data:
        return data
    parts = [data]
    missing = length - len(data)
    while missing and (data := os.pread(fd, missing, position + length - missing)):
        parts.append(data)
        missing -= len(data)
    return b"".join(parts)


class Inspection:
    """Comparisons of what stands on the disk with states, through *places* and the objects of *repository*."""

    def __init__(self, places: Places, repository: ShadowRepository) -> None:
        self.places = places
        self.repository = repository

    def stands(self, path: str, state: FileState | None) -> bool:
        """Return whether *path* has the kind and the bytes of *state*; modes and times do not count, but of secrets."""
        status = self.places.status(path)
        if status is None or state is None:
            return status is None and state is None
        kind = kind_of(status)
        if kind is not state.kind:
            return False
        if kind is EntryKind.SYMLINK:
            return digest(BLOB, self.places.target(path)).hex() == state.object
        if state.is_secret:
            # Not even a hash of a secret is written into an intent, so size and time have to tell.
            return (status.st_size, status.st_mtime_ns) == (state.size, state.mtime_ns)
        if kind is EntryKind.FILE:
            fd = self.places.open(path)
            try:
                return self.same_bytes(fd, state)
            finally:
                os.close(fd)
        return True

    def same_bytes(self, fd: int, state: FileState) -> bool:
        """Return whether the open file has exactly the bytes of *state*."""
        size = os.fstat(fd).st_size
        if size != state.size or state.object is None:
            return False
        if state.chunked:
            return self._same_chunks(fd, Pointer.from_bytes(self.repository.read(state.object)))
        sha = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        position = 0
        while data := os.pread(fd, _STEP, position):
            sha.update(data)
            position += len(data)
        return position == size and sha.hexdigest() == state.object

    def begins(self, path: str, state: FileState) -> bool:
        """Return whether the file at *path* is a beginning of *state*: what a death leaves of a file in the making."""
        status = self.places.status(path)
        if status is None or kind_of(status) is not EntryKind.FILE or state.kind is not EntryKind.FILE:
            return False
        if status.st_size > state.size or state.object is None:
            return False
        if not status.st_size:
            return True
        fd = self.places.open(path)
        try:
            position = 0
            for data in self.repository.content(state):
                mine = read_at(fd, len(data), position)
                if mine != data[: len(mine)]:
                    return False
                position += len(mine)
                if len(mine) < len(data):
                    break
            return position == os.fstat(fd).st_size
        finally:
            os.close(fd)

    def holds(self, path: str, expected: Sequence[Entry]) -> bool:
        """Return whether the directory at *path* holds exactly what is *expected*."""
        return not self.strangers(path, expected) and all(
            self.places.status(f"{path}/{entry.name}") is not None for entry in expected
        )

    def strangers(self, path: str, expected: Sequence[Entry]) -> list[str]:
        """Return the paths in the directory at *path* that are not *expected* with just these bytes."""
        known = {entry.name: entry.state for entry in expected}
        found: list[str] = []
        pending = [""]
        while pending:
            below = pending.pop()
            for name in self.places.names(os.path.join(path, below) if below else path):
                inner = f"{below}/{name}" if below else name
                state = known.get(inner)
                if state is None or not self.stands(f"{path}/{inner}", state):
                    found.append(f"{path}/{inner}")
                elif state.kind is EntryKind.DIRECTORY:
                    pending.append(inner)
        return sorted(found)

    def same_content(self, first: FileState, second: FileState) -> bool:
        """Return whether two states have the same bytes, also where the chunks of one were compressed otherwise."""
        if first.same_content(second):
            return True
        if not (first.chunked and second.chunked and first.object and second.object) or first.size != second.size:
            return False
        one, other = (Pointer.from_bytes(self.repository.read(oid)) for oid in (first.object, second.object))
        return [chunk.digest for chunk in one.chunks] == [chunk.digest for chunk in other.chunks]

    def _same_chunks(self, fd: int, pointer: Pointer) -> bool:
        position = 0
        for chunk in pointer.chunks:
            if chunk_digest(read_at(fd, chunk.length, position)) != chunk.digest:
                return False
            position += chunk.length
        return not read_at(fd, CHUNK, position)
