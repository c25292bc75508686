"""Finding and reading objects in a directory of packs, which others may repack at any moment."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator

from nbrewind.errors import DamagedObject, MissingObject, StoreError
from nbrewind.store.shadow.entries import OFFSET_DELTA, Entry, applied, read_entry
from nbrewind.store.shadow.index import PackIndex
from nbrewind.store.shadow.inventory import Inventory, take_inventory

__all__ = ["Pack", "PackDirectory"]

_SMALL = 2048
_OPEN_FILES = 8
_CACHED_BASES = 8 << 20
_CACHED_BASE = 1 << 20
_FRESH_NS = 2_100_000_000
_DEEPEST = 5000


class _OpenFile:
    """A descriptor that closes with its last user: one thread may read while another drops it from the cache."""

    __slots__ = ("fd",)

    def __init__(self, path: str) -> None:
        self.fd = -1
        self.fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def __del__(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)


class Pack:
    """One pack with its index, which is read when first needed, and made from the pack where it is damaged or gone."""

    __slots__ = ("_index", "_proven", "path", "remade", "stem")

    def __init__(self, directory: str, stem: str) -> None:
        self.stem = stem
        self.path = f"{directory}/{stem}"
        self.remade: Inventory | None = None
        self._index: PackIndex | None = None
        self._proven = False

    @property
    def index(self) -> PackIndex:
        """The index.

        Raises:
            DamagedObject: Neither it nor the pack can be read.
            FileNotFoundError: The pack is gone.
        """
        if self._index is None:
            self._index = self._read()
        return self._index

    def doubt(self) -> bool:
        """Prove the index by its checksum, if that was not done yet; return whether it had to be made anew.

        Raises:
            DamagedObject: As for `index`.
            FileNotFoundError: As for `index`.
        """
        if self._proven or self.index.intact():
            self._proven = True
            return False
        self._index = self._made()
        return True

    def _read(self) -> PackIndex:
        try:
            index = PackIndex(self.path + ".idx")
        except (DamagedObject, FileNotFoundError):
            return self._made()
        # A large one is proved only where something is not found: that costs as much as reading all of it.
        self._proven = not index.is_mapped
        return index if index.is_mapped or index.intact() else self._made()

    def _made(self) -> PackIndex:
        self._proven = True
        self.remade = take_inventory(self.path + ".pack")
        return PackIndex(self.path + ".idx", self.remade.data)


class PackDirectory:
    """Every pack of `objects/pack`.

    Holds no beliefs: what it says to hold is what the indexes on the disk list. A directory that changed since it was
    listed is listed again (`refresh`), so that a repack by another process is survived. Safe for several threads.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.problems: dict[str, str] = {}
        self._lock = threading.RLock()
        self._files: OrderedDict[str, _OpenFile] = OrderedDict()
        self._bases: OrderedDict[tuple[str, int], Entry] = OrderedDict()
        self._bases_size = 0
        self._damaged: set[bytes] = set()
        self._shunned: set[str] = set()
        self.forget()

    def forget(self) -> None:
        """Drop everything that is known, and close every file."""
        with self._lock:
            self._packs: dict[str, Pack] = {}
            self._small: dict[bytes, Pack] = {}
            self._large: tuple[Pack, ...] = ()
            self._bare: dict[str, Pack] = {}
            self._stamp = -1
            self._files.clear()
            self._bases.clear()
            self._bases_size = 0

    def refresh(self, *, force: bool = False) -> None:
        """List the directory again if it can have changed.

        Raises:
            StoreError: It cannot be listed.
        """
        with self._lock:
            now = time.time_ns()
            try:
                stamp = os.stat(self.path).st_mtime_ns
                if stamp == self._stamp and not force:
                    return
                names = set(os.listdir(self.path))
                # An index alone, which a power cut between the two renames can leave, must promise nothing.
                stems = {name[:-4] for name in names if name.endswith(".idx") and f"{name[:-4]}.pack" in names}
                bare = {name[:-5] for name in names if name.startswith("pack-") and name.endswith(".pack")} - stems
            except FileNotFoundError:
                stamp, stems, bare = -1, set(), set()
            except OSError as problem:
                raise StoreError(f"The shadow repository cannot be read: {problem.strerror or problem}.") from problem
            # Two changes may share one timestamp (of two seconds on the coarsest file systems): a fresh one proves
            # nothing, and the next call lists again.
            self._stamp = stamp if now - stamp > _FRESH_NS else -1
            stems = {stem for stem in stems if stem.startswith("pack-")} - self._shunned
            self._bare = {stem: self._bare.get(stem) or Pack(self.path, stem) for stem in bare - self._shunned}
            if self._packs.keys() - stems:
                kept = {stem: pack for stem, pack in self._packs.items() if stem in stems}
                self._packs, self._small, self._large = {}, {}, ()
                for pack in kept.values():
                    self._admit(pack)
            for stem in stems - self._packs.keys():
                self._admit(Pack(self.path, stem))

    def register(self, stem: str, names: Iterable[bytes]) -> None:
        """Take in a pack that was just made durable here and holds *names*."""
        with self._lock:
            pack = Pack(self.path, stem)
            self._damaged.difference_update(names)
            self._admit(pack, names)

    def shun(self, stem: str) -> None:
        """Never rely on the pack *stem*: it may be there, but was not made durable."""
        self._shunned.add(stem)

    def doubt(self) -> bool:
        """Prove every index that was not proved yet; return whether one had to be made anew. For what is not found."""
        with self._lock:
            anew = []
            for pack in self.packs():
                try:
                    if pack.doubt():
                        anew.append(pack)
                except FileNotFoundError:
                    continue
                except (DamagedObject, OSError) as problem:
                    self.problems[pack.stem] = str(problem)
            for pack in anew:
                self._admit(pack)
            return bool(anew)

    def bare(self) -> tuple[Pack, ...]:
        """Return the packs that have no index, as of the last `refresh`: a writer died, or the index was lost.

        Their objects may be read, but nobody relies on them: who writes one may be about to take it back.
        """
        return tuple(self._bare.values())

    def holds(self, name: bytes) -> bool:
        """Return whether an intact copy of *name* is known, as of the last `refresh`."""
        if name in self._damaged:
            return False
        if name in self._small:
            return True
        try:
            return any(pack.index.position(name) >= 0 for pack in self._large)
        except (OSError, DamagedObject):
            # An index that cannot be read any more proves nothing, and storing twice is harmless.
            return False

    def mark_damaged(self, name: bytes) -> None:
        """Remember that no copy of *name* can be read, so that the next writer stores it again."""
        self._damaged.add(name)

    def packs(self) -> tuple[Pack, ...]:
        """Return every pack, as of the last `refresh`."""
        return tuple(self._packs.values())

    def copies(self, name: bytes) -> Iterator[tuple[Pack, int]]:
        """Yield every place where *name* stands, the newest of the small packs first."""
        first = self._small.get(name)
        others = [pack for pack in self.packs() if pack is not first]
        for pack in ([first] if first is not None else []) + others:
            try:
                offset = pack.index.find(name)
            except (FileNotFoundError, DamagedObject):
                continue
            if offset is not None:
                yield pack, offset

    def read(self, pack: Pack, offset: int) -> Entry:
        """Return the object at *offset* of *pack*, deltas applied, its name not yet verified.

        Raises:
            DamagedObject: It cannot be read.
            MissingObject: The base of a delta is nowhere.
            FileNotFoundError: The pack went away.
        """
        deltas: list[tuple[Pack, int, bytes]] = []
        while True:
            entry = self._cached(pack, offset) or read_entry(self._open(pack).fd, offset)
            if entry.base is None:
                break
            deltas.append((pack, offset, entry.data))
            if len(deltas) > _DEEPEST:
                raise DamagedObject("A chain of deltas in the shadow repository has no end.")
            pack, offset = self._base(pack, entry)
        for owner, place, delta in reversed(deltas):
            self._cache(pack, offset, entry)
            entry = Entry(entry.kind, applied(entry.data, delta), None)
            pack, offset = owner, place
        return entry

    def _admit(self, pack: Pack, names: Iterable[bytes] | None = None) -> None:
        try:
            listed = list(names) if names is not None else None
            count = pack.index.count if listed is None else len(listed)
            if count > _SMALL:
                self._large = (pack, *self._large)
            else:
                self._small.update(dict.fromkeys(pack.index.names() if listed is None else listed, pack))
        except FileNotFoundError:
            return
        except (DamagedObject, OSError) as problem:
            # Not for ever: it may be that too many files were open.
            self.problems[pack.stem] = str(problem)
            self._stamp = -1
            return
        self._packs[pack.stem] = pack

    def _base(self, pack: Pack, entry: Entry) -> tuple[Pack, int]:
        if entry.kind == OFFSET_DELTA and isinstance(entry.base, int):
            if entry.base < 12:
                raise DamagedObject("A delta of the shadow repository has no base.")
            return pack, entry.base
        name = entry.base if isinstance(entry.base, bytes) else b""
        offset = pack.index.find(name)
        if offset is not None:
            return pack, offset
        for other, place in self.copies(name):
            return other, place
        raise MissingObject(f"The shadow repository lacks {name.hex()}, on which others build.")

    def _open(self, pack: Pack) -> _OpenFile:
        with self._lock:
            file = self._files.get(pack.stem)
            if file is None:
                file = self._files[pack.stem] = _OpenFile(pack.path + ".pack")
                if len(self._files) > _OPEN_FILES:
                    self._files.popitem(last=False)
            else:
                self._files.move_to_end(pack.stem)
            return file

    def _cached(self, pack: Pack, offset: int) -> Entry | None:
        return self._bases.get((pack.stem, offset)) if self._bases else None

    def _cache(self, pack: Pack, offset: int, entry: Entry) -> None:
        key = (pack.stem, offset)
        if len(entry.data) > _CACHED_BASE:
            return
        with self._lock:
            if key in self._bases:
                return
            self._bases[key] = entry
            self._bases_size += len(entry.data)
            while self._bases_size > _CACHED_BASES:
                self._bases_size -= len(self._bases.popitem(last=False)[1].data)
