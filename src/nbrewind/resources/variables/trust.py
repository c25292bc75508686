"""Proof that a record was written by this user: an HMAC by a key that is kept outside every store.

A store that somebody else wrote (a folder that was copied, unpacked, shared) must run nothing, and unpickling runs
code. So each checkpoint's root record, which holds the strong hashes of all its content, is sealed, and the seal is
checked before anything of it is unpickled.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import stat
from typing import Final

from nbrewind import fs
from nbrewind.errors import RefusalReason, RewindRefused, StoreError

__all__ = ["SEAL_SIZE", "UserKey", "require_seal"]

SEAL_SIZE: Final = 32
_KEY_SIZE: Final = 32
_DOMAIN: Final = b"nbrewind variables 1\0"
"""Goes before every record, so that a seal serves for nothing else that this key might sign one day."""


class UserKey:
    """The key in the file *path*, made at the first seal.

    Invariant: the file is a regular one of this user, of 32 bytes, that nobody else can read or write; else it is not
    used. It is created whole and under its own name only once it is complete: two kernels that start at once agree.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._key: bytes | None = None

    def seal(self, record: bytes) -> bytes:
        """Return the seal for *record*.

        Raises:
            StoreError: the key cannot be read or made.
        """
        key = self._read()
        return _seal(key if key is not None else self._make(), record)

    def holds(self, record: bytes, seal: bytes) -> bool:
        """Return whether *seal* is this user's for *record*; without a key nothing is.

        Raises:
            StoreError: there is a key, and it cannot be used.
        """
        key = self._read()
        return key is not None and hmac.compare_digest(_seal(key, record), bytes(seal))

    def _read(self) -> bytes | None:
        if self._key is not None:
            return self._key
        try:
            fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"The key {self._path} cannot be read: {error.strerror}.") from error
        try:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
                raise StoreError(
                    f"The key {self._path} could be somebody else's.",
                    hint="It must be a file of yours that nobody else can read: chmod 600, or delete it. "
                    "Without it, variables of older points cannot be restored until you trust them again.",
                )
            key = os.read(fd, _KEY_SIZE + 1)
        finally:
            os.close(fd)
        if len(key) != _KEY_SIZE:
            raise StoreError(f"The key {self._path} is damaged.", hint="Delete it; a new one is made.")
        self._key = key
        return key

    def _make(self) -> bytes:
        folder = os.path.dirname(self._path) or "."
        temporary = os.path.join(folder, fs.temporary_name())
        try:
            fs.make_directories(folder)
            fs.write_new(temporary, os.urandom(_KEY_SIZE), sync=True)
            try:
                # Not a rename over it: the key of a kernel that came first has sealed records already.
                with contextlib.suppress(FileExistsError):
                    fs.link(temporary, self._path)
            finally:
                fs.unlink(temporary)
            fs.sync_directory(folder)
        except OSError as error:
            raise StoreError(f"The key {self._path} cannot be made: {error.strerror}.") from error
        key = self._read()
        if key is None:
            raise StoreError(f"The key {self._path} cannot be made: it vanished.")
        return key


def _seal(key: bytes, record: bytes) -> bytes:
    return hmac.digest(key, _DOMAIN + record, "sha256")


def require_seal(key: UserKey, record: bytes, seal: bytes, *, trusted: bool = False) -> None:
    """Return if *seal* holds for *record*, or the user said that this store is *trusted*.

    Raises:
        RewindRefused: untrusted-store.
    """
    if trusted or key.holds(record, seal):
        return
    raise RewindRefused(
        RefusalReason.UNTRUSTED_STORE,
        "The variables of this point were not stored by you on this machine, and loading them can run code.",
        hint="Files can be restored. If you know where this store comes from: %rewind trust.",
    )
