"""Faults: errors as front ends with buttons get them, each with a way out that they can show."""

from __future__ import annotations

from typing import Any

from nbrewind.errors import InconsistentState, RefusalReason, RewindError, RewindRefused
from nbrewind.ui.payload import error_data
from nbrewind.ui.wording import printable

__all__ = ["fault_data", "unexpected_data"]

_HINTS = {
    RefusalReason.BUSY: "Stop the cell, or wait for its end, and preview again.",
    RefusalReason.STALE_PLAN: "Look at a new preview.",
    RefusalReason.EXPIRED: "Look at a new preview.",
    RefusalReason.NEEDS_FORCE: "A second click does it.",
    RefusalReason.NEW_TURNS: "What was left is kept: Bring back, in the list.",
    RefusalReason.UNKNOWN_CHECKPOINT: "",
}
_LONGEST = 2000


def fault_data(error: RewindError) -> dict[str, Any]:
    """Return `Error` of protocol.json."""
    data: dict[str, Any] = error_data(error)["error"]
    if isinstance(error, RewindRefused):
        data["hint"] = _HINTS.get(error.reason, data["hint"])
    if isinstance(error, InconsistentState):
        data["hint"] = "Restart the kernel and recover, or run cells anyway."
    data["message"] = printable(str(data["message"]))[:_LONGEST]
    data["hint"] = printable(str(data["hint"]))[:_LONGEST]
    return data


def unexpected_data(error: BaseException) -> dict[str, Any]:
    """Return what to say of a fault of ours, or of a stop that came while we worked."""
    if isinstance(error, KeyboardInterrupt):
        message, code = "Stopped. Nothing changed.", "interrupted"
    else:
        message, code = f"nbrewind failed: {type(error).__name__}: {error}", "internal"
    hint = "The status says how things stand." if code == "internal" else ""
    return {
        "code": code,
        "reason": None,
        "message": printable(message)[:_LONGEST],
        "hint": hint,
        "exit_status": RewindError.exit_status,
    }
