"""What may run in any cell without being named there: hooks, handlers, tasks, threads, a redirected output."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import sys
import threading
import types
import warnings
import weakref
from collections.abc import Iterator
from typing import Any, Final

from nbrewind.resources.variables.kinds import is_user_module

__all__ = ["ambient", "busy_thread"]

_SIGNALS: Final = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGCHLD", "SIGVTALRM", "SIGPROF", "SIGHUP")
    if hasattr(signal, name)
)
_PLAIN: Final = frozenset(
    {
        "ipykernel",
        "IPython",
        "zmq",
        "nbrewind",
        "_signal",
        "signal",
        "asyncio",
        "sys",
        "warnings",
        "_warnings",
        "builtins",
    }
)


def ambient(namespace: dict[str, object]) -> Iterator[object]:
    """Yield the functions and objects that can come into play in any cell."""
    yield from (sys.stdout, sys.stderr, sys.stdin, sys.excepthook, sys.displayhook, sys.unraisablehook)
    yield from (sys.gettrace(), sys.getprofile(), threading.excepthook)
    yield from (warnings.showwarning, getattr(warnings, "_showwarnmsg_impl", None))
    yield from gc.callbacks
    for number in _SIGNALS:
        handler = signal.getsignal(number)
        if isinstance(handler, types.FunctionType | types.MethodType) and _module(handler) not in _PLAIN:
            yield handler
    for reference in list(getattr(logging, "_handlerList", ())):
        yield reference() if isinstance(reference, weakref.ref) else reference
    yield from _finalizers()
    yield from _tasks()
    yield from _waiting(namespace)


def _module(function: Any) -> str:
    return str(getattr(function, "__module__", "") or "").partition(".")[0]


def _finalizers() -> Iterator[object]:
    for info in list(getattr(weakref.finalize, "_registry", {}).values()):
        yield from (info.func, info.args, info.kwargs)


def _tasks() -> Iterator[object]:
    """Yield the coroutines of tasks alive, and what the loop is to call."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return
    for task in asyncio.all_tasks(loop):
        coroutine: Any = task.get_coro()
        if _code_module(getattr(coroutine, "cr_code", None)) not in _PLAIN:
            yield coroutine
    for handle in [*getattr(loop, "_scheduled", ()), *getattr(loop, "_ready", ())]:
        callback = getattr(handle, "_callback", None)
        if _module(callback) not in _PLAIN:
            yield from (callback, getattr(handle, "_args", None))


def _code_module(code: types.CodeType | None) -> str:
    if code is None:
        return ""
    file = code.co_filename
    return next((root for root in ("ipykernel", "IPython", "zmq", "tornado") if f"/{root}/" in file), "")


# -- threads ----------------------------------------------------------------------------------------------------------


def busy_thread(namespace: dict[str, object]) -> str:
    """Return the name of a thread that runs code of the user at this moment, or ""."""
    if threading.active_count() == 1:
        return ""
    here = threading.get_ident()
    frames = sys._current_frames()
    for thread in threading.enumerate():
        frame = frames.get(thread.ident or -1)
        if thread.ident != here and _module(type(thread)) not in _PLAIN:
            while frame is not None:
                if frame.f_globals is namespace or is_user_module(str(frame.f_globals.get("__name__"))):
                    return thread.name
                frame = frame.f_back
    return ""


def _waiting(namespace: dict[str, object]) -> Iterator[object]:
    """Yield what threads are to run that have not come to it yet (`threading.Timer`), or run without a frame of it."""
    if threading.active_count() == 1:
        return
    here = threading.current_thread()
    for thread in threading.enumerate():
        if thread is not here and _module(type(thread)) not in _PLAIN:
            target = getattr(thread, "_target", None)
            if _module(target) not in _PLAIN:
                yield from (target, getattr(thread, "_args", None), getattr(thread, "_kwargs", None))
            yield getattr(thread, "function", None)
            yield getattr(thread, "args", None)
