"""Objects that stand alone in a file, as git makes them; ours are in packs."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from nbrewind.errors import DamagedObject
from nbrewind.store.shadow.entries import inflated
from nbrewind.store.shadow.objects import KINDS

__all__ = ["loose_names", "loose_path", "read_loose"]

_NUMBERS = {name.encode(): number for number, name in KINDS.items()}


def loose_path(objects: str, oid: str) -> str:
    """Return where git keeps *oid* alone."""
    return f"{objects}/{oid[:2]}/{oid[2:]}"


def loose_names(objects: str) -> Iterator[str]:
    """Yield every object that stands alone."""
    for directory in os.listdir(objects):
        if len(directory) == 2:
            for name in os.listdir(f"{objects}/{directory}"):
                if len(name) == 38:
                    yield directory + name


def read_loose(objects: str, oid: str) -> tuple[int, bytes]:
    """Return kind and data of *oid*, its name not yet verified.

    Raises:
        FileNotFoundError: It does not stand alone.
        DamagedObject: It cannot be read.
    """
    with Path(loose_path(objects, oid)).open("rb", buffering=0) as file:
        head = file.read(4096)
        try:
            start = zlib.decompressobj().decompress(head, 64)
        except zlib.error as problem:
            raise DamagedObject(f"The object {oid} cannot be read: {problem}.") from problem
        kind, _, rest = start.partition(b" ")
        size, end, _ = rest.partition(b"\0")
        if kind not in _NUMBERS or not end or not size.isdigit():
            raise DamagedObject(f"The object {oid} cannot be read.")
        skipped = len(kind) + len(size) + 2
        return _NUMBERS[kind], inflated(file.fileno(), len(head), head, int(size) + skipped)[0][skipped:]
