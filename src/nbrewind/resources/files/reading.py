"""The reading half of a snapshot: every entry that may differ is looked at, and its bytes are stored."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from nbrewind.model import EntryKind, FileState, Note, ObjectId
from nbrewind.resources.files.comparison import Comparison
from nbrewind.resources.files.coverage import Coverage
from nbrewind.resources.files.folder import Folder, FolderDraft, parent_of
from nbrewind.resources.files.intake import Intake, Taken
from nbrewind.resources.files.known import Known, is_unchanged
from nbrewind.resources.files.range import Matcher
from nbrewind.resources.files.scan import RawSignature, Scan
from nbrewind.resources.files.side import NOT_COPIED
from nbrewind.resources.files.signature import entry_kind, raw_signature
from nbrewind.resources.files.sqlite import group
from nbrewind.resources.files.tree import agree

__all__ = ["Reading"]

_GROUP_TRIES: Final = 3
_Moved = Mapping[RawSignature, tuple[FileState, ObjectId | None]]


@dataclass(frozen=True, slots=True)
class _Look:
    """One entry to look at."""

    folder: str
    name: str
    signature: RawSignature

    @property
    def rel(self) -> str:
        return f"{self.folder}/{self.name}" if self.folder else self.name


class Reading:
    """What one snapshot learned: a draft of each folder in which something may differ, and notes on what is not kept.

    *copied* are the bytes of the first copy so far.
    """

    def __init__(self, known: Known, scan: Scan, coverage: Coverage, comparison: Comparison) -> None:
        self.notes: list[Note] = []
        self.copied = known.copied
        self.drafts = {
            difference.rel: FolderDraft(difference.rel, difference.known, difference.listing)
            for difference in comparison.folders
        }
        self._known = known
        self._scan = scan
        self._coverage = coverage
        self._comparison = comparison
        self._postponed = 0
        same_range = known.range == scan.range
        self._matcher = None if same_range or known.range is None else Matcher(known.range)
        self._unseen = {rel for rel, folder in known.folders.items() if folder.unseen}

    def read(self, intake: Intake, deadline: float | None) -> None:
        """Look at every entry that may differ; after *deadline* (monotonic) no first copies are made any more.

        Raises:
            StoreError: The shadow repository cannot be written.
        """
        moved = self._moved()
        looks = [
            _Look(difference.rel, name, raw)
            for difference in self._comparison.folders
            for name, raw in difference.look.items()
        ]
        # Small files first: where a budget ends early, most names are safe.
        looks.sort(key=lambda look: look.signature[3])
        for look in looks:
            self._put(look, self._take(intake, look, moved, deadline))
        for look in looks:
            self._settle_database(intake, look)
        for difference in self._comparison.folders:
            for name in difference.gone:
                self.drafts[difference.rel].drop(name)
            for note in difference.carried:
                self.drafts[difference.rel].carry(parent_of(note.subject)[1])
            self.notes.extend(difference.carried)
        self._mark_unseen()
        if self._postponed:
            self.notes.append(Note(f"{self._postponed} files", NOT_COPIED))

    def silent(self, rel: str, is_dir: bool) -> bool:
        """Return whether *rel* may have stood there before although nothing is known of it."""
        if self._known.folder(parent_of(rel)[0]).sighted:
            return False
        if self._known.address is None or (self._matcher is not None and self._matcher.reason(rel, is_dir)):
            return True
        if not self._unseen:
            return False
        parts = rel.split("/")[:-1]
        return any("/".join(parts[:depth]) in self._unseen for depth in range(1, len(parts) + 1))

    def _moved(self) -> _Moved:
        """Return the files that went, by signature: a new name with the same one is that file in a renamed folder."""
        gone: list[tuple[Folder, Iterable[str]]] = [
            (difference.known, difference.gone) for difference in self._comparison.folders
        ]
        gone += [(self._known.folders[rel], self._known.folders[rel].states) for rel in self._comparison.gone]
        return {
            raw: (folder.states[name], folder.chunks.get(name))
            for folder, names in gone
            for name in names
            if (raw := folder.signatures.get(name)) is not None
            and name not in folder.untrusted
            and folder.states[name].kind is EntryKind.FILE
            and folder.states[name].object is not None
        }

    def _take(self, intake: Intake, look: _Look, moved: _Moved, deadline: float | None) -> Taken:
        known = self._known.folder(look.folder)
        state, before = known.states.get(look.name), known.signatures.get(look.name)
        if state is None and look.signature in moved and not self._coverage.secret(look.name):
            old, chunk_tree = moved[look.signature]
            return Taken(old, look.signature, chunk_tree=chunk_tree)
        if entry_kind(look.signature[0]) is EntryKind.FILE and self._is_first_copy(look, state, before):
            size = look.signature[3]
            if self.copied + size > self._coverage.settings.first_copy:
                return _postponed(look, trusted=True)
            if deadline is not None and time.monotonic() > deadline:
                return _postponed(look, trusted=False)
            self.copied += size
        return intake.take(look.rel, look.signature, state, before)

    def _is_first_copy(self, look: _Look, state: FileState | None, before: RawSignature | None) -> bool:
        if self._coverage.secret(look.name) or look.signature[3] > self._coverage.settings.max_file_size:
            return False
        if state is None:
            return self.silent(look.rel, False)
        return state.missing == NOT_COPIED and is_unchanged(state, before, look.signature)

    def _put(self, look: _Look, taken: Taken) -> None:
        self.drafts[look.folder].put(look.name, taken)
        if taken.note == NOT_COPIED:
            self._postponed += 1
        elif taken.note:
            known = self._known.folder(look.folder)
            # What was noted before and is as it was is no news of this snapshot.
            if not agree(known.states.get(look.name), taken.state) or known.signatures.get(look.name) != look.signature:
                self.notes.append(Note(look.rel, taken.note))

    def _settle_database(self, intake: Intake, look: _Look) -> None:
        """Read the files of a database again until all were read in one state."""
        draft = self.drafts[look.folder]
        for attempt in range(_GROUP_TRIES + 1):
            members = group(look.name, draft.states)
            seen = [(name, self._now(look, name)) for name in members]
            stale = [(name, now) for name, now in seen if now is not None and now != draft.seen(name)]
            if not stale:
                return
            if attempt == _GROUP_TRIES:
                self.notes.append(Note(look.rel, "a database that changed while it was read"))
                return
            for name, now in stale:
                again = _Look(look.folder, name, now)
                self._put(again, intake.take(again.rel, again.signature, draft.states.get(name), None))

    def _now(self, look: _Look, name: str) -> RawSignature | None:
        folder = f"{self._scan.root.rstrip('/')}/{look.folder}"
        try:
            return raw_signature(os.lstat(f"{folder}/{name}"))
        except OSError:
            return None

    def _mark_unseen(self) -> None:
        """Give folders that could never be read a place, marked, so that what they hold is not taken for new later."""
        for rel, why in self._scan.unreadable.items():
            self.notes.append(Note(rel or ".", why))
            if not rel or rel in self._known.folders:
                continue
            folder, name = parent_of(rel)
            raw = self._scan.folders[folder].signatures[name]
            parent = self.drafts.get(folder)
            if parent is None:
                parent = FolderDraft(folder, self._known.folder(folder), self._scan.folders[folder])
                self.drafts[folder] = parent
            state = FileState(EntryKind.DIRECTORY, mode=raw[0] & 0o7777, missing=why)
            parent.put(name, Taken(state, raw))
            self.drafts[rel] = FolderDraft(rel, Folder({}), None, unseen=True)


def _postponed(look: _Look, *, trusted: bool) -> Taken:
    raw = look.signature
    state = FileState(EntryKind.FILE, None, raw[3], raw[0] & 0o7777, raw[1], missing=NOT_COPIED)
    return Taken(state, raw, trusted, note=NOT_COPIED)
