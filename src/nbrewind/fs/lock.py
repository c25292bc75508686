"""A lock between processes that dies with its holder."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import threading

from nbrewind.fs.descriptors import set_exact_mode
from nbrewind.fs.probe import StrPath, mutate, mutate_bytes

__all__ = ["FileLock", "lock_is_held"]

_HOLDER_LIMIT = 4096
_BUSY = frozenset({errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES})
_held: set[FileLock] = set()
# Held while a descriptor is opened and registered, so that no fork can copy one that the child does not know of.
# Re-entrant: a signal handler may fork inside.
_registry = threading.RLock()


class FileLock:
    """An flock on a file that stays when the lock is released; its text names the last holder.

    The kernel frees it when the holder ends, however it ends; there is no stale lock. A forked child closes its copy
    of the descriptor at once and so never keeps the lock; children that are started (exec) do not inherit it. Only a
    fork that Python does not see, in a C library, keeps it until that child ends.
    Two objects exclude each other inside one process too.
    """

    def __init__(self, path: StrPath) -> None:
        self.path = os.fspath(path)
        self._fd = -1

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._fd >= 0

    def acquire(self, *, exclusive: bool = True, blocking: bool = False) -> bool:
        """Take the lock and return whether it is held now.

        Raises:
            OSError: The file cannot be opened or created, or its file system has no locks.
        """
        if self.held:
            raise RuntimeError(f"BUG: {self.path} is already held by this object")
        kind = (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | (0 if blocking else fcntl.LOCK_NB)
        while True:
            self._open()
            try:
                mutate("lock", self.path, fcntl.flock, self._fd, kind)
                if self.stands():
                    return True
            except BaseException as error:
                self._close()
                if isinstance(error, OSError) and error.errno in _BUSY and not blocking:
                    return False
                raise
            # Somebody removed or replaced the file while we waited: what we locked excludes nobody.
            self._close()

    def release(self) -> None:
        """Give the lock back; without effect when it is not held."""
        if not self.held:
            return
        try:
            # Explicitly: closing alone would leave it to a child that got a copy unseen.
            mutate("unlock", self.path, fcntl.flock, self._fd, fcntl.LOCK_UN)
        finally:
            self._close()

    def stands(self) -> bool:
        """Return whether the path still names the file that this object has locked."""
        if not self.held:
            return False
        try:
            there, ours = os.stat(self.path, follow_symlinks=False), os.fstat(self._fd)
        except FileNotFoundError:
            return False
        return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)

    def write_holder(self, text: str) -> None:
        """Write who holds the lock, for those who are refused. Only while it is held."""
        if not self.held:
            raise RuntimeError(f"BUG: {self.path} is not held")
        data = text.encode("utf-8", "replace")[:_HOLDER_LIMIT]
        # The end is cut first: half of the old text after the new one would name nobody.
        mutate("truncate", self.path, os.ftruncate, self._fd, 0)
        mutate_bytes(self._fd, data, 0)

    def read_holder(self) -> str:
        """Return the text of the present or last holder; empty when there is none."""
        return _holder_text(self.path)

    def _open(self) -> None:
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
        with _registry:
            try:
                self._fd = os.open(self.path, flags)
            except FileNotFoundError:
                self._fd = mutate("create", self.path, os.open, self.path, flags | os.O_CREAT, 0o600)
            _held.add(self)
            try:
                set_exact_mode(self._fd, 0o600)
            except PermissionError:
                pass  # another user's file in a shared store: the mode is theirs to set
            except BaseException:
                self._close()
                raise

    def _close(self) -> None:
        with _registry:
            fd, self._fd = self._fd, -1
            _held.discard(self)
            if fd >= 0:
                os.close(fd)


def lock_is_held(path: StrPath) -> str | None:
    """Return the holder's text if somebody holds *path* exclusively, else None. Creates and writes nothing.

    The answer is got by a shared lock for a few microseconds, so whoever takes the lock must try more than once.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.flock(fd, fcntl.LOCK_UN)
    except OSError as error:
        if error.errno not in _BUSY:
            raise
        return _holder_text(os.fspath(path))
    finally:
        os.close(fd)
    return None


def _holder_text(path: str) -> str:
    with contextlib.suppress(FileNotFoundError):
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            return os.read(fd, _HOLDER_LIMIT).decode("utf-8", "replace").strip()
        finally:
            os.close(fd)
    return ""


def _before_fork() -> None:
    _registry.acquire()


def _after_fork_in_parent() -> None:
    _registry.release()


def _after_fork_in_child() -> None:
    for lock in _held:
        fd, lock._fd = lock._fd, -1
        with contextlib.suppress(OSError):
            os.close(fd)  # closing never unlocks what the parent holds; LOCK_UN would
    _held.clear()
    _registry.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
