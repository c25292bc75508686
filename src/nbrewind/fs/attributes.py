"""Whose a file is, and what is attached to it besides its bytes."""

from __future__ import annotations

import os

from nbrewind.fs.probe import mutate

__all__ = ["chown", "owner_of", "set_attribute"]


def owner_of(status: os.stat_result) -> tuple[int, ...]:
    """Return the user and the group of a file, empty where any file that this process makes has both."""
    owner = (status.st_uid, status.st_gid)
    return () if owner == (os.geteuid(), os.getegid()) else owner


def chown(fd: int, owner: int, group: int) -> None:
    """Give the open file to *owner* and *group*, -1 for as it is. The set-user-ID and set-group-ID bits may go."""
    mutate("chown", fd, os.fchown, fd, owner, group)


def set_attribute(fd: int, name: str, value: bytes) -> None:
    """Attach the extended attribute *name* to the open file."""
    mutate("setxattr", fd, os.setxattr, fd, name, value)
