"""The pack of what a rewind takes away, made durable before anything is touched."""

from __future__ import annotations

import os
import stat
from typing import Final, Literal

from nbrewind import fs
from nbrewind.model import EntryKind, FileState, ObjectId, OperationId
from nbrewind.store.codec import to_json
from nbrewind.store.shadow.objects import DIRECTORY_MODE, TreeEntry
from nbrewind.store.shadow.repository import ShadowRepository
from nbrewind.store.shadow.writer import PackWriter

__all__ = ["INTENT", "Archive", "Purpose", "reference"]

Purpose = Literal["archive", "conflicts"]
_FILE_MODE = 0o100644
INTENT: Final = b"intent"


def reference(operation: OperationId, purpose: Purpose = "archive") -> str:
    """Return the name of the reference that names the archive of *operation*."""
    return f"refs/nbrewind/{purpose}/{operation}"


class Archive:
    """Every byte that a rewind is about to move, under one commit.

    Invariant: after `finish` returned, every state that `keep` gave can be read from the repository, across a power
    loss too; before, nothing may be touched in reliance on it.
    Layout: the commit's tree holds `manifest` (JSON rows of path and state) and one numbered entry for each kept
    content, `<number>.chunks` beside it for a chunked one, so that plain git shows what was taken back; and `intent`,
    a copy of the intent's text, for the case that the intent is damaged.
    Crash rule: a pack that was not finished is swept by the repository; a finished one is named by its ref, which is
    durable before anything is touched, by the intent while there is one, and by the operation in the log.
    """

    def __init__(
        self, repository: ShadowRepository, operation: OperationId, purpose: Purpose, *, trust: bool = True
    ) -> None:
        self._repository = repository
        self._operation = operation
        self._purpose = purpose
        self._trust = trust
        self._writer: PackWriter | None = None
        self._rows: list[tuple[str, FileState]] = []
        self._entries: list[TreeEntry] = []
        self.commit: ObjectId | None = None

    @property
    def rows(self) -> tuple[tuple[str, FileState], ...]:
        """Return what is kept, as paths with their states."""
        return tuple(self._rows)

    @property
    def writer(self) -> PackWriter:
        """Return the open writer of this archive's pack; `finish` closes it."""
        if self._writer is None:
            self._writer = self._repository.writer(trust=self._trust)
        return self._writer

    def keep_file(self, path: str, fd: int, *, previous: FileState | None = None) -> FileState:
        """Keep the bytes of the regular file open as *fd* and return the state that they have.

        Raises:
            Unstable: the file changes while it is read.
        """
        status = os.fstat(fd)
        stored = self.writer.file(fd, status.st_size, previous=previous)
        state = FileState(
            EntryKind.FILE,
            stored.oid,
            size=stored.size,
            mode=stat.S_IMODE(status.st_mode),
            mtime_ns=status.st_mtime_ns,
            chunked=stored.chunked,
            owner=fs.owner_of(status),
        )
        self._add(path, state)
        if stored.chunk_tree is not None:
            name = self._entries[-1].name + b".chunks"
            self._entries.append(TreeEntry(DIRECTORY_MODE, name, stored.chunk_tree))
        return state

    def keep_link(self, path: str, target: bytes, mtime_ns: int = 0) -> FileState:
        """Keep a symlink's *target* and return its state."""
        state = FileState(EntryKind.SYMLINK, self.writer.blob(target), size=len(target), mode=0o777, mtime_ns=mtime_ns)
        self._add(path, state)
        return state

    def keep_intent(self, text: bytes) -> None:
        """Keep a copy of the intent's *text*."""
        self._entries.append(TreeEntry(_FILE_MODE, INTENT, self.writer.zblob(text)))

    def finish(self) -> ObjectId | None:
        """Make all that was kept durable; return the commit that names it, None where nothing was kept."""
        if self._writer is None:
            return None
        manifest = self._writer.zblob(to_json(self._rows).encode("utf-8", "surrogatepass"))
        tree = self._writer.tree([TreeEntry(_FILE_MODE, b"manifest", manifest), *self._entries])
        commit = self._writer.commit(tree, f"nbrewind:{self._operation}:{self._purpose}", 0)
        writer, self._writer = self._writer, None
        writer.finish()
        self.commit = commit
        return commit

    def publish(self) -> None:
        """Name the commit by a ref, durably, so that maintenance keeps it after a power cut too."""
        if self.commit is not None:
            suffix = "" if self._purpose == "archive" else f"/{self.commit[:12]}"
            self._repository.set_ref(f"{reference(self._operation, self._purpose)}{suffix}", self.commit, sync=True)

    def abort(self) -> None:
        """Drop what was not finished, and forget that it was written."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.abort()

    def _add(self, path: str, state: FileState) -> None:
        if state.object is None:
            raise AssertionError("BUG: kept without an object")
        self._entries.append(TreeEntry(_FILE_MODE, b"%06d" % len(self._rows), state.object))
        self._rows.append((path, state))
