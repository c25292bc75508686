"""What belongs to a file besides bytes, mode and time: its owner, group, extended attributes and access list."""

from __future__ import annotations

import os
from collections.abc import Iterator

from nbrewind import fs

__all__ = ["give_back", "hand_on"]

_ACCESS_LIST = "system.posix_acl_access"


def give_back(owner: tuple[int, ...], staged: int) -> Iterator[str]:
    """Give the file open as *staged* to its *owner*; yield what cannot be given back. The mode is set afterwards."""
    if len(owner) == 2:
        yield from _hand_over(staged, owner, "given back")


def hand_on(present: int, staged: int) -> Iterator[str]:
    """Give the file open as *staged* what belongs to the one open as *present*; yield what cannot be kept.

    Changing an owner takes mode bits away, and an access list changes the mode: set the mode afterwards.
    """
    old = os.fstat(present)
    yield from _hand_over(staged, (old.st_uid, old.st_gid), "kept")
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


def _hand_over(fd: int, owner: tuple[int, ...], kept: str) -> Iterator[str]:
    (user, group), status = owner, os.fstat(fd)
    if owner == (status.st_uid, status.st_gid):
        return
    try:
        fs.chown(fd, user, group)
        return
    except OSError:
        if user != status.st_uid:
            yield f"its owner (user {user}) could not be {kept}"
    if group != status.st_gid:
        try:
            fs.chown(fd, -1, group)
        except OSError:
            yield f"its group ({group}) could not be {kept}"


def _copied(present: int, staged: int, name: str) -> bool:
    try:
        fs.set_attribute(staged, name, os.getxattr(present, name))
    except OSError:
        return False
    return True
