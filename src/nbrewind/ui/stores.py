"""Stores: which store and session a command line means, without a kernel."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nbrewind.errors import RefusalReason, RewindRefused, StoreError, UsageError, clipped
from nbrewind.model import SessionId, Settings
from nbrewind.session.defaults import Surroundings, make_settings
from nbrewind.session.session import Session
from nbrewind.store.layout import StorePaths, find_store, list_sessions
from nbrewind.store.locks import is_held
from nbrewind.store.oplog import read_log

__all__ = ["open_session", "session_rows", "settings_for"]

_NOTHING: Mapping[str, Any] = {}


def settings_for(
    workspace: str, store: str, environ: Mapping[str, str], configured: Mapping[str, Any] = _NOTHING
) -> Settings:
    """Return the settings of the workspace that is meant: *workspace*, or the nearest one with a store from here up.

    *configured* is what configuration files say; the two options go before.

    Raises:
        SettingError: a path cannot be taken.
    """
    home = str(Path("~").expanduser())
    temp = (tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm")
    here = Path.cwd()
    around = Surroundings(environ, home, str(here), temp)
    more = dict(configured)
    usual = more.pop("store_dir", "")
    workspace = workspace or ("" if store else more.pop("workspace", ""))
    more.pop("workspace", None)
    if workspace or store:
        chosen = make_settings(around, workspace=workspace, store_dir=store or usual, **more)
        if not workspace and (noted := _noted_workspace(chosen)):
            return make_settings(around, workspace=noted, store_dir=store, **more)
        return chosen if not workspace else _with_own_store(chosen, around, workspace, store, more)
    # A kernel protects its notebook's folder; a person stands in it, or somewhere below.
    for folder in (here, *here.parents):
        for place in dict.fromkeys((usual, "", "workspace")):
            settings = make_settings(around, workspace=str(folder), store_dir=place, **more)
            # A store of one place for all folders says itself which one it is for.
            if _has_store(settings) and _noted_workspace(settings) in ("", settings.workspace):
                return settings
        if str(folder) == home:
            break
    return make_settings(around, store_dir=usual, **more)


def _with_own_store(
    settings: Settings, around: Surroundings, workspace: str, store: str, more: Mapping[str, Any]
) -> Settings:
    """Return *settings*, with the store inside the workspace where that is the one that exists."""
    if store or _has_store(settings):
        return settings
    inside = make_settings(around, workspace=workspace, store_dir="workspace", **more)
    return inside if _has_store(inside) else settings


def _has_store(settings: Settings) -> bool:
    # Not by pathlib, which raises for what is too long to be a path.
    return os.path.isfile(f"{settings.store_dir}/format")  # noqa: PTH113  as said


def _noted_workspace(settings: Settings) -> str:
    """Return the folder that a store was made for; "" where it does not say, or where it went along with its folder."""
    inside = (settings.store_dir + os.sep).startswith(settings.workspace.rstrip("/") + os.sep)
    try:
        noted = Path(settings.store_dir, "workspace").read_bytes()
    except OSError:
        return ""
    return "" if inside else os.fsdecode(noted.removesuffix(b"\n"))


def open_session(settings: Settings, session: str, *, to_move: bool) -> Session:
    """Open the session (the newest by default); *to_move* takes it, which a kernel that holds it does not allow.

    Raises:
        StoreError: no store, no session, or it cannot be read.
        RewindRefused: (outside-workspace) the store was made for another folder.
        SessionLocked: a kernel holds it.
    """
    if not _has_store(settings):
        raise StoreError(
            f"Nothing is kept for {settings.workspace}. Nothing changed.",
            hint="Go to the notebook's folder, or name it: --workspace PATH.",
        )
    noted = _noted_workspace(settings)
    if to_move and noted and noted != settings.workspace:
        # Two working copies look alike; files of one must not be put into the other.
        raise RewindRefused(
            RefusalReason.OUTSIDE_WORKSPACE,
            f"Nothing changed: this store belongs to {noted}, not to {settings.workspace}.",
            hint="It can be looked at from here: list, show, cat, diff.",
        )
    chosen = _matching(find_store(settings.store_dir), session)
    return Session.open(settings, chosen, readonly=not to_move)


def _matching(store: StorePaths, session: str) -> SessionId | None:
    if not session:
        return None
    found = [known for known in list_sessions(store) if known.startswith(session)]
    if len(found) == 1:
        return found[0]
    what = "No session" if not found else f"{len(found)} sessions"
    has = "has" if not found else "have"
    raise UsageError(
        f"{what} of this workspace {has} an id that begins with {clipped(session)!r}.",
        hint="nbrewind sessions lists them.",
    )


def session_rows(settings: Settings) -> list[dict[str, Any]]:
    """Return one row per session of the workspace, newest first.

    Raises:
        StoreError: there is no store, or it cannot be read.
    """
    if not _has_store(settings):
        raise StoreError(f"Nothing is kept for {settings.workspace}.", hint="--workspace PATH names another folder.")
    store = find_store(settings.store_dir)
    rows = []
    for session in list_sessions(store):
        paths = store.session(session)
        row: dict[str, Any] = {"id": session, "holder": is_held(paths)}
        try:
            reading = read_log(paths.log)
        except StoreError as error:
            rows.append({**row, "damaged": error.message})
            continue
        operations = reading.operations
        row |= {
            "turns": sum(operation.turn is not None for operation in operations),
            "started": operations[0].at if operations else None,
            "last": operations[-1].at if operations else None,
            "notebook": next((found.notebook for found in reversed(operations) if found.notebook), ""),
            "damaged": f"{len(reading.damaged)} records" if reading.damaged else None,
            "bytes": os.path.getsize(paths.log),  # noqa: PTH202
        }
        rows.append(row)
    return rows
