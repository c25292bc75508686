"""What can be known to fail before anything is written: no permission, a file that may not change, no space."""

from __future__ import annotations

import array
import errno
import fcntl
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable

from nbrewind.errors import RefusalReason, RewindRefused
from nbrewind.model import EntryKind, FileState
from nbrewind.resources.files.moves import Move, MoveKind, Phase
from nbrewind.resources.files.places import Places
from nbrewind.resources.obstacles import refusal
from nbrewind.store.shadow.chunks import CHUNK, Pointer, zero_digest
from nbrewind.store.shadow.repository import ShadowRepository

__all__ = ["Preflight"]

_GET_FLAGS = 0x80086601
_IMMUTABLE, _APPEND_ONLY = 0x10, 0x20


class Preflight:
    """Looks at every directory and file that *moves* change. A pass is no promise: staging and applying still tell."""

    def __init__(
        self, moves: Iterable[Move], places: Places, repository: ShadowRepository, present: Callable[[str], str]
    ) -> None:
        self._moves = tuple(moves)
        self._places = places
        self._repository = repository
        self._present = present
        self._becoming_writable = {move.path for move in self._moves if move.phase is Phase.EARLY}

    def check(self) -> None:
        """Return if nothing speaks against the moves.

        Raises:
            RewindRefused: (read-only, disk-full) the message names the path.
        """
        needed: Counter[int] = Counter()
        samples: dict[int, tuple[int, str]] = {}
        for move in self._moves:
            path = self._present(move.path) if move.kind is not MoveKind.RENAME else move.origin
            try:
                with self._places.parent(path) as (parent, name):
                    self._check_directory(move, parent)
                    self._check_entry(move, parent, name)
                    device = os.fstat(parent).st_dev
                    needed[device] += self._size(move)
                    samples.setdefault(device, (_free(parent), move.path))
            except OSError as error:
                raise refusal(move.path, error) from error
        for device, (free, path) in samples.items():
            if 0 <= free < needed[device]:
                text = f"{path}: no space: {needed[device]:,} bytes are needed and {free:,} are free. Nothing changed."
                raise RewindRefused(RefusalReason.DISK_FULL, text, hint="Free some space and try again.")

    def _check_directory(self, move: Move, parent: int) -> None:
        if move.kind in (MoveKind.META, MoveKind.IN_PLACE) or os.path.dirname(move.path) in self._becoming_writable:
            return
        if not os.access(".", os.W_OK | os.X_OK, dir_fd=parent, effective_ids=True):
            raise PermissionError(errno.EACCES, "its directory cannot be written", move.path)
        if _flags(parent) & (_IMMUTABLE | _APPEND_ONLY):
            raise PermissionError(errno.EPERM, "its directory is marked as not to be changed", move.path)

    def _check_entry(self, move: Move, parent: int, name: str) -> None:
        try:
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            return
        directory = os.fstat(parent)
        owned = os.geteuid() in (0, status.st_uid)
        if move.kind is MoveKind.META:
            if not owned:
                raise PermissionError(errno.EPERM, "belongs to somebody else", move.path)
        elif directory.st_mode & stat.S_ISVTX and not owned and os.geteuid() != directory.st_uid:
            raise PermissionError(errno.EPERM, "belongs to somebody else", move.path)
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
            return
        try:
            fd = self._places.open(self._present(move.path) if move.kind is not MoveKind.RENAME else move.origin)
        except PermissionError:
            return
        try:
            if _flags(fd) & (_IMMUTABLE | _APPEND_ONLY):
                raise PermissionError(errno.EPERM, "is marked as not to be changed", move.path)
        finally:
            os.close(fd)
        if move.kind is MoveKind.IN_PLACE and not os.access(name, os.W_OK, dir_fd=parent, effective_ids=True):
            raise PermissionError(errno.EACCES, "cannot be written", move.path)

    def _size(self, move: Move) -> int:
        if move.kind is MoveKind.IN_PLACE and move.before is not None and move.after is not None:
            return max(0, move.after.size - move.before.size)
        if not move.stages or move.after is None or move.link_to:
            return 0
        return sum(self._data(state) for state in (move.after, *(entry.state for entry in move.built)))

    def _data(self, state: FileState) -> int:
        if state.kind is not EntryKind.FILE or not state.chunked or state.object is None:
            return state.size if state.kind is EntryKind.FILE else 0
        hole = zero_digest(CHUNK)
        chunks = Pointer.from_bytes(self._repository.read(state.object)).chunks
        return sum(chunk.length for chunk in chunks if chunk.digest != hole)


def _flags(fd: int) -> int:
    """Return the attributes that `chattr` sets; 0 where the file system has none."""
    flags = array.array("l", [0])
    try:
        fcntl.ioctl(fd, _GET_FLAGS, flags)
    except OSError:
        return 0
    return flags[0]


def _free(directory: int) -> int:
    """Return the free bytes where *directory* is; -1 where that is unknown or has no bound.

    Raises:
        OSError: (EROFS) it is mounted read-only.
    """
    try:
        found = os.fstatvfs(directory)
    except OSError:
        return -1
    if found.f_flag & os.ST_RDONLY:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))
    if not found.f_blocks:
        return -1
    return (found.f_bfree if os.geteuid() == 0 else found.f_bavail) * found.f_frsize
