"""What may run in any cell without being named there: hooks, handlers, tasks, threads, a redirected output."""

from __future__ import annotations

import asyncio
import functools
import gc
import io
import logging
import signal
import sys
import threading
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Final

from nbrewind.resources.variables.kinds import is_user_module, kind_of

__all__ = ["ambient", "busy_thread", "is_of_user"]

# Below `signal`, which looks each number up in an enumeration.
_handler: Final[Callable[[int], Any]] = import_module("_signal").getsignal
_CALLED: Final = (types.FunctionType, types.MethodType)
_SIGNALS: Final = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGCHLD", "SIGVTALRM", "SIGPROF", "SIGHUP")
    if hasattr(signal, name)
)
_STREAMS: Final = frozenset({io.StringIO, io.BytesIO})
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


def ambient(namespace: dict[str, object]) -> tuple[list[object], list[object]]:
    """Return what can come into play in any cell: what the user made of it, and what libraries did.

    Libraries' callbacks are many, and lead far; somewhere behind them there may be something of the user's.
    """
    own: list[object] = []
    others: list[object] = []
    for group in _groups(namespace):
        (own if any(is_of_user(one, namespace) for one in group) else others).extend(group)
    return own, others


def is_of_user(one: object, namespace: dict[str, object]) -> bool:
    """Return whether *one* is a function of a cell or of the user's modules, or leads to one."""
    cls = type(one)
    if cls is types.FunctionType:
        function: Any = one
        return function.__globals__ is namespace or is_user_module(str(function.__globals__.get("__name__")))
    if cls is types.MethodType:
        method: Any = one
        return is_of_user(method.__func__, namespace) or is_of_user(method.__self__, namespace)
    if cls is types.BuiltinFunctionType:
        return type(one.__self__) is not types.ModuleType  # type: ignore[attr-defined]
    if cls is functools.partial:
        return is_of_user(one.func, namespace)  # type: ignore[attr-defined]
    if cls is types.CoroutineType:
        frame = one.cr_frame  # type: ignore[attr-defined]
        return frame is not None and frame.f_globals is namespace
    kind = kind_of(cls)
    return kind.own or kind.foreign or cls in _STREAMS


def _groups(namespace: dict[str, object]) -> Iterator[tuple[object, ...]]:
    """Yield things that come together, each group with the function to be called first."""
    hooks = (sys.excepthook, sys.displayhook, sys.unraisablehook, sys.gettrace(), sys.getprofile())
    for one in (sys.stdout, sys.stderr, sys.stdin, *hooks, threading.excepthook, *gc.callbacks):
        yield (one,)
    yield (warnings.showwarning,)
    for handler in map(_handler, _SIGNALS):
        if isinstance(handler, _CALLED) and _module(handler) not in _PLAIN:
            yield (handler,)
    for reference in list(getattr(logging, "_handlerList", ())):
        handler = reference() if isinstance(reference, weakref.ref) else reference
        group = (handler, getattr(handler, "stream", None), *getattr(handler, "filters", ()))
        if any(is_of_user(one, namespace) for one in group):
            yield group
    yield from _finalizers(namespace)
    yield from _tasks()
    yield from _waiting(namespace)


def _module(function: Any) -> str:
    return str(getattr(function, "__module__", "") or "").partition(".")[0]


_finalizer_verdicts: dict[tuple[int, int], bool] = {}
"""By namespace and the number that each finalizer has for itself alone."""


def _finalizers(namespace: dict[str, object]) -> Iterator[tuple[object, ...]]:
    """Yield the user's finalizers. Libraries leave hundreds; what those clean up is their own."""
    registry: dict[Any, Any] = getattr(weakref.finalize, "_registry", {})
    if len(_finalizer_verdicts) > 2 * len(registry) + 1000:
        _finalizer_verdicts.clear()
    for info in list(registry.values()):
        key = (id(namespace), info.index)
        verdict = _finalizer_verdicts.get(key)
        if verdict is None:
            verdict = any(is_of_user(one, namespace) for one in (info.func, *info.args))
            _finalizer_verdicts[key] = verdict
        if verdict:
            yield (info.func, info.args, info.kwargs)


def _tasks() -> Iterator[tuple[object, ...]]:
    """Yield the coroutines of tasks alive, and what the loop is to call."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return
    for task in asyncio.all_tasks(loop):
        coroutine: Any = task.get_coro()
        if _code_module(getattr(coroutine, "cr_code", None)) not in _PLAIN:
            yield (coroutine,)
    for handle in [*getattr(loop, "_scheduled", ()), *getattr(loop, "_ready", ())]:
        callback = getattr(handle, "_callback", None)
        if _module(callback) not in _PLAIN:
            yield (callback, getattr(handle, "_args", None))


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
    # Our own holds this dictionary: kept in it, all that our callers look at would live until a collection.
    frames.pop(here, None)
    for thread in threading.enumerate():
        frame = frames.get(thread.ident or -1)
        if thread.ident != here and _module(type(thread)) not in _PLAIN:
            while frame is not None:
                if frame.f_globals is namespace or is_user_module(str(frame.f_globals.get("__name__"))):
                    return thread.name
                frame = frame.f_back
    return ""


def _waiting(namespace: dict[str, object]) -> Iterator[tuple[object, ...]]:
    """Yield what threads are to run that have not come to it yet (`threading.Timer`), or run without a frame of it."""
    if threading.active_count() == 1:
        return
    here = threading.current_thread()
    for thread in threading.enumerate():
        if thread is not here and _module(type(thread)) not in _PLAIN:
            target = getattr(thread, "_target", None)
            if _module(target) not in _PLAIN:
                yield (target, getattr(thread, "_args", None), getattr(thread, "_kwargs", None))
            yield (getattr(thread, "function", None), getattr(thread, "args", None))
