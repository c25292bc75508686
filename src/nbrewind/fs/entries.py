"""Changes of directory entries and of what belongs to an entry: names, modes, times."""

from __future__ import annotations

import errno
import os
import stat

from nbrewind.fs import native
from nbrewind.fs.descriptors import sync_directory
from nbrewind.fs.native import O_PATH
from nbrewind.fs.probe import StrPath, mutate

__all__ = [
    "chmod",
    "link",
    "make_directories",
    "make_directory",
    "rename",
    "rmdir",
    "symlink",
    "unlink",
    "utime_ns",
]


def make_directory(path: StrPath, mode: int = 0o700, *, exist_ok: bool = True, dir_fd: int | None = None) -> bool:
    """Create the directory *path* with exactly *mode* and return whether it was created.

    An existing directory keeps its mode.
    """
    try:
        # Never wider than asked, not even for a moment; narrower by the umask until the chmod below.
        mutate("mkdir", path, os.mkdir, path, mode, dir_fd=dir_fd)
    except FileExistsError:
        if exist_ok and stat.S_ISDIR(os.stat(path, dir_fd=dir_fd).st_mode):
            return False
        raise
    if stat.S_IMODE(os.lstat(path, dir_fd=dir_fd).st_mode) & 0o777 != mode & 0o777:
        chmod(path, mode, dir_fd=dir_fd)
    return True


def make_directories(path: StrPath, mode: int = 0o700, *, sync: bool = False) -> None:
    """Create the directory *path* and all missing parents, each with exactly *mode*.

    With *sync* the new names survive a power cut once this returns.
    """
    missing = []
    current = os.path.abspath(path)
    while not os.path.isdir(current):
        missing.append(current)
        parent = os.path.dirname(current)
        if parent == current:
            break
        current = parent
    for directory in reversed(missing):
        make_directory(directory, mode)
        if sync:
            sync_directory(os.path.dirname(directory))


def unlink(path: StrPath, *, dir_fd: int | None = None) -> None:
    """Remove a name that is not a directory."""
    mutate("unlink", path, os.unlink, path, dir_fd=dir_fd)


def rmdir(path: StrPath, *, dir_fd: int | None = None) -> None:
    """Remove an empty directory."""
    mutate("rmdir", path, os.rmdir, path, dir_fd=dir_fd)


def symlink(target: StrPath, path: StrPath, *, dir_fd: int | None = None) -> None:
    """Create the symbolic link *path* that says *target*."""
    mutate("symlink", path, os.symlink, target, path, dir_fd=dir_fd)


def link(src: StrPath, dst: StrPath, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
    """Give *src* (the link itself where it is symbolic) the second name *dst*, which must not exist."""
    mutate("link", dst, os.link, src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd, follow_symlinks=False)


def rename(src: StrPath, dst: StrPath, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
    """Rename *src* to *dst*, which is replaced. Only for files of the store: a user's save at *dst* would be lost."""
    mutate("rename", dst, os.rename, src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)


def chmod(path: StrPath | int, mode: int, *, dir_fd: int | None = None) -> None:
    """Set the permissions of *path*, or of a descriptor; a symbolic link is refused with ELOOP, never followed."""
    if isinstance(path, int):
        mutate("chmod", path, os.fchmod, path, mode)
        return
    fd = os.open(path, O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=dir_fd)
    try:
        if stat.S_ISLNK(os.fstat(fd).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
        mutate("chmod", path, _chmod_path, fd, mode)
    finally:
        os.close(fd)


def _chmod_path(fd: int, mode: int) -> None:
    try:
        native.fchmod_path(fd, mode)
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EPERM, errno.EINVAL):
            raise
        # An older kernel, or a filter's EPERM. fchmod refuses such descriptors, but the link in /proc leads to exactly
        # this inode, whatever has its name now.
        os.chmod(f"/proc/self/fd/{fd}", mode)


def utime_ns(path: StrPath | int, mtime_ns: int, *, dir_fd: int | None = None, follow: bool = False) -> None:
    """Set the modification time of *path*, or of a descriptor, and keep the time of last access."""
    if isinstance(path, int):
        mutate("utime", path, os.utime, path, ns=(os.fstat(path).st_atime_ns, mtime_ns))
        return
    atime_ns = os.stat(path, dir_fd=dir_fd, follow_symlinks=follow).st_atime_ns
    mutate("utime", path, os.utime, path, ns=(atime_ns, mtime_ns), dir_fd=dir_fd, follow_symlinks=follow)
