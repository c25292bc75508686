"""Changes through an open descriptor: writing, reserving, copying, flushing."""

from __future__ import annotations

import errno
import os
import stat

from nbrewind.fs import native
from nbrewind.fs.probe import Buffer, StrPath, mutate, mutate_bytes

__all__ = [
    "allocate",
    "copy_bytes",
    "create_file",
    "pwrite",
    "reserve",
    "set_exact_mode",
    "sync_data",
    "sync_directory",
    "sync_file",
    "sync_filesystem",
    "truncate",
    "write",
]

_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_COPY_STEP = 1 << 26
_BUFFER = 1 << 20
# Why a kernel, a seccomp filter or a file system does not copy for us.
_CANNOT_COPY = frozenset({errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EBADF})
_CANNOT_RESERVE = frozenset({errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.EPERM})


def create_file(name: StrPath, mode: int = 0o600, *, dir_fd: int | None = None) -> int:
    """Create *name*, which must not exist, with exactly *mode*, and return a descriptor for reading and writing."""
    fd = mutate("create", name, os.open, name, _CREATE, mode, dir_fd=dir_fd)
    try:
        set_exact_mode(fd, mode)
    except BaseException:
        os.close(fd)
        raise
    return fd


def set_exact_mode(fd: int, mode: int) -> None:
    """Give *fd* the permissions *mode* where the umask or a default ACL left others."""
    if stat.S_IMODE(os.fstat(fd).st_mode) != mode:
        mutate("chmod", fd, os.fchmod, fd, mode)


def write(fd: int, data: Buffer) -> None:
    """Write all of *data* at the descriptor's own position."""
    mutate_bytes(fd, data)


def pwrite(fd: int, data: Buffer, position: int) -> None:
    """Write all of *data* at *position*."""
    mutate_bytes(fd, data, position)


def truncate(fd: int, length: int) -> None:
    """Make the file exactly *length* bytes long."""
    mutate("truncate", fd, os.ftruncate, fd, length)


def allocate(fd: int, size: int) -> bool:
    """Reserve *size* bytes, so that writing them cannot meet a full disk; return False where this is unknown here.

    The file becomes at least *size* bytes long.
    """
    return _reserved(fd, 0, 0, size)


def reserve(fd: int, offset: int, size: int) -> bool:
    """Reserve *size* bytes from *offset* on without making the file longer; return False where this is unknown here."""
    return _reserved(fd, native.FALLOC_KEEP_SIZE, offset, size)


def _reserved(fd: int, mode: int, offset: int, size: int) -> bool:
    if size <= 0:
        return True
    try:
        mutate("allocate", fd, native.fallocate, fd, mode, offset, size)
    except OSError as error:
        if error.errno in _CANNOT_RESERVE:
            return False
        raise
    return True


def sync_file(fd: int) -> None:
    """Flush *fd*, data and metadata. A failure must never be retried: the kernel may have dropped the pages."""
    mutate("fsync", fd, os.fsync, fd)


def sync_data(fd: int) -> None:
    """Flush the data of *fd* and the length that is needed to read it. Never retry a failure."""
    mutate("fdatasync", fd, os.fdatasync, fd)


def sync_directory(directory: StrPath | int) -> None:
    """Flush a directory's entries: without this a new or renamed name may be gone after a power cut."""
    if isinstance(directory, int):
        mutate("fsync", directory, os.fsync, directory)
        return
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        mutate("fsync", fd, os.fsync, fd)
    finally:
        os.close(fd)


def sync_filesystem(fd: int) -> None:
    """Flush everything on the file system that holds *fd*: cheaper than many single flushes above some 50 files."""
    try:
        mutate("syncfs", fd, native.syncfs, fd)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        mutate("sync", fd, os.sync)


def copy_bytes(source: int, destination: int, length: int) -> int:
    """Copy the first *length* bytes of *source* into the empty file *destination* and return how many there were.

    Holes stay holes, and the kernel copies (or shares the blocks) where it can. Both positions stay where they are.
    Fewer bytes than *length* come out when the source is shorter; the caller compares.
    """
    length = min(length, os.fstat(source).st_size)
    for start, end in _data_ranges(source, length):
        done = _copy_range(source, destination, start, end)
        if done < end:
            length = done
            break
    # The end may be a hole, which nothing above has written.
    if os.fstat(destination).st_size != length:
        truncate(destination, length)
    return length


def _data_ranges(fd: int, length: int) -> list[tuple[int, int]]:
    """Return the parts of *fd* that hold data; one part for all where the file system does not say."""
    before = os.lseek(fd, 0, os.SEEK_CUR)
    ranges, position = [], 0
    try:
        while position < length:
            start = os.lseek(fd, position, os.SEEK_DATA)
            if start >= length:
                break
            end = min(os.lseek(fd, start, os.SEEK_HOLE), length)
            ranges.append((start, end))
            position = end
    except OSError as error:
        if error.errno != errno.ENXIO:  # ENXIO: only a hole follows
            return [(0, length)]
    finally:
        os.lseek(fd, before, os.SEEK_SET)
    return ranges


def _copy_range(source: int, destination: int, start: int, end: int) -> int:
    """Copy [*start*, *end*) and return where the source ended."""
    position = start
    while position < end:
        count = min(end - position, _COPY_STEP)
        try:
            copied = mutate("copy", destination, os.copy_file_range, source, destination, count, position, position)
        except OSError as error:
            if error.errno not in _CANNOT_COPY:
                raise
            copied = 0
        if not copied:
            # Zero is the end of the file, or a file system (FUSE, /proc) whose length is not what it can copy.
            return _copy_by_hand(source, destination, position, end)
        position += copied
    return position


def _copy_by_hand(source: int, destination: int, position: int, end: int) -> int:
    while position < end:
        data = os.pread(source, min(_BUFFER, end - position), position)
        if not data:
            break
        pwrite(destination, data, position)
        position += len(data)
    return position
