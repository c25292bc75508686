"""Offers: one quiet line where somebody most likely wants to go back, and the button that does it."""

from __future__ import annotations

from typing import Any

from nbrewind.errors import StoreError
from nbrewind.model import Claim, Operation, OperationKind, TurnStatus
from nbrewind.rewind.targets import cells, clock, when
from nbrewind.rewind.timeline import MOVES, Timeline
from nbrewind.session.pulse import Pulse
from nbrewind.session.session import Session
from nbrewind.ui.story import files_text
from nbrewind.ui.wording import count, printable

__all__ = ["offers"]

_MANY = 10
"""From so many files on, a deletion is worth an offer."""
_PATIENCE = 5
"""Cells after which a new kernel is taken to go its own way."""


def offers(pulse: Pulse, timeline: Timeline, session: Session) -> list[dict[str, Any]]:
    """Return what may be offered now."""
    found: list[dict[str, Any]] = []
    if pulse.frozen is not None:
        return [_offer("unfreeze", "Cells are held so nothing is overwritten.", "Run anyway", None)]
    if pulse.not_protected is not None:
        reason = printable(pulse.not_protected.reason)
        text = f"Not protected since {printable(pulse.not_protected.subject)}: {reason}"
        if "disk" in reason.lower() or "space" in reason.lower():
            found.append(_offer("free-space", text, "Free space", None))
    if (recover := _recover(timeline)) is not None:
        found.append(recover)
    if not pulse.running and (back := _take_back(timeline, session)) is not None:
        found.append(back)
    return found


def _offer(kind: str, text: str, action: str, target: str | None) -> dict[str, Any]:
    return {"kind": kind, "text": text, "action": action, "target": target}


def _recover(timeline: Timeline) -> dict[str, Any] | None:
    """Offer the variables of the kernel before this one, until this one has gone its own way."""
    turns = 0
    waiting = False
    for operation in reversed(timeline.line):
        if operation.kind in MOVES and not waiting:
            return None
        if operation.kind is OperationKind.TURN and not waiting:
            turns += 1
        if turns > _PATIENCE:
            return None
        if operation.kind is OperationKind.ATTACH:
            waiting = True
        elif waiting and operation.checkpoint.variables is not None:
            return _offer("recover", f"Your variables from {clock(when(operation))} are here.", "Recover", operation.id)
    return None


def _take_back(timeline: Timeline, session: Session) -> dict[str, Any] | None:
    """Offer to take the newest cell back where it failed after it had changed something, or deleted many files."""
    newest = next((found for found in reversed(timeline.line) if found.kind is not OperationKind.EXTERNAL), None)
    if newest is None or newest.turn is None:
        return None
    removed, changed = _counts(newest, session)
    name = cells([newest])
    if newest.turn.status is not TurnStatus.OK and (changed or newest.variables):
        did = [files_text(changed)] if changed else []
        did += [count(len(newest.variables), "variable")] if newest.variables else []
        verb = "failed" if newest.turn.status is TurnStatus.ERROR else "was stopped"
        text = f"{name} {verb} after it had changed {' and '.join(did)}."
    elif removed >= _MANY:
        text = f"{name} deleted {files_text(removed)}."
    else:
        return None
    return _offer("take-back", text, f"Take back what {name} did", f"before:{newest.id}")


def _counts(operation: Operation, session: Session) -> tuple[int, int]:
    """Return how many files the turn removed, and changed in all."""
    try:
        changes = [change for change in session.changes_of(operation) if change.claim is Claim.OURS]
    except StoreError:
        return 0, 0
    files = [change for change in changes if not _is_folder(change)]
    return sum(change.after is None for change in files), len(files)


def _is_folder(change: Any) -> bool:
    states = [state for state in (change.before, change.after) if state is not None]
    return all(state.kind.value == "directory" for state in states)
