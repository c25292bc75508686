"""Where things are in a store, and the ids that name them."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import stat
import threading
import time
from dataclasses import dataclass

from nbrewind import fs
from nbrewind.errors import StoreError, StoreReadOnly, StoreTooNew, clipped
from nbrewind.model import OperationId, SessionId

__all__ = [
    "STORE_VERSION",
    "SessionPaths",
    "StorePaths",
    "find_store",
    "is_id",
    "list_sessions",
    "new_operation_id",
    "new_session_id",
    "open_store",
    "workspace_key",
]

STORE_VERSION = 1
_FORMAT = re.compile(r"nbrewind-store ([1-9][0-9]{0,8})\n")
_ID = re.compile(r"[0-9a-z-]{1,40}")
# Crockford's alphabet: no letters that look like digits, and sorted as bytes.
_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
_OWN_NAMES = frozenset({"format", "shadow", "gc.lock", "generation", "sessions", "workspace", ".gitignore"})
_READ_ONLY = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})


@dataclass(frozen=True, slots=True)
class SessionPaths:
    """The files of one session, all below *root*; none of them needs to exist."""

    root: str

    @property
    def lock(self) -> str:
        """The flock of the kernel that writes the session; its text names the holder."""
        return f"{self.root}/lock"

    @property
    def log(self) -> str:
        """The operation log."""
        return f"{self.root}/log"

    @property
    def turn(self) -> str:
        """The open turn's journal."""
        return f"{self.root}/turn"

    @property
    def images(self) -> str:
        """The folder of the open turn's before-images."""
        return f"{self.root}/images"

    @property
    def intents(self) -> str:
        """The folder that holds something only while a rewind is in flight."""
        return f"{self.root}/intents"

    @property
    def archive(self) -> str:
        """The folder of readable lists, one for each rewind: what was taken back."""
        return f"{self.root}/archive"

    @property
    def damaged(self) -> str:
        """What the last verification found, for lists to show; JSON, by operation."""
        return f"{self.root}/damaged"

    @property
    def document(self) -> str:
        """Which moves the open notebook has not agreed to yet; JSON."""
        return f"{self.root}/document"

    @property
    def index(self) -> str:
        """What a kernel may remember between runs to start faster; never the truth."""
        return f"{self.root}/index"


@dataclass(frozen=True, slots=True)
class StorePaths:
    """The files of a store, all below *root*."""

    root: str

    @property
    def format(self) -> str:
        """The version line."""
        return f"{self.root}/format"

    @property
    def shadow(self) -> str:
        """The bare git directory that holds every object."""
        return f"{self.root}/shadow"

    @property
    def gc_lock(self) -> str:
        """The flock between those who name objects and those who drop them."""
        return f"{self.root}/gc.lock"

    @property
    def generation(self) -> str:
        """The number that each dropping of objects raises."""
        return f"{self.root}/generation"

    @property
    def sessions(self) -> str:
        """The folder of the sessions."""
        return f"{self.root}/sessions"

    @property
    def workspace(self) -> str:
        """The file that says which workspace the store is for, so that a list of stores can be read."""
        return f"{self.root}/workspace"

    def session(self, session: SessionId) -> SessionPaths:
        """Return the paths of *session*.

        Raises:
            StoreError: *session* is not one of our ids; it is never joined to a path.
        """
        if not is_id(session):
            raise StoreError(f"{clipped(session)!r} is not a session id.")
        return SessionPaths(f"{self.sessions}/{session}")


def is_id(text: str) -> bool:
    """Return whether *text* has the form of our ids."""
    return _ID.fullmatch(text) is not None


def open_store(root: str, *, workspace: str = "") -> StorePaths:
    """Open the store at *root* for writing; create it where there is none. *workspace* is noted in a new store.

    Raises:
        StoreTooNew: A later version wrote it; nothing was changed.
        StoreReadOnly: It cannot be written.
        StoreError: Something else stands there, or the disk refuses.
    """
    paths = StorePaths(root)
    try:
        if os.path.isdir(root) and _version(paths):
            _tighten(root)
        else:
            _create(paths, workspace)
        if not os.path.isdir(paths.sessions):
            fs.make_directories(paths.sessions, sync=True)
        # The mode bits do not say that a file system is mounted read-only; nothing is written to find out.
        if not os.access(root, os.W_OK | os.X_OK) or not os.access(paths.sessions, os.W_OK | os.X_OK):
            raise StoreReadOnly(f"The store {root} cannot be written.")
    except OSError as error:
        kind = StoreReadOnly if error.errno in _READ_ONLY else StoreError
        raise kind(f"The store {root} cannot be opened: {error.strerror or error}.") from error
    return paths


def find_store(root: str) -> StorePaths:
    """Return the store at *root* for reading. Creates and changes nothing.

    Raises:
        StoreTooNew: A later version wrote it.
        StoreError: There is no store, or it cannot be read.
    """
    paths = StorePaths(root)
    try:
        if _version(paths):
            return paths
    except OSError as error:
        raise StoreError(f"The store {root} cannot be read: {error.strerror or error}.") from error
    raise StoreError(f"There is no store at {root}.", hint="It appears with the first protected cell.")


def list_sessions(paths: StorePaths) -> tuple[SessionId, ...]:
    """Return the sessions that have a log, newest first."""
    try:
        names = os.listdir(paths.sessions)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise StoreError(f"The sessions in {paths.root} cannot be listed: {error.strerror or error}.") from error
    sessions = (SessionId(name) for name in sorted(names, reverse=True) if is_id(name))
    return tuple(session for session in sessions if os.path.isfile(paths.session(session).log))


def workspace_key(real_path: str) -> str:
    """Return the folder name of the default store of the workspace *real_path*."""
    return _base32(int.from_bytes(hashlib.blake2b(os.fsencode(real_path), digest_size=15).digest()), 24)


def new_session_id() -> SessionId:
    """Return a fresh id that sorts after those of earlier sessions of this machine."""
    return SessionId(_fresh_id())


def new_operation_id() -> OperationId:
    """Return a fresh id that sorts after all earlier ones of this process; order in a log is by `seq`, not by id."""
    return OperationId(_fresh_id())


_ids = threading.Lock()
_last_tick = 0


def _fresh_id() -> str:
    global _last_tick
    with _ids:
        # A clock that stands or goes backwards still gives rising ids.
        _last_tick = tick = max(time.time_ns() // 1_000_000, _last_tick + 1)
    return f"{_base32(tick, 10)}-{_base32(secrets.randbits(50), 10)}"


def _after_fork_in_child() -> None:
    global _ids
    _ids = threading.Lock()  # another thread of the parent may have held it


os.register_at_fork(after_in_child=_after_fork_in_child)


def _base32(number: int, width: int) -> str:
    return "".join(_DIGITS[number >> 5 * place & 31] for place in reversed(range(width)))


def _version(paths: StorePaths) -> int:
    """Return the version of the store; 0 when there is none.

    Raises:
        StoreTooNew: It is later than ours.
        StoreError: The version line is damaged.
    """
    try:
        fd = os.open(paths.format, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return 0
    try:
        line = os.read(fd, 64).decode("ascii", "replace")
    finally:
        os.close(fd)
    match = _FORMAT.fullmatch(line)
    if match is None:
        raise StoreError(
            f"The version line of the store {paths.root} is damaged.",
            hint=f"If the store is yours, write `nbrewind-store {STORE_VERSION}` into {paths.format}.",
        )
    if int(match[1]) > STORE_VERSION:
        raise StoreTooNew(
            f"The store {paths.root} was written by a later version (format {match[1]}, not {STORE_VERSION}).",
            hint="Upgrade nbrewind; the store was not touched.",
        )
    return int(match[1])


def _create(paths: StorePaths, workspace: str) -> None:
    fs.make_directories(paths.root, sync=True)
    strangers = [
        name for name in os.listdir(paths.root) if name not in _OWN_NAMES and not name.startswith(".nbrewind-")
    ]
    # Another kernel may have finished the same creation since we looked.
    if strangers and not _version(paths):
        raise StoreError(
            f"{paths.root} is not a store and not empty ({strangers[0]}).", hint="Choose an empty folder as store_dir."
        )
    _tighten(paths.root)
    if workspace and not os.path.exists(paths.workspace):
        fs.replace(paths.workspace, os.fsencode(workspace) + b"\n", sync=False)
    # Last of all: whoever sees the version line sees a whole store.
    fs.replace(paths.format, f"nbrewind-store {STORE_VERSION}\n".encode("ascii"))
    fs.sync_directory(os.path.dirname(os.path.abspath(paths.root)))


def _tighten(root: str) -> None:
    """Close the store to other users; a copy from elsewhere or a hand-made folder may be open."""
    there = os.stat(root)
    if stat.S_IMODE(there.st_mode) & 0o077 and there.st_uid == os.geteuid():
        fs.chmod(root, 0o700)
