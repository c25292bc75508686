"""One daemon thread that captures after the reply; joined before a fork, never started at exit."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Callable

__all__ = ["Worker"]


class Worker:
    """Runs one job at a time in a thread that lives only as long as there is one, and calls *finished* after each.

    Invariant: at most one job waits or runs. `submit` without a running interpreter to start threads in returns False,
    and the caller does the work itself.
    """

    def __init__(self, finished: Callable[[], None] | None = None) -> None:
        self._finished = finished
        self._idle = threading.Event()
        self._idle.set()
        self._pid = os.getpid()
        self._closed = False
        _WORKERS.add(self)

    @property
    def busy(self) -> bool:
        """Return whether a job runs."""
        return not self._idle.is_set()

    def submit(self, job: Callable[[], None]) -> bool:
        """Run *job* in the background; return False where that cannot be (busy, closed, forked, no more threads)."""
        if self.busy or self._closed or os.getpid() != self._pid:
            return False
        self._idle.clear()

        def run() -> None:
            try:
                job()
            finally:
                self._idle.set()
                if self._finished is not None:
                    self._finished()

        try:
            # Not `Thread.start`: the capture watches that one for threads that a cell starts.
            thread = threading.Thread(target=run, name="nbrewind", daemon=True)
            _START(thread)
        except RuntimeError:
            self._idle.set()
            return False
        return True

    def wait(self, timeout: float | None) -> bool:
        """Wait until no job runs; return whether that came true in time."""
        return self._idle.wait(timeout)

    def close(self, timeout: float) -> bool:
        """Take no more jobs and wait for the last."""
        self._closed = True
        return self._idle.wait(timeout)


_START = threading.Thread.start
_WORKERS: weakref.WeakSet[Worker] = weakref.WeakSet()
_FORK_WAIT = 5.0


def _before_fork() -> None:
    # A child forked in the middle of a capture would inherit its locks, held by a thread that it does not have.
    with contextlib.suppress(Exception):
        for worker in list(_WORKERS):
            worker.wait(_FORK_WAIT)


def _after_fork_in_child() -> None:
    for worker in list(_WORKERS):
        worker._closed = True
        worker._idle = threading.Event()
        worker._idle.set()


os.register_at_fork(before=_before_fork, after_in_child=_after_fork_in_child)
