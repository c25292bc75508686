"""Listings: the points of a session, one cell in full, and the cells that changed a file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from nbrewind.errors import StoreError, clipped
from nbrewind.model import Change, Claim, Operation, OperationKind, TurnStatus, Verdict
from nbrewind.rewind.targets import cells, clock, resolve, title, when
from nbrewind.rewind.timeline import MOVES, Timeline
from nbrewind.session.points import HistoryRow, Line, Point
from nbrewind.session.session import Session
from nbrewind.ui.page import Page, Tone
from nbrewind.ui.payload import change_data, point_data, variable_data
from nbrewind.ui.story import changed_text, claim_text, operation_text
from nbrewind.ui.variables import change_text
from nbrewind.ui.wording import count, duration, first_line, folder_name, moment, printable, shown_path, state_text

__all__ = ["history_page", "list_page", "output_text", "show_page"]

_MOST = 40
_MOST_NAMES = 3
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")

_Row = tuple[tuple[str, str, str, str, str], Tone]


def list_page(session: Session, *, all_rows: bool = False) -> Page:
    """Return the points, newest first: cells that changed files, what lies between them, and what was taken back."""
    points = session.points()
    timeline = session.timeline
    page = Page(
        data={
            "session": session.id,
            "workspace": session.workspace,
            "head": timeline.head,
            "points": [point_data(point) for point in points],
            "left": [
                {"id": line.head, "left_at": line.left_at, "cells": [turn.id for turn in line.turns]}
                for line in timeline.left_lines
            ],
        }
    )
    on_line = {point.id: point for point in points if point.line is Line.PRESENT}
    line = [on_line[operation.id] for operation in reversed(timeline.line) if operation.id in on_line]
    rows = list(_rows(session, line, timeline))
    page.say(f"⟲ {folder_name(session.workspace)}", Tone.STRONG)
    if not timeline.turns and not timeline.taken_back:
        page.say("Run a cell; it will appear here.", Tone.MUTED)
    shown = rows if all_rows or len(rows) <= _MOST + 2 else rows[:_MOST]
    page.table([row for row, _ in shown], tones=[tone for _, tone in shown])
    if len(shown) < len(rows):
        page.say(f"… {len(rows) - len(shown)} older rows: %rewind list --all", Tone.MUTED)
    for left in timeline.left_lines:
        page.say(
            f"▸ {count(len(left.turns), 'cell')} taken back {moment(left.left_at)} ({cells(left.turns)}) · "
            f"%rewind to {left.head} brings {'it' if len(left.turns) == 1 else 'them'} back",
            Tone.MUTED,
        )
    for point in points:
        if point.line is Line.DAMAGED:
            page.say(f"A record of the log is damaged: {printable(point.damage)} All others can be used.", Tone.PROBLEM)
    return page


def _rows(session: Session, line: Sequence[Point], timeline: Timeline) -> Iterator[_Row]:
    empty: list[Operation] = []
    for point in line:
        operation = point.operation
        if operation is None:
            continue
        if _folds(point):
            empty.insert(0, operation)
            continue
        # A name stands beside the cell that it follows.
        if operation.kind is OperationKind.NAME and timeline.last_turn(operation.id) is not None:
            continue
        if empty:
            yield _folded(empty)
            empty = []
        yield _row(session, point, operation, timeline)
    if empty:
        yield _folded(empty)


def _folds(point: Point) -> bool:
    if point.kind is OperationKind.EXTERNAL:
        return False
    plain = point.status is TurnStatus.OK and point.has_files and point.verdict is not Verdict.PARTIAL
    empty = not point.changed_something and not point.names and not point.damage
    return point.kind is OperationKind.TURN and plain and empty


def _nothing(turns: Sequence[Operation]) -> str:
    # Where variables were not kept, nothing is known about them.
    return "nothing" if all(turn.checkpoint.variables for turn in turns) else "no file"


def _folded(turns: Sequence[Operation]) -> _Row:
    said = f"▸ {count(len(turns), 'cell')} changed {_nothing(turns)} ({cells(turns)})"
    return ("", said, "", moment(when(turns[-1])), ""), Tone.MUTED


def _row(session: Session, point: Point, operation: Operation, timeline: Timeline) -> _Row:
    at = moment(point.at)
    if operation.kind is not OperationKind.TURN:
        number, code = "", operation_text(operation, timeline)
        if operation.kind is OperationKind.ATTACH and operation.parent is None:
            code = "Start" + (f" · before {cells(timeline.turns[:1])}" if timeline.turns else "")
        what = _changes_text(session, operation) if operation.kind not in MOVES else ""
        return (number, code, what, at, "notebook pending" if _is_pending(session, operation) else ""), Tone.MUTED
    number = f"[{point.number}]" if point.number is not None else "[ ]"
    if point.earlier_run:
        number += f"@{clock(point.at)}"
    stars = "".join(f"  ★{printable(name)}" for name in dict.fromkeys(point.names))
    mark, tone = _mark(point)
    return (number, first_line(point.code) + stars, _changes_text(session, operation), at, mark), tone


def _is_pending(session: Session, operation: Operation) -> bool:
    """Return whether the open notebook has still to agree to a move."""
    return operation.kind in MOVES and session.pending_document == operation.id


def _changes_text(session: Session, operation: Operation) -> str:
    try:
        changes = session.changes_of(operation)
    except StoreError as error:
        return f"unreadable: {error.message}"
    if operation.kind is OperationKind.TURN:
        changes = tuple(change for change in changes if change.claim is Claim.OURS)
    files = changed_text(changes, session.workspace)
    named = operation.kind in (OperationKind.TURN, OperationKind.RESTORE)
    names = [change.name for change in operation.variables if named]
    shown = ", ".join(map(printable, names)) if len(names) <= _MOST_NAMES else count(len(names), "variable")
    return ", ".join(filter(None, (files, shown)))


def _mark(point: Point) -> tuple[str, Tone]:
    """Return a mark only where something is missing; green everywhere would be noise and read as proof."""
    marks: list[str] = []
    tone = Tone.PLAIN
    if point.status is not TurnStatus.OK:
        marks.append("failed" if point.status is TurnStatus.ERROR else "interrupted")
    if point.verdict is not Verdict.PROTECTED:
        marks.append("◐ partly")
        tone = Tone.WARNING
    if not point.has_files:
        marks.append("✕ no files")
        tone = Tone.PROBLEM
    if point.damage:
        marks.append("✕ damaged")
        tone = Tone.PROBLEM
    return " ".join(marks), tone


def show_page(session: Session, target: str, *, all_rows: bool = False) -> Page:
    """Return what one point is: its code, output, files, and what was not seen."""
    timeline = session.timeline
    operation = timeline.operation(resolve(target, timeline, anywhere=True, exact=True).operation)
    point = session.point(operation.id)
    changes = session.changes_of(operation)
    turn = operation.turn
    code = session.code_of(operation) if turn else ""
    outputs = session.outputs_of(operation) if turn else "[]"
    page = Page(data={"point": {**point_data(point), "code": code, "outputs": _loaded(outputs)}})
    page.data = {
        **page.data,
        "changes": [change_data(change) for change in changes],
        "variables": [variable_data(change) for change in operation.variables],
    }
    name = title(operation, timeline)
    page.say(f"{name[:1].upper()}{name[1:]} · {moment(point.at)}", Tone.STRONG)
    if turn:
        page.say(_visible(code), Tone.CODE, 1)
        text = output_text(outputs)
        if text:
            page.say("Output:").list(_visible(text).split("\n"), Tone.CODE, most=0 if all_rows else 20)
        took = f", {duration(turn.ended - turn.started)}" if turn.ended and turn.started else ""
        page.say(f"{turn.status.value}{took}" + (f": {printable(turn.error)}" if turn.error else ""), Tone.MUTED)
    if changes:
        page.say("Files:").list(
            [_change_line(change, session.workspace) for change in changes], most=0 if all_rows else 20
        )
    elif turn:
        page.say("It changed no file." if operation.variables else f"It changed {_nothing([operation])}.", Tone.MUTED)
    if operation.variables:
        page.say("Variables:").list(map(change_text, operation.variables), most=0 if all_rows else 20)
    for command in turn.ran if turn else ():
        page.say(f"It ran: {printable(command)}. What that did outside the workspace is not known.", Tone.WARNING)
    for reason in turn.reasons if turn else ():
        what = f"{shown_path(reason.subject, session.workspace)}: " if reason.subject else ""
        page.say(f"Seen in part: {what}{printable(reason.reason)}", Tone.WARNING)
    page.say(f"Details: id {operation.id}, seq {operation.seq}", Tone.MUTED)
    return page


def _loaded(outputs: str) -> Any:
    try:
        return json.loads(outputs)
    except ValueError:
        return []


def _visible(text: str) -> str:
    """Return text line by line printable, with tabs as spaces."""
    return "\n".join(printable(line.expandtabs(4)) for line in text.split("\n"))


def _change_line(change: Change, workspace: str) -> str:
    name = shown_path(change.path, workspace)
    whose = f" {claim_text(change.claim)}" if change.claim is not Claim.OURS else ""
    note = f" ({printable(change.note)})" if change.note else ""
    if change.moved_to is not None:
        return f"{name} → {shown_path(change.moved_to, workspace)}{whose}{note}"
    return f"{name}  {state_text(change.before)} → {state_text(change.after)}{whose}{note}"


def output_text(outputs: str) -> str:
    """Return stored nbformat outputs as text; everything else of them is left out."""
    found: list[str] = []
    for output in _loaded(outputs):
        if not isinstance(output, dict):
            continue
        match output.get("output_type"):
            case "stream":
                found.append(_text(output.get("text")))
            case "error":
                found.append(f"{output.get('ename', '')}: {output.get('evalue', '')}")
            case "display_data" | "execute_result":
                data = output.get("data")
                found.append(_text(data.get("text/plain")) if isinstance(data, dict) else "")
            case _:
                pass
    return _ANSI.sub("", "\n".join(part.rstrip("\n") for part in found if part))


def _text(value: Any) -> str:
    return "".join(map(str, value)) if isinstance(value, list) else str(value or "")


def history_page(rows: Sequence[HistoryRow], path: str, timeline: Timeline, workspace: str) -> Page:
    """Return the cells that changed *path*, newest first."""
    page = Page(data={"path": path, "history": [_history_data(row) for row in rows]})
    if not rows:
        return page.say(f"No cell on record changed {printable(clipped(path))}.")
    page.say(f"{printable(path)} was changed by:", Tone.STRONG)
    table, tones = [], []
    for row in rows:
        point, change = row.point, row.change
        number = f"[{point.number}]" if point.number is not None else ""
        code = first_line(point.code) if point.code else _moved(point, timeline)
        if change.claim is not Claim.OURS:
            code = f"{code} ({claim_text(change.claim)})"
        away = "taken back" if point.line is Line.TAKEN_BACK else ""
        what = f"{state_text(change.before)} → {state_text(change.after)}"
        table.append((number, code, what, moment(point.at), away))
        tones.append(Tone.MUTED if away else Tone.PLAIN)
    return page.table(table, tones=tones)


def _moved(point: Point, timeline: Timeline) -> str:
    return operation_text(point.operation, timeline) if point.operation is not None else ""


def _history_data(row: HistoryRow) -> dict[str, Any]:
    return {"point": point_data(row.point), "change": change_data(row.change)}
