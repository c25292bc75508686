"""The shadow repository: an ordinary bare git directory, read and written in process."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from typing import Self

from nbrewind.errors import DamagedObject, MissingObject, StoreError, StoreReadOnly
from nbrewind.model import EntryKind, FileState, ObjectId
from nbrewind.store.shadow import chunks as coding
from nbrewind.store.shadow import incoming, layout
from nbrewind.store.shadow.loose import loose_path, read_loose
from nbrewind.store.shadow.objects import COMMIT, KINDS, TREE, TreeEntry, commit_tree, digest, tree_entries
from nbrewind.store.shadow.pack import PackDirectory
from nbrewind.store.shadow.refs import References
from nbrewind.store.shadow.writer import PackWriter

__all__ = ["ShadowRepository"]


class ShadowRepository:
    """The one object store of a workspace.

    On disk: `HEAD`, `config` and `info/attributes` that leave git nothing to run, `objects/pack`, `refs/nbrewind/`
    (roots for git; the logs are the truth) and `incoming/` (packs in the making). A pack is renamed into
    `objects/pack` only when it and its index are durable, so a death at any moment leaves a valid repository and at
    most files in `incoming` and below `refs`, which the next `open` removes. Reading is safe for several threads.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.objects = f"{path}/objects"
        self.incoming = f"{path}/incoming"
        self.packs = PackDirectory(f"{self.objects}/pack")
        self._references = References(path)
        self._keeps: list[str] = []

    @classmethod
    def open(cls, path: str, *, create: bool = True) -> Self:
        """Return the repository at *path*; with *create* it is made where missing, and dead writers are swept.

        Raises:
            StoreError: There is none, or it cannot be made.
        """
        path = os.path.abspath(path)
        if create:
            try:
                if not os.path.lexists(f"{path}/HEAD") or not os.path.isdir(f"{path}/incoming"):
                    layout.create(path)
                incoming.sweep(f"{path}/incoming")
                References(path).sweep()
            except OSError as problem:
                raise _cannot_write(problem) from problem
        elif not os.path.lexists(f"{path}/HEAD"):
            raise StoreError(f"There is no shadow repository at {path}.")
        return cls(path)

    def close(self) -> None:
        """Close every file. Reading opens them again."""
        self.packs.forget()

    def forget(self) -> None:
        """Drop everything that is known about what is stored, and look again. For a changed gc generation."""
        self.packs.forget()

    def read(self, oid: ObjectId) -> bytes:
        """Return the bytes of *oid*, verified.

        Raises:
            MissingObject: The repository does not hold it.
            DamagedObject: No copy of it matches its name.
        """
        return self.object(oid)[1]

    def kind(self, oid: ObjectId) -> str:
        """Return "blob", "tree" or "commit".

        Raises:
            MissingObject: As for `read`.
            DamagedObject: As for `read`.
        """
        return KINDS[self.object(oid)[0]]

    def contains(self, oid: ObjectId) -> bool:
        """Return whether the repository lists *oid*."""
        self.packs.refresh()
        return self.packs.holds(bytes.fromhex(oid)) or os.path.lexists(loose_path(self.objects, oid))

    def tree(self, oid: ObjectId) -> tuple[TreeEntry, ...]:
        """Return the rows of the tree *oid*.

        Raises:
            MissingObject: As for `read`.
            DamagedObject: As for `read`, or it is no tree.
        """
        kind, data = self.object(oid)
        if kind != TREE:
            raise DamagedObject(f"{oid} is no tree.")
        return tree_entries(data)

    def commit_tree(self, oid: ObjectId) -> ObjectId:
        """Return the tree of the commit *oid*.

        Raises:
            MissingObject: As for `read`.
            DamagedObject: As for `read`, or it is no commit.
        """
        kind, data = self.object(oid)
        if kind != COMMIT:
            raise DamagedObject(f"{oid} is no commit.")
        return commit_tree(data)

    def read_text(self, oid: ObjectId) -> bytes:
        """Return what `PackWriter.zblob` was given.

        Raises:
            MissingObject: As for `read`.
            DamagedObject: As for `read`.
            StoreError: It needs zstandard, which is not installed.
        """
        return coding.unpacked_text(self.read(oid))

    def content(self, state: FileState) -> Iterator[bytes]:
        """Yield the whole content of a file or symlink, verified piece by piece, each of at most 8 MiB.

        A chunk of zeros is `chunks.ZEROS` itself, so that who writes it can leave a hole.

        Raises:
            MissingObject: The bytes were not kept, or are gone.
            DamagedObject: They do not match their names, or the size that *state* tells.
        """
        if state.object is None or state.kind not in (EntryKind.FILE, EntryKind.SYMLINK):
            raise MissingObject(f"The bytes were not kept: {state.missing or state.kind}.")
        if not state.chunked:
            data = self.read(state.object)
            if state.kind is EntryKind.FILE and len(data) != state.size:
                raise DamagedObject(f"{state.object} has another size than the file that it is.")
            yield data
            return
        pointer = coding.Pointer.from_bytes(self.read(state.object))
        if pointer.size != state.size:
            raise DamagedObject(f"{state.object} has another size than the file that it is.")
        for chunk in pointer.chunks:
            if chunk.length == coding.CHUNK and chunk.digest == coding.zero_digest(coding.CHUNK):
                yield coding.ZEROS
            else:
                yield coding.decoded(self.read(chunk.oid), chunk.length)

    def verify_content(self, state: FileState) -> None:
        """Read everything that `content` would yield.

        Raises:
            MissingObject: As for `content`.
            DamagedObject: As for `content`.
        """
        for _ in self.content(state):
            pass

    def writer(self, *, trust: bool = True) -> PackWriter:
        """Return a writer for one pack; *trust* only with the gc lock held, shared, until the log names the objects."""
        return PackWriter(self.packs, self.incoming, self.read, trust=trust, keeps=self._keeps)

    def set_ref(self, name: str, oid: ObjectId, *, sync: bool = False) -> None:
        """Point the reference *name* at *oid*; flushed only with *sync*, for what no log names.

        Raises:
            StoreError: The disk refused.
        """
        try:
            self._references.set(name, oid, sync=sync)
        except OSError as problem:
            raise _cannot_write(problem) from problem

    def refs(self, prefix: str = "refs/") -> dict[str, ObjectId]:
        """Return every reference whose name begins with *prefix*.

        Raises:
            StoreError: One cannot be read.
        """
        try:
            return self._references.list(prefix)
        except OSError as problem:
            raise StoreError(f"The references cannot be read: {problem.strerror or problem}.") from problem

    def delete_ref(self, name: str) -> None:
        """Remove the reference *name* if it is there.

        Raises:
            StoreError: The disk refused.
        """
        try:
            self._references.delete(name)
        except OSError as problem:
            raise _cannot_write(problem) from problem

    @property
    def references(self) -> References:
        """The references, for maintenance."""
        return self._references

    def object(self, oid: ObjectId) -> tuple[int, bytes]:
        """Return kind (a number as in packs) and bytes of *oid*, verified.

        Raises:
            MissingObject: As for `read`.
            DamagedObject: As for `read`.
            StoreError: The disk could not be read.
        """
        damage: DamagedObject | None = None
        for attempt in range(2):
            # Somebody may have repacked: the second look lists the directory again.
            self.packs.refresh(force=attempt > 0)
            try:
                return self._copy(oid)
            except DamagedObject as problem:
                damage = problem
            except MissingObject:
                continue
            except OSError as problem:
                # Too many open files, a dying disk: nothing is known about the object.
                raise _cannot_read(problem) from problem
        found = self._found_without_index(oid)
        if found is not None:
            return found
        if damage is None:
            raise MissingObject(f"The shadow repository does not hold {oid}.")
        self.packs.mark_damaged(bytes.fromhex(oid))
        raise damage

    def _found_without_index(self, oid: ObjectId) -> tuple[int, bytes] | None:
        """Return *oid* where only a damaged or lost index hides it."""
        try:
            if self.packs.doubt():
                return self._copy(oid)
        except (DamagedObject, MissingObject):
            pass
        name = bytes.fromhex(oid)
        for pack in self.packs.bare():
            try:
                offset = pack.index.find(name)
                entry = self.packs.read(pack, offset) if offset is not None else None
            except (DamagedObject, MissingObject, OSError):
                continue
            if entry is not None and digest(entry.kind, entry.data) == name:
                return entry.kind, entry.data
        return None

    def _copy(self, oid: ObjectId) -> tuple[int, bytes]:
        """Return the first copy that matches its name, else say what was found instead."""
        name = bytes.fromhex(oid)
        damage = ""
        for pack, offset in self.packs.copies(name):
            try:
                entry = self.packs.read(pack, offset)
            except FileNotFoundError:
                continue
            except (DamagedObject, MissingObject) as problem:
                damage = problem.message
                continue
            if digest(entry.kind, entry.data) == name:
                return entry.kind, entry.data
            damage = "It does not match its name."
        try:
            kind, data = read_loose(self.objects, oid)
        except FileNotFoundError:
            if not damage:
                raise MissingObject(oid) from None
        except DamagedObject as problem:
            damage = problem.message
        else:
            if digest(kind, data) == name:
                return kind, data
        raise DamagedObject(f"The object {oid} is damaged. {damage}".rstrip())


def _cannot_read(problem: OSError) -> StoreError:
    return StoreError(f"The shadow repository cannot be read: {problem.strerror or problem}.")


def _cannot_write(problem: OSError) -> StoreError:
    kind = StoreReadOnly if problem.errno in (errno.EROFS, errno.EACCES, errno.EPERM) else StoreError
    return kind(f"The shadow repository cannot be written: {problem.strerror or problem}.")
