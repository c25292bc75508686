"""Which objects an operation needs kept, by the names of the references that keep them. Pure, from the log alone."""

from __future__ import annotations

from nbrewind.model import ObjectId, Operation

__all__ = ["COPY", "roots_of"]

COPY = "refs/nbrewind/copy"
"""Below it each session keeps the commit of a first copy that no operation names yet."""


def roots_of(operation: Operation) -> dict[str, ObjectId]:
    """Return reference names with their objects. All file contents hang on the commit and its side manifest."""
    found: dict[str, ObjectId] = {}
    files, turn = operation.checkpoint.files, operation.turn
    if files is not None:
        found[f"refs/nbrewind/points/{operation.id}"] = files.commit
        found[f"refs/nbrewind/side/{operation.id}"] = files.side
    if turn is not None and turn.code_at is not None:
        found[f"refs/nbrewind/code/{operation.id}"] = turn.code_at
    if turn is not None and turn.outputs_at is not None:
        found[f"refs/nbrewind/outputs/{operation.id}"] = turn.outputs_at
    if operation.changes_at is not None:
        found[f"refs/nbrewind/changes/{operation.id}"] = operation.changes_at
    return found
