"""Making the names and modes of moves survive a power cut."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable

from nbrewind import fs
from nbrewind.resources.files.moves import Move
from nbrewind.resources.files.places import Places

__all__ = ["flush_directories", "set_mode"]

_GONE = (errno.ENOENT, errno.ENOTDIR)


def flush_directories(moves: Iterable[Move], places: Places) -> None:
    """Flush every directory in which *moves* change names; one that is gone or cannot be read has nothing to flush.

    Raises:
        OSError: A flush failed: what a power cut would leave is unknown.
    """
    paths = {os.path.dirname(path) for move in moves for path in (move.path, move.origin) if path}
    for path in sorted(paths):
        try:
            fd = places.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except PermissionError:
            continue
        except OSError as error:
            if error.errno in _GONE:
                continue
            raise
        try:
            fs.sync_directory(fd)
        finally:
            os.close(fd)


def set_mode(path: str, mode: int, places: Places) -> None:
    """Give the file or directory at *path* the permissions *mode*, and flush them where it can be opened."""
    with places.parent(path) as (parent, name):
        fs.chmod(name, mode, dir_fd=parent)
    try:
        fd = places.open(path)
    except PermissionError:
        return
    try:
        fs.sync_file(fd)
    finally:
        os.close(fd)
