"""What writers that died left in `incoming`: found at the next opening, and removed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import time

from nbrewind import fs

__all__ = ["remove", "sweep"]

_OLD = 3600.0


def sweep(incoming: str) -> int:
    """Remove the files and directories of dead writers, and return how many there were.

    One goes when nobody holds its lock and its process is gone, or when it is so old that the number may be another
    process's by now. A writer in another container, whose process is not to be seen from here, still holds its lock.
    """
    try:
        names = os.listdir(incoming)
    except FileNotFoundError:
        return 0
    swept = 0
    for name in names:
        if _abandoned(incoming, name):
            with contextlib.suppress(OSError):
                remove(f"{incoming}/{name}")
                swept += 1
    return swept


def remove(path: str) -> None:
    """Remove the file or directory *path* with everything in it."""
    if stat.S_ISDIR(os.lstat(path).st_mode):
        for name in os.listdir(path):
            remove(f"{path}/{name}")
        fs.rmdir(path)
    else:
        fs.unlink(path)


def _abandoned(incoming: str, name: str) -> bool:
    locked = f"{incoming}/{name.removesuffix('.idx')}.pack" if name.endswith(".idx") else f"{incoming}/{name}"
    try:
        fd = os.open(locked, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        # An index whose pack is gone already.
        return name.endswith(".idx") and not _alive(name)
    except OSError:
        return False
    try:
        if _alive(name) and time.time() - os.fstat(fd).st_mtime < _OLD:
            return False
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def _alive(name: str) -> bool:
    pid = name.split("-", 1)[0]
    if not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
