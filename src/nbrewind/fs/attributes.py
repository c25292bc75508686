"""Whose a file is, and what is attached to it besides its bytes."""

from __future__ import annotations

import os

from nbrewind.fs.probe import mutate

__all__ = ["chown", "set_attribute"]


def chown(fd: int, owner: int, group: int) -> None:
    """Give the open file to *owner* and *group*, -1 for as it is. The set-user-ID and set-group-ID bits may go."""
    mutate("chown", fd, os.fchown, fd, owner, group)


def set_attribute(fd: int, name: str, value: bytes) -> None:
    """Attach the extended attribute *name* to the open file."""
    mutate("setxattr", fd, os.setxattr, fd, name, value)
