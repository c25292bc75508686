"""The lock of a session."""

from __future__ import annotations

import threading
from types import TracebackType

__all__ = ["Mutex"]


class Mutex:
    """A re-entrant lock that can say whether this thread has it already.

    A signal handler runs in the middle of whatever its thread does: there, getting the lock again proves nothing.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._owner = 0
        self._depth = 0

    @property
    def held_here(self) -> bool:
        """Return whether this thread holds the lock."""
        return self._owner == threading.get_ident()

    def acquire(self, timeout: float = -1) -> bool:
        """Take the lock, waiting at most *timeout* seconds (for ever if negative); return whether that was done."""
        if not self._lock.acquire(timeout=timeout):
            return False
        self._owner = threading.get_ident()
        self._depth += 1
        return True

    def release(self) -> None:
        """Give it back."""
        self._depth -= 1
        if not self._depth:
            self._owner = 0
        self._lock.release()

    def __enter__(self) -> None:
        """Take it."""
        self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give it back."""
        self.release()
