"""A recorder over real folders: a workspace, a folder outside of it and a store."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbrewind.capture.recorder import Recorder
from nbrewind.capture.span import JournalHeader, SpanRecord, TurnOutcome
from nbrewind.model import EntryKind, FileState, OperationId, Settings
from nbrewind.resources.files.coverage import Coverage
from nbrewind.resources.files.signature import Signature
from nbrewind.store.layout import SessionPaths


class Shelf:
    """A tracker that holds what a test puts on it, as long as the file is the one that stood there."""

    def __init__(self) -> None:
        self.states: dict[str, tuple[int, FileState]] = {}

    def put(self, root: Path, rel: str, state: FileState) -> None:
        self.states[rel] = (os.lstat(root / rel).st_ctime_ns, state)

    def held(self, rel: str, signature: Signature, /) -> FileState | None:
        ctime_ns, state = self.states.get(rel, (0, None))
        return state if ctime_ns == signature.ctime_ns else None


class Rig:
    """Everything around one recorder."""

    def __init__(self, base: Path, **changed: object) -> None:
        base = Path(os.path.realpath(base))
        self.work, self.out, self.store = base / "work", base / "out", base / "store"
        for folder in (self.work, self.out, self.store / "session"):
            folder.mkdir(parents=True, exist_ok=True)
        values: dict[str, object] = {
            "store_dir": str(self.store),
            "workspace": str(self.work),
            "secrets": (".env",),
            "shared_roots": (str(base / "shared"),),
        }
        self.settings = Settings(**{**values, **changed})  # type: ignore[arg-type] # a test's own keywords
        self.coverage = Coverage(self.settings)
        self.paths = SessionPaths(str(self.store / "session"))
        self.shelf = Shelf()
        self.writable: dict[str, str] = {}
        self.live: list[int] = []
        self.recorder = Recorder(
            self.shelf,
            self.coverage,
            self.paths,
            self.settings,
            writable=lambda: dict(self.writable),
            live=lambda: self.live,
        )
        self.turns = 0

    def begin(self, code: str = "cell()") -> JournalHeader:
        self.turns += 1
        header = JournalHeader(
            operation_id=OperationId(f"turn-{self.turns}"), code=code, number=self.turns, started=1.0
        )
        self.recorder.begin(header)
        return header

    def finish(self) -> SpanRecord:
        self.recorder.end(TurnOutcome(ended=2.0))
        return self.recorder.take()


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    """Return a rig whose recorder is not started yet; it is stopped at the end."""
    rig = Rig(tmp_path)
    yield rig
    rig.recorder.stop()


def undo(record: SpanRecord) -> None:
    """Put back what the record's touches say, by path, as a restore does."""
    touches = sorted(record.touches.values(), key=lambda touched: touched.path)
    for touched in reversed(touches):
        path, before = Path(touched.path), touched.before
        if path.is_dir() and not path.is_symlink():
            if before is None or before.kind is not EntryKind.DIRECTORY:
                path.rmdir()
        elif os.path.lexists(path):
            path.unlink()
    for touched in touches:
        path, before = Path(touched.path), touched.before
        if before is None:
            continue
        if before.kind is EntryKind.DIRECTORY:
            path.mkdir(exist_ok=True)
            path.chmod(before.mode)
        elif touched.link is not None:
            path.symlink_to(touched.link)
        else:
            assert touched.image, touched
            shutil.copyfile(touched.image, path)
            path.chmod(before.mode)
            os.utime(path, ns=(before.mtime_ns, before.mtime_ns))
