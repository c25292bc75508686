"""The herald: tells front ends what is new, in a thread that lives only as long as there is something to tell.

A cell never waits for it: what happened is noted in a queue, and a moment later all of it is told at once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from nbrewind.session.worker import Worker

__all__ = ["Herald"]

_LOG = logging.getLogger("nbrewind")
_MOMENT = 0.03
"""Seconds in which what happens is told together: a short cell begins, ends and is saved in one message."""


class Herald:
    """Runs jobs in their order, the news last and once for all that happened meanwhile. Never raises."""

    def __init__(self, news: Callable[[], None]) -> None:
        self._news = news
        self._worker = Worker()
        self._lock = threading.Lock()
        self._jobs: list[Callable[[], None]] = []
        self._stirred = False
        self._running = False

    def stir(self) -> None:
        """Tell the news soon. Costs next to nothing, from any thread."""
        with self._lock:
            self._stirred = True
        self._start()

    def tell(self, job: Callable[[], None]) -> None:
        """Run *job* soon, before the news."""
        with self._lock:
            self._jobs.append(job)
        self._start()

    def close(self) -> None:
        """Tell nothing more."""
        self._worker.close(0.0)

    def _start(self) -> None:
        with self._lock:
            if self._running:
                return
            self._running = True
        # The thread before may be in its last steps.
        if not self._worker.submit(self._run) and not (self._worker.wait(0.1) and self._worker.submit(self._run)):
            with self._lock:
                self._running = False

    def _run(self) -> None:
        while True:
            time.sleep(_MOMENT)
            with self._lock:
                jobs, self._jobs = self._jobs, []
                stirred, self._stirred = self._stirred, False
                if not jobs and not stirred:
                    self._running = False
                    return
            for job in (*jobs, self._news) if stirred else jobs:
                try:
                    job()
                except Exception:  # noqa: BLE001  a front end never gets in the way of anything
                    _LOG.debug("The front ends could not be told.", exc_info=True)
