"""Exports: a notebook rebuilt from the session log, with the code and the outputs of its cells."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from nbrewind import fs
from nbrewind.errors import RewindError, UsageError
from nbrewind.model import Operation, OperationKind
from nbrewind.rewind.targets import resolve
from nbrewind.session.session import Session
from nbrewind.ui.page import Page
from nbrewind.ui.wording import count, printable

__all__ = ["export_file", "notebook_of"]

_CELL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def export_file(session: Session, file: str, target: str, *, all_runs: bool, overwrite: bool) -> Page:
    """Write the notebook to *file*; `-` puts it into the page as it is.

    Raises:
        UsageError: *file* is there already.
        RewindError: it cannot be written, or no such point.
    """
    notebook = notebook_of(session, target, all_runs=all_runs)
    # Lone surrogates (a name in an output that is not UTF-8) stay escapes; everything else is readable.
    text = json.dumps(notebook, indent=1, ensure_ascii=True) + "\n"
    cells = len(notebook["cells"])
    if file == "-":
        return Page(data=notebook, raw=text.encode("ascii"))
    path = Path(file)
    if os.path.lexists(path) and not overwrite:
        raise UsageError(f"{printable(file)} is there already. Nothing changed.", hint="--overwrite replaces it.")
    try:
        fs.replace(path, text.encode("ascii"), mode=0o644)
    except OSError as error:
        raise RewindError(f"{printable(file)} cannot be written: {error.strerror or error}.") from error
    page = Page(data={"file": str(path.absolute()), "cells": cells})
    return page.say(f"Wrote {count(cells, 'cell')} to {printable(file)}, with outputs. Nothing else changed.")


def notebook_of(session: Session, target: str = "", *, all_runs: bool = False) -> dict[str, Any]:
    """Return the notebook (nbformat 4.5) of the present line, up to *target*.

    A cell that ran more than once stands where it ran first, as it was at its last run, unless *all_runs*.

    Raises:
        TargetError: no such point.
    """
    timeline = session.timeline
    line = timeline.line
    if target:
        goal = resolve(target, timeline, anywhere=True).operation
        line = tuple(reversed(tuple(timeline.ancestors(goal))))
    cells: dict[str, dict[str, Any]] = {}
    for operation in line:
        turn = operation.turn
        if operation.kind is not OperationKind.TURN or turn is None:
            continue
        known = turn.cell_id if turn.cell_id and _CELL_ID.fullmatch(turn.cell_id) else ""
        if not known or (all_runs and known in cells):
            known = operation.id
        cells[known] = _cell(session, operation, known)
    return {
        "cells": list(cells.values()),
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
            "nbrewind": {"session": session.id, "workspace": session.workspace},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _cell(session: Session, operation: Operation, identifier: str) -> dict[str, Any]:
    turn = operation.turn
    assert turn is not None
    return {
        "cell_type": "code",
        "execution_count": turn.number,
        "id": identifier,
        "metadata": {"nbrewind": {"id": operation.id, "status": turn.status.value, "ended": turn.ended}},
        "outputs": _outputs(session.outputs_of(operation), turn.number),
        "source": session.code_of(operation).splitlines(keepends=True),
    }


def _outputs(text: str, number: int | None) -> list[dict[str, Any]]:
    try:
        found = json.loads(text)
    except ValueError:
        return []
    rows = [row for row in found if isinstance(row, dict) and row.get("output_type")]
    for row in rows:
        row.pop("transient", None)
        if row["output_type"] == "execute_result":
            row.setdefault("execution_count", number)
        if row["output_type"] in ("execute_result", "display_data"):
            row.setdefault("metadata", {})
    return rows
