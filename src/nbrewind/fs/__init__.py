"""The only part that changes the disk.

Every change passes one gate (`probe.mutate`), which is what makes fault injection possible: a test can fail, tear or
kill at each of them. Nothing here knows what the bytes mean.
"""

from nbrewind.fs.append import AppendFile
from nbrewind.fs.attributes import chown, owner_of, set_attribute
from nbrewind.fs.beneath import OutsideRoot, Root
from nbrewind.fs.descriptors import (
    allocate,
    copy_bytes,
    create_file,
    pwrite,
    sync_data,
    sync_directory,
    sync_file,
    sync_filesystem,
    truncate,
    write,
)
from nbrewind.fs.entries import (
    chmod,
    link,
    make_directories,
    make_directory,
    rename,
    rmdir,
    symlink,
    unlink,
    utime_ns,
)
from nbrewind.fs.exchange import exchange_supported, rename_exchange, rename_noreplace, temporary_name
from nbrewind.fs.lock import FileLock, lock_is_held
from nbrewind.fs.probe import Probe, StrPath, install_probe, mutating_child
from nbrewind.fs.process import become
from nbrewind.fs.replacement import replace, sweep_temporaries, write_new

__all__ = [
    "AppendFile",
    "FileLock",
    "OutsideRoot",
    "Probe",
    "Root",
    "StrPath",
    "allocate",
    "become",
    "chmod",
    "chown",
    "copy_bytes",
    "create_file",
    "exchange_supported",
    "install_probe",
    "link",
    "lock_is_held",
    "make_directories",
    "make_directory",
    "mutating_child",
    "owner_of",
    "pwrite",
    "rename",
    "rename_exchange",
    "rename_noreplace",
    "replace",
    "rmdir",
    "set_attribute",
    "sweep_temporaries",
    "symlink",
    "sync_data",
    "sync_directory",
    "sync_file",
    "sync_filesystem",
    "temporary_name",
    "truncate",
    "unlink",
    "utime_ns",
    "write",
    "write_new",
]
