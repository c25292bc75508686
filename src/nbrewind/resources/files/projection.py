"""The snapshot of what will stand when a rewind is through, made from its steps without looking at the disk.

At the commit point of a rewind its files do not all stand as they will: what goes last, such as emptied directories
and the tails of files rewritten in place, goes after it. So the checkpoint comes from the plan. Nothing of it is
trusted afterwards: the next walk reads each of its paths once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nbrewind.model import EntryKind, FileState, FileStep, ObjectId
from nbrewind.resources.files.comparison import Comparison
from nbrewind.resources.files.folder import Folder, FolderDraft, parent_of
from nbrewind.resources.files.intake import Taken
from nbrewind.resources.files.known import Known
from nbrewind.resources.files.scan import Scan, under
from nbrewind.resources.files.snapshot import Snapshot, SnapshotOrder, commit_folders
from nbrewind.store.shadow.chunks import Pointer
from nbrewind.store.shadow.repository import ShadowRepository
from nbrewind.store.shadow.writer import PackWriter

__all__ = ["project"]

_UNKNOWN = (0,) * 7
"""A signature that no entry has."""


def project(
    base: Known,
    steps: Iterable[FileStep],
    scan: Scan,
    repository: ShadowRepository,
    writer: PackWriter,
    order: SnapshotOrder,
    times: Mapping[str, int],
) -> Snapshot:
    """Return the snapshot of *base* with the *steps* inside the workspace carried out. *scan* is that of *base*.

    *times* are those that folders will have.

    Raises:
        StoreError: The shadow repository cannot be read or written.
    """
    inside = [step for step in steps if step.moved_to is None and not step.path.startswith("/")]
    gone = _gone(base, inside)
    drafts: dict[str, FolderDraft] = {}
    for step in inside:
        folder, name = parent_of(step.path)
        if under(folder, gone):
            continue
        draft = drafts.get(folder)
        if draft is None:
            draft = drafts[folder] = FolderDraft(folder, base.folders.get(folder, Folder({})), None)
        if step.wanted is None:
            draft.drop(name)
        else:
            draft.put(name, Taken(step.wanted, _UNKNOWN, False, _chunk_tree(repository, step.wanted)))
            if step.wanted.kind is EntryKind.DIRECTORY and step.path not in base.folders:
                drafts.setdefault(step.path, FolderDraft(step.path, Folder({}), None))
    for rel, draft in drafts.items():
        draft.mtime_ns = times.get(rel, draft.mtime_ns)
    known, address = commit_folders(base, Comparison(gone=tuple(gone)), drafts, scan, writer, order)
    return Snapshot(address, (), (), {}, (), known, base)


def _gone(base: Known, steps: Iterable[FileStep]) -> set[str]:
    """Return the folders that will not stand any more, with all below them."""
    tops = {
        step.path
        for step in steps
        if step.path in base.folders and (step.wanted is None or step.wanted.kind is not EntryKind.DIRECTORY)
    }
    return {rel for rel in base.folders if under(rel, tops)} if tops else set()


def _chunk_tree(repository: ShadowRepository, state: FileState) -> ObjectId | None:
    if not state.chunked or state.object is None:
        return None
    return Pointer.from_bytes(repository.read(state.object)).tree
