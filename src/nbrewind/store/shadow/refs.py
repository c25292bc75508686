"""References: roots for git's own collector. The operation log is the truth; these are made again from it."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping
from pathlib import Path

from nbrewind import fs
from nbrewind.model import ObjectId

__all__ = ["References"]

_PART = r"[0-9A-Za-z_][0-9A-Za-z_-]*(?:\.[0-9A-Za-z_-]+)*"
_NAME = re.compile(rf"refs(?:/{_PART})+")
_OID = re.compile(r"[0-9a-f]{40}")
_HEADER = "# pack-refs with: peeled fully-peeled sorted \n"


class References:
    """The files below `refs/` and the file `packed-refs` of one repository. A single one is flushed where asked for."""

    def __init__(self, root: str) -> None:
        self._root = root

    def set(self, name: str, oid: ObjectId, *, sync: bool = False) -> None:
        """Point *name* at *oid*; with *sync* it survives a power cut once this returns.

        Raises:
            ValueError: *name* is no name of a reference.
        """
        path = self._path(name)
        data = f"{oid}\n".encode()
        try:
            fs.replace(path, data, sync=sync)
        except FileNotFoundError:
            fs.make_directories(os.path.dirname(path), sync=sync)
            fs.replace(path, data, sync=sync)

    def list(self, prefix: str = "refs/") -> dict[str, ObjectId]:
        """Return every reference whose name begins with *prefix*."""
        found = {name: oid for name, oid in self._packed().items() if name.startswith(prefix)}
        for directory, _, names in os.walk(f"{self._root}/refs"):
            below = directory[len(self._root) + 1 :]
            for name in names:
                full = f"{below}/{name}"
                if full.startswith(prefix) and _NAME.fullmatch(full):
                    oid = self._loose(full)
                    if oid is not None:
                        found[full] = oid
        return dict(sorted(found.items()))

    def delete(self, name: str) -> None:
        """Remove *name* if it is there."""
        packed = self._packed()
        if packed.pop(name, None) is not None:
            # The packed one first: else a death in between would bring back what it pointed at before.
            self._write_packed(packed)
        with contextlib.suppress(FileNotFoundError):
            fs.unlink(self._path(name))

    def replace_all(self, prefix: str, wanted: Mapping[str, ObjectId]) -> None:
        """Make the references below *prefix* exactly *wanted*, in one file; others stay as they are.

        Raises:
            ValueError: A name is no name of a reference.
        """
        for name in wanted:
            self._path(name)
        loose = [name for name in self.list(prefix) if os.path.lexists(f"{self._root}/{name}")]
        others = {name: oid for name, oid in self._packed().items() if not name.startswith(prefix)}
        self._write_packed(others | dict(wanted))
        for name in loose:
            with contextlib.suppress(FileNotFoundError):
                fs.unlink(self._path(name))
        self.sweep(prefix)

    def sweep(self, prefix: str = "refs/") -> None:
        """Remove what dead writers left below *prefix*. A writer that is in the middle of one does it again."""
        for directory, _, names in os.walk(f"{self._root}/{prefix}"):
            if any(name.startswith(".") for name in names):
                fs.sweep_temporaries(directory)

    def _path(self, name: str) -> str:
        if not _NAME.fullmatch(name) or name.endswith(".lock"):
            raise ValueError(f"{name!r} is no name of a reference")
        return f"{self._root}/{name}"

    def _loose(self, name: str) -> ObjectId | None:
        try:
            text = Path(f"{self._root}/{name}").read_text(encoding="ascii", errors="replace").strip()
        except FileNotFoundError:
            return None
        return ObjectId(text) if _OID.fullmatch(text) else None

    def _packed(self) -> dict[str, ObjectId]:
        try:
            text = Path(f"{self._root}/packed-refs").read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return {}
        rows = (line.split(" ", 1) for line in text.splitlines() if line[:1] not in ("#", "^", ""))
        return {row[1]: ObjectId(row[0]) for row in rows if len(row) == 2 and _OID.fullmatch(row[0])}

    def _write_packed(self, wanted: Mapping[str, ObjectId]) -> None:
        lines = [f"{oid} {name}\n" for name, oid in sorted(wanted.items())]
        # Flushed: the loose ones that it replaces go now, and some of them name what no log names.
        fs.replace(f"{self._root}/packed-refs", (_HEADER + "".join(lines)).encode())
