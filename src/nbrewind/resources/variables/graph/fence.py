"""A time limit around code that is not ours, on the main thread, which leaves the user's signals alone.

A kernel timer (`timer_create`) sends a real-time signal that nobody uses, so that also a sleep inside a C call ends.
`SIGALRM`, `setitimer` and every handler of the user stay as they are. Where there is no such timer, or off the main
thread, only the deadline that the picklers look at themselves holds.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

__all__ = ["TimeUp", "ticking", "time_limit"]

_MONOTONIC = 1
_THREAD_ID = 4
_TICK = 0.25


class TimeUp(BaseException):
    """The time limit is over. No `Exception`, so that few handlers swallow it; it comes again until the limit ends."""


class _Event(ctypes.Structure):
    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signo", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("thread", ctypes.c_int),
        ("pad", ctypes.c_char * 44),
    )


class _Interval(ctypes.Structure):
    _fields_ = (
        ("again_s", ctypes.c_long),
        ("again_ns", ctypes.c_long),
        ("value_s", ctypes.c_long),
        ("value_ns", ctypes.c_long),
    )


class _Timer:
    """One timer of this process. *overdue* says whether its signal means anything now."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.overdue: Callable[[], bool] | None = None
        self.running = False
        self._library = ctypes.CDLL(None, use_errno=True)
        number = self._free_signal()
        # Installed for good: a signal that comes late must find a handler, since its default would end the process.
        signal.signal(number, self._expired)
        event = _Event(signo=number, notify=_THREAD_ID, thread=threading.get_native_id())
        self._timer = ctypes.c_void_p()
        if self._library.timer_create(_MONOTONIC, ctypes.byref(event), ctypes.byref(self._timer)):
            raise OSError(ctypes.get_errno(), "timer_create")

    @staticmethod
    def _free_signal() -> int:
        for number in range(signal.SIGRTMAX - 1, signal.SIGRTMIN, -1):
            if signal.getsignal(number) == signal.SIG_DFL:
                return number
        raise OSError("no signal is free")

    def _expired(self, number: int, frame: FrameType | None) -> None:
        if self.overdue is not None and self.overdue():
            raise TimeUp

    def tick(self, seconds: float) -> None:
        """Send the signal every *seconds*; never again with 0."""
        part = int(seconds * 1e9)
        value = _Interval(0, part, 0, part)
        self._library.timer_settime(self._timer, 0, ctypes.byref(value), None)


_state: dict[str, Any] = {}


def _timer() -> _Timer | None:
    """Return this process's timer: a forked child has none of its parent's."""
    timer = _state.get("timer")
    if timer is not None and timer.process == os.getpid():
        found: _Timer = timer
        return found
    if _state.get("failed") == os.getpid():
        return None
    try:
        made = _state["timer"] = _Timer()
    except (OSError, AttributeError, ValueError):
        _state["failed"] = os.getpid()
        return None
    return made


@contextmanager
def ticking() -> Iterator[None]:
    """Let the timer run throughout the block, in which many a `time_limit` begins and ends for that much less."""
    timer = _timer() if threading.current_thread() is threading.main_thread() else None
    if timer is None or timer.running:
        yield
        return
    timer.tick(_TICK)
    timer.running = True
    try:
        yield
    finally:
        timer.running = False
        timer.tick(0)


@contextmanager
def time_limit(overdue: Callable[[], bool]) -> Iterator[None]:
    """Raise `TimeUp` in the block soon after *overdue* begins to return True, again and again until the block ends.

    Not nested: a limit inside a limit does nothing.
    """
    timer = _timer() if threading.current_thread() is threading.main_thread() else None
    if timer is None or timer.overdue is not None:
        yield
        return
    timer.overdue = overdue
    try:
        if not timer.running:
            timer.tick(_TICK)
        yield
    finally:
        # One may still be on its way at any of these lines.
        for _ in range(3):
            with suppress(TimeUp):
                timer.overdue = None
                if not timer.running:
                    timer.tick(0)
                break
