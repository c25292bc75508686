"""The event loop of the kernel's main thread, for jobs that come from any thread."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable
from contextvars import Context
from typing import Any

__all__ = ["MainLoop"]


class MainLoop:
    """`LoopPort` over the loop of a shell. A subshell's thread has a loop of its own, which is never used.

    Jobs run in the very context in which cells run: options of numpy and the decimal context are context variables,
    and what a job sets in a copy no cell would ever see.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._known: asyncio.AbstractEventLoop | None = None
        self._context: Context | None = None

    def note(self) -> None:
        """Remember loop and context of the cell that begins, if this is the main thread."""
        if threading.current_thread() is threading.main_thread():
            self._context = _present_context()
            self._loop()

    def soon(self, job: Callable[[], None], delay: float = 0.0) -> bool:
        """Run *job* on the main thread after *delay* seconds; return False in a shell without a running loop."""
        loop = self._loop()
        if loop is None or not loop.is_running():
            return False
        try:
            if threading.current_thread() is threading.main_thread():
                loop.call_later(delay, self._run, job)
            else:
                loop.call_soon_threadsafe(loop.call_later, delay, self._run, job)
        except RuntimeError:
            # It was closed in this moment: the kernel ends.
            return False
        return True

    def _run(self, job: Callable[[], None]) -> None:
        begun: list[bool] = []

        def act() -> None:
            begun.append(True)
            job()

        try:
            if self._context is not None:
                self._context.run(act)
        except RuntimeError:
            if begun:
                raise
            # A loop inside a cell (nest_asyncio): the context is entered already.
        if not begun:
            job()

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


def _present_context() -> Context | None:
    """Return the context itself in which the present task runs; `copy_context` gives a copy."""
    try:
        task: Any = asyncio.current_task()
    except RuntimeError:
        return None
    if task is None:
        return None
    if hasattr(task, "get_context"):
        context: Context = task.get_context()
        return context
    # Python 3.11 has no name for it.
    return next((one for one in gc.get_referents(task) if type(one) is Context), None)
