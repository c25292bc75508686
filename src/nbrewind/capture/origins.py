"""Which turn started the thread or task that is running: a context variable, and a note on each started thread."""

from __future__ import annotations

import threading
from contextvars import ContextVar
from typing import Final

from nbrewind.model import OperationId

__all__ = ["enter", "leave", "mark", "origin", "threads"]

_ATTRIBUTE: Final = "_nbrewind_turn"
_OURS: Final = "nbrewind"
"""Beginning of the names of nbrewind's own threads."""

_current: ContextVar[OperationId | None] = ContextVar("nbrewind_turn", default=None)


def enter(operation: OperationId) -> None:
    """Make *operation* the origin of what this context, its tasks and its threads do from now on."""
    _current.set(operation)


def leave() -> None:
    """End what `enter` began here; tasks and threads that were started meanwhile keep their origin."""
    _current.set(None)


def mark(thread: threading.Thread) -> None:
    """Note at its start which turn *thread* belongs to: plain threads inherit no context."""
    where, _ = origin()
    if where is not None and not thread.name.startswith(_OURS):
        setattr(thread, _ATTRIBUTE, where)


def origin() -> tuple[OperationId | None, bool]:
    """Return the turn that this thread or task belongs to, and whether it is a background thread."""
    identity = threading.get_ident()
    background = identity != threading.main_thread().ident
    where = _current.get()
    if where is None and background:
        # Not current_thread(): that would register a dummy for a thread which Python did not start.
        thread = getattr(threading, "_active", {}).get(identity)
        where = getattr(thread, _ATTRIBUTE, None)
    return where, background


def threads() -> tuple[str, ...]:
    """Return the names of the live threads that turns have started."""
    return tuple(thread.name for thread in threading.enumerate() if getattr(thread, _ATTRIBUTE, None) is not None)
