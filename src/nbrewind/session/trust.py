"""Whose a store is: the list of stores that this user made or said to believe, kept beside the key, outside all stores.

A store that somebody else made (a folder that was copied, unpacked, shared) may name any path and hold any unfinished
work. Until it is believed, nothing outside the workspace is changed for it, and no session of it is finished.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from nbrewind import fs
from nbrewind.errors import StoreError
from nbrewind.store.layout import SessionPaths, StorePaths

__all__ = ["StoreTrust", "is_unfinished"]

_MOST = 10_000


class StoreTrust:
    """Whether the store in *root* is believed.

    On disk: `<key file>.stores`, 0600, a line for each store: when its `format` was made, in ns, `made` by this user or
    `told` to be believed (then its variables are loaded without a seal), and where. A store is known by that moment:
    moved, it stays the same one; a clone or an archive from elsewhere has another. A file that others can write is not
    read. Replaced as a whole, so a death leaves the old list or the new one.
    """

    def __init__(self, store: StorePaths, key_file: str) -> None:
        self._store = store
        self._path = f"{key_file}.stores" if key_file else ""
        self._believed = not key_file

    @property
    def holds(self) -> bool:
        """Whether this user made the store or believes it."""
        if not self._believed:
            self._believed = bool(self._words())
        return self._believed

    @property
    def is_told(self) -> bool:
        """Whether this user said that the store is believed, whoever made it."""
        return "told" in self._words()

    def _words(self) -> set[str]:
        moment = self._moment()
        rows = (line.split(" ") for line in self._lines()) if moment else ()
        return {row[1] for row in rows if len(row) > 1 and row[0] == moment}

    def believe(self, *, told: bool) -> None:
        """Believe the store from now on, in other processes too.

        Raises:
            StoreError: that cannot be written down; it holds for this process all the same.
        """
        word = "told" if told else "made"
        if not self._path or word in self._words():
            return
        self._believed = True
        try:
            fs.make_directories(Path(self._path).parent)
            lock = fs.FileLock(f"{self._path}.lock")
            lock.acquire(blocking=True)
            try:
                line = f"{self._moment()} {word} {os.fsencode(self._store.root).hex()}"
                text = "\n".join([*self._lines()[-_MOST:], line]) + "\n"
                fs.replace(self._path, text.encode("ascii"))
            finally:
                lock.release()
        except OSError as error:
            raise StoreError(f"The list {self._path} cannot be written: {error.strerror or error}.") from error

    def _moment(self) -> str:
        try:
            return str(Path(self._store.format).stat().st_mtime_ns)
        except OSError:
            return ""

    def _lines(self) -> list[str]:
        try:
            fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return []
        with os.fdopen(fd, "rb") as file:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
                return []
            return file.read().decode("ascii", "replace").split("\n")[:-1]


def is_unfinished(paths: SessionPaths) -> bool:
    """Return whether a rewind or a turn of the session waits to be finished, by whoever takes it."""
    found: list[Path] = []
    with suppress(OSError):
        found += Path(paths.intents).iterdir()
    with suppress(OSError):
        found += [path for path in Path(paths.root).iterdir() if path.name.startswith("turn")]
    return bool(found)
