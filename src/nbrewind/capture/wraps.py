"""Thin wraps around the few calls that raise no audit event, or one that leaves out what is needed.

`os.open` with `dir_fd` (its event has no `dir_fd`), `os.mkfifo` and `os.mknod`, `Thread.start` (which turn a thread
belongs to), `multiprocessing` (spawn and forkserver children raise no event). Each wrap calls the original with the
very arguments it got; `uninstall` puts the original objects back, or leaves a passive wrap inside where somebody has
wrapped it again. Nothing of `builtins.open`, pathlib or shutil is wrapped: the audit hook sees them, prebound names
included.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from typing import Any, Final

from nbrewind.capture import hook, origins
from nbrewind.capture.events import WRITE_FLAGS, asked_directory

__all__ = ["install", "uninstall"]

_MARK: Final = "__nbrewind_original__"
_SUPPORT_SETS: Final = ("supports_dir_fd", "supports_fd", "supports_follow_symlinks", "supports_effective_ids")
_active = False
_placed: list[tuple[Any, str, Any]] = []


def install() -> None:
    """Put the wraps in place. Twice is once."""
    global _active
    _active = True
    if _placed:
        return
    _place(os, "open", _wrapped_open)
    for name in ("mkfifo", "mknod"):
        if hasattr(os, name):
            _place(os, name, functools.partial(_wrapped_node, f"os.{name}"))
    _place(threading.Thread, "start", _wrapped_thread_start)
    from multiprocessing.process import BaseProcess

    _place(BaseProcess, "start", _wrapped_process_start)
    try:
        import _posixsubprocess
    except ImportError:
        return
    _place(_posixsubprocess, "fork_exec", _wrapped_fork_exec)


def uninstall() -> None:
    """Put the originals back. Twice is fine."""
    global _active
    _active = False
    kept = []
    for owner, name, wrap in reversed(_placed):
        if vars(owner).get(name) is wrap:
            setattr(owner, name, getattr(wrap, _MARK))
            _mirror(wrap, getattr(wrap, _MARK), remove=True)
        else:
            # Somebody wrapped ours: taking it out would drop theirs. It stays inside, passive.
            kept.append((owner, name, wrap))
    _placed[:] = kept


def _place(owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    original = vars(owner)[name]
    # A wrap that an earlier copy of this module left (a reload) is replaced, not wrapped.
    original = getattr(original, _MARK, original)
    wrap = make(original)
    setattr(wrap, _MARK, original)
    setattr(owner, name, wrap)
    _placed.append((owner, name, wrap))
    _mirror(original, wrap, remove=False)


def _mirror(known: Any, other: Any, *, remove: bool) -> None:
    """Let *other* be in the `os.supports_*` sets that *known* is in; shutil and others ask them about `os.open`."""
    for name in _SUPPORT_SETS:
        members: set[Any] = getattr(os, name, set())
        if known in members:
            members.add(other)
            if remove:
                members.discard(known)


def _wrapped_open(original: Callable[..., int]) -> Callable[..., int]:
    @functools.wraps(original)
    def open_in(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if dir_fd is None or not _active or not flags & WRITE_FLAGS:
            return original(path, flags, mode, dir_fd=dir_fd)
        outer, asked_directory.directory = asked_directory.directory, dir_fd
        try:
            return original(path, flags, mode, dir_fd=dir_fd)
        finally:
            asked_directory.directory = outer

    return open_in


def _wrapped_node(event: str, original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def make_node(path: Any, *args: Any, dir_fd: int | None = None, **named: Any) -> None:
        if _active:
            hook.report(event, (path, -1 if dir_fd is None else dir_fd))
        return original(path, *args, dir_fd=dir_fd, **named)

    return make_node


def _wrapped_thread_start(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def start(self: threading.Thread, *args: Any, **named: Any) -> None:
        if _active:
            try:
                origins.mark(self)
            except Exception as error:  # noqa: BLE001 - a thread class may refuse attributes; it starts all the same
                hook.note_failure("Thread.start", error)
        return original(self, *args, **named)

    return start


def _wrapped_process_start(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def start(self: Any, *args: Any, **named: Any) -> None:
        if _active:
            hook.report("nbrewind.process", (f"multiprocessing: {self.name}",))
        return original(self, *args, **named)

    return start


def _wrapped_fork_exec(original: Callable[..., int]) -> Callable[..., int]:
    @functools.wraps(original)
    def fork_exec(args: Any, *rest: Any, **named: Any) -> int:
        if _active:
            hook.report("nbrewind.process", (args,))
        return original(args, *rest, **named)

    return fork_exec
