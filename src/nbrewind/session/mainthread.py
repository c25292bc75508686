"""The kernel's main thread: variables are looked at and moves run there, whatever thread asks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol, TypeVar

from nbrewind.errors import RefusalReason, RewindRefused

__all__ = ["LoopPort", "MainThread", "is_main"]

_T = TypeVar("_T")
_PATIENCE = 2.0
"""Seconds that another thread waits for the main one to come to its job."""


class LoopPort(Protocol):
    """The event loop of the kernel's main thread; implemented in the extension."""

    def soon(self, job: Callable[[], None], delay: float = 0.0) -> bool:
        """Run *job* there after *delay* seconds; from any thread. Return False where nothing can be run later."""


class _Job:
    """A call that another thread waits for: begun or given up, never both."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act
        self._turn = threading.Lock()
        self._begun = threading.Event()
        self._done = threading.Event()
        self._given_up = False
        self.error: BaseException | None = None

    def __call__(self) -> None:
        with self._turn:
            if self._given_up:
                return
            self._begun.set()
        try:
            self._act()
        except BaseException as error:  # noqa: BLE001  it belongs to the thread that asked
            self.error = error
        finally:
            self._done.set()

    def wait(self, patience: float) -> bool:
        """Return whether it was carried out; False if it did not begin in time, and then it never will."""
        if not self._begun.wait(patience):
            with self._turn:
                self._given_up = not self._begun.is_set()
            if self._given_up:
                return False
        self._done.wait()
        return True


class MainThread:
    """Runs jobs on the kernel's main thread, through the loop that the extension gives."""

    def __init__(self) -> None:
        self.loop: LoopPort | None = None

    def later(self, job: Callable[[], None], delay: float) -> bool:
        """Run *job* after *delay* seconds; return False where that cannot be."""
        return self.loop is not None and self.loop.soon(job, delay)

    def run(self, act: Callable[[], _T]) -> _T:
        """Return what *act* returns or raises, carried out on the main thread: at once if this is it.

        Raises:
            RewindRefused: (busy) the main thread does not come to it. It is not, and will not be, carried out.
        """
        if is_main():
            return act()
        box: list[_T] = []
        job = _Job(lambda: box.append(act()))
        if self.loop is None or not self.loop.soon(job) or not job.wait(_PATIENCE):
            raise RewindRefused(
                RefusalReason.BUSY,
                "Nothing changed: the kernel's main thread is busy.",
                hint="Try again when the cell is done.",
            )
        if job.error is not None:
            raise job.error
        return box[0]


def is_main() -> bool:
    """Return whether this is the kernel's own thread."""
    return threading.current_thread() is threading.main_thread()
