"""The files of one checkpoint, read from the shadow repository without a working copy."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from nbrewind.errors import DamagedObject
from nbrewind.model import EntryKind, FilesAddress, FileState, ObjectId
from nbrewind.resources.files.range import Matcher, Range
from nbrewind.resources.files.side import (
    CHUNKS,
    DIRECTORY,
    FOLDERS,
    ITSELF,
    LINKS,
    META,
    RANGE,
    read_links,
    read_meta,
    read_range,
)
from nbrewind.store.shadow.repository import ShadowRepository

__all__ = ["LinkGroup", "SnapshotTree", "StoredFolder", "agree", "diff"]

_NOT_THERE = "A checkpoint's side manifest does not fit its tree."


class LinkGroup(NamedTuple):
    """The names of one file. *whole*: there were no other names anywhere."""

    paths: tuple[str, ...]
    whole: bool


@dataclass(frozen=True, slots=True)
class StoredFolder:
    """One folder of a checkpoint: where it is kept, the states of its entries by name, its own time (0: unknown)."""

    tree: ObjectId | None
    side: ObjectId
    meta: ObjectId
    parts: dict[bytes, ObjectId] | None
    states: dict[str, FileState]
    subtrees: dict[str, ObjectId]
    subsides: dict[str, ObjectId]
    chunks: dict[str, ObjectId]
    mtime_ns: int = 0

    def subfolders(self) -> Iterator[str]:
        """Yield the names of the folders in it."""
        return (name for name, state in self.states.items() if state.kind is EntryKind.DIRECTORY)


class SnapshotTree:
    """The files of a checkpoint. Folders are read when first asked for, and kept.

    Every method raises `MissingObject` or `DamagedObject` where the repository cannot give what it should.
    """

    def __init__(self, repository: ShadowRepository, address: FilesAddress) -> None:
        self.repository = repository
        self.address = address
        self._folders: dict[str, StoredFolder] = {}
        self._top: dict[bytes, ObjectId] | None = None
        self._matcher: Matcher | None = None
        self._links: dict[str, tuple[int, tuple[str, ...]]] | None = None

    def lookup(self, rel: str) -> FileState | None:
        """Return what stood at *rel*; None if nothing did, or if it was not covered (`covers` tells)."""
        if not rel:
            return FileState(EntryKind.DIRECTORY, mode=0o755)
        folder, _, name = rel.rpartition("/")
        stored = self.folder(folder)
        return None if stored is None else stored.states.get(name)

    def walk(self, prefix: str = "") -> Iterator[tuple[str, FileState]]:
        """Yield every entry at or below *prefix* with its state: directories too, each before what it holds."""
        if prefix:
            state = self.lookup(prefix)
            if state is None:
                return
            yield prefix, state
            if state.kind is not EntryKind.DIRECTORY:
                return
        stack = self._below(prefix)
        while stack:
            rel, state = stack.pop()
            yield rel, state
            if state.kind is EntryKind.DIRECTORY:
                stack.extend(self._below(rel))

    @property
    def directories(self) -> tuple[str, ...]:
        """Return every directory, each before those in it."""
        return tuple(path for path, state in self.walk() if state.kind is EntryKind.DIRECTORY)

    @property
    def range(self) -> Range:
        """Return what was covered when the snapshot was made."""
        return self._rules().range

    def covers(self, rel: str, *, is_dir: bool = False) -> bool:
        """Return whether something at *rel* would be in this snapshot: only then does its absence say something."""
        if self._rules().reason(rel, is_dir):
            return False
        parts = rel.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            above = self.lookup("/".join(parts[:depth]))
            if above is None:
                return True
            if above.missing:
                return False
        return True

    def link_group(self, rel: str) -> LinkGroup | None:
        """Return all names of the file at *rel* that were covered, if it had more than one name."""
        if self._links is None:
            oid = self._top_entries().get(LINKS)
            self._links = {} if oid is None else read_links(self.repository.read(oid))
        group = self._links.get(rel)
        return None if group is None else LinkGroup(group[1], group[0] == len(group[1]))

    def links(self) -> dict[str, LinkGroup]:
        """Return the group of every path that has one."""
        self.link_group("")
        return {path: LinkGroup(paths, count == len(paths)) for path, (count, paths) in (self._links or {}).items()}

    def folder(self, rel: str) -> StoredFolder | None:
        """Return the folder at *rel*, None if there is none."""
        # Not by recursion: a path can be typed that is deeper than the interpreter's stack.
        at, names = rel, []
        while at and at not in self._folders:
            at, _, name = at.rpartition("/")
            names.append(name)
        stored = self._folders.get(at)
        if stored is None:
            stored = self._folders[""] = _read_folder(self.repository, self.address.tree, self.address.side)
        for name in reversed(names):
            inner = self._subfolder(stored, name)
            if inner is None:
                return None
            at = _join(at, name)
            stored = self._folders[at] = inner
        return stored

    def _subfolder(self, parent: StoredFolder, name: str) -> StoredFolder | None:
        if name not in parent.states:
            return None
        side = parent.subsides.get(name)
        if side is None:
            if parent.states[name].kind is EntryKind.DIRECTORY:
                raise DamagedObject(_NOT_THERE)
            return None
        return _read_folder(self.repository, parent.subtrees.get(name), side)

    def top(self, name: bytes) -> ObjectId | None:
        """Return the object that the side manifest has at its top under *name*."""
        return self._top_entries().get(name)

    def _below(self, rel: str) -> list[tuple[str, FileState]]:
        stored = self.folder(rel)
        states = {} if stored is None else stored.states
        return [(_join(rel, name), states[name]) for name in sorted(states, reverse=True)]

    def _top_entries(self) -> dict[bytes, ObjectId]:
        if self._top is None:
            self._top = {entry.name: entry.oid for entry in self.repository.tree(self.address.side)}
        return self._top

    def _rules(self) -> Matcher:
        if self._matcher is None:
            oid = self._top_entries().get(RANGE)
            if oid is None:
                raise DamagedObject(_NOT_THERE)
            self._matcher = Matcher(read_range(self.repository.read(oid)))
        return self._matcher


def agree(first: FileState | None, second: FileState | None) -> bool:
    """Return whether two states are equal as far as anybody can know; times of files with kept bytes do not count."""
    if first is None or second is None:
        return first is second
    if first.kind is not second.kind:
        return False
    if first.kind is EntryKind.DIRECTORY or first.kind is EntryKind.SPECIAL:
        return first.mode == second.mode
    return first.same(second) or (first.object is None and first == second)


def diff(
    first: SnapshotTree, second: SnapshotTree, *, everything: bool = False
) -> Iterator[tuple[str, FileState | None, FileState | None]]:
    """Yield each path whose states differ, with both; folders that are stored as one are not looked into.

    A path that one of the two did not cover is no difference, unless *everything* is asked for.
    """
    stack: list[tuple[str, bool, bool]] = [("", True, True)]
    while stack:
        rel, in_first, in_second = stack.pop()
        before = first.folder(rel) if in_first else None
        after = second.folder(rel) if in_second else None
        if before is not None and after is not None and (before.tree, before.side) == (after.tree, after.side):
            continue
        old: dict[str, FileState] = {} if before is None else before.states
        new: dict[str, FileState] = {} if after is None else after.states
        below: list[tuple[str, bool, bool]] = []
        for name in sorted(old.keys() | new.keys()):
            path, states = _join(rel, name), (old.get(name), new.get(name))
            unseen = any(state is not None and state.missing and _is_dir(state) for state in states)
            if (
                any(map(_is_dir, states))
                and not (unseen and not everything)
                and not _is_stored_once(before, after, name)
            ):
                below.append((path, _is_dir(states[0]), _is_dir(states[1])))
            if agree(*states):
                continue
            if not everything and any(
                mine is None and not tree.covers(path, is_dir=_is_dir(other))
                for mine, other, tree in ((states[0], states[1], first), (states[1], states[0], second))
            ):
                continue
            yield path, *states
        stack.extend(reversed(below))


def _is_stored_once(first: StoredFolder | None, second: StoredFolder | None, name: str) -> bool:
    if first is None or second is None or name not in first.subsides:
        return False
    return (first.subtrees.get(name), first.subsides[name]) == (second.subtrees.get(name), second.subsides.get(name))


def _is_dir(state: FileState | None) -> bool:
    return state is not None and state.kind is EntryKind.DIRECTORY


def _read_folder(repository: ShadowRepository, tree: ObjectId | None, side: ObjectId) -> StoredFolder:
    objects: dict[str, ObjectId] = {}
    subtrees: dict[str, ObjectId] = {}
    if tree is not None:
        for entry in repository.tree(tree):
            (subtrees if entry.mode == DIRECTORY else objects)[os.fsdecode(entry.name)] = entry.oid
    top = {entry.name: entry for entry in repository.tree(side)}
    meta = top.get(META)
    if meta is None:
        raise DamagedObject(_NOT_THERE)
    parts = None
    if meta.mode == DIRECTORY:
        parts = {entry.name: entry.oid for entry in repository.tree(meta.oid)}
        states = {}
        for oid in parts.values():
            states.update(read_meta(repository.read(oid), objects))
    else:
        states = read_meta(repository.read(meta.oid), objects)
    itself = states.pop(ITSELF, None)
    return StoredFolder(
        tree, side, meta.oid, parts, states, subtrees,
        _names(repository, top[FOLDERS].oid) if FOLDERS in top else {},
        _names(repository, top[CHUNKS].oid) if CHUNKS in top else {},
        itself.mtime_ns if itself is not None else 0,
    )  # fmt: skip


def _names(repository: ShadowRepository, oid: ObjectId) -> dict[str, ObjectId]:
    return {os.fsdecode(entry.name): entry.oid for entry in repository.tree(oid)}


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
