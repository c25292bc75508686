"""Keeping the repository small and sound: repacking, dropping what nothing names, checking.

Nothing here is needed to capture or to restore, and no cell ever waits for it. One process at a time does it
(`maintenance.lock`). git writes only into a quarantine below `incoming`; this module moves the result.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from nbrewind import fs
from nbrewind.errors import RefusalReason, RewindRefused, StoreError
from nbrewind.model import ObjectId
from nbrewind.store.shadow import incoming, layout
from nbrewind.store.shadow.git import GitRunner
from nbrewind.store.shadow.loose import loose_names
from nbrewind.store.shadow.mending import mend_indexes, needs_mending
from nbrewind.store.shadow.pack import Pack
from nbrewind.store.shadow.quarantine import Quarantine
from nbrewind.store.shadow.repository import ShadowRepository

__all__ = ["PREFIX", "Counts", "count_objects", "maintaining", "mend", "reconcile_refs", "remove_packs", "repack"]

PREFIX = "refs/nbrewind/"
_FACTOR = 2
_MOST = 2 << 30
_ROOM = 2
_EXTENSIONS = (".idx", ".pack", ".rev", ".bitmap", ".mtimes", ".keep")


@dataclass(frozen=True, slots=True)
class Counts:
    """What the repository takes: *size* in bytes of packs and indexes, *unfinished* files in `incoming`."""

    packs: int
    objects: int
    loose: int
    size: int
    unfinished: int


def count_objects(repository: ShadowRepository) -> Counts:
    """Return what is there. Needs no git."""
    repository.packs.refresh(force=True)
    packs = repository.packs.packs()
    return Counts(
        packs=len(packs),
        objects=sum(pack.index.count for pack in packs),
        loose=sum(1 for _ in loose_names(repository.objects)),
        size=sum(size_of(pack) for pack in packs),
        unfinished=len(os.listdir(repository.incoming)) if os.path.isdir(repository.incoming) else 0,
    )


def reconcile_refs(repository: ShadowRepository, wanted: Mapping[str, ObjectId]) -> None:
    """Make the references below `refs/nbrewind/` exactly *wanted*, as the logs say.

    Raises:
        ValueError: A name is no name of a reference of ours.
        StoreError: The disk refused.
    """
    for name in wanted:
        if not name.startswith(PREFIX):
            raise ValueError(f"{name!r} is none of our references")
    try:
        repository.references.replace_all(PREFIX, wanted)
    except OSError as problem:
        raise StoreError(f"The references cannot be written: {problem.strerror or problem}.") from problem


def mend(repository: ShadowRepository, *, thorough: bool = False) -> tuple[str, ...]:
    """Make damaged and lost indexes again from their packs; return what was found and done, one line each.

    Without *thorough* only what reading met so far is looked at, which costs nothing. Where nothing can be written, or
    another process does maintenance, the indexes in memory serve, and the next one who can writes them.
    """
    if thorough:
        repository.packs.refresh(force=True)
        repository.packs.doubt()
    if not needs_mending(repository):
        return ()
    found = [pack.stem for pack in repository.packs.packs() if pack.remade]
    try:
        with maintaining(repository):
            return mend_indexes(repository)
    except (RewindRefused, StoreError):
        return tuple(f"the index of {stem} is damaged; its pack is read without it" for stem in found)


def repack(
    repository: ShadowRepository, git: GitRunner, *, least: int = 2, most: int = _MOST, timeout: float | None = None
) -> int:
    """Roll the smaller packs up into one with deltas, and return how many went. Loses nothing, needs no gc lock.

    The packs that stay are each at least twice as large as all smaller ones together, so that what is large is
    seldom written again.

    Args:
        repository: What to repack.
        git: Its git.
        least: How many packs are worth the work.
        most: Bytes of packs that are rolled up at most.
        timeout: Seconds for git.

    Raises:
        GitUnavailable: git is missing or too old.
        RewindRefused: (busy) Another process does maintenance; (disk-full) there is no room for a second copy.
        StoreError: It failed; nothing was removed.
    """
    with maintaining(repository):
        mend_indexes(repository)
        packs = rolled_up(repository, most)
        if len(packs) < max(2, least):
            return 0
        require_room(repository, sum(size_of(pack) for pack in packs))
        with Quarantine(repository, git) as quarantine:
            made = quarantine.pack_listed(packs, timeout=timeout)
            wanted = {name for pack in packs for name in pack.index.names()}
            if any(made.index.position(name) < 0 for name in wanted):
                raise StoreError("git left objects out of the new pack. Nothing was removed.")
            quarantine.harden(made)
            quarantine.admit(made)
        remove_packs(repository, [pack.stem for pack in packs])
        return len(packs)


@contextlib.contextmanager
def maintaining(repository: ShadowRepository) -> Iterator[None]:
    """Hold the right to do maintenance, and sweep what dead processes left.

    Raises:
        RewindRefused: (busy) Another process has it.
        StoreError: The lock cannot be taken.
    """
    lock = fs.FileLock(f"{repository.path}/maintenance.lock")
    try:
        if not lock.acquire():
            raise RewindRefused(RefusalReason.BUSY, "Another kernel is tidying the store. Nothing changed.")
    except OSError as problem:
        raise StoreError(f"The store cannot be locked: {problem.strerror or problem}.") from problem
    try:
        layout.create(repository.path)
        incoming.sweep(repository.incoming)
        repository.packs.refresh(force=True)
        yield
    except OSError as problem:
        raise StoreError(f"Tidying the store failed: {problem.strerror or problem}. Nothing was lost.") from problem
    finally:
        with contextlib.suppress(OSError):
            lock.release()


def rolled_up(repository: ShadowRepository, most: int) -> list[Pack]:
    """Return the packs that a repack replaces: the smaller ones, up to the last that breaks the progression."""
    packs = sorted(
        ((size_of(pack), pack.stem, pack) for pack in repository.packs.packs() if not is_kept(pack)),
        key=lambda row: row[:2],
    )
    count = total = 0
    for position, (size, _, _) in enumerate(packs):
        if total + size > most:
            break
        if position and size < _FACTOR * total:
            count = position + 1
        total += size
    return [pack for _, _, pack in packs[:count]]


def is_kept(pack: Pack) -> bool:
    """Return whether *pack* is marked as not to be removed: no log may name its objects yet."""
    return os.path.lexists(pack.path + ".keep")


def size_of(pack: Pack) -> int:
    """Return the bytes that *pack* takes with its index; 0 when it is gone."""
    try:
        return os.stat(pack.path + ".pack").st_size + os.stat(pack.path + ".idx").st_size
    except FileNotFoundError:
        return 0


def require_room(repository: ShadowRepository, size: int) -> None:
    """Check that twice *size* is free.

    Raises:
        RewindRefused: (disk-full) It is not.
    """
    about = os.statvfs(repository.objects)
    if about.f_bavail * about.f_frsize < _ROOM * size:
        raise RewindRefused(RefusalReason.DISK_FULL, "The disk has no room for repacking. Nothing changed.")


def remove_packs(repository: ShadowRepository, stems: list[str]) -> None:
    """Remove packs whose objects stand elsewhere, or are wanted by nobody.

    Raises:
        OSError: The disk refused.
    """
    for stem in stems:
        # The index first: a pack without one is nothing; an index without its pack would promise what is not there.
        for extension in _EXTENSIONS:
            path = f"{repository.packs.path}/{stem}{extension}"
            if os.path.lexists(path):
                with contextlib.suppress(FileNotFoundError):
                    fs.unlink(path)
    repository.packs.refresh(force=True)
