"""Work that a rewind cannot stop: threads, tasks and processes that a taken-back turn started and that go on."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Any

from nbrewind.model import Note

__all__ = ["running"]


def running(discarded: Mapping[str, object], namespace: Mapping[str, object]) -> list[Note]:
    """Return what of *discarded* goes on, and the variables that a live thread may change again."""
    notes: list[Note] = []
    for name, value in discarded.items():
        if _goes_on(value):
            notes.append(Note(name, "taken back, but still running"))
    for thread in threading.enumerate():
        target: Any = getattr(thread, "_target", None)
        if getattr(target, "__globals__", None) is namespace:
            names = [name for name in target.__code__.co_names if name in namespace]
            reason = f"the thread {thread.name} is still running and may change it"
            notes += [Note(name, reason) for name in names if not callable(namespace[name])]
    return notes


def _goes_on(value: Any) -> bool:
    asyncio: Any = sys.modules.get("asyncio")
    # Not `isinstance`, which asks the object for its class: a dead proxy raises, and others lie.
    kind = type(value)
    if issubclass(kind, threading.Thread):
        return bool(value.is_alive())
    if issubclass(kind, subprocess.Popen):
        return value.poll() is None
    return asyncio is not None and issubclass(kind, asyncio.Future) and not value.done()
