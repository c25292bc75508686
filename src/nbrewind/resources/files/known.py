"""What the last commit holds of the workspace: the ground on which the next snapshot is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nbrewind.model import FilesAddress, FileState, ObjectId
from nbrewind.resources.files.folder import Folder, load_folders
from nbrewind.resources.files.range import Range
from nbrewind.resources.files.scan import RawSignature
from nbrewind.resources.files.side import LINKS, RANGE
from nbrewind.resources.files.tree import SnapshotTree

__all__ = ["NOTHING", "Known", "is_unchanged", "load"]

NOTHING = Folder({})


@dataclass(frozen=True, slots=True)
class Known:
    """Every folder of the last commit at *address*, and the *range* that it covered.

    *range_at* and *links_at* are parts of its side manifest. *copied* counts the bytes of the first copy so far.
    """

    folders: Mapping[str, Folder] = field(default_factory=dict)
    address: FilesAddress | None = None
    range: Range | None = None
    range_at: ObjectId | None = None
    links_at: ObjectId | None = None
    copied: int = 0

    def folder(self, rel: str) -> Folder:
        """Return what is known of the folder *rel*, an empty one if nothing is."""
        return self.folders.get(rel, NOTHING)

    def state(self, rel: str) -> FileState | None:
        """Return what the last commit says of *rel*."""
        folder, _, name = rel.rpartition("/")
        return self.folder(folder).states.get(name) if rel else None


def load(tree: SnapshotTree) -> Known:
    """Return what the checkpoint *tree* holds. No signature is known, so that the next snapshot reads every entry.

    Raises:
        StoreError: It cannot be read.
    """
    return Known(
        folders=load_folders(tree),
        address=tree.address,
        range=tree.range,
        range_at=tree.top(RANGE),
        links_at=tree.top(LINKS),
    )


def is_unchanged(state: FileState, before: RawSignature | None, now: RawSignature) -> bool:
    """Return whether an entry whose bytes were not kept is still the one that is known."""
    return before == now if before is not None else (state.size, state.mtime_ns) == (now[3], now[1])
