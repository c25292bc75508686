"""What is known of one folder: the states that the last commit holds, and the signatures for which they hold."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from nbrewind.model import EntryKind, FileState, ObjectId
from nbrewind.resources.files.intake import Taken
from nbrewind.resources.files.scan import Listing, RawSignature
from nbrewind.resources.files.side import (
    CHUNKS,
    DIRECTORY,
    FOLDERS,
    ITSELF,
    META,
    NOT_COPIED,
    PARTS_FROM,
    REGULAR,
    git_mode,
    meta_bytes,
    part_of,
)
from nbrewind.resources.files.signature import entry_kind
from nbrewind.resources.files.tree import SnapshotTree
from nbrewind.store.shadow.objects import TreeEntry
from nbrewind.store.shadow.writer import PackWriter

__all__ = ["Folder", "FolderDraft", "load_folders", "parent_of", "side_entries", "sighted_folder"]

_ENCODING, _ERRORS = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()


@dataclass(frozen=True, slots=True)
class Folder:
    """One folder, never changed once made.

    *states* are what the last commit says. *signatures* are what a walk saw when they were read; names in *untrusted*
    may have changed since without a new signature (written too shortly before), or were not read yet.
    *listing* is the walk's listing if it says the same as *signatures*. *tree*, *side*, *meta*, *parts* and *chunks*
    are the objects that hold the folder. An *unseen* folder could never be read; a *sighted* one was listed when it
    came into focus, and is in no commit yet. *mtime_ns* is its own time when its names were last stored (0: unknown).
    """

    states: dict[str, FileState]
    signatures: dict[str, RawSignature] = field(default_factory=dict)
    untrusted: frozenset[str] = frozenset()
    listing: Listing | None = None
    tree: ObjectId | None = None
    side: ObjectId | None = None
    meta: ObjectId | None = None
    parts: dict[bytes, ObjectId] | None = None
    chunks: dict[str, ObjectId] = field(default_factory=dict)
    unseen: bool = False
    sighted: bool = False
    mtime_ns: int = 0

    def held(self, name: str, signature: RawSignature) -> FileState | None:
        """Return the state of *name* if *signature* proves that it still is that."""
        if self.signatures.get(name) != signature or name in self.untrusted:
            return None
        state = self.states.get(name)
        return None if state is None or state.missing else state

    def subfolders(self) -> list[str]:
        """Return the names of the folders in it."""
        return [name for name, state in self.states.items() if state.kind is EntryKind.DIRECTORY]


class FolderDraft:
    """A folder in the making: what is known of it, with what a new look brought."""

    def __init__(self, rel: str, known: Folder, listing: Listing | None, *, unseen: bool = False) -> None:
        self.rel = rel
        self._unseen = unseen
        self.known = known
        self.states = dict(known.states)
        self._listing = listing
        self._untrusted = set(known.untrusted)
        self._own: dict[str, RawSignature] = {}
        self._chunks = known.chunks
        self._changed: set[str] = set()
        self.mtime_ns = known.mtime_ns if listing is None else listing.mtime_ns

    def put(self, name: str, taken: Taken) -> None:
        """Take in what was learned of *name*."""
        if taken.state is None:
            self.drop(name)
            return
        if self.states.get(name) != taken.state:
            self.states[name] = taken.state
            self._changed.add(name)
        (self._untrusted.discard if taken.trusted else self._untrusted.add)(name)
        self._own[name] = taken.signature
        if taken.chunk_tree is not None:
            self._chunks = {**self._chunks, name: taken.chunk_tree}
        elif name in self._chunks and not taken.state.chunked:
            self._chunks = {key: oid for key, oid in self._chunks.items() if key != name}

    def drop(self, name: str) -> None:
        """Take note that nothing stands at *name*."""
        if self.states.pop(name, None) is not None:
            self._changed.add(name)
        self._untrusted.discard(name)
        self._own.pop(name, None)
        if name in self._chunks:
            self._chunks = {key: oid for key, oid in self._chunks.items() if key != name}

    def carry(self, name: str) -> None:
        """Keep what is known of *name*, and look again next time."""
        self._untrusted.add(name)

    def seen(self, name: str) -> RawSignature | None:
        """Return the signature that *name* had when it was read."""
        listed = None if self._listing is None else self._listing.signatures.get(name)
        return self._own.get(name) or listed or self.known.signatures.get(name)

    def finished(self, writer: PackWriter, below: Callable[[str], Folder], moved: bool) -> Folder:
        """Return the folder, its objects written where something differs.

        Args:
            writer: Where the objects go.
            below: Returns a subfolder by its name, already finished.
            moved: Whether an object of a subfolder changed.
        """
        fresh = self.known.meta is None
        folder = replace(
            self.known, states=self.states, untrusted=frozenset(self._untrusted), chunks=self._chunks,
            unseen=self._unseen,
            sighted=False,
            **self._signatures(),
        )  # fmt: skip
        if not (self._changed or moved or fresh):
            return folder
        if self._changed or fresh:
            # With the names, since a folder's time moves when they do; alone it is not worth an object.
            parts, meta = self._write_meta(writer)
            folder = replace(folder, meta=meta, parts=parts, mtime_ns=self.mtime_ns)
        folder = replace(folder, tree=self._write_tree(writer, below))
        if not self.rel:
            return folder
        return replace(folder, side=writer.tree(side_entries(writer, folder, below)))

    def _signatures(self) -> dict[str, Any]:
        listing = self._listing
        if listing is None:
            # Without those of names that were dropped: all folders have one signature, and a new one would look known.
            known = {name: raw for name, raw in self.known.signatures.items() if name in self.states}
            return {"signatures": known, "listing": None}
        if self.states.keys() == listing.signatures.keys() and all(
            listing.signatures[name] == raw for name, raw in self._own.items()
        ):
            return {"signatures": listing.signatures, "listing": listing}
        merged = {**self.known.signatures, **listing.signatures, **self._own}
        return {"signatures": {name: merged[name] for name in self.states if name in merged}, "listing": None}

    def _write_meta(self, writer: PackWriter) -> tuple[dict[bytes, ObjectId] | None, ObjectId]:
        states = self.states
        if self.mtime_ns:
            states = {ITSELF: FileState(EntryKind.DIRECTORY, mode=0, mtime_ns=self.mtime_ns), **states}
        if len(states) < PARTS_FROM:
            return None, writer.blob(meta_bytes(states.items()))
        stale = None if self.known.parts is None else {part_of(name) for name in (*self._changed, ITSELF)}
        rows: dict[bytes, list[tuple[str, FileState]]] = {}
        for name, state in states.items():
            part = part_of(name)
            if stale is None or part in stale:
                rows.setdefault(part, []).append((name, state))
        parts = {part: oid for part, oid in (self.known.parts or {}).items() if stale is not None and part not in stale}
        parts |= {part: writer.blob(meta_bytes(members)) for part, members in rows.items()}
        return parts, writer.tree(TreeEntry(REGULAR, part, oid) for part, oid in parts.items())

    def _write_tree(self, writer: PackWriter, below: Callable[[str], Folder]) -> ObjectId | None:
        entries = []
        file, directory = EntryKind.FILE, EntryKind.DIRECTORY
        for name, state in self.states.items():  # Every name of the folder, in each turn that changes one of them.
            kind = state.kind
            if kind is directory:
                if (tree := below(name).tree) is not None:
                    entries.append((DIRECTORY, os.fsencode(name), tree))
            elif state.object is not None:
                mode = REGULAR if kind is file and not state.mode & 0o100 else git_mode(state)
                entries.append((mode, name.encode(_ENCODING, _ERRORS), state.object))
        return writer.tree(entries) if entries or not self.rel else None


def side_entries(writer: PackWriter, folder: Folder, below: Callable[[str], Folder]) -> list[TreeEntry]:
    """Return the rows of the side tree of *folder*, the trees in it written."""
    assert folder.meta is not None, "a folder without its manifest"
    entries = [TreeEntry(REGULAR if folder.parts is None else DIRECTORY, META, folder.meta)]
    names = folder.subfolders()
    if names:
        sides = [(os.fsencode(name), below(name).side) for name in names]
        subtree = writer.tree(TreeEntry(DIRECTORY, name, side) for name, side in sides if side is not None)
        entries.append(TreeEntry(DIRECTORY, FOLDERS, subtree))
    if folder.chunks:
        chunks = writer.tree(TreeEntry(DIRECTORY, os.fsencode(name), oid) for name, oid in folder.chunks.items())
        entries.append(TreeEntry(DIRECTORY, CHUNKS, chunks))
    return entries


def sighted_folder(listing: Listing) -> Folder:
    """Return a folder of which only a listing is known."""
    states = {}
    for name, raw in listing.signatures.items():
        kind, mode = entry_kind(raw[0]), raw[0] & 0o7777
        missing = NOT_COPIED if kind in (EntryKind.FILE, EntryKind.SYMLINK) else ""
        states[name] = FileState(kind, None, raw[3], mode, raw[1], missing=missing)
    return Folder(states, listing.signatures, frozenset(states), listing, sighted=True)


def load_folders(tree: SnapshotTree) -> dict[str, Folder]:
    """Return every folder of a checkpoint; nothing is known of signatures.

    Raises:
        StoreError: The checkpoint cannot be read.
    """
    folders: dict[str, Folder] = {}
    stack = [""]
    while stack:
        rel = stack.pop()
        stored = tree.folder(rel)
        if stored is None:
            continue
        state = tree.lookup(rel)
        folders[rel] = Folder(
            states=stored.states,
            untrusted=frozenset(stored.states),
            tree=stored.tree,
            side=stored.side,
            meta=stored.meta,
            parts=stored.parts,
            chunks=stored.chunks,
            unseen=bool(state is not None and state.missing),
            mtime_ns=stored.mtime_ns,
        )
        stack.extend(f"{rel}/{name}" if rel else name for name in stored.subfolders())
    return folders


def parent_of(rel: str) -> tuple[str, str]:
    """Return the folder of *rel* and its name there."""
    folder, _, name = rel.rpartition("/")
    return folder, name
