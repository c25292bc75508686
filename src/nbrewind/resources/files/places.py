"""Where the paths of a plan are on the disk: below the workspace, or absolute outside of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from nbrewind import fs

__all__ = ["Places"]

_ABSENT = (FileNotFoundError, NotADirectoryError)


class Places:
    """The workspace, and the rest of the file system through its root, both guarded against ways out.

    Invariant: no call follows a symbolic link in any component, so that a directory swapped for a link while a rewind
    runs leads nowhere.
    """

    def __init__(self, workspace: str) -> None:
        self.workspace = workspace
        self._inside = fs.Root(workspace)
        self._outside: fs.Root | None = None

    def _root(self, path: str) -> tuple[fs.Root, str]:
        if not path.startswith("/"):
            return self._inside, path
        if self._outside is None:
            self._outside = fs.Root("/")
        return self._outside, path[1:]

    @contextmanager
    def parent(self, path: str) -> Iterator[tuple[int, str]]:
        """Yield the directory of *path*, open, and its last component.

        Raises:
            OutsideRoot: A component is a symbolic link, or leads out.
            OSError: The directory is not there, or cannot be entered.
        """
        root, relative = self._root(path)
        with root.parent(relative) as (fd, name):
            yield fd, name

    def open(self, path: str, flags: int = os.O_RDONLY) -> int:
        """Open *path* itself; a FIFO never blocks."""
        root, relative = self._root(path)
        return root.open(relative, flags | os.O_NONBLOCK | os.O_NOCTTY)

    def status(self, path: str) -> os.stat_result | None:
        """Return the status of *path* itself, None where nothing stands or a parent is missing."""
        root, relative = self._root(path)
        try:
            return root.lstat(relative)
        except _ABSENT:
            return None

    def target(self, path: str) -> bytes:
        """Return what the symbolic link at *path* says."""
        with self.parent(path) as (fd, name):
            return os.readlink(os.fsencode(name), dir_fd=fd)

    def names(self, path: str) -> list[str]:
        """Return the names in the directory at *path*, sorted."""
        fd = self.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            return sorted(os.listdir(fd))
        finally:
            os.close(fd)

    def shown(self, path: str) -> str:
        """Return *path* as an absolute path, for the file system's own view of it."""
        return path if path.startswith("/") else os.path.join(self.workspace, path)

    def close(self) -> None:
        """Close both roots; twice is fine."""
        self._inside.close()
        if self._outside is not None:
            self._outside.close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close both roots."""
        self.close()
