"""Mending damaged and lost indexes on the disk, for git and for the next process: a pack is whole without its index."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from nbrewind import fs
from nbrewind.errors import DamagedObject
from nbrewind.store.shadow.inventory import Inventory, take_inventory
from nbrewind.store.shadow.pack import Pack
from nbrewind.store.shadow.repository import ShadowRepository

__all__ = ["mend_indexes", "needs_mending"]

_DEAD_AFTER = 60.0
"""Seconds after which a pack without an index is no longer one whose writer is about to rename it into place."""


def needs_mending(repository: ShadowRepository) -> bool:
    """Return whether an index was found damaged or lost, as far as any was looked at."""
    return any(pack.remade for pack in repository.packs.packs()) or any(map(_is_left, repository.packs.bare()))


def mend_indexes(repository: ShadowRepository) -> tuple[str, ...]:
    """Put indexes that were made from their packs in the place of damaged and lost ones; return what was done.

    The caller holds the right to do maintenance: a collection takes an index away before its pack. The damaged file is
    kept in `damaged/`, durable, before it is replaced; a death in between leaves a copy too many.

    Raises:
        OSError: The disk refused.
    """
    said = []
    for pack in repository.packs.packs():
        if pack.remade is not None:
            said.append(_mended(repository, pack, pack.remade))
    for pack in filter(_is_left, repository.packs.bare()):
        with contextlib.suppress(FileNotFoundError, DamagedObject):
            said.append(_mended(repository, pack, take_inventory(pack.path + ".pack")))
    if said:
        repository.packs.forget()
        repository.packs.refresh(force=True)
    return tuple(said)


def _is_left(pack: Pack) -> bool:
    try:
        return time.time() - os.stat(pack.path + ".pack").st_mtime > _DEAD_AFTER
    except OSError:
        return False


def _mended(repository: ShadowRepository, pack: Pack, inventory: Inventory) -> str:
    index = pack.path + ".idx"
    what = "damaged" if os.path.lexists(index) else "missing"
    if not inventory.whole:
        # git would refuse an index that does not fit its pack; ours is held in memory, by each reader.
        return f"the index of {pack.stem} is {what}, and the pack is damaged too: what is whole in it is still read"
    kept = ""
    if what == "damaged":
        folder = f"{repository.path}/damaged"
        fs.make_directory(folder)
        with contextlib.suppress(FileExistsError):
            fs.write_new(f"{folder}/{pack.stem}.idx-{time.time_ns():x}", Path(index).read_bytes(), sync=True)
        fs.sync_directory(folder)
        kept = "; the damaged one is kept in shadow/damaged"
    _make_durable(pack.path + ".pack")
    fs.replace(index, inventory.data)
    return f"the index of {pack.stem} was {what} and has been made again from the pack, which is whole{kept}"


def _make_durable(path: str) -> None:
    """Flush a pack whose writer may have died before the directory was flushed: from now on it is relied on."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fs.sync_file(fd)
    finally:
        os.close(fd)
