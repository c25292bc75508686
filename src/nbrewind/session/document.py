"""The document beside the log: what the cells of an open notebook have to show on the line in force. Pure.

The log is the truth of outputs: what a front end missed, cleared by mistake or lost with a deleted cell is in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nbrewind.model import Operation, OperationId, OperationKind
from nbrewind.resources.notebook import Insertion, NotebookCell
from nbrewind.rewind.timeline import Timeline

__all__ = ["CellState", "DocumentPatch", "cells_of_turns", "last_runs", "moved_turns", "with_later_runs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellState:
    """What a cell has to be: *outputs* (nbformat) with their *number*, and *source*; None: stays as it is."""

    id: str
    outputs: tuple[dict[str, Any], ...] | None
    number: int | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPatch:
    """What an open document has to become after the move *id*; cells that stay are not in it.

    *texts*: texts of cells and deleted cells come back too.
    """

    id: OperationId
    cells: tuple[CellState, ...] = ()
    insertions: tuple[Insertion, ...] = ()
    texts: bool = False


def moved_turns(timeline: Timeline, move: Operation) -> tuple[Operation, ...]:
    """Return the turns that *move* took back and brought back."""
    if move.previous not in timeline or move.parent not in timeline:
        return ()
    assert move.previous is not None
    assert move.parent is not None
    common = timeline.common(move.previous, move.parent)
    moved = (*timeline.after(common, move.previous), *timeline.after(common, move.parent))
    return tuple(found for found in moved if found.kind is OperationKind.TURN)


def cells_of_turns(turns: Iterable[Operation]) -> tuple[str, ...]:
    """Return the ids of the cells that ran, each once."""
    return tuple(dict.fromkeys(found.turn.cell_id for found in turns if found.turn and found.turn.cell_id))


def last_runs(line: Iterable[Operation]) -> dict[str, Operation]:
    """Return the last turn of each cell on *line*, oldest first; a cell stands where it ran first."""
    return {found.turn.cell_id: found for found in line if found.turn and found.turn.cell_id}


def with_later_runs(
    saved: Sequence[NotebookCell], runs: Mapping[str, Operation], since: int, code_of: Mapping[str, str]
) -> tuple[NotebookCell, ...]:
    """Return the cells of a file that was saved before `seq` *since*, with what ran later: its text, or the cell."""
    cells = [
        NotebookCell(cell.id, cell.kind, code_of[cell.id], cell.metadata, cell.outputs, cell.execution_count)
        if cell.id in code_of and runs[cell.id].seq > since
        else cell
        for cell in saved
    ]
    known = {cell.id for cell in cells}
    before: str | None = None
    for identifier, run in runs.items():
        if identifier not in known and run.seq > since and identifier in code_of:
            place = next((index for index, cell in enumerate(cells) if cell.id == before), len(cells) - 1)
            cells.insert(place + 1, NotebookCell(identifier, "code", code_of[identifier]))
            known.add(identifier)
        before = identifier
    return tuple(cells)
