from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zstandard

from nbrewind.errors import InconsistentState, StoreError
from nbrewind.model import Checkpoint, Operation, OperationId, OperationKind, SessionId, Turn
from nbrewind.store.codec import dump_operation
from nbrewind.store.frames import Damage, Frame, encode_frame, read_frames
from nbrewind.store.layout import SessionPaths, open_store
from nbrewind.store.locks import SessionLock
from nbrewind.store.oplog import OPERATION, OperationLog, read_log
from nbrewind.store.payload import NEEDS_ZSTANDARD
from tests.faults import (
    ALLOCATING,
    KILLED,
    ErrorAt,
    KillAt,
    TornAt,
    calls_of,
    installed,
    open_descriptors,
    run_forked,
    sweep_points,
    write_points,
)

SESSION = SessionId("s-1")


def operation(seq: int, *, parent: int | None = None, code: str = "x = 1") -> Operation:
    return Operation(
        id=OperationId(f"op-{seq}"),
        seq=seq,
        kind=OperationKind.TURN,
        session=SESSION,
        at=1_700_000_000.5 + seq,
        checkpoint=Checkpoint(log=seq + 1),
        parent=None if parent is None else OperationId(f"op-{parent}"),
        turn=Turn(code, seq + 1),
    )


def written(paths: SessionPaths, count: int) -> bytes:
    """Make a log with *count* operations and return its bytes."""
    log = OperationLog.open(paths, SESSION)
    for seq in range(log.next_seq, log.next_seq + count):
        log.append(operation(seq, parent=seq - 1 if seq else None), sync=False)
    log.close()
    return Path(paths.log).read_bytes()


def seqs(paths: SessionPaths) -> list[int]:
    return [one.seq for one in read_log(paths.log).operations]


@pytest.fixture
def paths(tmp_path: Path) -> SessionPaths:
    return SessionPaths(str(tmp_path / "s-1"))


def test_operations_come_back_in_order_and_equal(paths: SessionPaths) -> None:
    with_code = operation(1, parent=0, code="name = 'caf\udce9 \N{SNOWMAN}'\n" * 50)
    log = OperationLog.open(paths, SESSION)
    log.append(operation(0))
    log.append(with_code, sync=False)
    log.close()

    reading = read_log(paths.log)

    assert reading.operations == (operation(0), with_code)
    assert (reading.damaged, reading.torn_at, reading.next_seq) == ((), None, 2)
    assert reading.size == os.path.getsize(paths.log)
    assert reading.header is not None
    assert (reading.header.session, reading.header.format) == (SESSION, 1)


def test_an_opened_log_knows_what_it_holds_and_goes_on(paths: SessionPaths) -> None:
    written(paths, 2)

    log = OperationLog.open(paths, SESSION)
    assert [one.seq for one in log.operations] == [0, 1]
    assert log.operations is log.operations
    log.append(operation(2, parent=1))

    assert [one.seq for one in log.operations] == seqs(paths) == [0, 1, 2]
    assert log.next_seq == 3
    log.close()


def test_the_log_is_private_under_any_umask(paths: SessionPaths) -> None:
    for mask in (0o000, 0o777):
        previous = os.umask(mask)
        try:
            own = SessionPaths(f"{paths.root}-{mask}")
            written(own, 1)
        finally:
            os.umask(previous)
        assert stat.S_IMODE(os.stat(own.log).st_mode) == 0o600
        assert stat.S_IMODE(os.stat(own.root).st_mode) == 0o700


def test_any_zstd_reader_sees_one_line_of_json_for_each_operation(paths: SessionPaths) -> None:
    data = written(paths, 3)

    with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True) as reader:
        lines = reader.read().splitlines()

    assert [line[:12] for line in lines] == [b'{"format":1,', b'{"id":"op-0"', b'{"id":"op-1"', b'{"id":"op-2"']


def test_a_number_that_was_used_is_never_used_again(paths: SessionPaths) -> None:
    log = OperationLog.open(paths, SESSION)
    log.append(operation(5))

    with pytest.raises(ValueError, match="BUG"):
        log.append(operation(5))

    log.close()
    assert OperationLog.open(paths, SESSION).next_seq == 6


def test_an_id_that_is_not_ours_never_gets_in(paths: SessionPaths) -> None:
    log = OperationLog.open(paths, SESSION)
    for name in ("", "../x", "A", "x" * 41):
        strange = Operation(
            id=OperationId(name), seq=0, kind=OperationKind.TURN, session=SESSION, at=0.0, checkpoint=Checkpoint()
        )
        with pytest.raises(ValueError, match="BUG"):
            log.append(strange)
    log.close()
    assert seqs(paths) == []


def test_a_log_of_another_session_is_refused_untouched(paths: SessionPaths) -> None:
    before = written(paths, 1)

    with pytest.raises(StoreError, match="belongs to"):
        OperationLog.open(paths, SessionId("s-2"))

    assert Path(paths.log).read_bytes() == before


def test_reading_a_log_that_is_not_there_is_an_error_and_creates_nothing(paths: SessionPaths) -> None:
    with pytest.raises(StoreError):
        read_log(paths.log)

    assert not Path(paths.root).exists()


# --- damage -----------------------------------------------------------------------------------------------------------


def test_every_single_bit_flip_is_noticed_and_costs_at_most_that_operation(paths: SessionPaths) -> None:
    data = written(paths, 3)
    bounds = [(frame.offset, frame.offset + frame.length) for frame in read_frames(data)]

    for bit in range(len(data) * 8):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        Path(paths.log).write_bytes(damaged)
        reading = read_log(paths.log)
        hit = next(number for number, (start, end) in enumerate(bounds) if start <= bit // 8 < end)
        assert [one.seq for one in reading.operations] == [seq for seq in range(3) if seq + 1 != hit]
        assert reading.damaged or reading.torn_at == bounds[3][0]
        assert (reading.header is None) == (hit == 0)


@pytest.mark.parametrize("hit", [0, 1, 2, 3])
@pytest.mark.parametrize("where", ["head", "payload"])
def test_a_damaged_log_goes_on_and_keeps_all_others(paths: SessionPaths, hit: int, where: str) -> None:
    data = bytearray(written(paths, 3))
    frame = list(read_frames(bytes(data)))[hit]
    data[frame.offset + 20 if where == "head" else frame.offset + frame.length - 2] ^= 4
    Path(paths.log).write_bytes(data)

    log = OperationLog.open(paths, SESSION)
    log.append(operation(log.next_seq + 10, parent=2))
    log.close()

    survivors = [seq for seq in range(3) if seq + 1 != hit]
    found = seqs(paths)
    assert found[:-1] == survivors
    assert found[-1] > 10
    assert len(read_log(paths.log).damaged) == (0 if (hit, where) == (3, "head") else 1)


def test_damage_in_the_middle_is_never_cut(paths: SessionPaths) -> None:
    data = bytearray(written(paths, 3))
    data[list(read_frames(bytes(data)))[2].offset + 3] ^= 1
    Path(paths.log).write_bytes(data)

    log = OperationLog.open(paths, SESSION)

    assert Path(paths.log).read_bytes() == data
    assert [damage.reason for damage in log.damaged] == ["no valid frame here"]
    log.close()


def test_a_damaged_operation_keeps_its_number_and_its_ids(paths: SessionPaths) -> None:
    data = bytearray(written(paths, 3))
    data[-2] ^= 1
    Path(paths.log).write_bytes(data)

    reading = read_log(paths.log)

    (damage,) = reading.damaged
    assert (damage.id, damage.parent, damage.ordinal, reading.next_seq) == ("op-2", "op-1", 2, 3)


def test_a_log_whose_only_frame_is_damaged_still_works(paths: SessionPaths) -> None:
    data = bytearray(written(paths, 0))
    data[-1] ^= 1
    Path(paths.log).write_bytes(data)

    written(paths, 2)

    assert len(seqs(paths)) == 2


@pytest.mark.parametrize("content", [b"", b"x", b"not a log at all\n" * 100, bytes(4096)])
def test_a_file_that_is_no_log_is_kept_aside_and_a_log_begun(paths: SessionPaths, content: bytes) -> None:
    Path(paths.root).mkdir()
    Path(paths.log).write_bytes(content)

    written(paths, 1)

    assert seqs(paths) == [0]
    aside = Path(paths.log + ".torn-1")
    assert (aside.read_bytes() if aside.exists() else b"") == content


def test_an_operation_in_the_frame_of_another_is_damage(paths: SessionPaths) -> None:
    data = written(paths, 1)
    header = next(read_frames(data))
    assert isinstance(header, Frame)
    line = dump_operation(operation(7))
    swapped = encode_frame(line, salt=header.salt, offset=len(data), kind=OPERATION, ordinal=1, ids=("op-1", "", ""))
    Path(paths.log).write_bytes(data + swapped)

    reading = read_log(paths.log)

    assert [one.seq for one in reading.operations] == [0]
    assert [damage.id for damage in reading.damaged] == ["op-1"]


def test_an_operation_of_a_kind_that_is_not_known_is_damage_of_that_one(paths: SessionPaths) -> None:
    from nbrewind.store import oplog

    log = OperationLog.open(paths, SESSION)
    log.append(operation(0))
    original = oplog.dump_operation
    oplog.dump_operation = lambda one: original(one).replace(b'"turn"', b'"dance"', 1)
    try:
        log.append(operation(1))
    finally:
        oplog.dump_operation = original
    log.append(operation(2))
    log.close()

    reading = read_log(paths.log)

    assert [one.seq for one in reading.operations] == [0, 2]
    assert [(damage.id, damage.ordinal) for damage in reading.damaged] == [("op-1", 1)]


# --- torn tails -------------------------------------------------------------------------------------------------------


def test_every_torn_tail_is_kept_aside_and_cut(paths: SessionPaths) -> None:
    data = written(paths, 3)
    last = list(read_frames(data))[-1].offset

    for length in range(last + 1, len(data)):
        Path(paths.log).write_bytes(data[:length])
        assert read_log(paths.log).torn_at == last
        OperationLog.open(paths, SESSION).close()
        assert Path(paths.log).read_bytes() == data[:last]
        aside = Path(f"{paths.log}.torn-{length - last}")
        assert aside.read_bytes() == data[last:length]


def test_reading_never_cuts(paths: SessionPaths) -> None:
    data = written(paths, 3)[:-1]
    Path(paths.log).write_bytes(data)

    read_log(paths.log)

    assert Path(paths.log).read_bytes() == data
    assert sorted(os.listdir(paths.root)) == ["log"]


# --- kills ------------------------------------------------------------------------------------------------------------


def _adding_two(paths: SessionPaths) -> Callable[[], object]:
    def scenario() -> None:
        log = OperationLog.open(paths, SESSION)
        log.append(operation(log.next_seq))
        log.append(operation(log.next_seq), sync=False)

    return scenario


def _sessions(tmp_path: Path, content: bytes | None) -> Iterator[SessionPaths]:
    number = 0
    while True:
        number += 1
        paths = SessionPaths(str(tmp_path / f"session-{number}"))
        if content is not None:
            Path(paths.root).mkdir()
            Path(paths.log).write_bytes(content)
        yield paths


STATES = {"no log": None, "two operations": -1, "a torn tail": 7}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("fault", ["kill", "torn"])
def test_a_kill_at_any_call_keeps_what_was_there_and_what_was_acknowledged(
    tmp_path: Path, paths: SessionPaths, state: str, fault: str
) -> None:
    data = written(paths, 2)
    cut = STATES[state]
    content = None if cut is None else data if cut < 0 else data[:-cut]
    kept = 0 if content is None else 2 if cut == -1 else 1
    fresh = _sessions(tmp_path, content)
    points = (sweep_points if fault == "kill" else write_points)(_adding_two(next(fresh)))
    assert len(points) >= 2
    counts = set()

    for point in points:
        own = next(fresh)
        assert run_forked(_adding_two(own), KillAt(point) if fault == "kill" else TornAt(point)) == KILLED
        # Killed once more while the tail is put aside, at every call of that; then opened in peace.
        if os.path.exists(own.log):
            for again in range(12):
                run_forked(lambda own=own: OperationLog.open(own, SESSION), KillAt(again))
        log = OperationLog.open(own, SESSION)
        found = [one.seq for one in log.operations]
        log.append(operation(log.next_seq))
        log.close()
        assert found == list(range(len(found)))
        assert kept <= len(found) <= kept + 2
        assert seqs(own) == [*found, len(found)]
        assert not read_log(own.log).damaged
        counts.add(len(found))

    # Both operations are lost or kept, depending on the moment: the sweep has seen every outcome.
    assert counts >= {kept, kept + 1}


def test_an_operation_is_in_the_log_exactly_when_its_whole_frame_is(tmp_path: Path, paths: SessionPaths) -> None:
    written(paths, 1)
    before = Path(paths.log).read_bytes()

    def append() -> None:
        OperationLog.open(paths, SESSION).append(operation(1))

    # write before/after, fdatasync before/after
    outcomes = []
    for point in sweep_points(append):
        Path(paths.log).write_bytes(before)
        assert run_forked(append, KillAt(point)) == KILLED
        outcomes.append(len(seqs(paths)))

    assert outcomes == [1, 2, 2, 2]


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize("kind", ["before", "torn", "after"])
def test_a_failed_append_leaves_the_log_as_it_was(paths: SessionPaths, number: int, kind: str) -> None:
    before = written(paths, 2)
    log = OperationLog.open(paths, SESSION)
    fault = TornAt(0, number=number) if kind == "torn" else ErrorAt(0, number, late=kind == "after")

    with installed(fault), pytest.raises(StoreError) as caught:
        log.append(operation(2))

    assert not isinstance(caught.value, InconsistentState)
    assert Path(paths.log).read_bytes() == before
    assert [one.seq for one in log.operations] == [0, 1]
    log.append(operation(2))
    log.close()
    assert seqs(paths) == [0, 1, 2]


def test_a_failed_append_that_cannot_be_cut_back_is_inconsistent(paths: SessionPaths) -> None:
    written(paths, 1)
    log = OperationLog.open(paths, SESSION)

    with installed(ErrorAt(0, errno.EIO, forever=True, late=True)), pytest.raises(InconsistentState):
        log.append(operation(1))

    _takes_nothing_more(log)


def test_a_cut_that_cannot_be_flushed_is_inconsistent(paths: SessionPaths) -> None:
    """The frame may be on the disk and the cut not: after a power cut the operation would be back."""
    written(paths, 1)
    log = OperationLog.open(paths, SESSION)

    class TornThenNoFlush(TornAt):
        def before(self, call: str, target: str, size: int) -> int | None:
            if call == "fdatasync":
                raise OSError(errno.EIO, "flush")
            return super().before(call, target, size)

    with installed(TornThenNoFlush(0, number=errno.ENOSPC)), pytest.raises(InconsistentState):
        log.append(operation(1))

    _takes_nothing_more(log)


def test_a_failed_flush_is_inconsistent_and_never_cut_nor_retried(paths: SessionPaths) -> None:
    written(paths, 1)
    log = OperationLog.open(paths, SESSION)

    with installed(ErrorAt(0, errno.EIO, calls={"fdatasync"})), pytest.raises(InconsistentState):
        log.append(operation(1))

    assert seqs(paths) == [0, 1]
    assert [one.seq for one in log.operations] == [0]
    _takes_nothing_more(log)


def _takes_nothing_more(log: OperationLog) -> None:
    size = os.path.getsize(log.paths.log)
    assert log.refuses
    for act in (lambda: log.append(operation(log.next_seq)), log.sync):
        with pytest.raises(InconsistentState):
            act()
    assert os.path.getsize(log.paths.log) == size
    log.close()
    again = OperationLog.open(log.paths, SESSION)
    again.append(operation(again.next_seq))
    again.close()


def test_an_interrupt_inside_an_append_leaves_the_log_as_it_was(paths: SessionPaths) -> None:
    before = written(paths, 1)
    log = OperationLog.open(paths, SESSION)

    class Interrupt(TornAt):
        def torn(self, call: str, target: str) -> None:
            raise KeyboardInterrupt

    with installed(Interrupt(0)), pytest.raises(KeyboardInterrupt):
        log.append(operation(1))

    assert Path(paths.log).read_bytes() == before
    log.append(operation(1))
    log.close()


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("forever", [False, True], ids=["once", "for ever"])
def test_an_error_at_any_call_of_opening_loses_nothing(
    tmp_path: Path, paths: SessionPaths, state: str, forever: bool
) -> None:
    data = written(paths, 2)
    cut = STATES[state]
    content = None if cut is None else data if cut < 0 else data[:-cut]
    kept = [] if content is None else [0, 1] if cut == -1 else [0]
    fresh = _sessions(tmp_path, content)
    before = open_descriptors()
    points = range(len(calls_of(_adding_two(next(fresh)))))

    for point in points:
        own = next(fresh)
        with installed(ErrorAt(point, errno.EIO, forever=forever)), contextlib.suppress(StoreError):
            OperationLog.open(own, SESSION).close()
        log = OperationLog.open(own, SESSION)
        assert [one.seq for one in log.operations] == kept
        log.append(operation(log.next_seq))
        log.close()
    assert open_descriptors() == before


def test_room_is_missed_before_the_commit_point_and_not_at_it(paths: SessionPaths) -> None:
    before = written(paths, 1)
    log = OperationLog.open(paths, SESSION)

    with installed(ErrorAt(0, errno.ENOSPC, forever=True, calls=ALLOCATING)), pytest.raises(StoreError):
        log.reserve(4096)
    assert not log.refuses
    log.reserve(4096)
    assert Path(paths.log).read_bytes() == before
    log.append(operation(1))
    log.close()

    assert seqs(paths) == [0, 1]


@pytest.mark.parametrize("torn", [1, 20, 60, 150])
def test_a_full_disk_does_not_keep_a_session_from_being_opened(tmp_path: Path, torn: int) -> None:
    store = open_store(str(tmp_path / "store"))
    paths = store.session(SESSION)
    data = written(paths, 2)
    last = list(read_frames(data))[-1].offset
    Path(paths.log).write_bytes(data[: last + torn])
    Path(paths.lock).write_text("an earlier one")

    with installed(ErrorAt(0, errno.ENOSPC, forever=True, calls=ALLOCATING)):
        open_store(store.root)
        lock = SessionLock(paths)
        lock.acquire("me")
        log = OperationLog.open(paths, SESSION)

    assert [one.seq for one in log.operations] == [0]
    log.append(operation(1))
    log.append(operation(2))
    log.close()
    lock.release()
    assert seqs(paths) == [0, 1, 2]
    assert [(one.offset, one.length) for one in read_log(paths.log).damaged] == [(last, torn)]


# --- without zstandard ------------------------------------------------------------------------------------------------


def test_without_zstandard_a_log_is_written_and_read_and_compressed_frames_are_named(
    paths: SessionPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(paths, 2)
    found: list[object] = []

    def without() -> None:
        log = OperationLog.open(paths, SESSION)
        log.append(operation(log.next_seq))
        log.close()
        reading = read_log(paths.log)
        found.extend([[one.seq for one in reading.operations], reading.damaged])

    with monkeypatch.context() as context:
        context.setitem(sys.modules, "zstandard", None)
        thread = threading.Thread(target=without)
        thread.start()
        thread.join()

    assert found[0] == [2]
    assert isinstance(found[1], tuple)
    damages = [one for one in found[1] if isinstance(one, Damage)]
    assert [(one.reason, one.id) for one in damages] == [
        (NEEDS_ZSTANDARD, ""),
        (NEEDS_ZSTANDARD, "op-0"),
        (NEEDS_ZSTANDARD, "op-1"),
    ]
    # With the package again, all of it is there.
    assert seqs(paths) == [0, 1, 2]


# --- order of flushes -------------------------------------------------------------------------------------------------


def test_a_new_log_is_flushed_with_the_names_that_lead_to_it(paths: SessionPaths) -> None:
    calls = calls_of(lambda: OperationLog.open(paths, SESSION))

    flushed = [call.target for call in calls if call.name in ("fsync", "fdatasync")]
    assert flushed == [paths.log, paths.root, os.path.dirname(paths.root)]
    assert calls[-3].name == "fdatasync"


def test_a_torn_tail_is_flushed_aside_before_it_is_cut(paths: SessionPaths) -> None:
    Path(paths.log).write_bytes(written(paths, 2)[:-3])

    calls = calls_of(lambda: OperationLog.open(paths, SESSION))

    aside = f"{paths.log}.torn-1"
    assert [(call.name, call.target) for call in calls if call.name != "create"] == [
        ("write", aside),
        ("fsync", aside),
        ("fsync", paths.root),
        ("truncate", paths.log),
    ]


def test_an_append_is_one_write_and_one_flush(paths: SessionPaths) -> None:
    written(paths, 1)
    log = OperationLog.open(paths, SESSION)

    calls = calls_of(lambda: log.append(operation(1)))

    assert [call.name for call in calls] == ["write", "fdatasync"]
    log.close()
