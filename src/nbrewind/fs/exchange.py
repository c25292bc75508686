"""Renames that never replace what somebody else has put there: exchange and no-replace.

Both are one atomic call where the kernel and the file system have `renameat2` flags. Elsewhere (NFS, some FUSE) a
sequence of plain calls serves, with a weaker promise that each function states.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat

from nbrewind.fs import native
from nbrewind.fs.descriptors import create_file
from nbrewind.fs.entries import link, make_directory, rename, unlink
from nbrewind.fs.probe import StrPath, mutate

__all__ = ["exchange_supported", "rename_exchange", "rename_noreplace", "temporary_name"]

_NO_FLAGS = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})
_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV})
_supported: dict[int, bool] = {}


def temporary_name(suffix: str = ".tmp") -> str:
    """Return a fresh name of ours, which every scan leaves out."""
    return f".nbrewind-{secrets.token_hex(8)}{suffix}"


def exchange_supported(directory: StrPath) -> bool:
    """Return whether names in *directory* can be exchanged atomically; tried once per file system with two own files.

    Raises:
        OSError: The directory cannot be written.
    """
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        device = os.fstat(fd).st_dev
        if device not in _supported:
            _supported[device] = _try_exchange(fd)
        return _supported[device]
    finally:
        os.close(fd)


def rename_exchange(a: StrPath, b: StrPath, *, a_dir_fd: int | None = None, b_dir_fd: int | None = None) -> None:
    """Exchange what stands at *a* and *b*; both must exist, and may be of different kinds.

    Without kernel support, a file at *a* gets a third name `.nbrewind-*`, *b* is renamed over *a* and the third name
    to *b*: *a* always exists, but what somebody puts at *a* in between is lost, and a death leaves the third name.
    A directory at *a* is renamed away first, so that *a* is absent for a moment.
    """
    first, second = os.fspath(a), os.fspath(b)
    try:
        mutate("exchange", second, _native_exchange, first, second, src_dir_fd=a_dir_fd, dst_dir_fd=b_dir_fd)
    except OSError as error:
        # EINVAL is also "a directory into itself"; the plain renames refuse that as well.
        if error.errno not in _NO_FLAGS:
            raise
        _exchange_by_hand(first, second, a_dir_fd, b_dir_fd)


def rename_noreplace(
    src: StrPath, dst: StrPath, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
) -> None:
    """Rename *src* to *dst*, which must not exist.

    Without kernel support, a file gets the second name *dst* (which fails if there is one) and loses its first: a
    death in between leaves both. A directory is renamed over a new empty one. Where there are no hard links either,
    *dst* is looked up and then replaced, and a file that comes to be there in between is lost.

    Raises:
        FileExistsError: Something stands at *dst*; nothing was changed.
    """
    source, target = os.fspath(src), os.fspath(dst)
    try:
        mutate("noreplace", target, _native_noreplace, source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
    except OSError as error:
        if error.errno not in _NO_FLAGS:
            raise
        _noreplace_by_hand(source, target, src_dir_fd, dst_dir_fd)


def _native_exchange(src: str, dst: str, *, src_dir_fd: int | None, dst_dir_fd: int | None) -> None:
    native.renameat2(src, dst, native.RENAME_EXCHANGE, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)


def _native_noreplace(src: str, dst: str, *, src_dir_fd: int | None, dst_dir_fd: int | None) -> None:
    native.renameat2(src, dst, native.RENAME_NOREPLACE, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)


def _exchange_by_hand(a: str, b: str, a_fd: int | None, b_fd: int | None) -> None:
    modes = [os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode for name, fd in ((a, a_fd), (b, b_fd))]
    third = os.path.join(os.path.dirname(a), temporary_name())
    # Only a file can have a second name, and only a file can be renamed over it.
    linked = not any(stat.S_ISDIR(mode) for mode in modes)
    if linked:
        try:
            link(a, third, src_dir_fd=a_fd, dst_dir_fd=a_fd)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            linked = False
    if not linked:
        rename(a, third, src_dir_fd=a_fd, dst_dir_fd=a_fd)
    try:
        rename(b, a, src_dir_fd=b_fd, dst_dir_fd=a_fd)
    except BaseException:
        if linked:
            unlink(third, dir_fd=a_fd)
        else:
            rename(third, a, src_dir_fd=a_fd, dst_dir_fd=a_fd)
        raise
    rename(third, b, src_dir_fd=a_fd, dst_dir_fd=b_fd)


def _noreplace_by_hand(src: str, dst: str, src_fd: int | None, dst_fd: int | None) -> None:
    if stat.S_ISDIR(os.stat(src, dir_fd=src_fd, follow_symlinks=False).st_mode):
        make_directory(dst, exist_ok=False, dir_fd=dst_fd)
        rename(src, dst, src_dir_fd=src_fd, dst_dir_fd=dst_fd)
        return
    try:
        link(src, dst, src_dir_fd=src_fd, dst_dir_fd=dst_fd)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        try:
            os.stat(dst, dir_fd=dst_fd, follow_symlinks=False)
        except FileNotFoundError:
            rename(src, dst, src_dir_fd=src_fd, dst_dir_fd=dst_fd)
            return
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), dst) from error
    unlink(src, dir_fd=src_fd)


def _try_exchange(dir_fd: int) -> bool:
    names = temporary_name(), temporary_name()
    made = []
    try:
        for name in names:
            os.close(create_file(name, dir_fd=dir_fd))
            made.append(name)
        mutate("exchange", names[1], _native_exchange, *names, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
    except OSError as error:
        if error.errno not in _NO_FLAGS:
            raise
        return False
    finally:
        for name in made:
            unlink(name, dir_fd=dir_fd)
    return True
