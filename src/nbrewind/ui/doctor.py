"""The doctor: what this machine and this store offer, and what is missing."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path

from nbrewind.errors import RewindError, StoreError
from nbrewind.model import Settings
from nbrewind.store.layout import find_store, list_sessions
from nbrewind.store.locks import is_held
from nbrewind.store.shadow.git import GitRunner
from nbrewind.ui.page import Page, Tone
from nbrewind.ui.wording import printable, size

__all__ = ["doctor_page"]

_OPTIONAL = {
    "zstandard": "frames are written plain, compressed ones cannot be read",
    "blake3": "large files are compared more slowly",
    "pandas": "tables are compared as text",
    "ipywidgets": "no panel",
}


def doctor_page(settings: Settings) -> Page:
    """Return what was found, one line each, problems first named as such."""
    rows: list[tuple[str, str, bool]] = [("Python", sys.version.split()[0], True)]
    rows.append(_git(settings))
    for name, loss in _OPTIONAL.items():
        found = importlib.util.find_spec(name) is not None
        rows.append((name, "installed" if found else f"not installed: {loss}", True))
    rows.append(("Workspace", settings.workspace, Path(settings.workspace).is_dir()))
    rows += _store(settings)
    page = Page(data={"checks": [{"name": name, "found": found, "ok": ok} for name, found, ok in rows]})
    page.table(
        [(name, printable(found), "" if ok else "PROBLEM") for name, found, ok in rows],
        tones=[Tone.PLAIN if ok else Tone.PROBLEM for *_, ok in rows],
    )
    page.exit_status = 0 if all(ok for *_, ok in rows) else StoreError.exit_status
    return page


def _git(settings: Settings) -> tuple[str, str, bool]:
    version = GitRunner(f"{settings.store_dir}/shadow").available()
    lost = "not installed or older than 2.30: points and rewinds work, packing and the full check do not"
    return "git", version or lost, True


def _store(settings: Settings) -> list[tuple[str, str, bool]]:
    try:
        store = find_store(settings.store_dir)
        sessions = list_sessions(store)
        held = [holder for session in sessions if (holder := is_held(store.session(session)))]
        open_moves = [session for session in sessions if _has_intent(store.session(session).intents)]
    except RewindError as error:
        return [("Store", f"{settings.store_dir}: {error.message}", not Path(settings.store_dir).exists())]
    free = shutil.disk_usage(store.root).free
    rows = [
        ("Store", store.root, True),
        ("Store writable", "yes" if os.access(store.root, os.W_OK) else "no", os.access(store.root, os.W_OK)),
        ("Store private", "yes" if not Path(store.root).stat().st_mode & 0o077 else "readable by others",
         not Path(store.root).stat().st_mode & 0o077),
        ("Free space", size(free), free > 100_000_000),
        ("Sessions", f"{len(sessions)}, {len(held)} held" + (f" by {', '.join(held)}" if held else ""), True),
    ]  # fmt: skip
    for session in open_moves:
        rows.append(("Unfinished rewind", f"{session}: the next kernel or `nbrewind to` recovers it", False))
    return rows


def _has_intent(folder: str) -> bool:
    return Path(folder).is_dir() and any(Path(folder).iterdir())
