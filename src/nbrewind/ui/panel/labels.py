"""Labels: the rows of the board as the lines of a list that can hold nothing but text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from nbrewind.ui.board.rows import Row
from nbrewind.ui.wording import moment

__all__ = ["Choice", "choices", "find", "present"]

Choice = tuple[str, str]
"""A line of the list, and the id of the row that it stands for."""
_LONGEST = 60
_MOST = 400


def choices(rows: Sequence[dict[str, Any]], wanted: str = "", *, unfolded: bool = False) -> list[Choice]:
    """Return the lines for *rows* in which every word of *wanted* occurs; with *unfolded*, those inside others too."""
    words = wanted.lower().split()
    found: list[Choice] = []
    left_out = 0
    for row, depth in _flat(rows, unfolded or bool(words)):
        if words and not all(word in _searched(row) for word in words):
            continue
        if len(found) < _MOST:
            found.append((_label(row, depth), row["id"]))
        else:
            left_out += 1
    if left_out:
        found.append((f"… and {left_out} older: the filter finds them", ""))
    return found


def present(rows: Sequence[dict[str, Any]]) -> str:
    """Return the id of the row that is now in force, "" where there is none."""
    return next((row["id"] for row, _ in _flat(rows, True) if row["is_now"]), "")


def find(rows: Sequence[Row], wanted: str) -> dict[str, Any] | None:
    """Return the row of that id, also one that is folded."""
    return next((row for row, _ in _flat([row.data for row in rows], True) if row["id"] == wanted and wanted), None)


def _flat(rows: Sequence[dict[str, Any]], unfolded: bool) -> Iterator[tuple[dict[str, Any], int]]:
    for row in rows:
        yield row, 0
        if unfolded:
            for inside in row["rows"]:
                yield inside, 1


def _searched(row: dict[str, Any]) -> str:
    number = f"[{row['number']}]" if row["number"] is not None else ""
    parts = [number, row["code"], row["full"], row["what"], *row["names"], *row["files"], *row["variables"]]
    return " ".join(parts).lower()


def _label(row: dict[str, Any], depth: int) -> str:
    sign = "●" if row["is_now"] else "▸" if row["kind"] in ("folded", "left") else " "
    number = f"[{row['number']}] " if row["number"] is not None and row["kind"] != "folded" else ""
    code = row["code"] if len(row["code"]) <= _LONGEST else f"{row['code'][: _LONGEST - 1]}…"
    parts = [f"{sign} {'    ' * depth}{number}{code}", row["what"]]
    parts += [f"★{name}" for name in row["names"]]
    parts.append({"error": "✕ failed", "interrupted": "✕ stopped"}.get(row["status"], ""))
    parts.append(row["mark"]["text"] if row["mark"] else "")
    parts.append("an earlier run" if row["earlier_run"] else "")
    parts.append(moment(row["at"]))
    parts.append("Bring back" if row["kind"] == "left" else "now" if row["is_now"] else "")
    # A list keeps no runs of spaces: without this, what is inside a fold would stand at its edge.
    return "  ·  ".join(filter(None, parts)).replace("    ", "\u00a0" * 4)
