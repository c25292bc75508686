"""A workspace with a store, and rewinds in it without a session: plans are made by hand from dictionaries."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nbrewind.model import (
    Checkpoint,
    EntryKind,
    FileState,
    FileStep,
    Note,
    Operation,
    OperationId,
    OperationKind,
    RewindPlan,
)
from nbrewind.resources.files.restore import FilesResource, files_recoverer
from nbrewind.resources.files.vault import Vault
from nbrewind.rewind.recovery import recover_session
from nbrewind.rewind.transaction import RewindTransaction, TransactionContext
from nbrewind.store.layout import SessionPaths, open_store
from nbrewind.store.oplog import OperationLog
from nbrewind.store.shadow.objects import BLOB, digest
from nbrewind.store.shadow.repository import ShadowRepository

__all__ = ["Folder", "Scene", "Secret", "Symlink", "looks"]

MTIME = 1_600_000_000_000_000_000
"""Long ago, so that a time that was not put back shows."""


@dataclass(frozen=True)
class Symlink:
    """A symbolic link to *target*."""

    target: str


@dataclass(frozen=True)
class Folder:
    """A directory; what is in it has keys of its own."""

    mode: int = 0o755


@dataclass(frozen=True)
class Secret:
    """A secret file: its bytes are in memory only."""

    data: bytes
    mode: int = 0o600


Content = bytes | Symlink | Secret | Folder | tuple[bytes, int] | None
"""Bytes, bytes with a mode, a link, a directory, or None for nothing."""


def looks(root: Path, *, times: bool = False) -> dict[str, tuple[Any, ...]]:
    """Return every entry below *root* with kind, mode and content; with *times* the mtime of files too."""
    found: dict[str, tuple[Any, ...]] = {}
    for folder, directories, files in os.walk(root):
        for name in directories + files:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            content: object = ""
            if stat.S_ISLNK(status.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    content = file.read()
            row: tuple[Any, ...] = (stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode), content)
            if times and stat.S_ISREG(status.st_mode):
                row += (status.st_mtime_ns,)
            found[os.path.relpath(path, root)] = row
    return found


@dataclass
class Scene:
    """One workspace `work`, a place outside of it, and a store. Reopened after every death."""

    base: Path
    writable: dict[str, str] = field(default_factory=dict)
    linked: Callable[[str], tuple[str, ...]] = lambda path: ()
    count: int = 0
    vault: Vault = field(default_factory=Vault)

    def __post_init__(self) -> None:
        self.work = self.base / "work"
        self.outside = self.base / "outside"
        self.work.mkdir(parents=True, exist_ok=True)
        self.outside.mkdir(exist_ok=True)
        self.open()

    def open(self) -> None:
        """Open store, log and repository, as a fresh process does."""
        store = open_store(str(self.base / "store"))
        self.paths: SessionPaths = store.session("session-1")  # type: ignore[arg-type]  # an id by its form
        self.log = OperationLog.open(self.paths, "session-1")  # type: ignore[arg-type]  # as above
        self.repository = ShadowRepository.open(store.shadow)
        self.count = self.log.next_seq

    def close(self) -> None:
        """Close what `open` opened."""
        self.log.close()
        self.repository.close()

    def path(self, name: str) -> Path:
        """Return where *name* is: below the workspace, or absolute."""
        return self.work / name

    def lay(self, files: Mapping[str, Content]) -> None:
        """Make the workspace hold exactly *files*, with an old mtime."""
        for path in self.work.iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        for name, content in files.items():
            self.put(name, content)

    def put(self, name: str, content: Content) -> None:
        """Put *content* at *name*."""
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Symlink):
            path.symlink_to(content.target)
        elif isinstance(content, Folder):
            path.mkdir(exist_ok=True)
            path.chmod(content.mode)
        elif content is not None:
            if isinstance(content, Secret):
                content = content.data, content.mode
            data, mode = content if isinstance(content, tuple) else (content, 0o644)
            path.write_bytes(data)
            path.chmod(mode)
            os.utime(path, ns=(MTIME, MTIME))

    def state(self, content: Content, mtime_ns: int = MTIME, *, store: bool = True) -> FileState | None:
        """Return the state of *content*, None for nothing; with *store* the repository has its bytes."""
        if content is None:
            return None
        if isinstance(content, Folder):
            return FileState(EntryKind.DIRECTORY, mode=content.mode)
        if isinstance(content, Secret):
            return FileState(EntryKind.FILE, None, len(content.data), content.mode, mtime_ns, missing="secret")
        if not store and not isinstance(content, Symlink):
            data, mode = content if isinstance(content, tuple) else (content, 0o644)
            return replace(self.state_of(data), mode=mode, mtime_ns=mtime_ns)
        with self.repository.writer() as writer:
            if isinstance(content, Symlink):
                target = os.fsencode(content.target)
                state = FileState(EntryKind.SYMLINK, writer.blob(target), size=len(target), mode=0o777)
            else:
                data, mode = content if isinstance(content, tuple) else (content, 0o644)
                stored = self._stored(writer, data)
                state = FileState(EntryKind.FILE, stored.oid, len(data), mode, mtime_ns, stored.chunked)
            writer.finish()
        return state

    def _stored(self, writer: Any, data: bytes) -> Any:
        path = self.base / "content"
        path.write_bytes(data)
        with path.open("rb") as file:
            stored = writer.file(file.fileno(), len(data))
        path.unlink()
        return stored

    def steps(self, before: Mapping[str, Content], after: Mapping[str, Content]) -> tuple[FileStep, ...]:
        """Return the steps that lead from *before* to *after*; what stands is on the disk only, not yet stored."""
        names = sorted(before.keys() | after.keys())
        for name, content in after.items():
            state = self.state(content) if isinstance(content, Secret) else None
            if isinstance(content, Secret) and state is not None:
                self.vault.keep(str(self.path(name)), state, content.data)
        return tuple(
            FileStep(name, self.state(before.get(name), store=False), self.state(after.get(name)))
            for name in names
            if before.get(name) != after.get(name)
        )

    def plan(self, steps: tuple[FileStep, ...]) -> RewindPlan:
        """Return a plan of *steps*."""
        origin = OperationId("op-0")
        return RewindPlan(kind=OperationKind.REWIND, head=origin, target=origin, steps=steps)

    def operation(self) -> Operation:
        """Return the next operation, a rewind."""
        number = self.log.next_seq
        return Operation(
            id=OperationId(f"op-{number}-{self.count}"),
            seq=number,
            kind=OperationKind.REWIND,
            session="session-1",  # type: ignore[arg-type]  # an id by its form
            at=float(number),
            checkpoint=Checkpoint(),
        )

    def resource(self) -> FilesResource:
        """Return the files resource of the workspace."""
        return FilesResource(
            str(self.work),
            self.repository,
            writable_files=lambda: self.writable,
            linked=self.linked,
            vault=self.vault,
        )

    def transaction(self, *more: Any) -> RewindTransaction:
        """Return a transaction over the files, and *more* resources behind them."""
        return RewindTransaction(self.log, (self.resource(), *more), self.context())

    def context(self) -> TransactionContext:
        """Return what a transaction works with."""
        return TransactionContext(
            paths=self.paths, repository=self.repository, recoverers={"files": files_recoverer(str(self.work))}
        )

    def run(self, steps: tuple[FileStep, ...]) -> tuple[Note, ...]:
        """Carry *steps* out and return the notes."""
        transaction = self.transaction()
        transaction.run(self.plan(steps), self.operation())
        return transaction.notes

    def recover(self) -> tuple[Note, ...]:
        """Do what the next attach does about intents."""
        return recover_session(self.paths, self.log, self.repository, {"files": files_recoverer(str(self.work))})

    def rewound(self) -> int:
        """Return how many rewinds the log holds."""
        return len(self.log.operations)

    def litter(self) -> list[str]:
        """Return everything of ours that should not be there when no rewind is in flight."""
        found = [path for path in looks(self.work) if ".nbrewind-" in path]
        found += [path for path in looks(self.outside) if ".nbrewind-" in path]
        if os.path.isdir(self.paths.intents):
            found += os.listdir(self.paths.intents)
        return found

    def can_read(self, data: bytes) -> bool:
        """Return whether the repository gives *data* back, from its own packs and verified."""
        state = self.state_of(data)
        if state.object is None or not self.repository.contains(state.object):
            return False
        return b"".join(self.repository.content(state)) == data

    def state_of(self, data: bytes) -> FileState:
        """Return the state of small content without storing it."""
        return FileState(EntryKind.FILE, digest(BLOB, data).hex(), len(data))  # type: ignore[arg-type]  # an id


@contextmanager
def closing(scene: Scene) -> Iterator[Scene]:
    """Close *scene* at the end of the block."""
    try:
        yield scene
    finally:
        scene.close()
