"""The session of this process, for those who come from outside: magics, scripts, other extensions."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbrewind.session.session import Session

__all__ = ["current", "leave", "take"]


class _Place:
    session: Session | None = None
    pid = 0


def current() -> Session | None:
    """Return the session that this process holds, None where nbrewind is off (and in forked children)."""
    return _Place.session if _Place.pid == os.getpid() else None


def take(session: Session) -> None:
    """Make *session* the one of this process."""
    _Place.session, _Place.pid = session, os.getpid()


def leave(session: Session) -> None:
    """Forget *session* if it is the one of this process."""
    if _Place.session is session:
        _Place.session = None
