"""Absence: what verbs say where loading found no place for a session, and what they still show of a stored one."""

from __future__ import annotations

from nbrewind.errors import RewindError, UsageError
from nbrewind.session.current import Declined
from nbrewind.session.session import Session
from nbrewind.ui.page import Page, Tone
from nbrewind.ui.payload import error_data
from nbrewind.ui.verbs import Desk
from nbrewind.ui.wording import count, folder_name, printable
from nbrewind.ui.words import Call

__all__ = ["look_without", "off_text"]

_LOOKS = frozenset({"list", "show", "cat", "diff", "history"})


def off_text(error: RewindError) -> str:
    """Return the line that says why nothing is protected."""
    return printable(" ".join(filter(None, (f"nbrewind is off, nothing is protected: {error.message}", error.hint))))


def look_without(declined: Declined, call: Call) -> Page:
    """Carry out *call* as far as that goes without a session of this process.

    Raises:
        RewindError: it cannot be; the line says why nbrewind is off.
    """
    off = off_text(declined.error)
    if call.verb == "status":
        return _status(declined, off)
    stored = _stored(declined) if call.verb in _LOOKS else None
    if stored is not None:
        page = Desk(session=stored).run(call)
        page.data = {**page.data, "off": error_data(declined.error)}
        return page if page.raw is not None else page.say(off, Tone.PROBLEM)
    if call.verb == "list":
        return Page(data={"points": [], "off": error_data(declined.error)}).say(off, Tone.PROBLEM)
    raise UsageError(f"{off} Nothing changed.")


def _status(declined: Declined, off: str) -> Page:
    page = Page(data={"state": "off", "off": error_data(declined.error)})
    settings = declined.settings
    if settings is not None:
        page.say(f"⟲ {folder_name(settings.workspace)}: off", Tone.STRONG)
    page.say(off, Tone.PROBLEM)
    if settings is not None:
        page.say(f"Store: {printable(settings.store_dir)}", Tone.MUTED)
    stored = _stored(declined)
    if stored is not None:
        page.say(f"{count(len(stored.timeline.turns), 'earlier cell')} can be seen there: %rewind list")
    return page


def _stored(declined: Declined) -> Session | None:
    if declined.settings is None:
        return None
    try:
        return Session.open(declined.settings)
    except (RewindError, OSError):
        return None
