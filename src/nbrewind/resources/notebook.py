"""A notebook's file as a point holds it: cells by id, and what brings one version's texts into another. Pure.

The file of a session is never rewritten here: an open editor holds the document, and gets a patch instead.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Insertion", "NotebookCell", "cells_of", "insertions", "joined_text"]

_KINDS = ("code", "markdown", "raw")


@dataclass(frozen=True, slots=True)
class NotebookCell:
    """One cell of a file. *outputs* are nbformat outputs."""

    id: str
    kind: str
    source: str
    metadata: dict[str, Any] = field(default_factory=dict)
    outputs: tuple[dict[str, Any], ...] = ()
    execution_count: int | None = None


@dataclass(frozen=True, slots=True)
class Insertion:
    """A cell that a document lacks, and the id of the one that it comes after; None for the top."""

    cell: NotebookCell
    after: str | None


def cells_of(content: bytes) -> tuple[NotebookCell, ...] | None:
    """Return the cells that have an id, in order; None where this is no notebook."""
    try:
        raw = json.loads(content)["cells"]
        return tuple(cell for found in raw if (cell := _cell(found)) is not None)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _cell(raw: dict[str, Any]) -> NotebookCell | None:
    identifier, kind = raw.get("id"), raw.get("cell_type")
    if not isinstance(identifier, str) or not identifier or kind not in _KINDS:
        return None
    outputs = raw.get("outputs") or []
    count = raw.get("execution_count")
    metadata = raw.get("metadata")
    return NotebookCell(
        id=identifier,
        kind=kind,
        source=joined_text(raw.get("source")),
        metadata=metadata if isinstance(metadata, dict) else {},
        outputs=tuple(output for output in outputs if isinstance(output, dict)),
        execution_count=count if isinstance(count, int) else None,
    )


def joined_text(value: Any) -> str:
    """Return a text that nbformat may keep as a list of lines."""
    return "".join(map(str, value)) if isinstance(value, list) else str(value or "")


def insertions(wanted: Sequence[NotebookCell], present: Iterable[str]) -> tuple[Insertion, ...]:
    """Return the cells of *wanted* whose id is not *present*, each behind the nearest cell before it that is there."""
    there = set(present)
    found: list[Insertion] = []
    after: str | None = None
    for cell in wanted:
        if cell.id not in there:
            found.append(Insertion(cell, after))
            there.add(cell.id)
        after = cell.id
    return tuple(found)
