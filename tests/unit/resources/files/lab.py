"""A workspace with its shadow repository and tracker, for tests of the reading side."""

from __future__ import annotations

import ctypes
import itertools
import os
import pickle
import subprocess
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from nbrewind.model import EntryKind, FilesAddress, FileState, OperationId, Settings
from nbrewind.resources.files.coverage import Coverage
from nbrewind.resources.files.tracker import FileTracker, Snapshot
from nbrewind.resources.files.tree import SnapshotTree
from nbrewind.store.shadow.repository import ShadowRepository
from tests.builders import Entry, TestWorkspace, hash_tree

__all__ = ["Lab", "unprivileged"]

_T = TypeVar("_T")
_IDS = itertools.count()


class Lab(TestWorkspace):
    """A folder `work` with everything to take snapshots of it; *settings* as in `Settings`."""

    def __init__(self, base: Path, **settings: Any) -> None:
        super().__init__(Path(os.path.realpath(base)) / "work")
        self.base = self.root.parent
        store = settings.pop("store_dir", str(self.base / "store"))
        os.makedirs(store, mode=0o700, exist_ok=True)
        self.repository = ShadowRepository.open(f"{store}/shadow")
        self.settings = Settings(store_dir=store, workspace=str(self.root), **settings)
        self.restart()

    def restart(self, address: FilesAddress | None = None, **settings: Any) -> None:
        """Begin with a new tracker, from *address* if given."""
        self.settings = replace(self.settings, **settings)
        self.coverage = Coverage(self.settings)
        self.tracker = FileTracker(str(self.root), self.coverage, self.repository)
        if address is not None:
            self.tracker.load(address)

    def snap(self, *, trust: bool = True, age: bool = True, **order: Any) -> Snapshot:
        """Take a snapshot and adopt it. With *age*, let the last writes grow old enough to be told from later ones."""
        if age:
            time.sleep(0.025)
        scan = self.tracker.scan(order.get("force", ()))
        with self.repository.writer(trust=trust) as writer:
            snapshot = self.tracker.snapshot(writer, scan, operation_id=OperationId(f"op-{next(_IDS)}"), **order)
            writer.finish()
        self.tracker.adopt(snapshot)
        return snapshot

    def changes(self, **order: Any) -> dict[str, tuple[str, str]]:
        """Take a snapshot and return its changes: what stood at a path and what stands there, in short."""
        rows = self.snap(**order).changes
        found = {row.path: (self.short(row.before), self.short(row.after)) for row in rows}
        assert len(found) == len(rows)
        return found

    def short(self, state: FileState | None) -> str:
        """Return what *state* holds, in a form to compare."""
        if state is None:
            return ""
        if state.missing:
            return f"<{state.missing}>"
        if state.kind is EntryKind.DIRECTORY or state.kind is EntryKind.SPECIAL:
            return f"<{state.kind}>"
        content = b"".join(self.repository.content(state)).decode("utf-8", "backslashreplace")
        return f"-> {content}" if state.kind is EntryKind.SYMLINK else content

    def tree(self, address: FilesAddress | None = None) -> SnapshotTree:
        """Return the files of the checkpoint at *address*, of the last one by default."""
        at = address or self.tracker.address
        assert at is not None
        return SnapshotTree(self.repository, at)

    def files(self, address: FilesAddress | None = None) -> dict[str, str]:
        """Return what the checkpoint holds, in short."""
        return {path: self.short(state) for path, state in self.tree(address).walk()}

    def kept(self, name: str) -> FileState:
        """Return what the last snapshot says of *name*."""
        state = self.tree().lookup(name)
        assert state is not None
        return state

    def tree_on_disk(self) -> dict[bytes, Entry]:
        """Return every entry of the workspace, what is never covered included."""
        return hash_tree(self.root)

    def write_tree(self) -> str:
        """Return the tree that git makes of the same files, in an index and a repository of its own."""
        scratch = self.base / f"scratch-{next(_IDS)}"
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.base / "nowhere"),
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_SYSTEM": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_DIR": str(scratch),
            "GIT_LITERAL_PATHSPECS": "1",
        }
        self._git("init", "-q", "--template=", str(scratch), environment=environment | {"GIT_DIR": str(scratch)})
        environment["GIT_WORK_TREE"] = str(self.root)
        self._git("add", "-A", "-f", environment=environment)
        return self._git("write-tree", environment=environment).strip()

    def fsck(self) -> None:
        """Fail unless git finds the shadow repository sound, to the last byte."""
        environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
        self._git("fsck", "--full", "--strict", environment=environment | {"GIT_DIR": self.repository.path})

    def _git(self, *arguments: str, environment: dict[str, str]) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=self.root, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout


def unprivileged(function: Callable[[], _T]) -> _T:
    """Return what *function* returns in a forked child where permission bits count, also if the tests run as root."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            _drop_capabilities()
            answer: tuple[bool, Any] = (True, function())
        except BaseException as problem:  # noqa: BLE001  goes to the parent, whatever it is
            answer = (False, "".join(traceback.format_exception(problem)))
        os.write(writer, pickle.dumps(answer))
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as pipe:
        data = pipe.read()
    os.waitpid(pid, 0)
    done, value = pickle.loads(data)
    assert done, value
    return value  # type: ignore[no-any-return]  # what the function returned


def _drop_capabilities() -> None:
    """Give up the right to pass over permission bits (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH)."""
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)()
    assert libc.capget(header, data) == 0
    data[0] &= ~0b110
    assert libc.capset(header, data) == 0
