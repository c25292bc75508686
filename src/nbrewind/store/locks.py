"""Who may write: one kernel for each session, and nobody who drops objects while others name them."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import time
from collections.abc import Iterator

from nbrewind import fs
from nbrewind.errors import RefusalReason, RewindRefused, SessionLocked, StoreError
from nbrewind.store.layout import SessionPaths, StorePaths

__all__ = ["GcLock", "SessionLock", "is_held"]

_TRIES = 500
_PAUSE = 0.001
_POLL = 0.02


class SessionLock:
    """The right to write one session, for the life of a kernel.

    An flock: it ends with its holder, however that ends, and no forked child keeps it.
    """

    def __init__(self, paths: SessionPaths) -> None:
        self._lock = fs.FileLock(paths.lock)
        self._root = paths.root

    @property
    def held(self) -> bool:
        """Whether this object holds the session."""
        return self._lock.held

    def acquire(self, holder: str) -> None:
        """Take the session and note *holder* for those who come later; creates the session's folder.

        Raises:
            SessionLocked: Another kernel holds it; the message names it.
            StoreError: The lock cannot be written.
        """
        named: str | None = None
        try:
            fs.make_directories(self._root)
            for _ in range(_TRIES):
                if self._lock.acquire():
                    self._note(holder)
                    return
                named = fs.lock_is_held(self._lock.path)
                if named is not None:
                    break
                # Nobody holds it: we met someone who looks (`is_held`), which takes microseconds.
                time.sleep(_PAUSE)
        except OSError as error:
            raise StoreError(f"The session {self._root} cannot be locked: {error.strerror or error}.") from error
        raise SessionLocked(
            f"The session is in use by {named or 'another kernel'}.",
            hint="Close it, or work with a session of its own.",
        )

    def stands(self) -> bool:
        """Return whether the session is still where it was when it was locked; False when its folder was removed."""
        return self._lock.stands()

    def release(self) -> None:
        """Give the session back; without effect when it is not held."""
        self._lock.release()

    def _note(self, holder: str) -> None:
        try:
            self._lock.write_holder(holder)
        except BaseException as error:
            # A full disk costs the name, not the session: it may have a rewind to roll back.
            if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
                return
            self._lock.release()
            raise


def is_held(paths: SessionPaths) -> str | None:
    """Return who holds the session, or None. Creates and writes nothing.

    Raises:
        StoreError: The lock cannot be looked at.
    """
    try:
        held = fs.lock_is_held(paths.lock)
    except OSError as error:
        raise StoreError(f"The lock of {paths.root} cannot be read: {error.strerror or error}.") from error
    return (held or "another kernel") if held is not None else None


class GcLock:
    """The lock between those who rely on objects that they found in the store and those who drop objects.

    Shared while objects are looked up and named, exclusive while objects are dropped. `generation` rises with every
    dropping; whoever sees it change forgets what it believed stored. The first never wait: without the lock they
    simply rely on nothing.
    """

    def __init__(self, paths: StorePaths) -> None:
        self._paths = paths

    @contextlib.contextmanager
    def try_shared(self) -> Iterator[bool]:
        """Yield whether objects found in the store may be relied on until the end of the block. Never waits."""
        lock = fs.FileLock(self._paths.gc_lock)
        try:
            held = lock.acquire(exclusive=False)
        except OSError:
            held = False
        try:
            yield held
        finally:
            with contextlib.suppress(OSError):
                lock.release()

    @contextlib.contextmanager
    def exclusive(self, timeout: float = 0.0) -> Iterator[None]:
        """Hold the store alone during the block; wait up to *timeout* seconds for it.

        Raises:
            RewindRefused: (busy) Somebody else used it all that time; the block did not run.
            StoreError: The lock cannot be written.
        """
        lock = fs.FileLock(self._paths.gc_lock)
        deadline = time.monotonic() + timeout
        try:
            while not lock.acquire():
                if time.monotonic() >= deadline:
                    raise RewindRefused(RefusalReason.BUSY, "Another kernel is writing to the store. Nothing changed.")
                time.sleep(_POLL)
        except OSError as error:
            raise StoreError(f"The store {self._paths.root} cannot be locked: {error.strerror or error}.") from error
        try:
            yield
        finally:
            lock.release()

    def generation(self) -> int:
        """Return the present generation; 0 in a store that never dropped anything, -1 where it cannot be read."""
        try:
            fd = os.open(self._paths.generation, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return 0
        except OSError:
            return -1
        try:
            text = os.read(fd, 32)
        except OSError:
            return -1
        finally:
            os.close(fd)
        return int(text) if text.strip().isdigit() else -1

    def raise_generation(self) -> int:
        """Make every session forget what it believed stored, and return the new generation. Only while exclusive.

        Raises:
            StoreError: It could not be written; nothing may be dropped.
        """
        present = self.generation()
        # After damage the count starts at a random place: a number used before would be taken as "nothing changed".
        raised = present + 1 if present >= 0 else secrets.randbits(48)
        try:
            fs.replace(self._paths.generation, b"%d\n" % raised)
        except OSError as error:
            raise StoreError(f"The generation cannot be raised: {error.strerror or error}.") from error
        return raised
