"""The ends of a process: atexit and SIGTERM flush the open turn, and leave no trace when taken back."""

from __future__ import annotations

import atexit
import logging
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

__all__ = ["Exits"]

_LOG = logging.getLogger("nbrewind")


class Exits:
    """Calls *flush* once when the process ends in order, or by SIGTERM.

    `atexit` runs last in, first out: registered at load, we come before IPython closes its history.
    """

    def __init__(self, flush: Callable[[], None]) -> None:
        self._flush = flush
        self._pid = os.getpid()
        self._previous: Any = None
        self._installed = False

    def install(self) -> None:
        """Register. Only the main thread may set signal handlers; elsewhere SIGTERM stays as it is."""
        atexit.register(self._end)
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.getsignal(signal.SIGTERM)
            # A handler that C code set cannot be called from here, so it keeps its place.
            if self._previous is not None and self._previous is not signal.SIG_IGN:
                signal.signal(signal.SIGTERM, self._terminated)
                self._installed = True

    def uninstall(self) -> None:
        """Take it all back. A handler that somebody set after ours stays."""
        atexit.unregister(self._end)
        if self._installed and signal.getsignal(signal.SIGTERM) == self._terminated:
            if threading.current_thread() is not threading.main_thread():
                return
            signal.signal(signal.SIGTERM, self._previous)
        self._installed = False

    def _end(self) -> None:
        if os.getpid() != self._pid:
            return
        try:
            self._flush()
        except Exception:  # noqa: BLE001  the process ends all the same
            _LOG.warning("The last turn could not be saved.", exc_info=True)

    def _terminated(self, number: int, frame: FrameType | None) -> None:
        self._end()
        if callable(self._previous):
            self._previous(number, frame)
            return
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), number)
