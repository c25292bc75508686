"""What a rewind leaves under temporary names, and how it goes: never a byte that is nowhere else."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass

from nbrewind import fs
from nbrewind.model import EntryKind, FileState, Note
from nbrewind.resources import RewindContext
from nbrewind.resources.archive import Archive
from nbrewind.resources.files.inspection import Inspection, kind_of
from nbrewind.resources.files.moves import UNFINISHED, Entry

__all__ = ["Leftover", "Leftovers"]

_OWNER_ALL = 0o700


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """What may stand at *path*: one of *known*, or a directory with *entries*; all of them are in the repository.

    With *partial* a beginning of them is ours too: staging that a death cut short. *disposable* content is not looked
    at. *of* is the path that the user knows.
    """

    path: str
    of: str
    known: tuple[FileState, ...] = ()
    entries: tuple[Entry, ...] = ()
    partial: bool = False
    disposable: bool = False

    @property
    def expected(self) -> dict[str, tuple[FileState, ...]]:
        """Return the states that may stand at each path at or below it."""
        return {self.path: self.known} | {f"{self.path}/{entry.name}": (entry.state,) for entry in self.entries}


class Leftovers:
    """Removes leftovers; bytes that are not known to be in the repository go there first. Unknown secrets stay.

    Invariant: nothing is unlinked before all unknown bytes are durable in a pack of conflict copies. Without unknown
    bytes nothing is allocated, so that rolling back works on a full disk.
    Crash rule: removing is repeated from the start; what is gone is skipped.
    """

    def __init__(self, inspection: Inspection, context: RewindContext) -> None:
        self._inspection = inspection
        self._places = inspection.places
        self._context = context
        self._pending: list[Leftover] = []

    def add(self, leftover: Leftover) -> None:
        """Have *leftover* removed by `remove`."""
        self._pending.append(leftover)

    def remove(self) -> tuple[Note, ...]:
        """Keep what is unknown, remove what was added, and return what is worth telling.

        Raises:
            StoreError: Unknown bytes could not be kept; nothing was removed.
            OSError: Something could not be removed.
        """
        pending, self._pending = self._pending, []
        unknown = [(path, leftover) for leftover in pending for path in self._unknown(leftover)]
        secrets = {path for path, leftover in unknown if any(one.is_secret for one in leftover.expected.get(path, ()))}
        notes = self._keep([(path, leftover.of) for path, leftover in unknown if path not in secrets])
        for leftover in pending:
            stays = self._remove(leftover.path, secrets)
            notes += [Note(leftover.of, f"could not be kept and stays at {path}") for path in stays]
        return tuple(notes)

    def _unknown(self, leftover: Leftover) -> Iterator[str]:
        if leftover.disposable:
            return
        status = self._places.status(leftover.path)
        if status is None:
            return
        if kind_of(status) is not EntryKind.DIRECTORY:
            if not self._is_known(leftover.path, leftover.known, leftover.partial):
                yield leftover.path
            return
        expected = leftover.expected
        for path in self._leaves(leftover.path):
            if leftover.partial and os.path.basename(path).startswith(UNFINISHED):
                continue
            if not self._is_known(path, expected.get(path, ()), leftover.partial):
                yield path

    def _is_known(self, path: str, states: Sequence[FileState], partial: bool) -> bool:
        return any(self._inspection.stands(path, state) for state in states) or (
            partial and any(self._inspection.begins(path, state) for state in states)
        )

    def _leaves(self, path: str) -> Iterator[str]:
        for name in self._places.names(path):
            inner = f"{path}/{name}"
            status = self._places.status(inner)
            if status is None:
                continue
            if kind_of(status) is EntryKind.DIRECTORY:
                yield from self._leaves(inner)
            elif kind_of(status) is not EntryKind.SPECIAL:
                yield inner

    def _keep(self, unknown: Sequence[tuple[str, str]]) -> list[Note]:
        if not unknown:
            return []
        archive = self._context.conflicts()
        try:
            kept = [(of, self._kept(path, of, archive)) for path, of in unknown]
            archive.finish()
        finally:
            archive.abort()
        # Named, durably, before they are removed: no log and no intent names them.
        archive.publish()
        text = "was saved by somebody else meanwhile; a copy is kept as"
        return [Note(of, f"{text} {state.object}") for of, state in kept]

    def _kept(self, path: str, of: str, archive: Archive) -> FileState:
        status = self._places.status(path)
        if status is not None and kind_of(status) is EntryKind.SYMLINK:
            return archive.keep_link(of, self._places.target(path), status.st_mtime_ns)
        fd = self._places.open(path)
        try:
            return archive.keep_file(of, fd)
        finally:
            os.close(fd)

    def _remove(self, path: str, secrets: Set[str]) -> list[str]:
        """Remove what stands at *path* and return what had to stay."""
        status = self._places.status(path)
        if status is None:
            return []
        kind = kind_of(status)
        if kind is EntryKind.SPECIAL or path in secrets:
            return [path]
        with suppress(FileNotFoundError), self._places.parent(path) as (parent, name):
            if kind is not EntryKind.DIRECTORY:
                fs.unlink(name, dir_fd=parent)
                return []
            if status.st_mode & _OWNER_ALL != _OWNER_ALL:
                fs.chmod(name, _OWNER_ALL, dir_fd=parent)
            stays = [inner for below in self._places.names(path) for inner in self._remove(f"{path}/{below}", secrets)]
            if not stays:
                fs.rmdir(name, dir_fd=parent)
            return stays
        return []
