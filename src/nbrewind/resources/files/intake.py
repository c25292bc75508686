"""Taking one entry of the workspace into the shadow repository."""

from __future__ import annotations

import errno
import os
import stat
import time
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Final, Self

from nbrewind import fs
from nbrewind.model import EntryKind, FileState, ObjectId
from nbrewind.resources.files.coverage import Coverage
from nbrewind.resources.files.signature import RawSignature, entry_kind, raw_signature
from nbrewind.store.shadow.objects import Unstable
from nbrewind.store.shadow.writer import PackWriter

__all__ = ["Intake", "Taken"]

_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
_TRIES: Final = 3
_RESTLESS: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EXDEV, errno.ENXIO, errno.EINVAL})


@dataclass(frozen=True, slots=True)
class Taken:
    """What was learned of an entry.

    *state* None: nothing is known. *trusted*: the *signature* proves the state from now on. *note*: why the state, or
    the bytes, are not those of now.
    """

    state: FileState | None
    signature: RawSignature
    trusted: bool = True
    chunk_tree: ObjectId | None = None
    note: str = ""


class Intake:
    """Reads entries below *root* into *writer*, without following symlinks and without waiting for anybody."""

    def __init__(self, root: str, coverage: Coverage, writer: PackWriter, slack_ns: int) -> None:
        self._coverage = coverage
        self._writer = writer
        self._slack_ns = slack_ns
        self._path = root
        self._opened: fs.Root | None = None

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the root."""
        if self._opened is not None:
            self._opened.close()

    @property
    def _root(self) -> fs.Root:
        # When first needed: the workspace itself may be gone, which then is true of every entry.
        if self._opened is None:
            self._opened = fs.Root(self._path)
        return self._opened

    def take(self, rel: str, signature: RawSignature, known: FileState | None, before: RawSignature | None) -> Taken:
        """Return the state of the entry at *rel*, its bytes stored.

        Args:
            rel: The entry, relative to the workspace.
            signature: What the walk saw there.
            known: What the last commit says of it.
            before: The signature that it had then, if that is known.

        Raises:
            StoreError: The shadow repository cannot be written.
        """
        kind = entry_kind(signature[0])
        mode = stat.S_IMODE(signature[0])
        if kind is EntryKind.DIRECTORY or kind is EntryKind.SPECIAL:
            return Taken(FileState(kind, mode=mode), signature)
        try:
            if kind is EntryKind.SYMLINK:
                return self._symlink(rel)
            if why := self._withheld(rel, signature):
                return Taken(_without_bytes(signature, why), signature, note=why)
            return self._file(rel, known)
        except OSError as problem:
            if problem.errno in _RESTLESS:
                # Gone, or something else by now: the next walk will tell what. Until then the old entry stands.
                return Taken(known, before or signature, trusted=False, note="changed while it was read")
            denied = isinstance(problem, PermissionError)
            why = "unreadable" if denied else f"unreadable ({problem.strerror})"
            return Taken(_unread(known, signature, before, why), signature, trusted=denied, note=why)

    def _withheld(self, rel: str, signature: RawSignature) -> str:
        if self._coverage.secret(rel):
            return "secret"
        return "too large" if signature[3] > self._coverage.settings.max_file_size else ""

    def _symlink(self, rel: str) -> Taken:
        began = time.time_ns()
        with self._root.parent(rel) as (fd, name):
            target = os.readlink(os.fsencode(name), dir_fd=fd)
            now = raw_signature(os.stat(name, dir_fd=fd, follow_symlinks=False))
        state = FileState(EntryKind.SYMLINK, self._writer.blob(target), len(target), stat.S_IMODE(now[0]), now[1])
        return Taken(state, now, self._is_old(now, began))

    def _file(self, rel: str, known: FileState | None) -> Taken:
        fd = self._root.open(rel, _READ)
        try:
            status = os.fstat(fd)
            seen = raw_signature(status)
            for _ in range(_TRIES):
                if not stat.S_ISREG(seen[0]):
                    raise OSError(errno.ENXIO, "no file any more", rel)
                if why := self._withheld(rel, seen):
                    return Taken(_without_bytes(seen, why), seen, note=why)
                began = time.time_ns()
                try:
                    stored = self._writer.file(fd, seen[3], previous=known if known and known.chunked else None)
                except Unstable:
                    stored = None
                status = os.fstat(fd)
                after = raw_signature(status)
                if stored is not None and after == seen:
                    mode = stat.S_IMODE(seen[0])
                    owner = fs.owner_of(status)
                    state = FileState(
                        EntryKind.FILE, stored.oid, stored.size, mode, seen[1], stored.chunked, owner=owner
                    )
                    return Taken(state, seen, self._is_old(seen, began), stored.chunk_tree)
                seen = after
            return Taken(_without_bytes(seen, "unstable"), seen, trusted=False, note="unstable")
        finally:
            os.close(fd)

    def _is_old(self, signature: RawSignature, began: int) -> bool:
        # A write in the same tick of the clock would leave the same stamps (git calls such entries racy).
        return max(signature[1], signature[2]) < began - self._slack_ns


def _without_bytes(signature: RawSignature, why: str) -> FileState:
    kind, mode = entry_kind(signature[0]), stat.S_IMODE(signature[0])
    return FileState(kind, None, signature[3], mode, signature[1], missing=why)


def _unread(known: FileState | None, signature: RawSignature, before: RawSignature | None, why: str) -> FileState:
    """Return what can be said of an entry that cannot be read: the old bytes where size and time are the old ones."""
    same = before is not None and (before[1], before[3], before[4]) == (signature[1], signature[3], signature[4])
    if known is None or known.kind is not entry_kind(signature[0]) or not same:
        return _without_bytes(signature, why)
    return replace(known, mode=stat.S_IMODE(signature[0]))
