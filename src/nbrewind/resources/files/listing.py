"""One folder as a walk saw it."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from nbrewind.model import Note
from nbrewind.resources.files.signature import RawSignature

__all__ = ["Listing", "under"]


@dataclass(frozen=True, slots=True)
class Listing:
    """One folder as seen: its covered entries, its covered subfolders, and what was left out or could not be seen.

    *linked* are the files with more than one name, *blind* the names of which nothing could be learned.
    """

    signatures: dict[str, RawSignature]
    folders: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()
    excluded: tuple[Note, ...] = ()
    blind: tuple[Note, ...] = ()
    mtime_ns: int = 0
    size: int = 0


def under(rel: str, tops: Container[str]) -> bool:
    """Return whether *rel* is one of *tops* or lies below one."""
    if rel in tops or "" in tops:
        return True
    at = rel.find("/")
    while at >= 0:
        if rel[:at] in tops:
            return True
        at = rel.find("/", at + 1)
    return False
