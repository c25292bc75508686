"""Rows: one line of the list for each operation that a person may go to, made once and kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nbrewind.errors import StoreError
from nbrewind.model import Change, Claim, Operation, OperationId, OperationKind, TurnStatus, Verdict
from nbrewind.rewind.targets import cells, when
from nbrewind.rewind.timeline import MOVES, LeftLine, Timeline
from nbrewind.session.session import Session
from nbrewind.ui.story import changed_text, operation_text
from nbrewind.ui.wording import count, first_line, printable, shown_path

__all__ = ["Row", "RowMaker", "Standing", "is_empty"]

_MOST_CODE = 2000
_MOST_NAMES = 3
_PENDING = "The open notebook does not show it yet: a page that has it open brings its outputs up to date."
_KINDS = {
    OperationKind.TURN: "turn",
    OperationKind.EXTERNAL: "external",
    OperationKind.ATTACH: "attach",
    OperationKind.RESTORE: "restore",
    OperationKind.NAME: "name",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One line as front ends get it (`Row` of protocol.json), with a hash of all of it."""

    data: dict[str, Any]
    digest: str


@dataclass(frozen=True, slots=True)
class Standing:
    """What about an operation depends on others: its *names*, a later run with its number, whether it is in force.

    *pending*: the open notebook does not agree to it yet.
    """

    names: tuple[str, ...] = ()
    earlier_run: bool = False
    is_now: bool = False
    damage: str = ""
    pending: bool = False


class RowMaker:
    """Makes rows, each once: the same operation in the same standing is the same object."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._own: dict[OperationId, tuple[Standing, Row]] = {}
        self._facts: dict[OperationId, dict[str, Any]] = {}
        self._groups: dict[str, tuple[tuple[Row, ...], Row]] = {}

    def own(self, operation: Operation, standing: Standing, timeline: Timeline) -> Row:
        """Return the row of *operation*."""
        known = self._own.get(operation.id)
        if known is not None and known[0] == standing:
            return known[1]
        facts = self._facts.get(operation.id)
        if facts is None:
            facts = self._facts[operation.id] = _facts(self._session, operation, timeline)
        data = {
            **facts,
            "names": [printable(name) for name in standing.names],
            "earlier_run": standing.earlier_run,
            "is_now": standing.is_now,
        }
        if standing.pending:
            data["mark"] = {"text": "notebook pending", "tone": "warning"}
            data["reasons"] = [_PENDING, *facts["reasons"]]
        if standing.damage:
            data["mark"] = {"text": "✕ damaged", "tone": "problem"}
            data["reasons"] = [printable(standing.damage), *facts["reasons"]]
        row = _row(data)
        self._own[operation.id] = (standing, row)
        return row

    def forget(self, operation: OperationId) -> None:
        """Make the row of an operation anew: what it is called depends on what followed it."""
        self._own.pop(operation, None)
        self._facts.pop(operation, None)

    def folded(self, turns: Sequence[Operation], rows: Sequence[Row]) -> Row:
        """Return the line for *turns*, newest first, that changed nothing."""
        newest = turns[0]
        text = f"{cells(list(reversed(turns)))} changed nothing"
        return self._group(f"folded:{turns[-1].id}", "folded", text, newest, when(newest), newest.id, rows)

    def left(self, line: LeftLine, rows: Sequence[Row]) -> Row:
        """Return the line for cells that were taken back."""
        text = f"{count(len(line.turns), 'cell')} taken back ({cells(line.turns)})"
        return self._group(f"left:{line.head}", "left", text, line.turns[-1], line.left_at, line.head, rows)

    def _group(
        self, name: str, kind: str, text: str, operation: Operation, at: float, target: str, rows: Sequence[Row]
    ) -> Row:
        known = self._groups.get(name)
        if known is not None and known[0] == tuple(rows):
            return known[1]
        data = {
            **_blank(operation.seq),
            "id": name,
            "kind": kind,
            "code": text,
            "at": at,
            "rows": [row.data for row in rows],
            "target": target,
        }
        row = _row(data)
        self._groups[name] = (tuple(rows), row)
        return row

    def damaged(self, identifier: str, reason: str) -> Row:
        """Return the line of a record that cannot be read."""
        mark = {"text": "✕ damaged", "tone": "problem"}
        data = {**_blank(0), "id": identifier, "kind": "damaged", "code": "a record that cannot be read", "mark": mark}
        return _row({**data, "reasons": [printable(reason)]})


def is_empty(operation: Operation, standing: Standing) -> bool:
    """Return whether the turn changed nothing and has nothing to say, so that it folds."""
    turn = operation.turn
    if turn is None or operation.kind is not OperationKind.TURN or standing.names or standing.damage:
        return False
    if turn.status is not TurnStatus.OK or turn.verdict is Verdict.PARTIAL or operation.checkpoint.files is None:
        return False
    if operation.variables or operation.changes_at is not None:
        return False
    return not any(change.claim is Claim.OURS for change in operation.changes)


def _row(data: dict[str, Any]) -> Row:
    text = json.dumps(data, ensure_ascii=True, sort_keys=True)
    return Row(data, hashlib.blake2b(text.encode("ascii"), digest_size=8).hexdigest())


def _blank(seq: int) -> dict[str, Any]:
    return {
        "id": "", "kind": "turn", "number": None, "code": "", "full": "", "what": "", "at": 0.0, "duration": None,
        "names": [], "cell_id": None, "status": "ok", "mark": None, "reasons": [], "files": [], "variables": [],
        "earlier_run": False, "is_now": False, "rows": [], "target": None, "seq": seq,
    }  # fmt: skip


def _facts(session: Session, operation: Operation, timeline: Timeline) -> dict[str, Any]:
    """Return what about a row never changes."""
    turn = operation.turn
    data = {**_blank(operation.seq), "id": operation.id, "target": operation.id, "at": when(operation)}
    data["kind"] = "move" if operation.kind in MOVES else _KINDS[operation.kind]
    data["code"] = _text(operation, timeline)
    if operation.kind is OperationKind.ATTACH and operation.parent is None:
        data["kind"] = "start"
    changes, damage = _changes(session, operation)
    if damage:
        data["mark"], data["reasons"] = {"text": "✕ damaged", "tone": "problem"}, [damage]
    if operation.kind not in MOVES:
        data["what"] = _what(operation, changes, session.workspace)
        data["files"] = [printable(change.path) for change in changes[:_MOST_NAMES]]
        data["variables"] = [printable(change.name) for change in operation.variables[:20]]
    if turn is not None:
        full = turn.code if len(turn.code) <= _MOST_CODE else f"{turn.code[: _MOST_CODE - 1]}…"
        full = "\n".join(printable(line.expandtabs(4)) for line in full.split("\n"))
        data |= {
            "number": turn.number,
            "full": "" if full == data["code"] else full,
            "duration": round(turn.ended - turn.started, 3) if turn.ended and turn.started else None,
            "cell_id": turn.cell_id,
            "status": turn.status.value,
            "reasons": [*data["reasons"], *_reasons(operation, session.workspace)],
        }
        data["mark"] = data["mark"] or _mark(operation)
    return data


def _text(operation: Operation, timeline: Timeline) -> str:
    if operation.turn is not None:
        return first_line(operation.turn.code)
    if operation.kind is OperationKind.ATTACH and operation.parent is None:
        return "Start" + (f" · before {cells(timeline.turns[:1])}" if timeline.turns else "")
    if operation.kind is OperationKind.RESTORE and operation.label:
        return f"⟲ restored {printable(operation.label)}"
    return operation_text(operation, timeline)


def _changes(session: Session, operation: Operation) -> tuple[tuple[Change, ...], str]:
    try:
        changes = session.changes_of(operation)
    except StoreError as error:
        return (), error.message
    if operation.kind is OperationKind.TURN:
        changes = tuple(change for change in changes if change.claim is Claim.OURS)
    return changes, ""


def _what(operation: Operation, changes: Sequence[Change], workspace: str) -> str:
    names = [change.name for change in operation.variables if operation.kind is OperationKind.TURN]
    shown = ", ".join(map(printable, names)) if len(names) <= _MOST_NAMES else count(len(names), "variable")
    return ", ".join(filter(None, (changed_text(changes, workspace), shown)))


def _mark(operation: Operation) -> dict[str, str] | None:
    """Return a mark only where something is missing; green everywhere would be noise and read as proof."""
    if operation.checkpoint.files is None:
        return {"text": "✕ no files", "tone": "problem"}
    if operation.turn is not None and operation.turn.verdict is not Verdict.PROTECTED:
        return {"text": "◐ partly", "tone": "warning"}
    return None


def _reasons(operation: Operation, workspace: str) -> list[str]:
    turn = operation.turn
    if turn is None:
        return []
    found = [f"failed: {printable(turn.error)}"] if turn.error and turn.status is not TurnStatus.OK else []
    found += [
        f"{shown_path(reason.subject, workspace)}: {printable(reason.reason)}"
        if reason.subject
        else printable(reason.reason)
        for reason in turn.reasons[:20]
    ]
    ran = f'it ran "{first_line(turn.ran[0])}": what that did outside the workspace is not known' if turn.ran else ""
    return found + ([ran] if ran else [])
