"""The one gate that every change of the disk passes, and the probe that tests put into it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import ParamSpec, Protocol, TypeVar

__all__ = ["Buffer", "Probe", "StrPath", "install_probe", "mutate", "mutate_bytes", "mutating_child"]

P = ParamSpec("P")
T = TypeVar("T")

StrPath = str | os.PathLike[str]
Buffer = bytes | bytearray | memoryview


class Probe(Protocol):
    """Told of every mutating call; a fault harness raises or kills from inside these methods.

    *call* is the operation's short name ("write", "rename", "fsync" ...), *target* an absolute path where it is known.
    """

    def before(self, call: str, target: str, size: int) -> int | None:
        """Answer None to go on. An integer, for "write" only: that many bytes are written, then `torn` is called."""

    def torn(self, call: str, target: str) -> None:
        """Run after a part of a write is in the file; when it returns, the rest is written."""

    def after(self, call: str, target: str) -> None:
        """Run after the effect."""


_probe: Probe | None = None


def install_probe(probe: Probe | None) -> None:
    """Install *probe* for the whole process, or remove it with None. Only tests do this."""
    global _probe
    _probe = probe


def mutate(call: str, target: StrPath | int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run *function*, which changes *target* (a path or a descriptor), and return what it returns."""
    probe = _probe
    if probe is None:
        return function(*args, **kwargs)
    name = _named(target, kwargs.get("dir_fd") or kwargs.get("src_dir_fd"))
    probe.before(call, name, 0)
    result = function(*args, **kwargs)
    try:
        probe.after(call, name)
    except BaseException:
        # The caller never learns of a descriptor when the error comes after its creation.
        if call == "create" and isinstance(result, int):
            os.close(result)
        raise
    return result


def mutate_bytes(fd: int, data: Buffer, position: int | None = None) -> None:
    """Write all of *data* to *fd*, at *position* or at the descriptor's own."""
    probe = _probe
    if probe is None:
        _write_all(fd, data, position)
        return
    name, view, done = _named(fd, None), memoryview(data).cast("B"), 0
    torn = probe.before("write", name, len(view))
    if torn is not None:
        done = max(0, min(torn, len(view)))
        _write_all(fd, view[:done], position)
        probe.torn("write", name)
    _write_all(fd, view[done:], None if position is None else position + done)
    probe.after("write", name)


def mutating_child(name: str, function: Callable[[], T]) -> T:
    """Run *function*, which starts a child process that changes the disk (git), and return what it returns."""
    return mutate("child", name, function)


def _write_all(fd: int, data: Buffer, position: int | None) -> None:
    written = os.write(fd, data) if position is None else os.pwrite(fd, data, position)
    size = data.nbytes if isinstance(data, memoryview) else len(data)
    if written == size:
        return
    view = memoryview(data).cast("B")
    while written < size:
        # A short write is a signal or a full disk; the next call says which.
        rest = view[written:]
        written += os.write(fd, rest) if position is None else os.pwrite(fd, rest, position + written)


def _named(target: StrPath | int, dir_fd: object) -> str:
    if isinstance(target, int):
        return _descriptor_path(target)
    name = os.fspath(target)
    if isinstance(dir_fd, int) and not name.startswith("/"):
        return f"{_descriptor_path(dir_fd)}/{name}"
    return name


def _descriptor_path(fd: int) -> str:
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/self/fd/{fd}")
    return f"fd:{fd}"
