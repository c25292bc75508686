"""A place where git may write a pack: an object directory of its own below `incoming`, with ours as alternate."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Collection, Sequence
from types import TracebackType
from typing import Self

from nbrewind import fs
from nbrewind.errors import StoreError
from nbrewind.model import ObjectId
from nbrewind.store.shadow import incoming
from nbrewind.store.shadow.chunks import ZSTD_MAGIC
from nbrewind.store.shadow.git import GitRunner
from nbrewind.store.shadow.layout import STORED_NAME
from nbrewind.store.shadow.pack import Pack
from nbrewind.store.shadow.repository import ShadowRepository
from nbrewind.store.shadow.stream import temporary_stem

__all__ = ["Quarantine"]

_PACK = ("pack-objects", "-q", "--delta-base-offset", "--threads=1", "--window=10", "--depth=20")
_WINDOW_READ = 64
_LARGE_PACK = 64 << 20


class Quarantine:
    """Holds what git makes until it is checked and durable; the real `objects` are never written by git.

    A killed git leaves its temporary files here, and the next `open` sweeps them with the directory.
    """

    def __init__(self, repository: ShadowRepository, git: GitRunner) -> None:
        self._repository = repository
        self._git = git
        self.path = f"{repository.incoming}/{temporary_stem()}"
        self._lock = -1

    def __enter__(self) -> Self:
        """Make the directory."""
        fs.make_directory(self.path)
        self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        with contextlib.suppress(OSError):
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fs.make_directory(f"{self.path}/pack")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the directory with everything in it."""
        if self._lock >= 0:
            os.close(self._lock)
        with contextlib.suppress(OSError):
            incoming.remove(self.path)

    def pack_listed(self, packs: Sequence[Pack], *, timeout: float | None = None) -> Pack:
        """Return a new pack of every object of *packs*.

        Raises:
            StoreError: git failed.
        """
        listed: dict[bytes, bool] = {}
        for pack in packs:
            with open(pack.path + ".pack", "rb", buffering=0) as file:
                large = os.fstat(file.fileno()).st_size > _LARGE_PACK
                for position in range(pack.index.count):
                    head = os.pread(file.fileno(), _WINDOW_READ, pack.index.offset(position))
                    listed.setdefault(pack.index.name(position), _is_hopeless(head, large=large))
        lines = [
            f"{name.hex()} {STORED_NAME}\n" if hopeless else f"{name.hex()}\n" for name, hopeless in listed.items()
        ]
        return self._run([], "".join(lines), timeout)

    def pack_reachable(self, roots: Collection[ObjectId], *, timeout: float | None = None) -> Pack:
        """Return a new pack of everything that can be reached from *roots*.

        Raises:
            StoreError: git failed, or an object is missing.
        """
        return self._run(["--revs"], "".join(f"{oid}\n" for oid in sorted(roots)), timeout)

    def harden(self, pack: Pack) -> None:
        """Make *pack* durable: the long part of `admit`.

        Raises:
            OSError: The disk refused.
        """
        for extension in (".pack", ".idx"):
            fs.chmod(pack.path + extension, 0o600)
            fd = os.open(pack.path + extension, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fs.sync_file(fd)
            finally:
                os.close(fd)

    def admit(self, pack: Pack) -> None:
        """Move the hardened *pack* among the others, under a new name.

        Raises:
            OSError: The disk refused.
        """
        directory = self._repository.packs.path
        # git names a pack by its objects: the same objects again would replace the pack that is about to go.
        stem = "pack-" + hashlib.sha1(pack.stem.encode() + os.urandom(16), usedforsecurity=False).hexdigest()
        for extension in (".pack", ".idx"):
            fs.rename(pack.path + extension, f"{directory}/{stem}{extension}")
        fs.sync_directory(directory)
        self._repository.packs.refresh(force=True)

    def _run(self, arguments: Sequence[str], listing: str, timeout: float | None) -> Pack:
        result = self._git.run(
            *_PACK,
            *arguments,
            f"{self.path}/pack/pack",
            data=listing.encode(),
            changes=True,
            extra={
                "GIT_OBJECT_DIRECTORY": self.path,
                "GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted(self._repository.objects),
            },
            timeout=timeout,
        )
        if result.status != 0:
            raise StoreError(f"git pack-objects failed ({result.status}): {result.errors.strip()[:400]}")
        name = result.output.decode("ascii", "replace").strip()
        return Pack(f"{self.path}/pack", f"pack-{name}")


def _quoted(path: str) -> str:
    """Return *path* as git reads it in a list that colons separate."""
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _is_hopeless(head: bytes, *, large: bool) -> bool:
    """Return whether no delta should be looked for, for the entry that begins with *head* in a *large* pack or not.

    So it is for what has zstd inside, and for incompressible data by the gigabyte, where looking would take minutes.
    """
    at = 0
    while at < len(head) and head[at] & 0x80:
        at += 1
    kind = (head[0] >> 4) & 7 if head else 0
    # After the two bytes of zlib: bits 1 and 2 of a stored block are 0, and its data begin five bytes later.
    if kind > 4 or len(head) <= at + 3 or head[at + 3] & 6:
        return False
    data = head[at + 8 :]
    return large or data.startswith((ZSTD_MAGIC, b"\1" + ZSTD_MAGIC))
