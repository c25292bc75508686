"""The event loop of the kernel's main thread, for jobs that come from any thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

__all__ = ["MainLoop"]


class MainLoop:
    """`LoopPort` over the loop of a shell. A subshell's thread has a loop of its own, which is never used."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._known: asyncio.AbstractEventLoop | None = None

    def soon(self, job: Callable[[], None], delay: float = 0.0) -> bool:
        """Run *job* on the main thread after *delay* seconds; return False in a shell without a running loop."""
        loop = self._loop()
        if loop is None or not loop.is_running():
            return False
        try:
            if threading.current_thread() is threading.main_thread():
                loop.call_later(delay, job)
            else:
                loop.call_soon_threadsafe(loop.call_later, delay, job)
        except RuntimeError:
            # It was closed in this moment: the kernel ends.
            return False
        return True

    def _loop(self) -> asyncio.AbstractEventLoop | None:
        if threading.current_thread() is threading.main_thread():
            try:
                self._known = asyncio.get_running_loop()
            except RuntimeError:
                return None
            return self._known
        if self._known is None:
            kernel = getattr(self._shell, "kernel", None)
            found = getattr(getattr(kernel, "io_loop", None), "asyncio_loop", None)
            self._known = found if isinstance(found, asyncio.AbstractEventLoop) else None
        return self._known
