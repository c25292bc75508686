"""The document as front ends get it: patches, and what the log says that cells showed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbrewind.resources.notebook import Insertion
from nbrewind.session.document import CellState, DocumentPatch
from nbrewind.ui.wording import count, joined

__all__ = ["cell_data", "patch_data"]


def patch_data(patch: DocumentPatch, files: Sequence[str] = ()) -> dict[str, Any]:
    """Return `Patch` of protocol.json."""
    return {
        "id": patch.id,
        "sentence": _sentence(patch),
        "cells": [
            {
                "id": cell.id,
                "outputs": None if cell.outputs is None else list(cell.outputs),
                "execution_count": cell.number,
                "source": cell.source,
            }
            for cell in patch.cells
        ],
        "insert": [_insertion(one) for one in patch.insertions],
        "texts": patch.texts,
        "files": list(files),
    }


def _insertion(one: Insertion) -> dict[str, Any]:
    cell = one.cell
    return {
        "cell": {
            "id": cell.id,
            "cell_type": cell.kind,
            "source": cell.source,
            "outputs": list(cell.outputs),
            "execution_count": cell.execution_count,
            "metadata": cell.metadata,
        },
        "after": one.after,
    }


def _sentence(patch: DocumentPatch) -> str:
    shown = sum(cell.outputs is not None for cell in patch.cells)
    texts = sum(cell.source is not None for cell in patch.cells)
    parts = [f"outputs of {count(shown, 'cell')}"] if shown else []
    parts += [f"the text of {count(texts, 'cell')}"] if texts else []
    parts += [count(len(patch.insertions), "deleted cell")] if patch.insertions else []
    what = joined(parts) or "nothing"
    return f"{what[0].upper()}{what[1:]} as the session log has it."


def cell_data(cell: CellState) -> dict[str, Any]:
    """Return `CellState` of protocol.json."""
    return {"outputs": list(cell.outputs or ()), "execution_count": cell.number, "source": cell.source or ""}
