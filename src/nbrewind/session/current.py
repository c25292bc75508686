"""The session of this process, for those who come from outside: magics, scripts, other extensions."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbrewind.errors import RewindError
from nbrewind.model import Settings

if TYPE_CHECKING:
    from nbrewind.session.session import Session

__all__ = ["Declined", "current", "decline", "declined", "leave", "take"]


@dataclass(frozen=True, slots=True)
class Declined:
    """Why this process has no session although one was asked for; *settings* where they were known by then."""

    error: RewindError
    settings: Settings | None = None


class _Place:
    session: Session | None = None
    declined: Declined | None = None
    pid = 0


def current() -> Session | None:
    """Return the session that this process holds, None where nbrewind is off (and in forked children)."""
    return _Place.session if _Place.pid == os.getpid() else None


def take(session: Session) -> None:
    """Make *session* the one of this process."""
    _Place.session, _Place.declined, _Place.pid = session, None, os.getpid()


def leave(session: Session | None) -> None:
    """Forget *session* if it is the one of this process, and why there was none."""
    _Place.declined = None
    if _Place.session is session:
        _Place.session = None


def decline(error: RewindError, settings: Settings | None = None) -> None:
    """Remember why no session could be had, for those who ask how things stand."""
    _Place.declined = Declined(error, settings)


def declined() -> Declined | None:
    """Return why there is no session; None if none was asked for."""
    return _Place.declined
