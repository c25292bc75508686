"""What this process, or another, could still write to: open files, shared mappings, live children. Linux, by /proc."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Callable, Iterator

from nbrewind.resources.files.mappings import shared_mappings

__all__ = ["WritableKind", "children", "writable_files"]

WritableKind = str
"""How a file can be written: "open", "append" or "mapped"."""


def writable_files(pid: int | None = None, *, below: str = "") -> dict[str, WritableKind]:
    """Return the regular files that the process can write without opening them, by real path.

    "mapped" beats "append" beats "open": a mapping can change bytes without any trace in the file's times. Files that
    have no name any more are left out. Nothing is returned where /proc does not tell.

    Args:
        pid: The process; this one by default.
        below: Only files at or below this real path.
    """
    base = f"/proc/{'self' if pid is None else pid}"
    found: dict[str, WritableKind] = {}
    descriptors = _own_descriptors(below) if pid is None else _descriptors(base, below)
    for path, kind in (*descriptors, *_mappings(base, below)):
        if kind == "mapped" or found.get(path) != "mapped":
            found[path] = "append" if found.get(path) == "append" and kind == "open" else kind
    return found


def children(pid: int | None = None) -> tuple[int, ...]:
    """Return the live descendants of the process (this one by default), without those that only wait to be reaped."""
    top = os.getpid() if pid is None else pid
    below = _children_by_task if os.path.exists(f"/proc/{top}/task/{top}/children") else _children_by_parent()
    found: list[int] = []
    stack = [top]
    while stack:
        for child in below(stack.pop()):
            stack.append(child)
            if _status(child)[1] not in ("Z", "X", ""):
                found.append(child)
    return tuple(sorted(found))


def _children_by_task(pid: int) -> list[int]:
    found: list[int] = []
    for task in _listed(f"/proc/{pid}/task"):
        # Of a thread that ends meanwhile the children go on below another.
        with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{task}/children", "rb") as file:
            found += map(int, file.read().split())
    return found


def _children_by_parent() -> Callable[[int], list[int]]:
    """Return the same for kernels that do not list children; every process of the machine is looked at."""
    parents: dict[int, list[int]] = {}
    for name in _listed("/proc"):
        if name.isdigit():
            parents.setdefault(_status(int(name))[0], []).append(int(name))
    return lambda pid: parents.get(pid, [])


def _descriptors(base: str, below: str) -> Iterator[tuple[str, WritableKind]]:
    for name in _listed(f"{base}/fd"):
        try:
            path = os.readlink(f"{base}/fd/{name}")
            # Pipes, sockets and the like have no path; most descriptors end here.
            if not _is_file_path(path) or not _is_below(path, below):
                continue
            with open(f"{base}/fdinfo/{name}", "rb") as info:
                flags = next((int(line[6:], 8) for line in info if line.startswith(b"flags:")), 0)
            status = os.stat(f"{base}/fd/{name}")
        except (OSError, ValueError):
            # Closed meanwhile, or another user's.
            continue
        if _may_write(flags) and _has_name(path, status):
            yield path, "append" if flags & os.O_APPEND else "open"


def _own_descriptors(below: str) -> Iterator[tuple[str, WritableKind]]:
    """Return the same for this process, of which the kernel tells without detours through names."""
    for name in _listed("/proc/self/fd"):
        number = int(name)
        try:
            status = os.fstat(number)
            # A kernel has fifty sockets and pipes, and hardly a file.
            if not stat.S_ISREG(status.st_mode) or not _may_write(flags := fcntl.fcntl(number, fcntl.F_GETFL)):
                continue
            path = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue
        if _is_file_path(path) and _is_below(path, below) and _has_name(path, status):
            yield path, "append" if flags & os.O_APPEND else "open"


def _may_write(flags: int) -> bool:
    return flags & os.O_ACCMODE != os.O_RDONLY and not flags & getattr(os, "O_PATH", 0)


def _mappings(base: str, below: str) -> Iterator[tuple[str, WritableKind]]:
    for path, inode in shared_mappings(base):
        if _is_file_path(path) and _is_below(path, below) and _same_inode(path, inode):
            yield path, "mapped"


def _is_file_path(path: str) -> bool:
    return path.startswith("/") and (not path.startswith(("/dev/", "/proc/")) or path.startswith("/dev/shm/"))


def _is_below(path: str, below: str) -> bool:
    return not below or path == below or path.startswith(below.rstrip("/") + "/")


def _has_name(path: str, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(status, os.lstat(path)) and stat.S_ISREG(status.st_mode)
    except OSError:
        return False


def _same_inode(path: str, inode: int) -> bool:
    try:
        return os.lstat(path).st_ino == inode
    except OSError:
        return False


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _status(pid: int) -> tuple[int, str]:
    """Return parent and state of a process, "" for one that is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name stands in parentheses and may itself hold any character.
            fields = file.read().rpartition(b")")[2].split()
        return int(fields[1]), fields[0].decode("ascii")
    except (OSError, ValueError, IndexError):
        return 0, ""
