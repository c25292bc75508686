"""Files in a preview: what goes first, then what changes, then what returns; large folders fold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

from nbrewind.errors import RewindError
from nbrewind.model import EntryKind, FileState, FileStep
from nbrewind.session.session import Session
from nbrewind.ui.wording import count, printable, shown_path, size, state_text

__all__ = ["file_items", "weight"]

_FOLD = 8
_MOST = 400
_TABLES = (".csv", ".tsv")
_LARGEST_TABLE = 8 << 20
_MOST_TABLES = 12


def weight(steps: Iterable[FileStep]) -> int:
    """Return how many bytes the steps are about."""
    return sum(state.size for step in steps if (state := step.wanted or step.current) is not None)


def file_items(session: Session, steps: Sequence[FileStep]) -> Iterator[dict[str, Any]]:
    """Yield one item for each file, or for each folder of which many files move the same way."""
    files = [step for step in steps if not _is_folder(step)] or list(steps)
    tables = [_MOST_TABLES]
    for tone, verb, chosen in (
        ("removed", "go", [step for step in files if step.wanted is None and step.moved_to is None]),
        ("changed", "change", [step for step in files if step.moved_to or (step.wanted and step.current)]),
        ("added", "return", [step for step in files if step.current is None and step.moved_to is None]),
    ):
        for folder, below in _by_folder(chosen).items():
            if folder and len(below) > _FOLD:
                yield _folder_item(folder, below, tone, verb)
                continue
            for step in below[:_MOST]:
                yield _file_item(session, step, tone, tables)
            if len(below) > _MOST:
                yield _folder_item(folder, below[_MOST:], tone, verb)


def _by_folder(steps: Sequence[FileStep]) -> dict[str, list[FileStep]]:
    folders: dict[str, list[FileStep]] = {}
    for step in steps:
        parts = PurePosixPath(step.path).parts
        inside = len(parts) > 1 and not step.path.startswith("/")
        folders.setdefault(parts[0] if inside else "", []).append(step)
    return folders


def _folder_item(folder: str, below: Sequence[FileStep], tone: str, verb: str) -> dict[str, Any]:
    name = f"{printable(folder)}/" if folder else "…"
    text = f"{count(len(below), 'file')} {verb if len(below) > 1 else verb + ('es' if verb == 'go' else 's')}"
    item = {"subject": printable(folder), "name": name, "text": f"{text}, {size(weight(below))}", "tone": tone}
    return {**item, "diff": False, "children": len(below)}


def _file_item(session: Session, step: FileStep, tone: str, tables: list[int]) -> dict[str, Any]:
    now, then = step.current, step.wanted
    if step.moved_to is not None:
        text = f"moves back from {shown_path(step.moved_to, session.workspace)}"
    elif now is None or then is None:
        text = f"{'goes' if then is None else 'returns'}, {state_text(now or then)}"
    elif now.same_content(then):
        text = f"mode {now.mode:o} → {then.mode:o}"
    else:
        text = _rows(session, step, tables) or f"{state_text(now)} → {state_text(then)}"
    return {
        "subject": printable(step.path),
        "name": shown_path(step.path, session.workspace),
        "text": text,
        "tone": tone,
        "diff": step.moved_to is None and now is not None and then is not None and now.kind is EntryKind.FILE,
    }


def _rows(session: Session, step: FileStep, tables: list[int]) -> str:
    """Return how many rows a table has now and will have; "" where that is no table, or would take long."""
    now, then = step.current, step.wanted
    if now is None or then is None or not step.path.lower().endswith(_TABLES) or step.path.startswith("/"):
        return ""
    if tables[0] <= 0 or max(now.size, then.size) > _LARGEST_TABLE or not _are_files(now, then):
        return ""
    tables[0] -= 1
    try:
        present, wanted = session.bytes_now(step.path), b"".join(session.content(then))
    except RewindError:
        return ""
    return f"{_row_count(present):,} → {_row_count(wanted):,} rows"


def _are_files(*states: FileState) -> bool:
    return all(state.kind is EntryKind.FILE for state in states)


def _row_count(content: bytes) -> int:
    """Return the lines below the head line."""
    lines = content.count(b"\n") + (not content.endswith(b"\n") and bool(content))
    return max(0, lines - 1)


def _is_folder(step: FileStep) -> bool:
    states = [state for state in (step.current, step.wanted) if state is not None]
    return step.moved_to is None and all(state.kind is EntryKind.DIRECTORY for state in states)
