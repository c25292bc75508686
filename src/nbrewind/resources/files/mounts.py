"""Which file system lies under a path, and what follows from its kind."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Final

__all__ = ["Mount", "mount_of", "mounts"]

_NETWORK: Final = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "9p", "ceph", "lustre", "gpfs", "beegfs", "glusterfs"),
        *("fuse.sshfs", "fuse.rclone", "fuse.gcsfuse", "fuse.s3fs", "fuse.davfs", "fuse.glusterfs", "fuse.drive"),
    }
)
_PSEUDO: Final = frozenset(
    {
        *("proc", "sysfs", "cgroup", "cgroup2", "devtmpfs", "devpts", "mqueue", "debugfs", "tracefs", "securityfs"),
        *("pstore", "bpf", "configfs", "fusectl", "hugetlbfs", "autofs", "binfmt_misc", "rpc_pipefs", "efivarfs"),
    }
)
_FINE: Final = frozenset(
    {"ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "ramfs", "overlay", "zfs", "f2fs", "bcachefs"}
)
# In memory, mapped files are written to without a new stamp, and by zfs with one that comes late.
_STAMPING: Final = _FINE - {"tmpfs", "ramfs", "zfs"}
_TICK_NS: Final = 20_000_000
_COARSE_NS: Final = 2_000_000_000
_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Mount:
    """A mounted file system: where it is mounted, and its type as the kernel names it."""

    point: str
    type: str

    @property
    def network(self) -> bool:
        """Return whether the files may change on another machine."""
        # A sandbox may serve its whole root by 9p; nothing is gained from treating that as a network drive.
        return self.type in _NETWORK and not (self.type == "9p" and self.point == "/")

    @property
    def pseudo(self) -> bool:
        """Return whether it holds no files of anybody."""
        return self.type in _PSEUDO

    @property
    def slack_ns(self) -> int:
        """Return how far apart two stamps must lie to tell a later write from an earlier one."""
        return _TICK_NS if self.type in _FINE else _COARSE_NS

    @property
    def tells_changes(self) -> bool:
        """Return whether inotify sees every change of a file here."""
        return self.type in _FINE

    @property
    def stamps_mappings(self) -> bool:
        """Return whether the first write through a mapping gives a file a new stamp at once."""
        return self.type in _STAMPING


def mounts() -> tuple[Mount, ...]:
    """Return what is mounted, longest mount point first; nothing where /proc is not."""
    try:
        with open("/proc/self/mountinfo", "rb") as table:
            lines = os.fsdecode(table.read()).splitlines()
    except OSError:
        return ()
    found = []
    for line in lines:
        fields, _, rest = line.partition(" - ")
        found.append(Mount(_plain(fields.split(" ")[4]), rest.split(" ")[0]))
    # The last mount on a point hides the earlier ones.
    return tuple(sorted(reversed(found), key=lambda mount: -len(mount.point)))


def mount_of(path: str, table: tuple[Mount, ...] | None = None) -> Mount:
    """Return the file system that holds *path* (absolute, real)."""
    for mount in mounts() if table is None else table:
        if path == mount.point or path.startswith(mount.point.rstrip("/") + "/"):
            return mount
    return Mount("/", "")


def _plain(field: str) -> str:
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), field)
