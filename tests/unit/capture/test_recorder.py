from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from nbrewind import fs
from nbrewind.capture import hook
from nbrewind.capture.expansion import MAX_ENTRIES
from nbrewind.capture.span import SpanKind, TurnOutcome
from nbrewind.model import EntryKind, FileState, ObjectId, TurnStatus
from tests.unit.capture.conftest import Rig

OBJECT = ObjectId("1" * 40)


def content(path: str) -> bytes:
    return Path(path).read_bytes()


def test_first_touch_keeps_the_earliest_bytes(rig: Rig) -> None:
    path = rig.out / "n.txt"
    path.write_text("v0")
    rig.begin()
    for number in range(1, 4):
        path.write_text(f"v{number}")
    record = rig.finish()

    assert content(record.touches[str(path)].image) == b"v0"
    assert len(os.listdir(rig.paths.images)) == 1


def test_file_made_and_removed_in_a_turn_was_absent(rig: Rig) -> None:
    rig.begin()
    (rig.out / "tmp").write_text("z")
    (rig.out / "tmp").unlink()
    record = rig.finish()

    assert record.touches[str(rig.out / "tmp")].before is None


def test_what_the_shadow_repository_holds_is_not_copied(rig: Rig) -> None:
    (rig.work / "held").write_text("held")
    (rig.work / "stale").write_text("stale")
    for name in ("held", "stale"):
        rig.shelf.put(rig.work, name, FileState(EntryKind.FILE, OBJECT, 4))
    os.utime(rig.work / "stale", (1, 1))
    rig.begin()
    (rig.work / "held").write_text("new")
    (rig.work / "stale").write_text("new")
    record = rig.finish()

    held, stale = record.touches[str(rig.work / "held")], record.touches[str(rig.work / "stale")]
    assert held.before is not None and held.before.object == OBJECT and not held.image
    assert held.key == "held"
    assert content(stale.image) == b"stale"


def test_store_caches_and_shared_roots_are_not_journaled(rig: Rig) -> None:
    shared = rig.work.parent / "shared"
    shared.mkdir()
    (rig.work / "__pycache__").mkdir()
    rig.begin()
    for folder in (shared, rig.store, rig.work / "__pycache__"):
        (folder / "x").write_text("x")
    (rig.work / "m.txt").write_text("x")
    record = rig.finish()

    assert set(record.touches) == {str(rig.work / "m.txt")}


def test_unreadable_is_not_absent(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    path = rig.out / "locked"
    path.write_text("x")
    opened = os.open

    def refused(name: object, flags: int, *rest: object, **named: object) -> int:
        if name == str(path) and not flags & (os.O_WRONLY | os.O_RDWR | os.O_PATH):
            raise PermissionError(13, "Permission denied")
        return opened(name, flags, *rest, **named)  # type: ignore[arg-type] # passed on as they came

    rig.begin()
    monkeypatch.setattr(os, "open", refused)
    path.write_text("y")
    monkeypatch.undo()
    record = rig.finish()

    before = record.touches[str(path)].before
    assert before is not None and before.missing == "unreadable: Permission denied"
    assert not record.touches[str(path)].bytes_known


def test_file_over_the_limit_is_listed_without_bytes(tmp_path: Path) -> None:
    rig = Rig(tmp_path, max_file_size=1024)
    (rig.out / "big").write_bytes(b"x" * 1025)
    rig.begin()
    (rig.out / "big").write_bytes(b"")
    record = rig.finish()
    rig.recorder.stop()

    before = record.touches[str(rig.out / "big")].before
    assert before is not None and before.missing == "too large" and before.size == 1025


def test_budget_of_a_span_is_never_exceeded(tmp_path: Path) -> None:
    rig = Rig(tmp_path, first_copy=1500)
    for name in ("a", "b", "c"):
        (rig.out / name).write_bytes(b"x" * 1000)
    rig.begin()
    for name in ("a", "b", "c"):
        (rig.out / name).unlink()
    record = rig.finish()
    rig.recorder.stop()

    assert [touched.before.missing for touched in record.outside if touched.before] == [
        "",
        "over the budget for before-images",
        "over the budget for before-images",
    ]


def test_bytes_of_a_secret_stay_in_memory(rig: Rig) -> None:
    path = rig.work / ".env"
    path.write_text("KEY=abc123SECRET")
    header = rig.begin("open('.env','w').write('KEY=zzz9SECRET')")
    path.write_text("KEY=zzz9SECRET")
    rig.recorder.end(TurnOutcome(outputs="printed abc123SECRET"))
    record = rig.recorder.take()

    assert record.touches[str(path)].secret
    assert rig.recorder.secret_image(str(path), header.operation_id) == b"KEY=abc123SECRET"
    assert rig.recorder.secret_image(str(path)) == b"KEY=abc123SECRET"
    stored = b"".join(file.read_bytes() for file in rig.store.rglob("*") if file.is_file())
    assert b"SECRET" not in stored


def test_renames_are_always_journaled(rig: Rig) -> None:
    (rig.out / "a").write_text("old")
    rig.begin()
    (rig.out / "a").write_text("newer")
    os.rename(rig.out / "a", rig.out / "b")
    (rig.out / "a").write_text("again")
    os.rename(rig.out / "a", rig.out / "b")
    record = rig.finish()

    assert [(Path(rename.source).name, Path(rename.target).name) for rename in record.renames] == [("a", "b")] * 2
    assert content(record.touches[str(rig.out / "a")].image) == b"old"
    assert record.touches[str(rig.out / "b")].before is None


def test_target_of_a_rename_is_kept_too(rig: Rig) -> None:
    (rig.out / "tmp").write_text("new")
    (rig.out / "final").write_text("precious")
    rig.begin()
    os.replace(rig.out / "tmp", rig.out / "final")
    record = rig.finish()

    assert content(record.touches[str(rig.out / "final")].image) == b"precious"


def test_files_of_a_renamed_outside_folder_are_kept_one_by_one(rig: Rig) -> None:
    (rig.out / "d" / "sub").mkdir(parents=True)
    (rig.out / "d" / "sub" / "f").write_text("f")
    rig.begin()
    os.rename(rig.out / "d", rig.out / "e")
    (rig.out / "e" / "sub" / "f").write_text("changed")
    record = rig.finish()

    assert content(record.touches[str(rig.out / "d" / "sub" / "f")].image) == b"f"
    assert record.touches[str(rig.out / "e" / "sub" / "f")].before is None
    assert record.renames[0].expanded
    assert record.journaled(str(rig.out / "e" / "sub" / "other"))


def test_renamed_outside_folder_over_the_budget_is_noted(rig: Rig) -> None:
    (rig.out / "many").mkdir()
    for number in range(MAX_ENTRIES + 1):
        (rig.out / "many" / str(number)).touch()
    rig.begin()
    os.rename(rig.out / "many", rig.out / "moved")
    record = rig.finish()

    assert not record.renames[0].expanded
    assert [note.subject for note in record.skipped] == [str(rig.out / "many")]
    assert len(record.touches) == 2


def test_renamed_folder_of_the_workspace_keeps_only_what_is_not_held(rig: Rig) -> None:
    (rig.work / "d").mkdir()
    for name in ("held", "fresh"):
        (rig.work / "d" / name).write_text(name)
    rig.shelf.put(rig.work, "d/held", FileState(EntryKind.FILE, OBJECT, 4))
    rig.begin()
    os.rename(rig.work / "d", rig.work / "e")
    record = rig.finish()

    assert {touched.inside for touched in record.touches.values()} == {"d", "e", "d/fresh"}
    assert record.journaled("d/held") and record.journaled("e/held") and not record.journaled("other")


def test_late_thread_is_attributed_to_the_turn_that_started_it(rig: Rig) -> None:
    first = rig.begin()
    go, done = threading.Event(), threading.Event()

    def late() -> None:
        go.wait()
        (rig.work / "z.txt").write_text("late")
        done.set()

    threading.Thread(target=late, name="late one").start()
    turn = rig.finish()
    assert turn.threads == ("late one",)
    go.set()
    done.wait()
    gap = rig.recorder.take()

    assert turn.empty
    assert gap.header.kind is SpanKind.GAP
    touched = gap.touches[str(rig.work / "z.txt")]
    assert touched.origin == first.operation_id and touched.background and touched.thread == "late one"


def test_thread_inside_its_own_turn_has_no_other_origin(rig: Rig) -> None:
    rig.begin()
    thread = threading.Thread(target=(rig.work / "t").touch)
    thread.start()
    thread.join()
    record = rig.finish()

    assert record.touches[str(rig.work / "t")].origin is None


def test_gap_is_journaled_only_when_something_happens(rig: Rig) -> None:
    rig.recorder.start()
    assert not os.path.exists(rig.paths.turn)
    (rig.work / "between").touch()
    assert os.path.exists(rig.paths.turn)
    gap = rig.recorder.take()
    empty = rig.recorder.take()

    assert set(gap.touches) == {str(rig.work / "between")}
    assert empty.empty and empty.journal == ""


def test_touches_of_a_gap_that_nobody_took_go_into_the_turn(rig: Rig) -> None:
    rig.recorder.start()
    (rig.out / "f").write_text("1")
    rig.begin()
    (rig.out / "g").write_text("1")
    record = rig.finish()

    assert record.header.kind is SpanKind.TURN
    assert set(record.touches) == {str(rig.out / "f"), str(rig.out / "g")}
    rig.recorder.saved(record)
    assert os.listdir(rig.paths.root) == ["images"] or os.listdir(rig.paths.root) == []


def test_a_turn_that_was_never_taken_is_returned_first(rig: Rig) -> None:
    first = rig.begin()
    (rig.work / "one").touch()
    second = rig.begin()
    (rig.work / "two").touch()
    rig.recorder.end(TurnOutcome())

    records = [rig.recorder.take(), rig.recorder.take()]

    assert [record.header.operation_id for record in records] == [first.operation_id, second.operation_id]
    assert [set(record.touches) for record in records] == [{str(rig.work / "one")}, {str(rig.work / "two")}]


def test_outcome_and_times_are_in_the_record(rig: Rig) -> None:
    rig.begin("1/0")
    rig.recorder.end(TurnOutcome(status=TurnStatus.ERROR, error="ZeroDivisionError"))
    record = rig.recorder.take()

    assert record.outcome is not None and record.outcome.status is TurnStatus.ERROR
    assert record.started_ns <= record.ended_ns <= record.closed_ns


def test_touch_after_the_end_of_the_cell_is_marked(rig: Rig) -> None:
    rig.begin()
    (rig.work / "both").touch()
    rig.recorder.end(TurnOutcome())
    (rig.work / "both").write_text("again")
    (rig.work / "after").touch()
    record = rig.recorder.take()

    assert record.touched_late == {str(rig.work / "both"), str(rig.work / "after")}
    assert record.touches[str(rig.work / "after")].after_end


def test_saved_record_leaves_nothing_behind(rig: Rig) -> None:
    (rig.out / "x").write_text("x")
    rig.begin()
    (rig.out / "x").write_text("y")
    record = rig.finish()
    assert os.path.exists(record.journal) and os.listdir(rig.paths.images)

    rig.recorder.saved(record)
    rig.recorder.saved(record)

    assert not os.path.exists(record.journal) and not os.listdir(rig.paths.images)


def test_stopped_recorder_sees_nothing_and_start_twice_is_once(rig: Rig) -> None:
    rig.recorder.start()
    rig.recorder.start()
    rig.recorder.stop()
    rig.recorder.stop()
    (rig.work / "x").touch()

    assert not rig.recorder.recording
    assert rig.recorder.take().empty


def test_own_writes_under_suspension_are_nobodys(rig: Rig) -> None:
    rig.recorder.start()
    with hook.suspended():
        (rig.work / "restored").touch()

    assert rig.recorder.take().empty


def test_full_disk_of_the_store_fails_no_cell_and_is_a_reason(rig: Rig) -> None:

    class Full:
        def before(self, call: str, target: str, size: int) -> int | None:
            raise OSError(28, "No space left on device")

        def torn(self, call: str, target: str) -> None: ...

        def after(self, call: str, target: str) -> None: ...

    (rig.out / "f").write_text("old")
    rig.recorder.start()
    fs.install_probe(Full())
    try:
        rig.begin()
        (rig.out / "f").write_text("new")
        os.rename(rig.out / "f", rig.out / "g")
        record = rig.finish()
    finally:
        fs.install_probe(None)

    assert (rig.out / "g").read_text() == "new"
    reasons = {note.reason for note in record.skipped}
    assert reasons == {"the turn's journal cannot be written: No space left on device"}
    before = record.touches[str(rig.out / "f")].before
    assert before is not None and before.missing == "before-image not kept: No space left on device"


def test_two_threads_never_change_a_file_before_its_image_is_whole(rig: Rig) -> None:
    old = os.urandom(8 << 20)
    for round_number in range(3):
        path = rig.out / f"big{round_number}"
        path.write_bytes(old)
        rig.recorder.take()
        rig.begin()
        barrier = threading.Barrier(4)

        def write(path: Path = path, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            path.write_bytes(b"new")

        threads = [threading.Thread(target=write) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        record = rig.finish()
        assert content(record.touches[str(path)].image) == old
        assert len(record.touches) == 1


def test_signal_handler_in_the_middle_of_the_hook_can_flush(rig: Rig) -> None:
    taken: list[float] = []

    class SignalAtCopy:
        def before(self, call: str, target: str, size: int) -> int | None:
            if call == "copy":
                os.kill(os.getpid(), signal.SIGUSR1)
            return None

        def torn(self, call: str, target: str) -> None: ...

        def after(self, call: str, target: str) -> None: ...

    def flush(*_: object) -> None:
        started = time.monotonic()
        rig.recorder.end(TurnOutcome(status=TurnStatus.INTERRUPTED))
        rig.recorder.take()
        taken.append(time.monotonic() - started)

    (rig.out / "f").write_text("old")
    before = signal.signal(signal.SIGUSR1, flush)
    rig.begin()
    fs.install_probe(SignalAtCopy())
    try:
        (rig.out / "f").write_text("new")
    finally:
        fs.install_probe(None)
        signal.signal(signal.SIGUSR1, before)

    assert len(taken) == 1 and taken[0] < 2


def test_open_files_of_both_ends_are_in_the_record(rig: Rig) -> None:
    rig.writable = {str(rig.work / "log.txt"): "append"}
    rig.begin()
    rig.writable = {str(rig.work / "map.bin"): "mapped"}
    record = rig.finish()
    following = rig.recorder.take()

    assert record.held_open("log.txt") and record.held_open("map.bin") and not record.held_open("x")
    assert record.forced() == {"log.txt", "map.bin"}
    assert following.writable_at_start == {str(rig.work / "map.bin"): "mapped"}


def test_journals_of_open_databases_belong_to_them(rig: Rig) -> None:
    rig.writable = {str(rig.work / "app.db"): "open"}
    rig.begin()
    record = rig.finish()

    assert record.held_open("app.db-wal") and record.held_open("app.db-journal")


def test_focus_grows_by_the_folder_that_a_cell_writes_in(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.coverage.narrow("the workspace is too large")
    (rig.work / "data").mkdir()
    rig.begin()
    (rig.work / "data" / "x.csv").write_text("1")
    record = rig.finish()
    rig.recorder.stop()

    assert [touched.inside for touched in record.touches.values()] == ["data/x.csv"]
    assert rig.coverage.excluded("data/x.csv", False) == ""
