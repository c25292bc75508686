"""Whole files written at once: new ones, and atomic replacements."""

from __future__ import annotations

import contextlib
import os
import re

from nbrewind.fs.descriptors import create_file, sync_directory, sync_file, write
from nbrewind.fs.entries import rename, unlink
from nbrewind.fs.exchange import temporary_name
from nbrewind.fs.probe import Buffer, StrPath

__all__ = ["TEMPORARY", "replace", "sweep_temporaries", "write_new"]

TEMPORARY = re.compile(r"\.nbrewind-[0-9a-f]{16}\.tmp")


def write_new(path: StrPath, data: Buffer, *, mode: int = 0o600, sync: bool = False) -> None:
    """Create *path*, which must not exist, with *data*; with *sync* it survives a power cut.

    A failure leaves nothing behind; a death may leave a part of the file.
    """
    fd = create_file(path, mode)
    try:
        try:
            write(fd, data)
            if sync:
                sync_file(fd)
        finally:
            os.close(fd)
        if sync:
            sync_directory(_parent(path))
    except BaseException:
        with contextlib.suppress(OSError):
            unlink(path)
        raise


def replace(path: StrPath, data: Buffer, *, mode: int = 0o600, sync: bool = True) -> None:
    """Put *data* at *path* so that every reader, and every death, sees the old or the new bytes and never a part.

    With *sync* the new bytes survive a power cut once this returns. After an error from the last step the new bytes
    may be in place. A death may leave a temporary file beside, which `sweep_temporaries` removes.
    """
    directory = _parent(path)
    temporary = os.path.join(directory, temporary_name())
    fd = create_file(temporary, mode)
    try:
        try:
            write(fd, data)
            if sync:
                # Before the rename: else a power cut can leave the new name with no bytes in it.
                sync_file(fd)
        finally:
            os.close(fd)
        rename(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            unlink(temporary)
        raise
    if sync:
        sync_directory(directory)


def sweep_temporaries(directory: StrPath) -> int:
    """Remove what replacements left in *directory* when they were killed, and return how many files that was.

    Only for a caller that holds the lock under which the directory is written.
    """
    swept = 0
    for name in os.listdir(directory):
        if TEMPORARY.fullmatch(name):
            with contextlib.suppress(OSError):
                unlink(os.path.join(directory, name))
                swept += 1
    return swept


def _parent(path: StrPath) -> str:
    return os.path.dirname(os.fspath(path)) or "."
