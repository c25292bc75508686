"""The readable list that each rewind leaves: what was taken back, one JSON object a line."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from nbrewind import fs
from nbrewind.errors import StoreError
from nbrewind.model import FileState, Operation, RewindPlan
from nbrewind.rewind.intent import pending_intents
from nbrewind.rewind.timeline import Timeline
from nbrewind.store.layout import SessionPaths
from nbrewind.store.oplog import OperationLog

__all__ = ["list_lines", "sweep_lists", "write_list"]

_SUFFIX = ".jsonl"


def write_list(
    paths: SessionPaths,
    plan: RewindPlan,
    operation: Operation,
    timeline: Timeline,
    code_of: Callable[[Operation], str],
) -> None:
    """Write `archive/<time>-<operation>.jsonl`: the move, the turns that it takes back, and each path that changes.

    Raises:
        OSError: the disk refuses; nothing was rewound.
    """
    fs.make_directories(paths.archive)
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(operation.at))
    lines = "".join(
        json.dumps(line, ensure_ascii=True) + "\n" for line in list_lines(plan, operation, timeline, code_of)
    )
    fs.replace(f"{paths.archive}/{stamp}-{operation.id}{_SUFFIX}", lines.encode("ascii"))


def sweep_lists(paths: SessionPaths, log: OperationLog) -> None:
    """Remove what is left of moves that did not come about: they were refused, put back, or died too early.

    The caller holds the session's lock, and no move is in flight. Where the log is damaged, nobody knows, and all stay.
    """
    if log.damaged:
        return
    with suppress(OSError, StoreError):
        fs.sweep_temporaries(paths.archive)
        known = {operation.id for operation in log.operations} | {*pending_intents(paths)}
        for path in Path(paths.archive).glob(f"*{_SUFFIX}"):
            if path.stem.partition("-")[2] not in known:
                fs.unlink(path)


def list_lines(
    plan: RewindPlan, operation: Operation, timeline: Timeline, code_of: Callable[[Operation], str]
) -> Iterator[dict[str, Any]]:
    """Yield the lines as dictionaries."""
    yield {
        "row": "move",
        "kind": operation.kind.value,
        "operation": operation.id,
        "from": plan.head,
        "to": plan.target,
        "at": operation.at,
        "undone": plan.undone,
    }
    for identifier in (*plan.taken_back, *plan.brought_back):
        turn = timeline.operation(identifier).turn
        if turn is not None:
            yield {
                "row": "taken-back" if identifier in plan.taken_back else "brought-back",
                "operation": identifier,
                "number": turn.number,
                "cell": turn.cell_id,
                "code": code_of(timeline.operation(identifier)),
                "status": turn.status.value,
                "started": turn.started,
                "ended": turn.ended,
                "outputs": turn.outputs,
            }
    for step in plan.steps:
        yield {
            "row": "file",
            "path": step.path,
            "moved_to": step.moved_to,
            "was": _state(step.current),
            "becomes": _state(step.wanted),
        }
    for name in ("conflicts", "kept", "lost"):
        for note in getattr(plan, name):
            yield {"row": name, "path": note.subject, "reason": note.reason}


def _state(state: FileState | None) -> dict[str, Any] | None:
    if state is None:
        return None
    return {"kind": state.kind.value, "object": state.object, "size": state.size, "mode": oct(state.mode)}
