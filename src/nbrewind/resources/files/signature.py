"""What tells a changed entry from an unchanged one, without its bytes."""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from nbrewind.model import EntryKind

__all__ = ["FORMAT", "RawSignature", "Signature", "entry_kind", "raw_signature", "signature"]

RawSignature = tuple[int, int, int, int, int, int, int]
"""The fields of a `Signature`; plain because a walk makes one per file."""

FORMAT = 0o170000
"""The bits of `st_mode` that hold the type."""


class Signature(NamedTuple):
    """What tells a changed entry from an unchanged one, without its bytes. Equal to the raw tuple of its fields.

    Of directories only type, mode and device count, of FIFOs, sockets and devices the inode too.
    """

    st_mode: int
    mtime_ns: int
    ctime_ns: int
    size: int
    ino: int
    dev: int
    nlink: int

    @property
    def kind(self) -> EntryKind:
        """Return what stands there."""
        return entry_kind(self.st_mode)

    @property
    def mode(self) -> int:
        """Return the permission bits."""
        return stat.S_IMODE(self.st_mode)


def entry_kind(st_mode: int) -> EntryKind:
    """Return the kind that `st_mode` tells."""
    form = st_mode & FORMAT
    if form == stat.S_IFREG:
        return EntryKind.FILE
    if form == stat.S_IFDIR:
        return EntryKind.DIRECTORY
    return EntryKind.SYMLINK if form == stat.S_IFLNK else EntryKind.SPECIAL


def raw_signature(status: os.stat_result) -> RawSignature:
    """Return the signature of what `os.lstat` saw."""
    mode = status.st_mode
    form = mode & FORMAT
    if form == stat.S_IFDIR:
        return (mode, 0, 0, 0, 0, status.st_dev, 0)
    if form not in (stat.S_IFREG, stat.S_IFLNK):
        return (mode, 0, 0, 0, status.st_ino, status.st_dev, 0)
    return (
        *(mode, status.st_mtime_ns, status.st_ctime_ns, status.st_size),
        *(status.st_ino, status.st_dev, status.st_nlink),
    )


def signature(status: os.stat_result) -> Signature:
    """Return the signature of what `os.lstat` saw, with names for its fields."""
    return Signature(*raw_signature(status))
