"""Previews and results as front ends with buttons get them: what a plan would do, in four groups."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from nbrewind.model import FileStep, Note, OperationKind, PlanOptions, RewindPlan
from nbrewind.rewind.targets import cells, title
from nbrewind.rewind.timeline import Timeline
from nbrewind.session.session import RewindResult, Session
from nbrewind.ui.board.files import file_items, weight
from nbrewind.ui.preview import beyond_lines, listed_notes
from nbrewind.ui.story import moved_sentence, old_point, plan_sentence, stale_variables
from nbrewind.ui.variables import change_text
from nbrewind.ui.wording import count, printable, shown_path

__all__ = ["button_text", "changed_paths", "does_something", "is_careful", "preview_data", "result_data"]

_MOST = 200


def does_something(plan: RewindPlan) -> bool:
    """Return whether carrying out *plan* would change anything."""
    return bool(plan.variables or plan.steps or plan.taken_back or plan.brought_back or plan.undone)


def is_careful(plan: RewindPlan) -> bool:
    """Return whether somebody should look twice before *plan* is carried out."""
    return bool(plan.lost or plan.conflicts or plan.needs_force)


def preview_data(
    session: Session,
    plan: RewindPlan,
    *,
    token: str,
    expires: float,
    kind: str = "",
    sentence: str = "",
    left: Sequence[str] = (),
    outputs_stay: bool = False,
) -> dict[str, Any]:
    """Return `Preview` of protocol.json. *left*: variables that stay although the turns bind them."""
    timeline, workspace = session.timeline, session.workspace
    files = list(file_items(session, plan.steps))
    variables = list(_variable_items(plan))
    outputs, texts = list(_output_items(session, plan)), list(_text_items(session, plan))
    kept = _notes((*plan.kept, *plan.references), "kept", workspace)
    return {
        "token": token,
        "expires": expires,
        "kind": kind or ("rewind" if plan.kind is OperationKind.REWIND else plan.kind.value),
        "target": plan.target,
        "sentence": plan_sentence(plan, timeline, workspace, sentence),
        "button": button_text(plan, timeline, kind, workspace),
        "careful": is_careful(plan),
        "needs_force": plan.needs_force or None,
        "lost": _notes(plan.lost, "problem", workspace),
        "conflicts": _notes(plan.conflicts, "problem", workspace),
        "groups": {"files": files, "variables": variables, "outputs": outputs, "cells": texts},
        "only": list(plan.options.only),
        "kept": kept,
        "notes": list(_remarks(plan, timeline, left, outputs_stay)),
        "counts": {
            "files": sum(item.get("children", 1) for item in files),
            "variables": len(plan.variables),
            "outputs": len(outputs),
            "cells": len(texts),
            "bytes": weight(plan.steps),
        },
        "empty": not does_something(plan),
    }


def result_data(session: Session, result: RewindResult, outputs: int) -> dict[str, Any]:
    """Return `Result` of protocol.json, without board and patch. *outputs*: how many cells show something else."""
    plan = result.plan
    listed = {note.subject for note in (*plan.lost, *plan.conflicts, *plan.kept)}
    notes = [note for note in result.notes if note.subject not in listed]
    lines = listed_notes((*plan.lost, *plan.conflicts, *notes), session.workspace)
    stale = stale_variables(result.variables)
    return {
        "operation": result.operation.id,
        "sentence": moved_sentence(plan, session.timeline, session.workspace, outputs),
        "notes": [*lines[:_MOST], *([stale] if stale else [])],
        "files": changed_paths(plan.steps),
    }


def changed_paths(steps: Iterable[FileStep]) -> list[str]:
    """Return the paths that a move changed on the disk, both ends of a rename."""
    found: dict[str, None] = {}
    for step in steps:
        found |= dict.fromkeys(printable(path) for path in (step.path, step.moved_to) if path)
    return list(found)


def _variable_items(plan: RewindPlan) -> Iterator[dict[str, Any]]:
    for change in plan.variables:
        tone = "added" if change.before is None else "removed" if change.after is None else "changed"
        text = change_text(change).partition("  ")[2]
        yield _item(printable(change.name), printable(change.name), text, tone, diff=tone == "changed")


def _output_items(session: Session, plan: RewindPlan) -> Iterator[dict[str, Any]]:
    if plan.kind is OperationKind.RESTORE:
        return
    ran = {
        found.turn.cell_id: found
        for turn in plan.taken_back
        if (found := session.timeline.operation(turn)).turn is not None and found.turn.cell_id
    }
    for name, state in session.moved_cells(plan).items():
        shown = count(len(state.outputs or ()), "output") if state.number is not None else "cleared"
        number = f"[{state.number}]" if state.number is not None else ""
        run = ran.get(name)
        said = cells([run]) if run is not None else number
        text = f"as {number} showed it: {shown}" if number else shown
        yield _item(name, said, text, "changed" if number else "removed")


def _text_items(session: Session, plan: RewindPlan) -> Iterator[dict[str, Any]]:
    if plan.kind is OperationKind.RESTORE:
        return
    changed, missing = session.moved_texts(plan)
    for state in changed:
        yield _item(state.id, _first(state.source or ""), "text as it was", "changed")
    for one in missing:
        yield _item(one.cell.id, _first(one.cell.source), "comes back", "added")


def _first(source: str) -> str:
    line = next((line.strip() for line in source.split("\n") if line.strip()), "an empty cell")
    return printable(line)[:60]


def _item(subject: str, name: str, text: str, tone: str, *, diff: bool = False) -> dict[str, Any]:
    return {"subject": subject, "name": name, "text": text, "tone": tone, "diff": diff}


def _notes(notes: Sequence[Note], tone: str, workspace: str) -> list[dict[str, Any]]:
    return [
        _item(printable(note.subject), shown_path(note.subject, workspace), printable(note.reason), tone)
        for note in notes[:_MOST]
    ]


def _remarks(plan: RewindPlan, timeline: Timeline, left: Sequence[str], outputs_stay: bool) -> Iterator[str]:
    if old := old_point(timeline.operation(plan.target).at, time.time()):
        yield old
    yield from beyond_lines(plan, timeline, outputs_stay=outputs_stay)
    if stale := stale_variables(left):
        yield stale
    unticked = [name for name in PlanOptions().only if name not in plan.options.only]
    if unticked and plan.kind is OperationKind.REWIND:
        yield f"Not ticked, so as they are now: {', '.join(unticked)}."


def button_text(plan: RewindPlan, timeline: Timeline, kind: str, workspace: str) -> str:
    """Return the text of the one button, which names the result."""
    if kind == "recover":
        return "Recover"
    match plan.kind:
        case OperationKind.UNDO:
            return "Undo"
        case OperationKind.REDO:
            return "Go forward again"
        case OperationKind.RESTORE:
            names = [printable(name) for name in plan.options.names]
            names = names or [shown_path(path, workspace) for path in plan.options.paths]
            return f"Restore {names[0]}" if len(names) == 1 else f"Restore {count(len(names), 'item')}"
        case _:
            again = [timeline.operation(turn) for turn in plan.brought_back]
            if again and not plan.taken_back:
                return f"Bring {cells(again)} back"
            where = title(timeline.operation(plan.target), timeline)
            return f"Go back to {printable(where).removeprefix('just after ').removeprefix('just ')}"
