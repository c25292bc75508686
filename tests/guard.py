"""An audit hook that lets no test change anything outside its temporary folders.

It sees what Python itself opens for writing, removes, renames, makes or changes in this process and its forks; kernels
and other children are kept inside by the environment that `conftest` gives them.
"""

from __future__ import annotations

import os
import sys
from typing import Any

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_ONE_PATH = {
    "os.remove": 1,
    "os.rmdir": 1,
    "os.mkdir": 2,
    "os.chmod": 2,
    "os.chown": 3,
    "os.utime": 3,
    "os.truncate": None,
    "os.setxattr": None,
    "os.removexattr": None,
    "shutil.rmtree": None,
}


class OutsideTemporaryFolder(AssertionError):
    """A test tried to change something outside its temporary folders; the change was stopped."""


class Guard:
    """Stops and records every change outside *roots* while a test runs.

    Relative names are taken to be inside: each test runs in its own folder, and an `open` event does not tell the
    directory descriptor that a name is relative to.
    """

    def __init__(self) -> None:
        self.roots: tuple[str, ...] = ()
        self.active = False
        self.violations: list[str] = []

    def install(self) -> None:
        """Add the hook. It stays for the life of the process, and does nothing while inactive."""
        sys.addaudithook(self._hook)

    def allows(self, path: str) -> bool:
        """Return whether *path* (absolute) may be changed."""
        real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        return any(real == root or real.startswith(root + "/") for root in self.roots) or "/__pycache__" in real

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.active:
            return
        if event == "open":
            if isinstance(arguments[2], int) and arguments[2] & _WRITING:
                self._check(event, arguments[0], -1)
        elif event in _ONE_PATH:
            position = _ONE_PATH[event]
            self._check(event, arguments[0], arguments[position] if position is not None else -1)
        elif event in ("os.rename", "os.link"):
            self._check(event, arguments[1], arguments[3])
            if event == "os.rename":
                self._check(event, arguments[0], arguments[2])
        elif event == "os.symlink":
            self._check(event, arguments[1], arguments[2])

    def _check(self, event: str, path: Any, directory: Any) -> None:
        if isinstance(path, int):
            return
        name = os.fsdecode(path)
        if not os.path.isabs(name):
            if not isinstance(directory, int) or directory < 0:
                return
            self.active = False
            try:
                name = os.path.join(os.readlink(f"/proc/self/fd/{directory}"), name)
            except OSError:
                return
            finally:
                self.active = True
        self.active = False
        try:
            allowed = self.allows(name)
        finally:
            self.active = True
        if not allowed:
            self.violations.append(f"{event} {name}")
            raise OutsideTemporaryFolder(f"{event} {name}")


GUARD = Guard()
