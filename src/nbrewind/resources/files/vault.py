"""The bytes of secret files: in this process's memory, and nowhere else."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from typing import Final

from nbrewind.model import FileState

__all__ = ["LARGEST_SECRET", "Vault"]

LARGEST_SECRET: Final = 1 << 20
_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY
_BUDGET: Final = 64 << 20
_Key = tuple[str, int, int]


class Vault:
    """What stood in secret files, by absolute path, size and time of change: all that a checkpoint says of them.

    Invariant: nothing here reaches a disk but the secret file itself, when it is put back; the end of the process is
    the end of it. Two contents with one size and time at one path cannot be told apart, so neither is given.
    Beyond its budget the oldest contents go. Thread-safe.
    """

    def __init__(self, budget: int = _BUDGET) -> None:
        self._budget = budget
        self._lock = threading.Lock()
        self._contents: dict[_Key, bytes | None] = {}
        self._held = 0

    def keep(self, path: str, state: FileState, content: bytes) -> bool:
        """Keep *content* as what stood at *path* in *state*; return whether it can be given back."""
        if not state.is_secret or len(content) != state.size or len(content) > LARGEST_SECRET:
            return False
        key = (path, state.size, state.mtime_ns)
        with self._lock:
            known = self._contents.pop(key, content)
            self._contents[key] = kept = content if known == content else None
            self._held = sum(len(one or b"") for one in self._contents.values())
            while self._held > self._budget:
                self._held -= len(self._contents.pop(next(iter(self._contents))) or b"")
        return kept is not None

    def look(self, path: str, state: FileState, opened: Callable[[], int] | None = None) -> bool:
        """Read *path* (by *opened*, a descriptor of it) if it still is in *state*; return whether it can be given back.

        Raises:
            OSError: It cannot be read.
        """
        if not state.is_secret or state.size > LARGEST_SECRET or self.holds(path, state):
            return self.holds(path, state)
        fd = os.open(path, _READ) if opened is None else opened()
        try:
            before = os.fstat(fd)
            content = os.pread(fd, LARGEST_SECRET + 1, 0) if stat.S_ISREG(before.st_mode) else b""
            stamps = {(now.st_size, now.st_mtime_ns) for now in (before, os.fstat(fd))}
        finally:
            os.close(fd)
        return stamps == {(state.size, state.mtime_ns)} and self.keep(path, state, content)

    def read(self, path: str, state: FileState) -> bytes | None:
        """Return what stood at *path* in *state*; None if that is not known, or no more."""
        with self._lock:
            return self._contents.get((path, state.size, state.mtime_ns)) if state.is_secret else None

    def holds(self, path: str, state: FileState) -> bool:
        """Return whether `read` would give something."""
        return self.read(path, state) is not None
