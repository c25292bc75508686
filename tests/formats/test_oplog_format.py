from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import zstandard

from nbrewind.model import EntryKind, OperationKind, TurnStatus
from nbrewind.store.layout import SessionPaths
from nbrewind.store.oplog import OperationLog, read_log
from tests.formats.make_oplog import SALT, SESSION, operations

FROZEN = Path(__file__).parent / "oplog-1" / "log"


def test_a_frozen_log_reads_as_what_was_written() -> None:
    reading = read_log(str(FROZEN))

    assert reading.operations == tuple(one for one in operations() if one.seq not in (5, 7))
    assert {type(one.kind) for one in reading.operations} == {OperationKind}
    turn, change = reading.operations[1].turn, reading.operations[1].changes[1]
    assert turn is not None
    assert turn.status is TurnStatus.ERROR
    assert change.before is not None
    assert change.before.kind is EntryKind.SYMLINK
    assert reading.header is not None
    assert (reading.header.session, reading.header.salt, reading.header.created) == (SESSION, SALT.hex(), 1.7e9)


def test_the_damage_and_the_torn_tail_of_a_frozen_log_are_named() -> None:
    reading = read_log(str(FROZEN))

    (damage,) = reading.damaged
    lost = operations()[5]
    assert (damage.id, damage.parent, damage.grandparent, damage.ordinal, damage.reason) == (
        lost.id,
        lost.parent,
        lost.grandparent,
        5,
        "checksum differs",
    )
    assert reading.torn_at == reading.size < FROZEN.stat().st_size
    assert reading.next_seq == 7


def test_a_frozen_log_can_be_gone_on_with(tmp_path: Path) -> None:
    paths = SessionPaths(str(tmp_path))
    shutil.copy(FROZEN, paths.log)

    log = OperationLog.open(paths, SESSION)
    log.append(operations()[7])
    log.close()

    assert [one.seq for one in read_log(paths.log).operations] == [0, 1, 2, 3, 4, 6, 7]
    assert (tmp_path / "log.torn-1").stat().st_size > 0


def test_a_frozen_log_is_readable_lines_for_any_zstd_reader_up_to_the_damage() -> None:
    whole = FROZEN.read_bytes()[: read_log(str(FROZEN)).damaged[0].offset]
    with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(whole), read_across_frames=True) as reader:
        lines = [json.loads(line) for line in reader.read().splitlines()]

    assert [line.get("kind") for line in lines] == [None, "attach", "turn", "external", "name", "rewind"]
