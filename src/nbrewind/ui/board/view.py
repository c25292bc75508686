"""The board itself: rows in order, how the session is and what may be offered, and what differs from the last one."""

from __future__ import annotations

import hashlib
import json
import posixpath
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from nbrewind.model import Operation, OperationId, OperationKind
from nbrewind.rewind.timeline import MOVES, LeftLine, Timeline
from nbrewind.session.session import Session
from nbrewind.ui.board.offers import offers
from nbrewind.ui.board.rows import Row, RowMaker, Standing, is_empty
from nbrewind.ui.board.state import busy, redo_text, state, undo_text
from nbrewind.ui.wording import folder_name, printable

__all__ = ["PROTOCOL", "Board", "BoardMaker"]

PROTOCOL = 1
_Entry = tuple[Operation, Standing]


@dataclass(frozen=True, slots=True)
class Board:
    """A board at one moment: *rows* newest first, *head* everything else, *revision* a hash of both."""

    revision: str
    rows: tuple[Row, ...]
    head: dict[str, Any]

    def data(self, base: Board | None = None) -> dict[str, Any]:
        """Return it as front ends get it: only the rows that *base* has not, if they have that one."""
        keep = 0
        if base is not None:
            shorter = min(len(self.rows), len(base.rows))
            while keep < shorter and self.rows[-1 - keep].digest == base.rows[-1 - keep].digest:
                keep += 1
        rows = [row.data for row in self.rows[: len(self.rows) - keep]]
        return {**self.head, "revision": self.revision, "base": base.revision if keep and base else None,
                "keep": keep, "rows": rows}  # fmt: skip


class BoardMaker:
    """Makes the board of a session. What did not change since the last time is taken from there. Pure.

    Any thread may ask; one at a time is served.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._maker = RowMaker(session)
        self._lock = threading.Lock()
        self._first_turn: OperationId | None = None
        self._left: tuple[OperationId | None, tuple[LeftLine, ...]] = (None, ())

    def board(self) -> Board:
        """Return the board as it is now. Settles nothing and waits for nothing."""
        with self._lock:
            timeline = self._session.timeline
            rows = tuple(self._rows(timeline))
            head = self._head(timeline)
        told = json.dumps(head, sort_keys=True, default=str) + "".join(row.digest for row in rows)
        return Board(hashlib.blake2b(told.encode("utf-8", "replace"), digest_size=10).hexdigest(), rows, head)

    # -- rows -----------------------------------------------------------------------------------------------------

    def _rows(self, timeline: Timeline) -> Iterator[Row]:
        session = self._session
        self._heed_start(timeline)
        left = self._left_by_fork(timeline)
        waiting: list[_Entry] = []
        for operation, standing in self._line(timeline):
            lines = left.pop(operation.id, ())
            folds = is_empty(operation, standing) and not standing.is_now
            if waiting and (lines or not folds):
                yield self._folded(waiting, timeline)
                waiting = []
            for line in lines:
                yield self._left_row(line, timeline)
            if folds:
                waiting.append((operation, standing))
            elif not self._is_hidden(operation, timeline):
                yield self._maker.own(operation, standing, timeline)
        if waiting:
            yield self._folded(waiting, timeline)
        for lines in left.values():
            for line in lines:
                yield self._left_row(line, timeline)
        for note in session.damaged:
            yield self._maker.damaged(note.subject, note.reason)

    def _line(self, timeline: Timeline) -> Iterator[_Entry]:
        """Yield the operations of the present line, newest first, with what others say about them."""
        names = _names(timeline)
        later: set[int] = set()
        now = next((found.id for found in reversed(timeline.line) if not self._is_hidden(found, timeline)), None)
        damage, pending = self._session.found_damage(), self._session.pending_document
        for operation in reversed(timeline.line):
            number = operation.turn.number if operation.turn is not None else None
            yield (
                operation,
                Standing(
                    names=names.get(operation.id, ()),
                    earlier_run=number in later,
                    is_now=operation.id == now,
                    damage=damage.get(operation.id, ""),
                    pending=operation.id == pending,
                ),
            )
            if number is not None:
                later.add(number)

    def _is_hidden(self, operation: Operation, timeline: Timeline) -> bool:
        """Return whether a row would say nothing: a name beside its cell, a notebook that was saved."""
        if operation.kind is OperationKind.NAME:
            return timeline.last_turn(operation.id) is not None
        if operation.kind is not OperationKind.EXTERNAL or operation.changes_at is not None:
            return False
        if operation.variables:
            return False
        own = posixpath.basename(operation.notebook or self._session.notebook)
        return all(posixpath.basename(change.path) == own for change in operation.changes) if own else False

    def _folded(self, entries: Sequence[_Entry], timeline: Timeline) -> Row:
        rows = [self._maker.own(operation, standing, timeline) for operation, standing in entries]
        if len(rows) == 1 and entries[0][0].turn is None:
            return rows[0]
        return self._maker.folded([operation for operation, _ in entries], rows)

    def _left_row(self, line: LeftLine, timeline: Timeline) -> Row:
        rows = [self._maker.own(turn, Standing(), timeline) for turn in reversed(line.turns)]
        return self._maker.left(line, rows)

    def _left_by_fork(self, timeline: Timeline) -> dict[OperationId | None, tuple[LeftLine, ...]]:
        """Return the lines that were left, by the operation on the present line that they start from."""
        move = next((found.id for found in reversed(timeline.operations) if found.kind in MOVES), None)
        if self._left[0] != move:
            self._left = (move, timeline.left_lines if move is not None else ())
        found: dict[OperationId | None, tuple[LeftLine, ...]] = {}
        for line in self._left[1]:
            fork = next((one.id for one in timeline.ancestors(line.head) if timeline.is_on_line(one.id)), None)
            found[fork] = (*found.get(fork, ()), line)
        return found

    def _heed_start(self, timeline: Timeline) -> None:
        """Make the row of the start anew where another cell comes after it."""
        first = timeline.turns[0].id if timeline.turns else None
        if first != self._first_turn and timeline.line:
            self._first_turn = first
            self._maker.forget(timeline.line[0].id)

    # -- everything else ------------------------------------------------------------------------------------------

    def _head(self, timeline: Timeline) -> dict[str, Any]:
        session = self._session
        pulse = session.pulse()
        return {
            "version": PROTOCOL,
            "session": session.id,
            "workspace": folder_name(session.workspace),
            "workspace_path": printable(session.workspace),
            "notebook": printable(posixpath.basename(session.notebook)),
            "head": timeline.head,
            **state(pulse, timeline),
            "busy": busy(pulse),
            "undo": undo_text(timeline),
            "redo": redo_text(timeline),
            "offers": offers(pulse, timeline, session),
            "pending": session.pending_document,
            "first_copy": {"done": pulse.copied, "total": pulse.files} if pulse.copying else None,
            "totals": {"points": len(timeline.operations), "files": pulse.files, "bytes": pulse.bytes},
        }


def _names(timeline: Timeline) -> dict[OperationId, tuple[str, ...]]:
    """Return the names of each point: those of the naming operation itself and of the turn that it stands behind."""
    found: dict[OperationId, tuple[str, ...]] = {}
    for operation in timeline.operations:
        if operation.kind is OperationKind.NAME and operation.label:
            turn = timeline.last_turn(operation.id)
            for named in {operation.id, turn.id if turn else operation.id}:
                found[named] = tuple(dict.fromkeys((*found.get(named, ()), operation.label)))
    return found
