"""Turn journals read back: by the next attach, for the turns that a death left open."""

from __future__ import annotations

import json
import os
import zlib
from dataclasses import dataclass, field, fields
from typing import Any, Final

from nbrewind import fs
from nbrewind.capture.journal import remove
from nbrewind.capture.span import JournalHeader, Rename, SpanKind, SpanRecord, Touched, TurnOutcome
from nbrewind.model import EntryKind, FileState, Note, OperationId, TurnStatus
from nbrewind.store.layout import SessionPaths, is_id, new_operation_id

__all__ = ["JournalReading", "discard", "read_journal", "read_journals", "span_of", "sweep_images", "sweep_journals"]

_STATE_FIELDS: Final = frozenset(item.name for item in fields(FileState))
_TOUCH_FIELDS: Final = frozenset(item.name for item in fields(Touched)) - {"before"}
_RENAME_FIELDS: Final = frozenset(item.name for item in fields(Rename))


@dataclass(frozen=True, slots=True)
class JournalReading:
    """What a journal says. *images* are the copies that exist, by path.

    *damaged* counts lines that were left out, *unfinished* says that the last of them is one that a death cut short.
    """

    path: str
    header: JournalHeader
    process: int = 0
    outcome: TurnOutcome | None = None
    rows: tuple[Touched, ...] = ()
    renames: tuple[Rename, ...] = ()
    ran: tuple[str, ...] = ()
    skipped: tuple[Note, ...] = ()
    damaged: int = 0
    unfinished: bool = False
    images: dict[str, str] = field(default_factory=dict)

    @property
    def interrupted(self) -> bool:
        """Whether the turn had not ended when its process died."""
        return self.header.kind is SpanKind.TURN and self.outcome is None


def read_journal(paths: SessionPaths) -> JournalReading | None:
    """Return what the journal of the open span says, None if there is none or it has no readable header."""
    return _read(paths.turn)


def read_journals(paths: SessionPaths) -> tuple[JournalReading, ...]:
    """Return all journals of the session whose spans are not known to be in the log, oldest first."""
    readings = filter(None, map(_read, _journals(paths)))
    return tuple(sorted(readings, key=lambda reading: (reading.header.started, reading.header.operation_id)))


def _journals(paths: SessionPaths) -> list[str]:
    name = os.path.basename(paths.turn)
    try:
        names = os.listdir(paths.root)
    except FileNotFoundError:
        return []
    return [f"{paths.root}/{entry}" for entry in names if entry == name or entry.startswith(f"{name}-")]


def discard(paths: SessionPaths, reading: JournalReading) -> None:
    """Remove a journal and its copies: its span is in the log, or has been put there."""
    remove(paths, reading.path, reading.header.operation_id)
    # A turn that followed a gap with touches has copies under the gap's name.
    for image in reading.images.values():
        if os.path.lexists(image):
            fs.unlink(image)


def sweep_images(paths: SessionPaths) -> int:
    """Remove copies that no journal names (a kill in the middle of a copy) and return how many there were.

    Only for the holder of the session's lock, before its recorder starts.
    """
    named = {os.path.basename(row.image) for reading in read_journals(paths) for row in reading.rows if row.image}
    try:
        strays = [name for name in os.listdir(paths.images) if name not in named]
    except FileNotFoundError:
        return 0
    for name in strays:
        fs.unlink(f"{paths.images}/{name}")
    return len(strays)


def sweep_journals(paths: SessionPaths) -> None:
    """Remove journals in which nothing was noted: the disk refused the first row. As for `sweep_images`."""
    for path in _journals(paths):
        rows, _, _ = _lines(path)
        if not rows:
            fs.unlink(path)


def span_of(reading: JournalReading, root: str) -> SpanRecord:
    """Return the record of a span that a death left behind, as far as its journal tells it."""
    ended = reading.outcome.ended if reading.outcome else 0.0  # 0: nobody knows when its process died
    touches: dict[str, Touched] = {}
    for row in reading.rows:
        touches.setdefault(row.path, row)
    return SpanRecord(
        header=reading.header,
        outcome=reading.outcome,
        root=root,
        touches=touches,
        touched_late=frozenset(row.path for row in reading.rows if row.after_end),
        renames=reading.renames,
        ran=reading.ran,
        skipped=(*reading.skipped, *_losses(reading)),
        started_ns=int(reading.header.started * 1e9),
        ended_ns=int(ended * 1e9),
        journal=reading.path,
    )


def _losses(reading: JournalReading) -> tuple[Note, ...]:
    """Return a note where rows cannot be read that were once written whole."""
    lost = reading.damaged - reading.unfinished
    return (Note("", f"{lost} of its journal's rows cannot be read"),) if lost else ()


def _lines(path: str) -> tuple[list[dict[str, Any]], int, bool]:
    """Return the rows of the journal at *path*, the number of lines that do not check, and whether the last is torn."""
    with open(path, "rb") as file:
        data = file.read()
    rows, damaged, checks = [], 0, True
    for line in data.split(b"\n"):
        if not line:
            continue
        try:
            if int(line[:8], 16) != zlib.crc32(line[9:]):
                raise ValueError
            row = json.loads(line[9:])
            if not isinstance(row, dict):
                raise ValueError
        except ValueError:
            damaged += 1
            checks = False
        else:
            rows.append(row)
            checks = True
    return rows, damaged, not checks and not data.endswith(b"\n")


def _read(path: str) -> JournalReading | None:
    try:
        rows, damaged, unfinished = _lines(path)
    except OSError:
        return None
    header: JournalHeader | None = None
    outcome: TurnOutcome | None = None
    process = 0
    touched: list[Touched] = []
    renames: list[Rename] = []
    ran: list[str] = []
    skipped: list[Note] = []
    for row in rows:
        try:
            match row.pop("row", ""):
                case "begin":
                    header, process = _header(row), int(row.get("process", 0))
                case "touch":
                    touched.append(_touched(row))
                case "rename":
                    renames.append(Rename(**_known(row, _RENAME_FIELDS)))
                case "ran":
                    ran.append(str(row["command"]))
                case "skip":
                    skipped.append(Note(str(row["subject"]), str(row["reason"])))
                case "end":
                    outcome = _outcome(row)
                case _:
                    damaged += 1
        except (KeyError, TypeError, ValueError):
            damaged += 1
    if header is None:
        if not touched and not renames:
            return None
        header = _made_up(path)
    images = {row.path: row.image for row in touched if row.image and os.path.isfile(row.image)}
    return JournalReading(
        path,
        header,
        process,
        outcome,
        tuple(touched),
        tuple(renames),
        tuple(ran),
        tuple(skipped),
        damaged,
        unfinished,
        images,
    )


def _made_up(path: str) -> JournalHeader:
    """Return a header where that of the journal is damaged: what its rows say of files is needed all the same."""
    named = os.path.basename(path).partition("-")[2]
    operation_id = OperationId(named) if is_id(named) and not named.startswith("left-") else new_operation_id()
    return JournalHeader(operation_id=operation_id, code="# not known: damaged", started=os.stat(path).st_mtime)


def _known(row: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key in names}


def _header(row: dict[str, Any]) -> JournalHeader:
    parent = row.get("parent")
    return JournalHeader(
        operation_id=OperationId(str(row["operation_id"])),
        code=str(row.get("code", "")),
        number=row.get("number"),
        cell_id=row.get("cell_id"),
        started=float(row.get("started", 0.0)),
        parent=None if parent is None else OperationId(str(parent)),
        kind=SpanKind(row.get("kind", SpanKind.TURN)),
    )


def _outcome(row: dict[str, Any]) -> TurnOutcome:
    return TurnOutcome(
        status=TurnStatus(row.get("status", TurnStatus.OK)),
        error=str(row.get("error", "")),
        ended=float(row.get("ended", 0.0)),
        outputs=str(row.get("outputs", "[]")),
    )


def _touched(row: dict[str, Any]) -> Touched:
    before = row.get("before")
    state = None
    if before is not None:
        known = _known(before, _STATE_FIELDS)
        owner = tuple(map(int, known.get("owner", ())))
        state = FileState(**{**known, "kind": EntryKind(known["kind"]), "owner": owner})
    return Touched(before=state, **_known(row, _TOUCH_FIELDS))
