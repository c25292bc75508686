"""Writing objects: everything of one turn as one small pack."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import ParamSpec, Self

from nbrewind import fs
from nbrewind.errors import DamagedObject, MissingObject, StoreError, StoreReadOnly
from nbrewind.model import FileState, ObjectId
from nbrewind.store.shadow import chunks as coding
from nbrewind.store.shadow.index import index_bytes
from nbrewind.store.shadow.objects import (
    BLOB,
    COMMIT,
    TREE,
    TreeEntry,
    Unstable,
    commit_bytes,
    compressed,
    digest,
    stored,
    tree_bytes,
)
from nbrewind.store.shadow.pack import PackDirectory
from nbrewind.store.shadow.stream import PackStream

__all__ = ["PackWriter", "Stored"]

P = ParamSpec("P")
_FILE_MODE = 0o100644


@dataclass(frozen=True, slots=True)
class Stored:
    """Where a file's bytes are: the blob, or the pointer and the tree of its chunks."""

    oid: ObjectId
    size: int
    chunked: bool = False
    chunk_tree: ObjectId | None = None


class PackWriter:
    """One pack in the making, for one thread at a time.

    Invariant: what this writer has taken in is known to nobody else until `finish` has made pack and index durable.
    An error before that, whatever it is, leaves the repository and every belief about it as they were.

    With *trust* an object that the repository lists is not stored again; the caller then holds the gc lock, shared,
    from before the writer is made until the objects are named in the log. Without, nothing is relied on but the
    chunks of a `previous` file, and the pack is marked `.keep`, where *keeps* lists such marks, until the next
    trusting writer with that list.
    """

    def __init__(
        self,
        packs: PackDirectory,
        incoming: str,
        read: Callable[[ObjectId], bytes],
        *,
        trust: bool,
        keeps: list[str] | None,
    ) -> None:
        self._packs = packs
        self._read = read
        self._trust = trust
        self._keeps = keeps
        self._stream = PackStream(incoming)
        self._state = "open"
        self._chunks: dict[str, coding.Chunk] = {}
        packs.refresh()
        if trust and keeps:
            _release(keeps)

    def __enter__(self) -> Self:
        """Return the writer itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Abort unless `finish` was called."""
        self.abort()

    @property
    def pending(self) -> int:
        """How many objects the pack has so far."""
        return len(self._stream.entries)

    @property
    def pending_bytes(self) -> int:
        """How long the pack is so far."""
        return self._stream.offset

    def blob(self, data: bytes) -> ObjectId:
        """Store *data* as it is.

        Raises:
            StoreError: The disk refused; the writer takes nothing more. So do all methods below.
        """
        return self._put(BLOB, data, compressed)

    def zblob(self, data: bytes) -> ObjectId:
        """Store text with zstd inside; `ShadowRepository.read_text` gives it back."""
        packed, squeeze = coding.packed_text(data)
        return self._put(BLOB, packed, compressed if squeeze else stored)

    def packed(self, data: bytes) -> ObjectId:
        """Store *data*, which no compression makes smaller, as it is."""
        return self._put(BLOB, data, stored)

    def tree(self, entries: Iterable[tuple[int, bytes, ObjectId]]) -> ObjectId:
        """Store a tree of rows like `TreeEntry`.

        Raises:
            ValueError: A name that no tree can hold, or one that comes twice.
        """
        return self._put(TREE, tree_bytes(entries), compressed)

    def commit(self, tree: ObjectId, message: str, when: float) -> ObjectId:
        """Store a commit without parent."""
        return self._put(COMMIT, commit_bytes(tree, message, when), compressed)

    def copy(self, kind: int, data: bytes) -> ObjectId:
        """Store an object of any *kind* as it was read."""
        return self._put(kind, data, compressed)

    def file(self, fd: int, size: int, *, previous: FileState | None = None) -> Stored:
        """Store the *size* bytes of the open file *fd*; chunks that *previous* has are not compressed again.

        Raises:
            Unstable: Its length is not *size*, or changed meanwhile. Nothing of it is kept, the writer goes on.
            OSError: The file cannot be read; as above.
        """
        self._usable()
        mark = self._stream.mark()
        try:
            if size < coding.LARGE:
                return Stored(self.blob(_whole(fd, size)), size)
            return self._large(fd, size, previous)
        except BaseException:
            if self._state == "open":
                self._writing(self._stream.cut, mark)
            raise

    def finish(self) -> None:
        """Make pack and index durable, then visible. An empty pack writes nothing.

        Raises:
            StoreError: The disk refused: nothing was stored.
        """
        self._usable()
        self._state = "closed"
        try:
            if self._stream.entries:
                self._writing(self._publish)
        finally:
            self._stream.close()

    def abort(self) -> None:
        """Throw everything away; without effect after `finish`."""
        self._state = "closed"
        self._stream.close()

    def _put(self, kind: int, data: bytes, pack: Callable[[bytes], bytes]) -> ObjectId:
        self._usable()
        name = digest(kind, data)
        if not self._has(name):
            self._writing(self._stream.append, name, kind, len(data), pack(data))
        return ObjectId(name.hex())

    def _has(self, name: bytes) -> bool:
        return name in self._stream.entries or (self._trust and self._packs.holds(name))

    def _large(self, fd: int, size: int, previous: FileState | None) -> Stored:
        known = self._previous_chunks(previous)
        rows: list[coding.Chunk] = []
        buffer = memoryview(bytearray(coding.CHUNK))
        for start in range(0, size, coding.CHUNK):
            length = min(coding.CHUNK, size - start)
            if _data_after(fd, start) >= start + length:
                rows.append(self._chunk(memoryview(coding.ZEROS)[:length], known, coding.zero_digest(length)))
            else:
                _fill(fd, buffer[:length], start)
                rows.append(self._chunk(buffer[:length], known, coding.chunk_digest(buffer[:length])))
        if os.fstat(fd).st_size != size:
            raise Unstable("The file changed its length while it was read.")
        names = coding.chunk_names(len(rows))
        tree = self.tree(TreeEntry(_FILE_MODE, name, row.oid) for name, row in zip(names, rows, strict=True))
        pointer = coding.Pointer(size, tree, tuple(rows))
        return Stored(self.blob(pointer.to_bytes()), size, chunked=True, chunk_tree=tree)

    def _chunk(self, piece: memoryview, known: dict[str, coding.Chunk], key: str) -> coding.Chunk:
        old = known.get(key)
        if old is not None and old.length == len(piece) and self._packs.holds(bytes.fromhex(old.oid)):
            return old
        old = self._chunks.get(key)
        if old is not None and old.length == len(piece) and self._has(bytes.fromhex(old.oid)):
            return old
        blob, squeeze = coding.encoded(piece)
        oid = self._put(BLOB, blob, compressed if squeeze else stored)
        row = self._chunks[key] = coding.Chunk(key, oid, len(piece))
        return row

    def _previous_chunks(self, previous: FileState | None) -> dict[str, coding.Chunk]:
        if previous is None or not previous.chunked or previous.object is None:
            return {}
        try:
            pointer = coding.Pointer.from_bytes(self._read(previous.object))
        except (MissingObject, DamagedObject):
            return {}
        return {chunk.digest: chunk for chunk in pointer.chunks}

    def _usable(self) -> None:
        if self._state == "broken":
            raise StoreError("The shadow repository could not be written; this snapshot takes nothing more.")
        if self._state == "closed":
            raise RuntimeError("BUG: the pack is closed")

    def _writing(self, act: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        try:
            act(*args, **kwargs)
        except OSError as problem:
            self._state = "broken" if self._state == "open" else self._state
            kind = StoreReadOnly if problem.errno in (errno.EROFS, errno.EACCES, errno.EPERM) else StoreError
            raise kind(f"The shadow repository cannot be written: {problem.strerror or problem}.") from problem

    def _publish(self) -> None:
        stream, directory = self._stream, self._packs.path
        trailer = stream.complete()
        index = stream.write_index(index_bytes(stream.entries, trailer))
        # Not the trailer alone: equal bytes written twice must not share a name, or a collector that is about to
        # remove the old pack would take the new one.
        stem = "pack-" + hashlib.sha1(trailer + os.urandom(16), usedforsecurity=False).hexdigest()
        target = f"{directory}/{stem}"
        try:
            if self._keeps is not None and not self._trust:
                # Before the pack can be seen: else a collector could drop what no log names yet.
                fs.write_new(target + ".keep", f"nbrewind {os.getpid()}\n".encode())
            fs.rename(stream.path + ".pack", target + ".pack")
            # The index last: a pack exists for git, and for us, from the moment its index does.
            fs.rename(index, target + ".idx")
            fs.sync_directory(directory)
        except BaseException:
            self._packs.shun(stem)
            # All of them: a call that failed may have had its effect.
            for extension in (".idx", ".pack", ".keep"):
                with contextlib.suppress(OSError):
                    fs.unlink(target + extension)
            raise
        self._packs.register(stem, stream.entries)
        if self._keeps is not None and not self._trust:
            self._keeps.append(target + ".keep")


def _release(keeps: list[str]) -> None:
    # The turns of a session are captured one after another: what an earlier writer made is in the log by now.
    while keeps:
        with contextlib.suppress(OSError):
            fs.unlink(keeps[-1])
        keeps.pop()


def _whole(fd: int, size: int) -> bytes:
    parts: list[bytes] = []
    at = 0
    # One byte more than there should be shows a file that grew.
    while at <= size:
        part = os.pread(fd, size + 1 - at, at)
        if not part:
            break
        parts.append(part)
        at += len(part)
    if at != size:
        raise Unstable("The file changed its length while it was read.")
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _fill(fd: int, piece: memoryview, start: int) -> None:
    done = 0
    while done < len(piece):
        count = os.preadv(fd, [piece[done:]], start + done)
        if not count:
            raise Unstable("The file became shorter while it was read.")
        done += count


def _data_after(fd: int, start: int) -> int:
    """Return where the next bytes that are no hole begin, at or after *start*."""
    try:
        return os.lseek(fd, start, os.SEEK_DATA)
    except OSError as problem:
        # ENXIO: a hole to the end. Anything else: a file system that does not know.
        return 1 << 62 if problem.errno == errno.ENXIO else start
