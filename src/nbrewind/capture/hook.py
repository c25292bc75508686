"""The audit hook: one trampoline per process, for ever, that calls a replaceable listener.

An audit hook cannot be removed, and what it raises aborts the user's own call. So the trampoline lives on a private
attribute of `sys`, survives reloads of this module, and does nothing once uninstalled; nothing but a user's own
interrupt leaves it. It is paid on every audit event of the process (`id()` raises one): the first test is a set
look-up, and a reading `open` ends at its flags. Events of this module's own work, and what finalisers do in the middle
of it, are not reported. A forked child is detached.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from nbrewind.capture.events import WRITE_FLAGS

__all__ = [
    "MAX_FAILURES",
    "install",
    "installed",
    "note_failure",
    "rearm",
    "report",
    "suspended",
    "take_failures",
    "uninstall",
]

MAX_FAILURES: Final = 20
"""After so many failures the hook disables itself until it is armed again."""

Listener = Callable[[str, tuple[Any, ...]], None]
_ATTRIBUTE: Final = "_nbrewind_audit"


class _Slot:
    """What the trampoline reads. *names* is emptied in place to switch it off at its first test."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.handler: Listener | None = None
        self.lost = 0

    def detach(self) -> None:
        self.names.clear()
        self.handler = None


def _trampoline_of(slot: _Slot) -> Callable[[str, tuple[Any, ...]], None]:
    def trampoline(
        event: str,
        args: tuple[Any, ...],
        names: set[str] = slot.names,
        slot: _Slot = slot,
        write: int = WRITE_FLAGS,
    ) -> None:
        if event in names:
            try:
                handler = slot.handler
                if handler is None or (event == "open" and not args[2] & write):
                    return
                handler(event, args)
            except Exception:  # noqa: BLE001 - whatever it was (recursion limit too), the user's call goes on
                slot.lost += 1

    return trampoline


def _slot() -> _Slot:
    """Return the slot of this process, with the trampoline in place from the first call on."""
    slot = getattr(sys, _ATTRIBUTE, None)
    if slot is None:
        slot = _Slot()
        setattr(sys, _ATTRIBUTE, slot)
        sys.addaudithook(_trampoline_of(slot))
        os.register_at_fork(after_in_child=slot.detach)
    found: _Slot = slot
    return found


class _Local(threading.local):
    depth = 0


class _State:
    """The installed listener with its failures; replaced as a whole."""

    def __init__(self, listener: Listener, names: frozenset[str]) -> None:
        self.listener = listener
        self.names = names
        self.process = os.getpid()
        self.failures: list[str] = []
        self.count = 0

    def handle(self, event: str, args: tuple[Any, ...]) -> None:
        if _local.depth:
            return
        if os.getpid() != self.process:
            # A fork that ran no Python handlers: this child is none of ours.
            uninstall()
            return
        _local.depth = 1
        try:
            self.listener(event, args)
        except Exception as error:  # noqa: BLE001 - an error here would abort the user's call
            self.failed(event, error)
        finally:
            _local.depth = 0

    def failed(self, event: str, error: Exception) -> None:
        self.count += 1
        if len(self.failures) < MAX_FAILURES:
            self.failures.append(f"{event}: {type(error).__name__}: {error}"[:300])
        if self.count == MAX_FAILURES:
            self.failures.append(f"disabled after {MAX_FAILURES} failures")
            _slot().detach()


_local = _Local()
_state: _State | None = None


def install(listener: Listener, names: frozenset[str]) -> None:
    """Report the events *names* to *listener* from now on, in the thread and before the effect of each.

    Installing again replaces the listener; there is never more than one.
    """
    global _state
    _state = _State(listener, names)
    rearm()


def uninstall() -> None:
    """Stop reporting. The trampoline stays in the interpreter, switched off. Twice is fine."""
    global _state
    _slot().detach()
    _state = None


def installed() -> bool:
    """Return whether events are reported now."""
    return _slot().handler is not None


def rearm() -> None:
    """Forget the failures so far and switch the installed listener on again."""
    state, slot = _state, _slot()
    if state is not None and state.process == os.getpid():
        state.count = 0
        slot.handler = state.handle
        slot.names |= state.names


def note_failure(what: str, error: Exception) -> None:
    """Count a failure of a wrap like one of the hook."""
    if _state is not None:
        _state.failed(what, error)


def take_failures() -> tuple[str, ...]:
    """Return what failed inside the hook since the last call, as texts."""
    state, slot = _state, _slot()
    texts: tuple[str, ...] = ()
    if state is not None:
        texts, state.failures = tuple(state.failures), []
    if slot.lost:
        texts, slot.lost = (*texts, f"{slot.lost} events lost (recursion limit or memory)"), 0
    return texts


def report(event: str, args: tuple[Any, ...]) -> None:
    """Report what raises no audit event itself; called by the wraps, fenced like an event."""
    slot = _slot()
    if event in slot.names:
        try:
            handler = slot.handler
            if handler is not None:
                handler(event, args)
        except Exception:  # noqa: BLE001 - as in the trampoline
            slot.lost += 1


@contextmanager
def suspended() -> Iterator[None]:
    """Report nothing from this thread: for nbrewind's own writes, which are no turn's."""
    _local.depth += 1
    try:
        yield
    finally:
        _local.depth -= 1
