"""Recorder, tracker and attribution together: the shadow repository's bytes serve as before-images."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from nbrewind.capture.attribution import Attribution, attribute
from nbrewind.capture.recorder import Recorder
from nbrewind.capture.span import JournalHeader, SpanRecord, TurnOutcome
from nbrewind.model import Claim, Settings, Verdict
from nbrewind.resources.files.coverage import Coverage
from nbrewind.resources.files.processes import children, writable_files
from nbrewind.resources.files.tracker import FileTracker
from nbrewind.store.layout import SessionPaths, new_operation_id
from nbrewind.store.shadow.repository import ShadowRepository


@dataclass
class Turns:
    """A workspace whose turns are recorded and snapshot as a session does it."""

    base: Path
    work: Path = field(init=False)

    def __post_init__(self) -> None:
        base = Path(os.path.realpath(self.base))
        self.work = base / "work"
        for folder in (self.work, base / "out", base / "store" / "session"):
            folder.mkdir(parents=True)
        settings = Settings(store_dir=str(base / "store"), workspace=str(self.work))
        coverage = Coverage(settings)
        self.repository = ShadowRepository.open(str(base / "store" / "shadow"), create=True)
        self.tracker = FileTracker(str(self.work), coverage, self.repository)
        self.recorder = Recorder(
            self.tracker, coverage, SessionPaths(str(base / "store" / "session")), settings,
            writable=writable_files, live=children,
        )  # fmt: skip

    def settle(self) -> tuple[SpanRecord, Attribution]:
        span = self.recorder.take()
        scan = self.tracker.scan(force=span.forced())
        with self.repository.writer() as writer:
            snapshot = self.tracker.snapshot(
                writer, scan, operation_id=span.header.operation_id, label="", force=span.forced()
            )
            writer.finish()
        if snapshot.address is not None:
            self.tracker.adopt(snapshot)
        self.recorder.saved(span)
        return span, attribute(span, snapshot.changes, snapshot.ctimes)

    def begin(self, code: str) -> None:
        # A state is held only if it is safely older than the commit's start.
        time.sleep(0.05)
        self.recorder.start()
        self.settle()
        self.recorder.begin(JournalHeader(operation_id=new_operation_id(), code=code))

    def end(self) -> tuple[SpanRecord, Attribution]:
        self.recorder.end(TurnOutcome())
        return self.settle()


@pytest.fixture
def turns(tmp_path: Path) -> Iterator[Turns]:
    turns = Turns(tmp_path)
    yield turns
    turns.recorder.stop()


def claims(found: Attribution) -> dict[str, Claim]:
    return {change.path: change.claim for change in found.turn_changes}


def test_stored_file_is_not_copied_again_and_its_bytes_are_known(turns: Turns) -> None:
    (turns.work / "rows.csv").write_text("v1")
    turns.begin("open('rows.csv', 'w')")
    (turns.work / "rows.csv").write_text("v2")
    span, found = turns.end()

    (touched,) = span.touches.values()
    assert not touched.image and touched.before is not None
    assert b"".join(turns.repository.content(touched.before)) == b"v1"
    assert claims(found) == {"rows.csv": Claim.OURS} and found.verdict is Verdict.PROTECTED


def test_what_the_shell_did_is_the_turns(turns: Turns) -> None:
    (turns.work / "p.cfg").write_text("lr=0.1\n")
    (turns.work / "keep.txt").write_text("k")
    turns.begin("!sed -i s/0.1/9/ p.cfg && rm keep.txt")
    subprocess.run("sed -i s/0.1/9/ p.cfg && rm keep.txt && echo x > made.txt", shell=True, cwd=turns.work, check=True)
    _, found = turns.end()

    assert claims(found) == dict.fromkeys(("p.cfg", "keep.txt", "made.txt"), Claim.OURS)
    assert found.verdict is Verdict.WORKSPACE_ONLY


def test_a_save_by_hand_while_a_cell_runs_is_left_alone(turns: Turns) -> None:
    (turns.work / "notes.md").write_text("v1")
    turns.begin("import time; time.sleep(60)")
    descriptor = os.open(turns.work / "notes.md", os.O_RDONLY)
    os.close(descriptor)
    by_hand(turns.work / "notes.md", "by hand")
    span, found = turns.end()

    assert span.touches == {}
    assert claims(found) == {"notes.md": Claim.UNCLAIMED}


def by_hand(path: Path, text: str) -> None:
    """Write as nobody whom the recorder could see."""
    from nbrewind.capture import hook

    with hook.suspended():
        path.write_text(text)


def test_native_writers_files_are_the_turns(turns: Turns) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"k": ["a", "b"], "v": [1, 2]})
    turns.begin("frame.to_parquet('ds', partition_cols=['k'])")
    frame.to_parquet(turns.work / "ds", partition_cols=["k"])
    frame.to_parquet(turns.work / "t.parquet")
    _, found = turns.end()

    assert found.turn_changes and set(claims(found).values()) == {Claim.OURS}
    assert found.verdict is Verdict.PROTECTED


def test_handle_of_an_earlier_turn_writes_for_this_one(turns: Turns) -> None:
    with open(turns.work / "log.txt", "a") as log:
        log.write("1\n")
        log.flush()
        turns.begin("log.write('2')")
        log.write("2\n")
        log.flush()
        span, found = turns.end()

    assert span.touches == {} and span.writable_at_start[str(turns.work / "log.txt")] == "append"
    assert claims(found) == {"log.txt": Claim.OURS}


def test_dirty_map_of_an_earlier_turn_is_seen(turns: Turns) -> None:
    numpy = pytest.importorskip("numpy")
    view = numpy.memmap(turns.work / "mm.bin", dtype="i4", mode="w+", shape=(4,))
    view[:] = 7
    turns.begin("view[0] = 99")
    view[0] = 99
    span, found = turns.end()

    assert span.forced() == {"mm.bin"}
    assert claims(found) == {"mm.bin": Claim.OURS}


def test_renamed_folder_of_the_workspace_is_journaled_for_all_in_it(turns: Turns) -> None:
    (turns.work / "d" / "sub").mkdir(parents=True)
    (turns.work / "d" / "sub" / "x").write_text("x")
    turns.begin("os.rename('d', 'e')")
    os.rename(turns.work / "d", turns.work / "e")
    _, found = turns.end()

    assert {path for path, claim in claims(found).items() if claim is Claim.OURS} >= {"d/sub/x", "e/sub/x"}
    assert set(claims(found).values()) == {Claim.OURS}
