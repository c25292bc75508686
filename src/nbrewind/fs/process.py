"""This process, replaced by another program: what that one changes cannot be counted here."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from nbrewind.fs.probe import mutate

__all__ = ["become"]


def become(command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Let this process go on as *command*. Returns only by raising OSError."""
    mutate("exec", command[0], os.execve, command[0], list(command), dict(environment))
