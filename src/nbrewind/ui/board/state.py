"""How a session is, in the few words that a status item has room for, and in a sentence."""

from __future__ import annotations

from typing import Any

from nbrewind.errors import RewindRefused
from nbrewind.model import Operation, OperationKind
from nbrewind.rewind.targets import cells, title
from nbrewind.rewind.timeline import Timeline
from nbrewind.session.pulse import Pulse
from nbrewind.ui.wording import printable

__all__ = ["busy", "redo_text", "state", "undo_text"]

_STATES = {
    "saved": "on",
    "partly saved": "on",
    "saving": "saving",
    "first copy": "saving",
    "paused": "paused",
    "off": "off",
    "not protected": "not-protected",
    "frozen": "frozen",
}


def state(pulse: Pulse, timeline: Timeline) -> dict[str, Any]:
    """Return `state`, `state_text` and `status` of the board."""
    word = "read-only" if pulse.read_only else _STATES.get(pulse.state, "on")
    text, tone, reasons, sentence = _told(pulse, timeline)
    status = {"text": f"⟲ {text}", "tone": tone, "reasons": reasons}
    return {"state": word, "state_text": sentence, "status": status}


def _told(pulse: Pulse, timeline: Timeline) -> tuple[str, str, list[str], str]:
    newest = timeline.turns[-1] if timeline.turns else None
    where = cells([newest]) if newest is not None and newest.turn and newest.turn.number is not None else ""
    if pulse.frozen is not None:
        why = printable(pulse.frozen.reason)
        return "cells are held", "problem", [why], f"Cells are held so nothing is overwritten: {why}"
    if pulse.read_only:
        return "to look at", "ok", [], "This session can be looked at; nothing is recorded here."
    if pulse.not_protected is not None:
        since, why = printable(pulse.not_protected.subject), printable(pulse.not_protected.reason).rstrip(".")
        return f"not protected since {since}", "problem", [why], f"Not protected since {since}: {why}."
    match pulse.state:
        case "paused":
            return "paused", "warning", [], "Paused: nothing is recorded now. Points stay."
        case "off":
            return (
                "off",
                "warning",
                [],
                "Nothing is recorded here (NBRewind.scopes). Earlier points can be gone back to.",
            )
        case "first copy":
            share = f"{pulse.copied / pulse.files:.0%}" if pulse.files else ""
            return f"first copy {share}".strip(), "busy", [], "The files are copied for the first time."
        case "saving":
            return "saving…", "busy", [], "The last cell is being saved."
        case "partly saved":
            reasons = _partly(newest)
            return f"{where} partly saved".strip(), "warning", reasons, f"{where or 'The last cell'} was seen in part."
        case _:
            return f"{where} saved".strip() if newest else "on", "ok", [], "Every cell makes a point."


def _partly(turn: Operation | None) -> list[str]:
    reasons = turn.turn.reasons if turn is not None and turn.turn is not None else ()
    return [": ".join(filter(None, (printable(one.subject), printable(one.reason)))) for one in reasons[:10]]


def busy(pulse: Pulse) -> dict[str, Any] | None:
    """Return which cell runs, if one does."""
    if not pulse.running:
        return None
    return {"number": pulse.number, "since": pulse.since, "text": pulse.running}


def undo_text(timeline: Timeline) -> dict[str, str] | None:
    """Return what an undo would take back; None where there is nothing."""
    try:
        move = timeline.undo_target()
    except RewindRefused:
        return None
    if move.kind is OperationKind.RESTORE:
        return {"text": f"Undo restoring {printable(move.label) or 'a file'}"}
    if move.kind is OperationKind.REDO:
        return {"text": "Undo going forward again"}
    return {"text": f"Undo going back to {_where(move, timeline)}"}


def redo_text(timeline: Timeline) -> dict[str, str] | None:
    """Return what a redo would do again; None where there is nothing."""
    try:
        undo = timeline.redo_target()
    except RewindRefused:
        return None
    move = timeline.operation(undo.undone) if undo.undone is not None and undo.undone in timeline else None
    if move is None or move.kind is OperationKind.RESTORE:
        return {"text": f"Restore {printable(move.label) if move else 'it'} again"}
    return {"text": f"Go back to {_where(move, timeline)} again"}


def _where(move: Operation, timeline: Timeline) -> str:
    goal = timeline.parent(move)
    return printable(title(goal, timeline)) if goal is not None else "an earlier point"
