"""The difference between what is known of the workspace and what a walk saw: which entries have to be looked at."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field

from nbrewind.model import EntryKind, Note
from nbrewind.resources.files.folder import Folder, parent_of
from nbrewind.resources.files.scan import Listing, RawSignature, Scan, raw_signature, under

__all__ = ["Comparison", "FolderDifference", "compare", "differs"]

_NOTHING = Folder({})
_RESTLESS = "changed while it was looked at"


@dataclass(frozen=True, slots=True)
class FolderDifference:
    """One folder in which something may differ.

    *look* are the names to look at, with their signatures: new, changed and untrusted ones. *gone* are names that do
    not stand there any more. *carried* are names of which nothing could be learned.
    """

    rel: str
    known: Folder
    listing: Listing
    look: dict[str, RawSignature]
    gone: tuple[str, ...] = ()
    carried: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """All differences. Folders in *gone* do not stand any more; those in *carried* could not be seen."""

    folders: tuple[FolderDifference, ...] = ()
    gone: tuple[str, ...] = ()
    carried: tuple[str, ...] = field(default=())


def differs(known: Mapping[str, Folder], scan: Scan) -> bool:
    """Return whether anything has to be looked at; False proves that nothing changed since the last snapshot."""
    if scan.forced or any(
        rel not in known or not _is_same(known[rel], listing) for rel, listing in scan.folders.items()
    ):
        return True
    if len(known) == len(scan.folders):
        return False
    return not all(under(rel, scan.unreadable) for rel in known.keys() - scan.folders.keys())


def compare(known: Mapping[str, Folder], scan: Scan, forced: frozenset[str]) -> Comparison:
    """Return where *scan* differs from what is *known*; entries in *forced* count as changed."""
    wanted: dict[str, set[str]] = {}
    for rel in forced:
        folder, name = parent_of(rel)
        wanted.setdefault(folder, set()).add(name)
    differences = [
        _folder_difference(scan, rel, known.get(rel, _NOTHING), wanted.get(rel, set()))
        for rel, listing in scan.folders.items()
        if rel in wanted or rel not in known or not _is_same(known[rel], listing)
    ]
    unseen = {*scan.unreadable, *(note.subject for difference in differences for note in difference.carried)}
    missing = known.keys() - scan.folders.keys()
    carried = tuple(rel for rel in missing if under(rel, unseen))
    return Comparison(tuple(differences), tuple(missing.difference(carried)), carried)


def _is_same(folder: Folder, listing: Listing) -> bool:
    if folder.untrusted or listing.blind:
        return False
    return folder.listing is listing or folder.signatures == listing.signatures


def _folder_difference(scan: Scan, rel: str, folder: Folder, forced: set[str]) -> FolderDifference:
    listing = scan.folders[rel]
    seen, before, untrusted = listing.signatures, folder.signatures, folder.untrusted
    look = {name: raw for name, raw in seen.items() if before.get(name) != raw or name in untrusted or name in forced}
    carried = {note.subject.rpartition("/")[2]: note for note in listing.blind}
    gone = []
    for name in folder.states:
        if name in seen or name in carried:
            continue
        # A name that was renamed over while the folder was listed may have been passed over.
        path = f"{rel}/{name}" if rel else name
        raw = _look(scan.root, path)
        if raw is None or scan.matcher.reason_here(rel, name, stat.S_ISDIR(raw[0])):
            gone.append(name)
        elif stat.S_ISDIR(raw[0]) or folder.states[name].kind is EntryKind.DIRECTORY:
            carried[name] = Note(path, _RESTLESS)
        else:
            look[name] = raw
    notes = tuple(note for name, note in carried.items() if name in folder.states)
    return FolderDifference(rel, folder, listing, look, tuple(gone), notes)


def _look(root: str, rel: str) -> RawSignature | None:
    try:
        return raw_signature(os.lstat(f"{root.rstrip('/')}/{rel}"))
    except OSError:
        return None
