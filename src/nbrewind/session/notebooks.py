"""Which file the session's notebook is: people rename it while the kernel runs, and no front end tells the kernel.

A path that is gone and a file that holds the cells that ran: together they prove a rename. An inode would not: they are
used again at once. A copy is no rename, since its original still stands.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from nbrewind.model import Operation

__all__ = ["became", "renamed"]

_LARGEST: Final = 64 << 20
_RECENT: Final = 20
_MOST_FILES: Final = 50


def became(operations: Sequence[Operation], old: str, notebook: str) -> bool:
    """Return whether *notebook* is what the notebook at *old* was renamed to, going by the turns of a session."""
    if not old or old == notebook or os.path.lexists(old):
        return False
    ran = _cells(operations)
    # One cell may have been pasted from another notebook.
    return bool(ran) and 2 * len(ran & _cells_in(notebook)) > len(ran)


def renamed(operations: Sequence[Operation], old: str, notebooks: Iterable[str]) -> str:
    """Return which one of *notebooks* the notebook at *old* is now; empty if none or more than one may be it."""
    found = [path for path in sorted(notebooks)[:_MOST_FILES] if became(operations, old, path)]
    return found[0] if len(found) == 1 else ""


def _cells(operations: Sequence[Operation]) -> set[str]:
    """Return the ids of the cells that ran last."""
    found: dict[str, None] = {}
    for operation in reversed(operations):
        if operation.turn is not None and operation.turn.cell_id:
            found[operation.turn.cell_id] = None
        if len(found) == _RECENT:
            break
    return set(found)


def _cells_in(notebook: str) -> set[str]:
    try:
        path = Path(notebook)
        if path.stat().st_size > _LARGEST:
            return set()
        cells = json.loads(path.read_bytes())["cells"]
        return {str(cell["id"]) for cell in cells if "id" in cell}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return set()
