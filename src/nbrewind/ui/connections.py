"""Connections: which of the user's sqlite3 connections still have an exchanged database open."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

__all__ = ["open_connections"]

_ENDS = (".db", ".sqlite", ".sqlite3")


def open_connections(names: Mapping[str, Any], paths: set[str], workspace: str) -> tuple[str, ...]:
    """Return the names bound to sqlite3 connections whose database is among the changed *paths*.

    Only the exact type is asked, and only for its file list: no code of the user runs.
    """
    may_be_one = any(path.endswith(_ENDS) for path in paths)
    found = []
    for name, value in list(names.items()):
        if type(value) is not sqlite3.Connection or not isinstance(name, str) or name.startswith("_"):
            continue
        try:
            files = [row[2] for row in value.execute("PRAGMA database_list")]
        except sqlite3.Error:
            # Closed, or of another thread: it cannot be asked, so it is named rather than passed over.
            if may_be_one:
                found.append(name)
            continue
        if any(_inside(file, workspace) in paths for file in files if file):
            found.append(name)
    return tuple(sorted(found))


def _inside(file: str, workspace: str) -> str:
    return file[len(workspace) + 1 :] if file.startswith(workspace + "/") else file
