"""Progress of a move that a panel asked for: shown once it takes long, and the way to stop it."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["Progress"]

_QUIET = 0.5
"""Seconds for which a move says nothing."""
_PAUSE = 0.2


class Progress:
    """Called for each file that is made ready. All that is moved comes after the last of them."""

    def __init__(self, show: Callable[[int, int], None]) -> None:
        self._show = show
        self._shown = time.monotonic() + _QUIET - _PAUSE
        self.stopped = False

    def __call__(self, done: int, total: int) -> None:
        """Show how far it is.

        Raises:
            KeyboardInterrupt: the person asked to stop; nothing was changed.
        """
        if self.stopped:
            raise KeyboardInterrupt
        now = time.monotonic()
        if now - self._shown > _PAUSE:
            self._shown = now
            self._show(done, total)
