"""A snapshot: what a walk saw becomes objects and a commit, with the list of what changed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from nbrewind.model import Change, Claim, EntryKind, FilesAddress, FileState, Note, ObjectId, OperationId, Witness
from nbrewind.resources.files.comparison import Comparison, compare
from nbrewind.resources.files.coverage import Coverage
from nbrewind.resources.files.folder import Folder, FolderDraft, parent_of, side_entries
from nbrewind.resources.files.intake import Intake
from nbrewind.resources.files.known import NOTHING, Known, is_unchanged
from nbrewind.resources.files.range import Range
from nbrewind.resources.files.reading import Reading
from nbrewind.resources.files.scan import RawSignature, Scan
from nbrewind.resources.files.side import DIRECTORY, EXTRA, LINKS, RANGE, REGULAR, links_bytes, range_bytes
from nbrewind.resources.files.tree import agree
from nbrewind.store.shadow.objects import BLOB, TreeEntry, digest
from nbrewind.store.shadow.writer import PackWriter

__all__ = ["Snapshot", "SnapshotOrder", "commit_folders", "take_snapshot"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotOrder:
    """What a snapshot is asked for.

    *force* are paths to read whatever their signature says, *before_images* what the journal kept of paths whose first
    copy was not made yet (None: nothing stood there). *extra* and *extra_trees* are objects of the same operation that
    the side manifest has to hold. After *deadline* (monotonic) no first copies are made.
    """

    operation_id: OperationId
    label: str = ""
    force: frozenset[str] = frozenset()
    before_images: Mapping[str, FileState | None] = field(default_factory=dict)
    extra: Mapping[str, ObjectId] = field(default_factory=dict)
    extra_trees: Mapping[str, ObjectId] = field(default_factory=dict)
    trailers: Mapping[str, str] = field(default_factory=dict)
    deadline: float | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a snapshot brought. Not yet believed: `FileTracker.adopt` takes it in once its pack is durable.

    *address* is None where nothing at all differs from the last commit. *skipped* is what could not be kept, as far as
    it is news. *ctimes* tell for each changed path when it changed at the latest (for what is gone: when its folder
    last did). *links* are the groups of names of one file that *changes* touch.
    """

    address: FilesAddress | None
    changes: tuple[Change, ...]
    skipped: tuple[Note, ...]
    ctimes: Mapping[str, int]
    links: tuple[tuple[str, ...], ...]
    known: Known = field(repr=False)
    base: Known = field(repr=False)


def take_snapshot(
    base: Known, scan: Scan, coverage: Coverage, writer: PackWriter, slack_ns: int, order: SnapshotOrder
) -> Snapshot:
    """Store what differs from *base*, and return what that makes. Nothing but *writer* changes.

    Raises:
        StoreError: The shadow repository cannot be written; the caller aborts the writer.
    """
    # A folder that could never be read and now can: its parent has to say so.
    seen = {rel for rel, folder in base.folders.items() if folder.unseen and rel in scan.folders}
    comparison = compare(base.folders, scan, order.force | scan.forced | seen)
    reading = Reading(base, scan, coverage, comparison)
    if reading.drafts or comparison.gone or scan.unreadable:
        with Intake(scan.root, coverage, writer, slack_ns) as intake:
            reading.read(intake, order.deadline)
    known, address = commit_folders(
        replace(base, copied=reading.copied), comparison, reading.drafts, scan, writer, order
    )
    groups = _link_groups(scan)
    changes = tuple(sorted(_changes(base, comparison, reading, scan, order), key=lambda change: change.path))
    touched = {change.path for change in changes}
    links = tuple(paths for _, paths in groups if not touched.isdisjoint(paths))
    return Snapshot(address, changes, tuple(reading.notes), _ctimes(scan, changes), links, known, base)


# -- folders and commit ------------------------------------------------------------------------------------------------


def commit_folders(
    base: Known,
    comparison: Comparison,
    drafts: Mapping[str, FolderDraft],
    scan: Scan,
    writer: PackWriter,
    order: SnapshotOrder,
) -> tuple[Known, FilesAddress | None]:
    """Write the *drafts* and the commit above them; return what is known then, and where it is (None: nothing differs).

    Raises:
        StoreError: The shadow repository cannot be written.
    """
    folders, touched = _finish_folders(base, comparison, drafts, writer, scan)
    known = replace(base, folders=folders)
    return _commit(known, _link_groups(scan), scan.range, writer, order, touched=touched)


def _finish_folders(
    base: Known, comparison: Comparison, drafts: Mapping[str, FolderDraft], writer: PackWriter, scan: Scan
) -> tuple[dict[str, Folder], bool]:
    """Write the folders in which something differs, the deepest first.

    Returns all folders as they are now, and whether an object of the topmost one differs.
    """
    folders = dict(base.folders)
    for rel in comparison.gone:
        del folders[rel]
    pending = dict(drafts)
    levels = sorted({above for rel in pending for above in _with_ancestors(rel)}, key=_depth, reverse=True)
    moved: set[str] = set()
    for rel in levels:
        draft = pending.get(rel)
        if draft is None:
            if rel not in moved:
                continue
            draft = FolderDraft(rel, base.folder(rel), scan.folders.get(rel))
        before = base.folders.get(rel)
        folder = folders[rel] = draft.finished(writer, _Below(folders, rel), rel in moved)
        if rel and (before is None or (before.tree, before.side) != (folder.tree, folder.side)):
            moved.add(parent_of(rel)[0])
    top, before = folders.get("", NOTHING), base.folder("")
    return folders, "" in moved or (top.meta, top.tree) != (before.meta, before.tree)


class _Below:
    """Gives the subfolders of one folder by their names."""

    def __init__(self, folders: Mapping[str, Folder], rel: str) -> None:
        self._folders = folders
        self._rel = rel

    def __call__(self, name: str) -> Folder:
        return self._folders[_join(self._rel, name)]


def _commit(
    known: Known,
    groups: list[tuple[int, tuple[str, ...]]],
    covered: Range,
    writer: PackWriter,
    order: SnapshotOrder,
    *,
    touched: bool,
) -> tuple[Known, FilesAddress | None]:
    """Write the commit if anything differs from that of *known*; *touched* says that a folder does."""
    root = known.folders.get("")
    if root is None:
        # The workspace cannot be read, and never could.
        return known, None
    links = links_bytes(groups) if groups else b""
    links_at = digest(BLOB, links).hex() if groups else None
    same_range = known.range == covered
    extra = _extra(order)
    if known.address is not None and same_range and not touched and not extra and links_at == known.links_at:
        return known, None
    range_at = known.range_at if same_range and known.range_at else writer.blob(range_bytes(covered))
    rows = [*side_entries(writer, root, _Below(known.folders, "")), TreeEntry(REGULAR, RANGE, range_at)]
    if groups:
        rows.append(TreeEntry(REGULAR, LINKS, writer.blob(links)))
    if extra:
        rows.append(TreeEntry(DIRECTORY, EXTRA, writer.tree(extra)))
    side = writer.tree(rows)
    tree = root.tree if root.tree is not None else writer.tree(())
    address = FilesAddress(writer.commit(tree, _message(order, side), time.time()), tree, side)
    links_id = None if links_at is None else ObjectId(links_at)
    return replace(known, address=address, range=covered, range_at=range_at, links_at=links_id), address


def _extra(order: SnapshotOrder) -> list[TreeEntry]:
    return [TreeEntry(REGULAR, os.fsencode(name), oid) for name, oid in order.extra.items()] + [
        TreeEntry(DIRECTORY, os.fsencode(name), oid) for name, oid in order.extra_trees.items()
    ]


def _message(order: SnapshotOrder, side: ObjectId) -> str:
    label = " ".join(order.label.split())[:72]
    trailers = {**order.trailers, "Side": side}
    lines = "".join(f"{name}: {' '.join(str(value).split())}\n" for name, value in trailers.items())
    return f"nbrewind:{order.operation_id}:{label}\n\n{lines}"


def _link_groups(scan: Scan) -> list[tuple[int, tuple[str, ...]]]:
    """Return the names that are one file, each group with the number of names that the file has anywhere."""
    names: dict[tuple[int, int], tuple[int, list[str]]] = {}
    for folder, listing in scan.folders.items():
        for name in listing.linked:
            raw = listing.signatures.get(name)
            if raw is not None:
                names.setdefault((raw[5], raw[4]), (raw[6], []))[1].append(_join(folder, name))
    return [(count, tuple(sorted(paths))) for count, paths in names.values()]


# -- what changed ------------------------------------------------------------------------------------------------------


def _changes(
    base: Known, comparison: Comparison, reading: Reading, scan: Scan, order: SnapshotOrder
) -> Iterator[Change]:
    moved = base.range != scan.range
    for difference in comparison.folders:
        now = reading.drafts[difference.rel]
        for name in {**difference.look, **dict.fromkeys(difference.gone)}:
            rel = _join(difference.rel, name)
            before, after = difference.known.states.get(name), now.states.get(name)
            if rel in order.before_images and (before is None or before.missing):
                before = order.before_images[rel]
            elif before is None:
                if reading.silent(rel, _is_dir(after)):
                    continue
            elif _only_learned(before, difference.known.signatures.get(name), difference.look.get(name)):
                continue
            if agree(before, after) or (after is None and moved and scan.matcher.reason(rel, _is_dir(before))):
                continue
            yield Change(rel, before, after, Claim.UNCLAIMED, (Witness.SCAN,))
    for folder in comparison.gone:
        for name, state in base.folders[folder].states.items():
            rel = _join(folder, name)
            if not (moved and scan.matcher.reason(rel, _is_dir(state))):
                yield Change(rel, order.before_images.get(rel, state), None, Claim.UNCLAIMED, (Witness.SCAN,))


def _only_learned(before: FileState, known: RawSignature | None, now: RawSignature | None) -> bool:
    """Return whether the entry is as it was, and only more of it is known now."""
    return now is not None and bool(before.missing) and is_unchanged(before, known, now)


def _ctimes(scan: Scan, changes: tuple[Change, ...]) -> dict[str, int]:
    return {change.path: _ctime(scan, change) for change in changes}


def _ctime(scan: Scan, change: Change) -> int:
    """Return the latest time at which the change can have been made, in ns since the epoch."""
    folder, _ = parent_of(change.path)
    if change.after is None or (change.before is None and _is_dir(change.after)):
        while folder and folder not in scan.folders:
            folder = parent_of(folder)[0]
        listing = scan.folders.get(folder)
        return 0 if listing is None else listing.mtime_ns
    seen = scan.signature(change.path)
    if seen is not None and seen.ctime_ns:
        return seen.ctime_ns
    try:
        return os.lstat(f"{scan.root.rstrip('/')}/{change.path}").st_ctime_ns
    except OSError:
        return 0


def _is_dir(state: FileState | None) -> bool:
    return state is not None and state.kind is EntryKind.DIRECTORY


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _depth(rel: str) -> int:
    return rel.count("/") + 1 if rel else 0


def _with_ancestors(rel: str) -> list[str]:
    found = [rel]
    while rel:
        rel = parent_of(rel)[0]
        found.append(rel)
    return found
