"""Where a path given to an operating-system call really lies, resolved at the moment of the call.

Nothing here is cached: the working directory, links and descriptors may be others at the next call. Nothing opens what
could block: an `O_PATH` descriptor only names a file.
"""

from __future__ import annotations

import errno
import os
import stat as stats
from typing import Final

__all__ = ["Unresolvable", "absolute", "by_descriptor", "entry", "state", "target"]

_O_PATH: Final = getattr(os, "O_PATH", 0)
_FAILS_ALIKE: Final = frozenset(
    {errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP, errno.ENAMETOOLONG, errno.EPERM}
)


class Unresolvable(Exception):
    """A path that cannot be followed.

    *quiet*: the user's own call will fail in the same way, or the file has no name, so there is nothing to tell.
    """

    def __init__(self, subject: str, reason: str, *, quiet: bool = False) -> None:
        super().__init__(f"{subject}: {reason}")
        self.subject = subject
        self.reason = reason
        self.quiet = quiet


def _failure(subject: str, error: OSError) -> Unresolvable:
    return Unresolvable(subject, error.strerror or str(error), quiet=error.errno in _FAILS_ALIKE)


def by_descriptor(descriptor: int) -> str:
    """Return the path of the file behind *descriptor*.

    Raises:
        Unresolvable: It is closed, has no name (pipe, socket, memory) or its name is gone.
    """
    try:
        name = os.readlink(f"/proc/self/fd/{descriptor}")
        if not name.startswith("/") or os.fstat(descriptor).st_nlink == 0:
            raise Unresolvable(name, "has no name", quiet=True)
    except OSError as error:
        raise Unresolvable(f"descriptor {descriptor}", error.strerror or "closed", quiet=True) from error
    return name


def absolute(path: object, directory: int | None = None) -> str:
    """Return *path* as the call means it: below *directory* or the working directory, links not yet followed.

    Raises:
        Unresolvable: The working directory was deleted, or *path* is no path.
    """
    if isinstance(path, int):
        return by_descriptor(path)
    if not isinstance(path, str | bytes | os.PathLike):
        raise Unresolvable(repr(path)[:80], "is no path", quiet=True)
    name = os.fsdecode(path)
    if not name or "\0" in name:
        raise Unresolvable(name, "is no path", quiet=True)
    if name.startswith("/"):
        return name
    if directory is not None and directory >= 0:
        return f"{by_descriptor(directory)}/{name}"
    try:
        return f"{os.getcwd()}/{name}"
    except OSError as error:
        raise Unresolvable(name, "the working directory was deleted") from error


def _real(path: str) -> str:
    """Return the real path of *path*, which exists (OSError otherwise)."""
    if not _O_PATH:
        return os.path.realpath(path, strict=True)
    descriptor = os.open(path, _O_PATH | os.O_CLOEXEC)
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except FileNotFoundError:  # no /proc here
        return os.path.realpath(path, strict=True)
    finally:
        os.close(descriptor)


def entry(path: object, directory: int | None = None) -> str:
    """Return the directory entry that *path* names: its parents followed, its last component not.

    Raises:
        Unresolvable: A parent does not exist or cannot be searched, so the call fails too.
    """
    name = absolute(path, directory).rstrip("/") or "/"
    head, _, tail = name.rpartition("/")
    try:
        if tail in ("", ".", ".."):
            return _real(name)
        parent = _real(head or "/")
    except OSError as error:
        raise _failure(name, error) from error
    return f"{parent.rstrip('/')}/{tail}"


def target(path: object, directory: int | None = None) -> str:
    """Return the file that opening *path* would reach, every link followed; it need not exist yet.

    Raises:
        Unresolvable: Neither it nor a place to create it exists.
    """
    name = absolute(path, directory)
    try:
        return _real(name)
    except FileNotFoundError:
        # Nothing there, or a dangling link: then the link's target is what would be created.
        return entry(os.path.realpath(name) if os.path.lexists(name) else name)
    except OSError as error:
        raise _failure(name, error) from error


def state(path: str) -> os.stat_result | None:
    """Return the `lstat` of *path*, None where nothing stands.

    Raises:
        Unresolvable: It cannot be told ("cannot read" is not "does not exist").
    """
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _failure(path, error) from error


def is_directory(found: os.stat_result | None) -> bool:
    """Return whether *found* is a directory."""
    return found is not None and stats.S_ISDIR(found.st_mode)


def is_regular(found: os.stat_result | None) -> bool:
    """Return whether *found* is an ordinary file."""
    return found is not None and stats.S_ISREG(found.st_mode)
