"""The shared writable mappings of a process: asked of the kernel one by one, or read from its whole table."""

from __future__ import annotations

import ctypes
import fcntl
import os
import re
import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

__all__ = ["Mapping", "shared_mappings"]

_OCTAL = re.compile(rb"\\([0-7]{3})")
_QUERY: Final = struct.Struct("=9Q4I2Q")
"""`struct procmap_query` of linux/fs.h (since Linux 6.11)."""
_PROCMAP_QUERY: Final = 0xC0000000 | _QUERY.size << 16 | ord("f") << 8 | 17
_WRITABLE, _SHARED, _NEXT, _OF_A_FILE = 0x2, 0x8, 0x10, 0x20
_WANTED: Final = _WRITABLE | _SHARED | _NEXT | _OF_A_FILE
_NAME_SIZE: Final = 4096 + 32


class Mapping(NamedTuple):
    """A file that can be written through memory: its path, as the kernel tells it, and its inode."""

    path: str
    inode: int


def shared_mappings(base: str) -> list[Mapping]:
    """Return the shared writable mappings of the process at *base* (`/proc/<pid>`); none where that is not told."""
    try:
        fd = os.open(f"{base}/maps", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        # A kernel with many libraries loaded has a thousand mappings, of which hardly ever one is meant.
        return list(_asked(fd))
    except OSError:
        return _read(fd)
    finally:
        os.close(fd)


def _asked(fd: int) -> Iterator[Mapping]:
    """Yield them by asking for the next one; raises OSError where the kernel cannot be asked."""
    name = ctypes.create_string_buffer(_NAME_SIZE)
    address = 0
    while True:
        query = bytearray(_QUERY.pack(
            _QUERY.size, _WANTED, address, *(0,) * 6, 0, 0, _NAME_SIZE, 0, ctypes.addressof(name), 0
        ))  # fmt: skip
        try:
            fcntl.ioctl(fd, _PROCMAP_QUERY, query)
        except FileNotFoundError:
            return
        fields = _QUERY.unpack(query)
        address = fields[4]
        yield Mapping(os.fsdecode(name.value), fields[8])


def _read(fd: int) -> list[Mapping]:
    os.lseek(fd, 0, os.SEEK_SET)
    try:
        with open(fd, "rb", closefd=False) as table:
            lines = table.read().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        # address perms offset device inode path; a shared writable mapping has "w" and "s".
        fields = line.split(None, 5)
        if len(fields) == 6 and fields[1][1:2] == b"w" and fields[1][3:4] == b"s":
            path = os.fsdecode(_OCTAL.sub(lambda match: bytes([int(match[1], 8)]), fields[5]))
            found.append(Mapping(path, int(fields[4])))
    return found
