"""System calls that Python has no binding for, by ctypes: renameat2, openat2, fchmodat2, syncfs, fallocate.

Each raises OSError as the os module does. `ENOSYS` means that this platform has no such call at all.
"""

from __future__ import annotations

import ctypes
import errno
import os
from functools import cache
from typing import Any

__all__ = [
    "AT_FDCWD",
    "FALLOC_KEEP_SIZE",
    "O_PATH",
    "RENAME_EXCHANGE",
    "RENAME_NOREPLACE",
    "RESOLVE_BENEATH",
    "RESOLVE_NO_MAGICLINKS",
    "RESOLVE_NO_SYMLINKS",
    "fallocate",
    "fchmod_path",
    "openat2",
    "renameat2",
    "syncfs",
]

AT_FDCWD = -100
O_PATH = getattr(os, "O_PATH", 0)
FALLOC_KEEP_SIZE = 1
RENAME_NOREPLACE = 1
RENAME_EXCHANGE = 2
RESOLVE_NO_MAGICLINKS = 0x02
RESOLVE_NO_SYMLINKS = 0x04
RESOLVE_BENEATH = 0x08

# One number on every architecture except alpha, where the calls then fail and the fallbacks serve.
_SYS_OPENAT2 = 437
_SYS_FCHMODAT2 = 452
_AT_EMPTY_PATH = 0x1000
_OPENAT2_TRIES = 16


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


@cache
def _function(name: str, *argument_types: Any) -> Any:
    """Return the C library's function *name*, or None; a signature makes ctypes reject wrong arguments."""
    function = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if function is not None:
        function.argtypes = argument_types or None
        function.restype = ctypes.c_long if name == "syscall" else ctypes.c_int
    return function


def _failure(*paths: str) -> OSError:
    number = ctypes.get_errno()
    if len(paths) == 2:
        return OSError(number, os.strerror(number), paths[0], None, paths[1])
    return OSError(number, os.strerror(number), *paths)


def _absent(name: str) -> OSError:
    return OSError(errno.ENOSYS, f"{os.strerror(errno.ENOSYS)}: {name}")


def renameat2(src: str, dst: str, flags: int, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
    """Rename *src* to *dst* with `RENAME_EXCHANGE` or `RENAME_NOREPLACE`."""
    c_int, c_char_p, c_uint = ctypes.c_int, ctypes.c_char_p, ctypes.c_uint
    call = _function("renameat2", c_int, c_char_p, c_int, c_char_p, c_uint)
    if call is None:
        raise _absent("renameat2")
    from_fd = AT_FDCWD if src_dir_fd is None else src_dir_fd
    to_fd = AT_FDCWD if dst_dir_fd is None else dst_dir_fd
    if call(from_fd, _c_path(src), to_fd, _c_path(dst), flags):
        raise _failure(src, dst)


def openat2(dir_fd: int, path: str, flags: int, mode: int, resolve: int) -> int:
    """Open *path* below *dir_fd* under the *resolve* restrictions and return the descriptor."""
    call = _function("syscall")
    if call is None:
        raise _absent("openat2")
    how = _OpenHow(flags, mode, resolve)
    for _ in range(_OPENAT2_TRIES):
        fd = call(
            ctypes.c_long(_SYS_OPENAT2),
            ctypes.c_int(dir_fd),
            ctypes.c_char_p(_c_path(path)),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        if fd >= 0:
            return int(fd)
        # EAGAIN: a rename somewhere raced with the walk, so the kernel could not prove that it stayed beneath.
        if ctypes.get_errno() not in (errno.EINTR, errno.EAGAIN):
            break
    raise _failure(path)


def fchmod_path(fd: int, mode: int) -> None:
    """Set the permissions of what an `O_PATH` descriptor stands for (Linux 6.6)."""
    call = _function("syscall")
    if call is None:
        raise _absent("fchmodat2")
    number, flags = ctypes.c_long(_SYS_FCHMODAT2), ctypes.c_int(_AT_EMPTY_PATH)
    if call(number, ctypes.c_int(fd), ctypes.c_char_p(b""), ctypes.c_uint(mode), flags):
        raise _failure()


def syncfs(fd: int) -> None:
    """Flush the whole file system that holds *fd*."""
    call = _function("syncfs", ctypes.c_int)
    if call is None:
        raise _absent("syncfs")
    if call(fd):
        raise _failure()


def fallocate(fd: int, mode: int, offset: int, length: int) -> None:
    """Reserve space; unlike `os.posix_fallocate` this never falls back to writing every block."""
    call = _function("fallocate", ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    if call is None:
        raise _absent("fallocate")
    while call(fd, mode, offset, length):
        if ctypes.get_errno() != errno.EINTR:
            raise _failure()


def _c_path(path: str) -> bytes:
    raw = os.fsencode(path)
    # C strings end at the first NUL: "safe\0/../x" must not become "safe".
    if b"\0" in raw:
        raise ValueError("embedded null byte")
    return raw
