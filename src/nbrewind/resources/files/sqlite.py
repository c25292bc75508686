"""SQLite databases: which files belong together."""

from __future__ import annotations

from collections.abc import Container
from typing import Final

__all__ = ["COMPANIONS", "SHARED_MEMORY", "database_of", "group", "is_sqlite"]

COMPANIONS: Final = ("-journal", "-wal")
"""A database is consistent only together with these."""
SHARED_MEMORY: Final = "-shm"
"""What connections share; made anew by the first one, never kept."""

_MAGIC = b"SQLite format 3\0"


def database_of(path: str) -> str:
    """Return the database that *path* would belong to; a path without a companion's ending is its own."""
    for ending in (*COMPANIONS, SHARED_MEMORY):
        if path.endswith(ending) and len(path) > len(ending):
            return path[: -len(ending)]
    return path


def group(path: str, present: Container[str]) -> tuple[str, ...]:
    """Return the paths, of those *present*, that form one database with *path*; () where no companion is there."""
    base = database_of(path)
    companions = tuple(base + ending for ending in (*COMPANIONS, SHARED_MEMORY) if base + ending in present)
    if not companions or base not in present:
        return ()
    return (base, *companions)


def is_sqlite(path: str) -> bool:
    """Return whether the file at *path* begins as a database does. False where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False
