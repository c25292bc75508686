"""The turn journal: what a span is about to change, on the disk before it happens."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
import zlib
from collections.abc import Callable
from dataclasses import asdict, fields, replace
from typing import Any, Final

from nbrewind import fs
from nbrewind.capture.span import JournalHeader, Rename, Touched, TurnOutcome
from nbrewind.model import FileState, Note
from nbrewind.store.layout import SessionPaths

__all__ = ["JOURNAL_VERSION", "TurnJournal", "is_veiled", "line_of", "named_no_secret", "veiled"]

JOURNAL_VERSION: Final = 1
_OUTPUTS_LIMIT: Final = 64 << 10
_VEIL: Final = "# not kept: this cell is about a secret file"
_NAME: Final = re.compile(r"[\w.\-]+")
_DEFAULTS: Final = {
    cls: tuple((field.name, field.default) for field in fields(cls) if not (cls is Touched and field.name == "before"))
    for cls in (Touched, Rename, JournalHeader, FileState)
}


def line_of(row: dict[str, Any]) -> bytes:
    """Return *row* as one line: the CRC-32 of the JSON text in eight digits, a space, the text.

    The text is ASCII, so names that are not UTF-8 survive as lone surrogates.
    """
    text = json.dumps(row, separators=(",", ":")).encode("ascii")
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _row(value: Touched | Rename | JournalHeader | FileState) -> dict[str, Any]:
    """Return the fields of *value* that are not their defaults; by hand, `asdict` costs ten times as much."""
    found = ((name, getattr(value, name), default) for name, default in _DEFAULTS[type(value)])
    return {name: content for name, content, default in found if content != default}


def named_no_secret(header: JournalHeader, secret: Callable[[str], bool]) -> JournalHeader:
    """Return *header* without its code where the code names a secret file: it may hold what the file will hold."""
    return veiled(header) if any(secret(word) for word in set(_NAME.findall(header.code))) else header


def veiled(header: JournalHeader) -> JournalHeader:
    """Return *header* without its code."""
    if is_veiled(header) or not header.code:
        return header
    digest = hashlib.blake2b(header.code.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return replace(header, code=f"{_VEIL} ({digest})")


def is_veiled(header: JournalHeader) -> bool:
    """Return whether the code of *header* was left out."""
    return header.code.startswith(_VEIL)


class TurnJournal:
    """The rows of one span, in `sessions/<id>/turn` while it is open.

    Each row is one line that is written by one call, before the hook returns and so before its effect: a kill at any
    instant leaves the rows of all effects that were begun, and at most one torn line, which readers leave out. A row
    names a raw copy only when the copy is whole. Nothing is flushed: rows survive the process, not a power cut.
    Once closed the file is `turn-<operation id>` until the span is in the operation log.
    """

    def __init__(self, paths: SessionPaths, header: JournalHeader, file: fs.AppendFile) -> None:
        self._paths = paths
        self._prefix = header.operation_id
        self.header = header
        self._file = file
        self.path = file.path

    @classmethod
    def create(cls, paths: SessionPaths, header: JournalHeader) -> TurnJournal:
        """Open the journal of a span. A journal that was left open by a death is set aside first, never lost.

        Raises:
            OSError: The disk refuses.
        """
        if os.path.exists(paths.turn):
            fs.rename(paths.turn, f"{paths.turn}-left-{time.time_ns():x}")
        journal = cls(paths, header, fs.AppendFile(paths.turn))
        try:
            journal.begin(header)
        except BaseException:
            journal._file.close()
            # Without its head a journal says nothing, and nobody would ever remove it.
            with contextlib.suppress(OSError):
                fs.unlink(paths.turn)
            raise
        return journal

    def begin(self, header: JournalHeader) -> None:
        """Note *header*; in a journal that has one already (a turn that follows a gap) the later one counts."""
        self.header = header
        self._add({"row": "begin", "journal": JOURNAL_VERSION, "process": os.getpid(), **_row(header)})

    def touch(self, touched: Touched) -> None:
        """Note a path that is about to change."""
        before = None if touched.before is None else _row(touched.before)
        self._add({"row": "touch", **_row(touched), "before": before})

    def rename(self, rename: Rename) -> None:
        """Note a rename that is about to happen."""
        self._add({"row": "rename", **_row(rename)})

    def ran(self, command: str) -> None:
        """Note a child process that is about to start."""
        self._add({"row": "ran", "command": command})

    def skip(self, note: Note) -> None:
        """Note what could not be seen or kept."""
        self._add({"row": "skip", **asdict(note)})

    def veil(self, command: str) -> None:
        """Take the code of the cell out of what was noted so far, and put *command* for each that it ran.

        A death in the middle leaves the journal as it was or as it is then.
        """
        header = self.header = veiled(self.header)
        lines = []
        with open(self.path, "rb") as file:
            for line in file:
                row = json.loads(line[9:])
                match row["row"]:
                    case "begin":
                        lines.append(line_of({**row, "code": header.code}))
                    case "ran":
                        lines.append(line_of({**row, "command": command}))
                    case _:
                        lines.append(line)
        self._file.close()
        try:
            fs.replace(self.path, b"".join(lines), sync=False)
        finally:
            self._file = fs.AppendFile(self.path)

    def end(self, outcome: TurnOutcome, *, with_outputs: bool = True) -> None:
        """Note that the cell ended."""
        row = asdict(outcome)
        if not with_outputs or len(outcome.outputs) > _OUTPUTS_LIMIT:
            del row["outputs"]
        self._add({"row": "end", **row})

    def close(self) -> str:
        """Close the journal, make place for the next one, and return its new path."""
        self._file.close()
        closed = f"{self._paths.turn}-{self.header.operation_id}"
        fs.rename(self.path, closed)
        self.path = closed
        return closed

    def close_and_remove(self) -> None:
        """Remove the journal and its raw copies: the span is in the operation log, or had no effect."""
        self._file.close()
        remove(self._paths, self.path, self._prefix)

    def _add(self, row: dict[str, Any]) -> None:
        self._file.append(line_of(row))


def remove(paths: SessionPaths, journal: str, prefix: str) -> None:
    """Remove *journal*, then the copies that begin with *prefix*: no row ever names what is gone."""
    if os.path.lexists(journal):
        fs.unlink(journal)
    try:
        names = os.listdir(paths.images)
    except FileNotFoundError:
        return
    for name in names:
        if name.startswith(f"{prefix}-"):
            fs.unlink(f"{paths.images}/{name}")
