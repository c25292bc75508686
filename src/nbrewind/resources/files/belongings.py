"""What belongs to a file besides bytes, mode and time: its owner, group, extended attributes and access list."""

from __future__ import annotations

import os
from collections.abc import Iterator

from nbrewind import fs

__all__ = ["hand_on"]

_ACCESS_LIST = "system.posix_acl_access"


def hand_on(present: int, staged: int) -> Iterator[str]:
    """Give the file open as *staged* what belongs to the one open as *present*; yield what cannot be kept.

    Changing an owner takes mode bits away, and an access list changes the mode: set the mode afterwards.
    """
    old, new = os.fstat(present), os.fstat(staged)
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        yield from _hand_over(staged, old, new)
    try:
        names = os.listxattr(present)
    except OSError:
        return
    kept = [name for name in names if name.startswith("user.") or name == _ACCESS_LIST]
    lost = [name for name in kept if not _copied(present, staged, name)]
    if _ACCESS_LIST in lost:
        yield "its access list could not be kept"
    lost = [name for name in lost if name != _ACCESS_LIST]
    if lost:
        yield f"extended attributes could not be kept: {', '.join(sorted(lost))}"


def _hand_over(fd: int, old: os.stat_result, new: os.stat_result) -> Iterator[str]:
    try:
        fs.chown(fd, old.st_uid, old.st_gid)
        return
    except OSError:
        if old.st_uid != new.st_uid:
            yield f"its owner (user {old.st_uid}) could not be kept"
    if old.st_gid != new.st_gid:
        try:
            fs.chown(fd, -1, old.st_gid)
        except OSError:
            yield f"its group ({old.st_gid}) could not be kept"


def _copied(present: int, staged: int, name: str) -> bool:
    try:
        fs.set_attribute(staged, name, os.getxattr(present, name))
    except OSError:
        return False
    return True
