"""What lies in a directory that is about to move as a whole: its audit event names the top only."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from nbrewind.capture.span import Rename

__all__ = ["MAX_BYTES", "MAX_ENTRIES", "came_from", "children_of"]

MAX_ENTRIES: Final = 2000
MAX_BYTES: Final = 256 << 20


def children_of(directory: str) -> list[tuple[str, os.stat_result]] | None:
    """Return all that lies below *directory*, parents first, by relative path; None where it is over the budget.

    Nothing is opened but directories. What cannot be listed counts as over the budget: it would be kept in part only.
    """
    found: list[tuple[str, os.stat_result]] = []
    pending = [""]
    size = 0
    try:
        while pending:
            below = pending.pop()
            with os.scandir(f"{directory}/{below}" if below else directory) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    relative = f"{below}/{entry.name}" if below else entry.name
                    found.append((relative, status))
                    size += status.st_size if entry.is_file(follow_symlinks=False) else 0
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(relative)
                    if len(found) > MAX_ENTRIES or size > MAX_BYTES:
                        return None
    except OSError:
        return None
    return found


def came_from(path: str, renames: Sequence[Rename]) -> str:
    """Return where what stands at *path* stood before the *renames* (oldest first) of directories above it."""
    for rename in reversed(renames):
        if rename.directory and path.startswith(f"{rename.target}/"):
            path = rename.source + path[len(rename.target) :]
    return path
