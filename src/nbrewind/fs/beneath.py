"""Opening names below a directory so that neither `..` nor symbolic links nor swapped components lead out of it."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from functools import cache

from nbrewind.fs import native
from nbrewind.fs.entries import rmdir
from nbrewind.fs.native import O_PATH
from nbrewind.fs.probe import StrPath, mutate

__all__ = ["OutsideRoot", "Root"]

_RESOLVE = native.RESOLVE_BENEATH | native.RESOLVE_NO_SYMLINKS | native.RESOLVE_NO_MAGICLINKS
_DIRECTORY = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CHANGING = os.O_CREAT | os.O_TRUNC | getattr(os, "O_TMPFILE", 0) & ~os.O_DIRECTORY
_NO_OPENAT2 = frozenset({errno.ENOSYS, errno.EPERM, errno.EINVAL, errno.E2BIG})


class OutsideRoot(OSError):
    """A name that leads, or could lead, out of its root; nothing was opened or changed."""


class Root:
    """A directory and everything that is really below it.

    Invariant: no call reaches a file through `..`, an absolute name, or a symbolic link in any component, the last one
    included; a component that is swapped while we walk is either refused or was below the root when it was opened.
    One call to `openat2` where the kernel has it, else one `O_NOFOLLOW` open for each component.
    """

    def __init__(self, path: StrPath) -> None:
        self.path = os.fspath(path)
        self._fd = os.open(path, O_PATH | _DIRECTORY)

    def open(self, rel: str, flags: int, mode: int = 0) -> int:
        """Open *rel* and return the descriptor. "" is the root itself.

        Raises:
            OutsideRoot: A component is `..` or a symbolic link, or *rel* is not a relative name.
            OSError: As from `os.open`.
        """
        parts = _components(rel)
        flags |= os.O_CLOEXEC | os.O_NOFOLLOW
        if flags & _CHANGING:
            return mutate("create", f"{self.path}/{rel}", self._open, parts, flags, mode)
        return self._open(parts, flags, mode)

    @contextlib.contextmanager
    def parent(self, rel: str) -> Iterator[tuple[int, str]]:
        """Yield a descriptor of the directory that holds *rel*, and the last component.

        Raises:
            OutsideRoot: As `open`, for every component but the last, which is not looked at.
        """
        *parents, name = _components(rel) or [""]
        if not name:
            raise OutsideRoot(errno.EINVAL, "the root itself has no parent here", self.path)
        fd = self._open_directory(parents)
        try:
            yield fd, name
        finally:
            os.close(fd)

    def lstat(self, rel: str) -> os.stat_result:
        """Return the status of *rel* itself.

        Raises:
            OutsideRoot: As `parent`.
            FileNotFoundError: There is no such name.
        """
        if not rel:
            return os.fstat(self._fd)
        with self.parent(rel) as (fd, name):
            return os.stat(name, dir_fd=fd, follow_symlinks=False)

    def make_parents(self, rel: str, mode: int = 0o777) -> list[str]:
        """Create the missing directories above *rel* and return those created, outermost first.

        *mode* is narrowed by the umask, as for a directory that the user makes. A failure removes those again.

        Raises:
            OutsideRoot: As `parent`.
        """
        parts = _components(rel)[:-1]
        with contextlib.suppress(FileNotFoundError):
            os.close(self._open_directory(parts))
            return []
        created: list[str] = []
        try:
            for end in range(1, len(parts) + 1):
                name = "/".join(parts[:end])
                with self.parent(name) as (fd, last), contextlib.suppress(FileExistsError):
                    mutate("mkdir", last, os.mkdir, last, mode, dir_fd=fd)
                    created.append(name)
            os.close(self._open_directory(parts))
        except BaseException:
            for name in reversed(created):
                with contextlib.suppress(OSError), self.parent(name) as (fd, last):
                    rmdir(last, dir_fd=fd)
            raise
        return created

    def close(self) -> None:
        """Close the root; twice is fine."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)

    def __enter__(self) -> Root:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the root."""
        self.close()

    def _open_directory(self, parts: list[str]) -> int:
        try:
            return self._open(parts, os.O_RDONLY | _DIRECTORY, 0)
        except PermissionError:
            # A directory that may be changed but not listed: enough for every call but a flush.
            return self._open(parts, O_PATH | _DIRECTORY, 0)

    def _open(self, parts: list[str], flags: int, mode: int) -> int:
        try:
            if _openat2_works():
                # The kernel refuses a mode where nothing can be created.
                mode = mode & 0o7777 if flags & _CHANGING & ~os.O_TRUNC else 0
                if flags & os.O_DIRECTORY:
                    flags &= ~os.O_NOFOLLOW  # for a link that would answer ENOTDIR; RESOLVE_NO_SYMLINKS says ELOOP
                return native.openat2(self._fd, "/".join(parts) or ".", flags, mode, _RESOLVE)
            return _walk(self._fd, parts, flags, mode)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EXDEV):
                name = "/".join((self.path, *parts))
                raise OutsideRoot(error.errno, "a symbolic link is in the way", name) from error
            raise


def _components(rel: str) -> list[str]:
    if not rel:
        return []
    parts = rel.split("/")
    if "\0" in rel or any(part in ("", ".", "..") for part in parts):
        raise OutsideRoot(errno.EXDEV, "not a plain relative name", rel)
    return parts


def _walk(root_fd: int, parts: list[str], flags: int, mode: int) -> int:
    if not parts:
        return os.open(".", flags, mode, dir_fd=root_fd)
    current = os.open(".", O_PATH | _DIRECTORY, dir_fd=root_fd)
    try:
        for part in parts[:-1]:
            below = _open_component(part, O_PATH | _DIRECTORY, 0, current)
            os.close(current)
            current = below
        return _open_component(parts[-1], flags, mode, current)
    finally:
        os.close(current)


def _open_component(name: str, flags: int, mode: int, dir_fd: int) -> int:
    try:
        return os.open(name, flags, mode, dir_fd=dir_fd)
    except NotADirectoryError:
        # O_DIRECTORY hides the difference between a link and a file. What is a directory now was swapped meanwhile.
        kind = os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_mode
        if stat.S_ISLNK(kind) or stat.S_ISDIR(kind):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name) from None
        raise


@cache
def _openat2_works() -> bool:
    """Try once: old kernels answer ENOSYS, containers with an old seccomp filter EPERM."""
    fd = os.open("/", O_PATH | _DIRECTORY)
    try:
        os.close(native.openat2(fd, ".", O_PATH | _DIRECTORY, 0, _RESOLVE))
    except OSError as error:
        if error.errno in _NO_OPENAT2:
            return False
        raise
    finally:
        os.close(fd)
    return True
