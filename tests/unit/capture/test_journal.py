from __future__ import annotations

import os
from dataclasses import replace

import pytest

from nbrewind.capture.journal import TurnJournal, named_no_secret
from nbrewind.capture.reading import discard, read_journal, read_journals, span_of, sweep_images
from nbrewind.capture.span import JournalHeader, Rename, SpanKind, Touched, TurnOutcome
from nbrewind.model import EntryKind, FileState, Note, ObjectId, OperationId, TurnStatus
from tests.unit.capture.conftest import Rig

HEADER = JournalHeader(
    operation_id=OperationId("op-1"),
    code="x = 'é\udcff'\n",
    number=3,
    cell_id="c",
    started=5.5,
    parent=OperationId("op-0"),
)
TOUCHED = Touched(
    path="/out/caf\udce9",
    kind="write",
    event="open",
    before=FileState(EntryKind.FILE, ObjectId("2" * 40), 7, 0o755, 99, chunked=True),
    inside="caf\udce9",
    device=1,
    inode=2,
    links=3,
    thread="MainThread",
    origin=OperationId("op-0"),
    background=True,
)
RENAME = Rename(source="/a", target="/b\udcff", target_inside="b\udcff", directory=True)


def test_rows_read_back_as_they_were_written(rig: Rig) -> None:
    journal = TurnJournal.create(rig.paths, HEADER)
    journal.touch(TOUCHED)
    journal.touch(replace(TOUCHED, path="/absent", before=None))
    journal.rename(RENAME)
    journal.ran("rm x")
    journal.skip(Note("p", "too large"))
    journal.end(TurnOutcome(status=TurnStatus.ERROR, error="E", ended=6.5, outputs="[1]"))

    reading = read_journal(rig.paths)

    assert reading is not None
    assert reading.header == HEADER and reading.process == os.getpid()
    assert reading.rows == (TOUCHED, replace(TOUCHED, path="/absent", before=None))
    assert reading.renames == (RENAME,)
    assert reading.ran == ("rm x",) and reading.skipped == (Note("p", "too large"),)
    assert reading.outcome == TurnOutcome(status=TurnStatus.ERROR, error="E", ended=6.5, outputs="[1]")
    assert reading.damaged == 0 and not reading.interrupted
    journal.close_and_remove()
    assert read_journals(rig.paths) == ()


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_torn_tail_costs_only_its_row(rig: Rig, cut: int) -> None:
    journal = TurnJournal.create(rig.paths, HEADER)
    journal.touch(TOUCHED)
    journal.rename(RENAME)
    os.truncate(rig.paths.turn, os.path.getsize(rig.paths.turn) - cut)

    reading = read_journal(rig.paths)

    assert reading is not None and reading.interrupted
    assert reading.rows == (TOUCHED,)
    assert (reading.renames, reading.damaged) in [((), 1), ((RENAME,), 0)]
    journal.close_and_remove()


def test_a_damaged_row_costs_only_itself(rig: Rig) -> None:
    journal = TurnJournal.create(rig.paths, HEADER)
    journal.touch(TOUCHED)
    journal.rename(RENAME)
    with open(rig.paths.turn, "r+b") as file:
        data = file.read()
        file.seek(data.index(b'"touch"') + 1)
        file.write(b"X")

    reading = read_journal(rig.paths)

    assert reading is not None
    assert reading.rows == () and reading.renames == (RENAME,) and reading.damaged == 1
    journal.close_and_remove()


def test_file_that_is_no_journal_is_none(rig: Rig) -> None:
    with open(rig.paths.turn, "wb") as file:
        file.write(os.urandom(5000))

    assert read_journal(rig.paths) is None


def test_journal_left_by_a_death_is_set_aside_and_read_first(rig: Rig) -> None:
    TurnJournal.create(rig.paths, HEADER)
    second = TurnJournal.create(rig.paths, replace(HEADER, operation_id=OperationId("op-2"), started=9.0))

    readings = read_journals(rig.paths)

    assert [reading.header.operation_id for reading in readings] == ["op-1", "op-2"]
    for reading in readings:
        discard(rig.paths, reading)
    assert read_journals(rig.paths) == ()
    second.close_and_remove()


def test_journal_of_a_record_reads_like_the_record(rig: Rig) -> None:
    (rig.out / "f").write_text("1")
    rig.recorder.start()
    (rig.out / "early").touch()
    rig.begin("cell()")
    (rig.out / "f").write_text("2")
    os.rename(rig.out / "f", rig.out / "g")
    record = rig.finish()

    (reading,) = read_journals(rig.paths)
    span = span_of(reading, record.root)

    assert span.touches == record.touches and span.renames == record.renames
    assert span.header == record.header and span.outcome is not None
    discard(rig.paths, reading)
    assert os.listdir(rig.paths.images) == []


def test_copies_that_no_row_names_are_swept(rig: Rig) -> None:
    (rig.out / "f").write_text("1")
    rig.begin()
    (rig.out / "f").write_text("2")
    record = rig.finish()
    with open(f"{rig.paths.images}/turn-9-1", "wb"):
        pass

    assert sweep_images(rig.paths) == 1
    assert [os.path.basename(record.touches[str(rig.out / "f")].image)] == os.listdir(rig.paths.images)


def test_code_that_names_a_secret_file_is_not_journaled() -> None:
    def secret(name: str) -> bool:
        return name == ".env"

    assert named_no_secret(HEADER, secret) is HEADER
    hidden = named_no_secret(replace(HEADER, code="open('.env').write('KEY')"), secret)

    assert "KEY" not in hidden.code and hidden.operation_id == HEADER.operation_id


def test_modes_are_private(rig: Rig) -> None:
    old = os.umask(0)
    try:
        (rig.out / "f").write_text("1")
        rig.begin()
        (rig.out / "f").write_text("2")
        record = rig.finish()
    finally:
        os.umask(old)

    assert os.stat(record.journal).st_mode & 0o777 == 0o600
    assert os.stat(rig.paths.images).st_mode & 0o777 == 0o700
    assert os.stat(record.touches[str(rig.out / "f")].image).st_mode & 0o777 == 0o600


def test_holes_of_a_sparse_file_stay_holes(rig: Rig) -> None:
    with open(rig.out / "sparse", "wb") as file:
        file.truncate(64 << 20)
        file.seek(32 << 20)
        file.write(b"middle")
    rig.begin()
    with open(rig.out / "sparse", "r+b"):
        pass
    record = rig.finish()

    image = record.touches[str(rig.out / "sparse")].image
    assert os.stat(image).st_size == 64 << 20
    assert os.stat(image).st_blocks * 512 < 1 << 20
    assert record.header.kind is SpanKind.TURN
