"""Dropping what nothing names any more, without making any capture wait and without losing what one just found.

The protocol:

1. The packs that may go are listed, and everything that can be reached from what the logs name now is copied into one
   new pack, in quarantine: the long part, with no lock that a capture could want.
2. Under the gc lock, exclusively and briefly: no trusting writer is at work, so what they relied on is named in a log
   by now. The logs are read again. What can be reached from newer names and stands nowhere but in the listed packs is
   rescued into a second pack.
3. `generation` is raised, so that every session forgets what it believed stored; the new pack is admitted; the listed
   ones go.

A writer that met the exclusive lock does not trust: it stores all it needs again, in a pack marked `.keep` that is
never listed, and relies on its session's last commit only, which the logs name. A death at any moment leaves objects
twice, never less than once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from nbrewind import fs
from nbrewind.errors import StoreError
from nbrewind.model import ObjectId
from nbrewind.store.shadow.git import GitRunner
from nbrewind.store.shadow.index import PackIndex
from nbrewind.store.shadow.loose import loose_names, loose_path
from nbrewind.store.shadow.maintenance import (
    Counts,
    count_objects,
    is_kept,
    maintaining,
    reconcile_refs,
    remove_packs,
    require_room,
)
from nbrewind.store.shadow.mending import mend_indexes
from nbrewind.store.shadow.objects import COMMIT, DIRECTORY_MODE, TREE, commit_tree, tree_entries
from nbrewind.store.shadow.quarantine import Quarantine
from nbrewind.store.shadow.repository import ShadowRepository
from nbrewind.store.shadow.writer import PackWriter

__all__ = ["Collected", "ExclusiveLock", "collect"]

_KEPT_AT_LEAST = 3600.0
_KEPT_AT_MOST = 7 * 86400.0


class ExclusiveLock(Protocol):
    """What a collection needs of the gc lock (`store.locks.GcLock`)."""

    def exclusive(self, timeout: float = 0.0) -> AbstractContextManager[None]:
        """Hold the store alone during the block."""

    def raise_generation(self) -> int:
        """Make every session forget what it believed stored."""


@dataclass(frozen=True, slots=True)
class Collected:
    """What a collection did, in objects and bytes."""

    objects_before: int
    objects_after: int
    freed: int
    rescued: int


def collect(
    repository: ShadowRepository,
    git: GitRunner,
    lock: ExclusiveLock,
    keep: Callable[[], Mapping[str, ObjectId]],
    *,
    patience: float = 10.0,
    timeout: float | None = None,
) -> Collected:
    """Drop every object that cannot be reached from what *keep* answers; wait *patience* seconds for the *lock*.

    *keep* returns references below `refs/nbrewind/` with their objects: at least the last commit and side tree of every
    session, and all that its log and its intents name and that shall stay. It is called twice, the second time under
    the exclusive lock, and must read the logs anew. *timeout* is git's.

    Raises:
        GitUnavailable: git is missing or too old.
        RewindRefused: (busy) Another process does maintenance or writes all the time; (disk-full) no room.
        StoreError: It failed, or an object is missing; nothing was removed.
    """
    with maintaining(repository):
        # git reads the indexes that stand on the disk.
        mend_indexes(repository)
        before = count_objects(repository)
        condemned = [pack.stem for pack in repository.packs.packs() if not is_kept(pack)]
        loose = list(loose_names(repository.objects))
        roots = set(_named(keep, before).values())
        require_room(repository, before.size)
        with Quarantine(repository, git) as quarantine:
            made = quarantine.pack_reachable(roots, timeout=timeout)
            closed = made.index
            quarantine.harden(made)
            with lock.exclusive(patience):
                wanted = _named(keep, before)
                rescued = _rescue(repository, set(wanted.values()) - roots, closed, set(condemned))
                reconcile_refs(repository, wanted)
                # Before anything goes: a death in between must leave nobody with a belief in what is gone.
                lock.raise_generation()
                quarantine.admit(made)
                _drop(repository, condemned, loose)
        after = count_objects(repository)
        return Collected(before.objects, after.objects, before.size - after.size, rescued)


def _named(keep: Callable[[], Mapping[str, ObjectId]], before: Counts) -> Mapping[str, ObjectId]:
    wanted = keep()
    if not wanted and before.objects:
        # Logs that cannot be read look the same.
        raise StoreError("The logs name no object at all. Nothing was removed.")
    return wanted


def _rescue(repository: ShadowRepository, roots: Collection[ObjectId], closed: PackIndex, condemned: set[str]) -> int:
    """Copy what can be reached from *roots*, is not in the *closed* pack and stands in condemned packs only."""
    repository.packs.refresh(force=True)
    writer = PackWriter(repository.packs, repository.incoming, repository.read, trust=False, keeps=None)
    seen: set[ObjectId] = set()
    # A blob's kind is known from its tree; only what can lead further is read.
    stack: list[tuple[ObjectId, bool]] = [(oid, True) for oid in roots]
    with writer:
        while stack:
            oid, leads_on = stack.pop()
            if oid in seen or closed.position(bytes.fromhex(oid)) >= 0:
                continue
            seen.add(oid)
            safe = any(pack.stem not in condemned for pack, _ in repository.packs.copies(bytes.fromhex(oid)))
            if safe and not leads_on:
                continue
            kind, data = repository.object(oid)
            if not safe:
                writer.copy(kind, data)
            if kind == COMMIT:
                stack.append((commit_tree(data), True))
            elif kind == TREE:
                stack += [(entry.oid, entry.mode == DIRECTORY_MODE) for entry in tree_entries(data)]
        rescued = writer.pending
        writer.finish()
    return rescued


def _drop(repository: ShadowRepository, condemned: list[str], loose: Collection[str]) -> None:
    remove_packs(repository, condemned)
    for oid in loose:
        with suppress(FileNotFoundError):
            fs.unlink(loose_path(repository.objects, oid))
    _release_dead_keeps(repository)
    _remove_orphans(repository)


def _release_dead_keeps(repository: ShadowRepository) -> None:
    """Unmark packs whose writer is long dead: its log names them by now, or never will."""
    for name in os.listdir(repository.packs.path):
        if name.endswith(".keep"):
            path = f"{repository.packs.path}/{name}"
            with suppress(FileNotFoundError):
                age = time.time() - os.stat(path).st_mtime
                words = Path(path).read_text("utf-8", "replace").split()
                if words[:1] != ["nbrewind"]:
                    continue
                dead = not os.path.lexists(f"/proc/{words[1]}") if len(words) > 1 and words[1].isdigit() else True
                if age > _KEPT_AT_MOST or (dead and age > _KEPT_AT_LEAST):
                    fs.unlink(path)


def _remove_orphans(repository: ShadowRepository) -> None:
    """Remove packs whose index never came: their writer died between two renames (or was told of a failure)."""
    names = set(os.listdir(repository.packs.path))
    for name in names:
        stem, extension = os.path.splitext(name)
        if extension == ".pack" and stem + ".idx" not in names and stem + ".keep" not in names:
            path = f"{repository.packs.path}/{name}"
            with suppress(FileNotFoundError):
                # A person's own git may be between the same two renames.
                if time.time() - os.stat(path).st_mtime > _KEPT_AT_LEAST:
                    fs.unlink(path)
