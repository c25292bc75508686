"""Write the frozen example of the session log, `oplog-<format>/`: every kind of frame, damage and a torn tail.

Run once for each format of the log, by the version that introduces it; a frozen log is never written again.

    python tests/formats/make_oplog.py
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from nbrewind.model import (
    Change,
    Checkpoint,
    Claim,
    EntryKind,
    FilesAddress,
    FileState,
    Note,
    ObjectId,
    Operation,
    OperationId,
    OperationKind,
    SessionId,
    Turn,
    TurnStatus,
    Verdict,
    Witness,
)
from nbrewind.store.codec import dump_operation, to_json
from nbrewind.store.frames import encode_frame
from nbrewind.store.oplog import HEADER, OPERATION, LogHeader

HERE = Path(__file__).resolve().parent
SALT = b"\x01frozen\xff"
SESSION = SessionId("01hzzzzzzz-frozensess")
FILES = FilesAddress(ObjectId("c" * 40), ObjectId("7" * 40), ObjectId("5" * 40))


def _file(letter: str, size: int) -> FileState:
    return FileState(EntryKind.FILE, ObjectId(letter * 40), size, 0o640, 1_700_000_000_123_456_789)


def operations() -> tuple[Operation, ...]:
    """Return what the frozen log holds, the damaged one included."""
    ids = [OperationId(f"01hzzzzzz{number}-frozen{number}") for number in range(8)]
    turn = Turn(
        "df.to_csv('caf\udce9.csv')\n",
        3,
        "cell-1",
        TurnStatus.ERROR,
        "ValueError: \N{SNOWMAN}",
        1.5,
        2.5,
        '[{"output_type":"stream"}]',
        ObjectId("1" * 40),
        ObjectId("2" * 40),
        ("ls -l", "git status"),
        Verdict.PARTIAL,
        (Note("big.bin", "too large"),),
    )
    changes = (
        Change("caf\udce9.csv", None, _file("a", 12), Claim.OURS, (Witness.JOURNAL, Witness.SCAN)),
        Change("link", FileState(EntryKind.SYMLINK, ObjectId("b" * 40), 4), None, Claim.UNCLAIMED, (Witness.SCAN,)),
        Change("/tmp/out", FileState(EntryKind.DIRECTORY, mode=0o755), None, moved_to="/tmp/out2", note="outside"),
        Change("pipe", None, FileState(EntryKind.SPECIAL, missing="special"), Claim.EXTERNAL),
    )
    big = FileState(EntryKind.FILE, ObjectId("d" * 40), 1 << 33, chunked=True)
    kinds = (
        {"kind": OperationKind.ATTACH, "kernel": "kernel 4242", "notebook": "analysis.ipynb"},
        {"kind": OperationKind.TURN, "turn": turn, "changes": changes, "change_count": 4},
        {"kind": OperationKind.EXTERNAL, "changes": (Change("big", None, big, Claim.OTHER_SESSION),)},
        {"kind": OperationKind.NAME, "label": "before the clean-up"},
        {"kind": OperationKind.REWIND, "previous": ids[3], "changes_at": ObjectId("e" * 40), "change_count": 5000},
        {"kind": OperationKind.UNDO, "previous": ids[4], "undone": ids[4]},
        {"kind": OperationKind.REDO, "previous": ids[5], "undone": ids[5]},
        {"kind": OperationKind.RESTORE, "label": "data.csv"},
    )
    return tuple(
        Operation(
            id=ids[seq],
            seq=seq,
            session=SESSION,
            at=1_700_000_000.25 + seq,
            checkpoint=Checkpoint(FILES, seq + 1, ObjectId("8" * 40), ObjectId("9" * 40)),
            parent=ids[seq - 1] if seq else None,
            grandparent=ids[seq - 2] if seq > 1 else None,
            **fields,  # type: ignore[arg-type]  # each is right for its name
        )
        for seq, fields in enumerate(kinds)
    )


def write(folder: Path) -> None:
    """Write the log: operation 2 is stored raw, 5 has a damaged payload, and the last is torn."""
    header = LogHeader(format=1, session=SESSION, salt=SALT.hex(), created=1_700_000_000.0)
    data = bytearray(encode_frame(to_json(header).encode() + b"\n", salt=SALT, offset=0, kind=HEADER))
    for one in operations():
        frame = bytearray(
            encode_frame(
                dump_operation(one),
                salt=SALT,
                offset=len(data),
                kind=OPERATION,
                ordinal=one.seq,
                ids=(one.id, one.parent or "", one.grandparent or ""),
                compress=one.seq != 2,
            )
        )
        if one.seq == 5:
            frame[-10] ^= 0x10
        data += frame if one.seq < 7 else frame[:-30]
    (folder / "log").write_bytes(data)


if __name__ == "__main__":
    target = HERE / "oplog-1"
    target.mkdir(exist_ok=True)
    if (target / "log").exists():
        raise SystemExit("frozen: nothing is written again")
    write(target)
