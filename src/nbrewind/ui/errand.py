"""An errand: one call of the command line, carried out on a stored session, with the question before a move."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

import click

from nbrewind.errors import SessionLocked, UsageError
from nbrewind.model import Settings
from nbrewind.session.session import Session
from nbrewind.ui.page import Page
from nbrewind.ui.stores import open_session, settings_for
from nbrewind.ui.terminal import show
from nbrewind.ui.verbs import Desk
from nbrewind.ui.words import Call, call_of

__all__ = ["Configured", "flags", "move", "run", "settings_of"]

Configured = Callable[[], Mapping[str, Any]]
"""Gives what a person wrote into configuration files, as keywords of `make_settings`."""

_MOVING = frozenset({"to", "before", "back", "undo", "redo", "restore", "name", "gc"})
_PREVIEWED = frozenset({"to", "before", "back"})


def flags(**chosen: bool) -> frozenset[str]:
    """Return the names of the options that are set."""
    return frozenset(name for name, is_set in chosen.items() if is_set)


def settings_of(workspace: str, store: str) -> Settings:
    """Return the settings that the options and the configuration files ask for.

    Raises:
        SettingError: a value cannot be taken.
    """
    context = click.get_current_context(silent=True)
    configured: Configured | None = context.find_root().obj if context is not None else None
    return settings_for(workspace, store, os.environ, configured() if configured is not None else {})


def run(call: Call, workspace: str, store: str, session: str, as_json: bool) -> None:
    """Carry out *call* and end the process with the status of its outcome."""
    moves = call.verb in _MOVING
    asks = call.verb in _PREVIEWED and not call.has("yes")
    settings = settings_of(workspace, store)
    looked_at = ""
    try:
        opened = open_session(settings, session, to_move=moves)
    except SessionLocked as error:
        if not asks:
            raise
        # A preview only looks; what a running kernel holds can be looked at.
        looked_at = error.message
        opened = open_session(settings, session, to_move=False)
    try:
        page = Desk(session=opened).run(call)
        show(page, as_json, raw=call.verb == "cat")
        if asks and not as_json:
            page = _asked(opened, page, looked_at)
    finally:
        opened.close()
    if page.exit_status:
        sys.exit(page.exit_status)


def move(verb: str, words: tuple[str, ...], options: dict[str, Any]) -> None:
    """Carry out a call of a verb that goes somewhere."""
    chosen = flags(**{name: options.pop(name) for name in ("yes", "everything", "overwrite", "force")})
    run(call_of(verb, words, chosen | flags(json=options["as_json"]), {"only": options.pop("only")}), **options)


def _asked(session: Session, page: Page, looked_at: str) -> Page:
    """Ask whether to do what the preview said, where somebody can answer."""
    token = (page.data.get("plan") or {}).get("token")
    if not token:
        return page
    if looked_at:
        raise UsageError(f"{looked_at} It can be looked at from here, not moved.")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("Nothing changed: nobody can be asked here. Add --yes.")
    if not click.confirm("Go back?", default=False):
        click.echo("Nothing changed.")
        return page
    done = Desk(session=session).run(Call(verb="confirm", text=str(token)))
    show(done, as_json=False)
    return done
