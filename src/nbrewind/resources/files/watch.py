"""Hints about where the workspace changed, by inotify. A hint may be too much; any doubt means: look everywhere."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import struct
import weakref
from collections.abc import Iterator
from typing import Final, Self

__all__ = ["Watch"]

_MODIFY, _ATTRIB, _CLOSE_WRITE = 0x2, 0x4, 0x8
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE, _DELETE_SELF, _MOVE_SELF = 0x40, 0x80, 0x100, 0x200, 0x400, 0x800
_UNMOUNT, _OVERFLOW, _IGNORED = 0x2000, 0x4000, 0x8000
_ONLY_FOLDERS, _NO_LINKS, _IS_FOLDER = 0x1000000, 0x2000000, 0x40000000

_CHANGES = _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF
_ABSENT: Final = (errno.ENOENT, errno.EACCES, errno.ENOTDIR, errno.ELOOP)
_HEAD = struct.Struct("iIII")
_BUFFER: Final = 1 << 16
_LIMIT: Final = "/proc/sys/fs/inotify/max_user_watches"


class Watch:
    """One inotify queue for the folders of a workspace.

    It knows nothing until a full walk has announced every folder to `add` and `trust` was called. From then on `dirty`
    is complete, as long as it is not None, for everything but stores through shared mappings and writes through hard
    links in other folders. Folders that are renamed, lost events, and more watches than may be had end the trust.
    """

    def __init__(self, root: str) -> None:
        self._root = root.rstrip("/")
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        self._close = weakref.finalize(self, os.close, self._fd)
        self._pid = os.getpid()
        self._folders: dict[int, str] = {}
        self._round: dict[int, str] = {}
        self._trusted = False
        self.usable = True

    @staticmethod
    def room() -> int:
        """Return how many folders may be watched, so that other programs of the user keep most of the watches."""
        with contextlib.suppress(OSError, ValueError), open(_LIMIT, "rb") as file:
            return int(file.read()) // 4
        return 0

    def begin(self) -> None:
        """Forget everything: a walk of the whole workspace begins."""
        self._trusted = False
        self._round = {}
        # What happened before the walk is seen by it.
        for _ in self._events():
            pass

    def add(self, folder: str) -> None:
        """Watch *folder* (relative). Call it before the folder is listed, so that nothing falls in between."""
        if not self.usable:
            return
        path = os.fsencode(f"{self._root}/{folder}" if folder else self._root or "/")
        number = self._libc.inotify_add_watch(self._fd, path, _CHANGES | _ONLY_FOLDERS | _NO_LINKS)
        if number < 0:
            # Gone or unreadable folders are looked at by the walk anyway; anything else (no more watches) is the end.
            if ctypes.get_errno() not in _ABSENT:
                self.usable = self._trusted = False
            return
        if self._round.setdefault(number, folder) != folder:
            # One folder under two names (a bind mount): its events could not be told apart.
            self.usable = self._trusted = False
        self._folders[number] = folder

    def trust(self) -> None:
        """Say that the walk announced every folder."""
        self._trusted = self.usable
        self._folders = dict(self._round)

    def dirty(self) -> set[str] | None:
        """Return the folders in which something happened since the last call; None: anything may have, anywhere."""
        if os.getpid() != self._pid or not self._trusted:
            return None
        found: set[str] = set()
        for number, mask in self._events():
            folder = self._folders.get(number)
            if mask & (_OVERFLOW | _UNMOUNT | _MOVE_SELF) or (mask & _IS_FOLDER and mask & (_MOVED_FROM | _MOVED_TO)):
                self._trusted = False
            elif folder is None:
                self._trusted = self._trusted and bool(mask & (_IGNORED | _DELETE_SELF))
            else:
                found.add(folder)
                if mask & (_IGNORED | _DELETE_SELF | _ATTRIB):
                    found.add(folder.rpartition("/")[0])
                if mask & _IGNORED:
                    del self._folders[number]
                    self._round.pop(number, None)
        return found if self._trusted else None

    def close(self) -> None:
        """End it; twice is fine."""
        self._trusted = self.usable = False
        self._close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self.close()

    def _events(self) -> Iterator[tuple[int, int]]:
        while self._close.alive:
            try:
                data = os.read(self._fd, _BUFFER)
            except BlockingIOError:
                return
            at = 0
            while at < len(data):
                number, mask, _, length = _HEAD.unpack_from(data, at)
                at += _HEAD.size + length
                yield number, mask
