"""Payloads: the same facts as the pages, as JSON-able values with stable keys (documented in docs/commands.md)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from nbrewind.errors import RewindError, RewindRefused
from nbrewind.model import Change, FileState, FileStep, Note, Operation, RewindPlan, VariableChange, VariableState
from nbrewind.rewind.targets import sentence, title
from nbrewind.rewind.timeline import Timeline
from nbrewind.session.points import Difference, Point
from nbrewind.session.session import Parked, RewindResult
from nbrewind.session.status import Status

__all__ = [
    "change_data",
    "difference_data",
    "error_data",
    "operation_data",
    "plan_data",
    "point_data",
    "result_data",
    "status_data",
    "to_json",
    "variable_data",
]


def to_json(data: Any) -> str:
    r"""Return JSON in ASCII, so that names that are not UTF-8 (surrogate escapes, `\udcff`) never fail to print."""
    return json.dumps(data, ensure_ascii=True, indent=2, sort_keys=False, default=str)


def error_data(error: RewindError) -> dict[str, Any]:
    """Return an error: `code`, `reason` (refusals), `message`, `hint`, `exit_status`."""
    reason = error.reason.value if isinstance(error, RewindRefused) else None
    return {
        "error": {
            "code": error.code,
            "reason": reason,
            "message": error.message,
            "hint": error.hint,
            "exit_status": error.exit_status,
        }
    }


def state_data(state: FileState | None) -> dict[str, Any] | None:
    """Return what stood at a path; None for absence."""
    if state is None:
        return None
    return {
        "kind": state.kind.value,
        "size": state.size,
        "mode": f"{state.mode:04o}",
        "mtime_ns": state.mtime_ns,
        "object": state.object,
        "missing": state.missing or None,
    }


def change_data(change: Change) -> dict[str, Any]:
    """Return one row of a manifest."""
    return {
        "path": change.path,
        "before": state_data(change.before),
        "after": state_data(change.after),
        "claim": change.claim.value,
        "witnesses": [witness.value for witness in change.witnesses],
        "moved_to": change.moved_to,
        "note": change.note or None,
    }


def difference_data(row: Difference) -> dict[str, Any]:
    """Return a path with its state then and now."""
    return {"path": row.path, "then": state_data(row.then), "now": state_data(row.now)}


def _notes(notes: Iterable[Note]) -> list[dict[str, str]]:
    return [{"subject": note.subject, "reason": note.reason} for note in notes]


def variable_data(change: VariableChange) -> dict[str, Any]:
    """Return a change as JSON-able values."""
    return {
        "name": change.name,
        "before": _state_data(change.before),
        "after": _state_data(change.after),
        "uncertain": change.uncertain,
        "since": change.since,
    }


def _state_data(state: VariableState | None) -> dict[str, Any] | None:
    if state is None:
        return None
    return {
        "type": state.type,
        "shape": list(state.shape) if state.shape is not None else None,
        "dtype": state.dtype or None,
        "length": state.length,
        "size": state.size,
        "text": state.text,
        "how": state.how,
    }


def point_data(point: Point) -> dict[str, Any]:
    """Return one row of the list."""
    turn = point.operation.turn if point.operation else None
    return {
        "id": point.id,
        "kind": point.kind.value,
        "number": point.number,
        "code": point.code,
        "names": list(point.names),
        "at": point.at,
        "duration": turn.ended - turn.started if turn and turn.ended and turn.started else None,
        "status": point.status.value,
        "line": point.line.value,
        "is_head": point.is_head,
        "files": {"added": point.added, "changed": point.changed, "removed": point.removed},
        "has_files": point.has_files,
        "verdict": point.verdict.value,
        "reasons": _notes(point.reasons),
        "ran": list(turn.ran) if turn else [],
        "taken_back_by": point.taken_back_by,
        "damage": point.damage or None,
    }


def operation_data(operation: Operation, timeline: Timeline) -> dict[str, Any]:
    """Return an operation by its id, kind and name."""
    return {
        "id": operation.id,
        "kind": operation.kind.value,
        "number": operation.turn.number if operation.turn else None,
        "title": title(operation, timeline),
        "at": operation.at,
    }


def _step_data(step: FileStep) -> dict[str, Any]:
    return {
        "path": step.path,
        "now": state_data(step.current),
        "then": state_data(step.wanted),
        "moved_from": step.moved_to,
    }


def plan_data(
    plan: RewindPlan, timeline: Timeline, parked: Parked | None, variables: Sequence[str] = ()
) -> dict[str, Any]:
    """Return a plan, with the token that confirms it if it is parked."""
    goal = timeline.operation(plan.target)
    return {
        "plan": {
            "kind": plan.kind.value,
            "token": parked.token if parked else None,
            "expires": parked.expires if parked else None,
            "head": plan.head,
            "target": operation_data(goal, timeline),
            "sentence": sentence(goal, timeline),
            "undone": plan.undone,
            "taken_back": [operation_data(timeline.operation(turn), timeline) for turn in plan.taken_back],
            "brought_back": [operation_data(timeline.operation(turn), timeline) for turn in plan.brought_back],
            "files": [_step_data(step) for step in plan.steps],
            "conflicts": _notes(plan.conflicts),
            "kept": _notes(plan.kept),
            "lost": _notes(plan.lost),
            "needs_force": plan.needs_force or None,
            "variables": [variable_data(change) for change in plan.variables],
            "references": _notes(plan.references),
            "variables_left": list(variables),
        }
    }


def result_data(result: RewindResult, timeline: Timeline, connections: Sequence[str] = ()) -> dict[str, Any]:
    """Return what a move did."""
    data = plan_data(result.plan, timeline, None, result.variables)["plan"]
    for key in ("token", "expires", "needs_force"):
        del data[key]
    return {
        "result": {
            "operation": result.operation.id,
            **data,
            "notes": _notes(result.notes),
            "connections_left": list(connections),
        }
    }


def status_data(status: Status) -> dict[str, Any]:
    """Return the session's health."""
    lists = ("not_covered", "missing", "damaged", "hints", "recovered", "other_sessions")
    plain = (
        "workspace", "store", "session", "state", "holder", "head", "turns", "points", "files", "bytes",
        "first_copy", "focus", "read_only", "free_disk",
    )  # fmt: skip
    data: dict[str, Any] = {name: getattr(status, name) for name in plain}
    data |= {name: _notes(getattr(status, name)) for name in lists}
    data["not_protected"] = next(iter(_notes([status.not_protected] if status.not_protected else [])), None)
    data["frozen"] = next(iter(_notes([status.frozen] if status.frozen else [])), None)
    data["parked"] = list(status.parked)
    data["disk"] = dict(status.disk)
    data["settings"] = asdict(status.settings)
    return {"status": data}
