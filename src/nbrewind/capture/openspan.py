"""A span while it is open: what was touched so far, in memory and in its journal."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from itertools import islice
from typing import Final

from nbrewind.capture import origins
from nbrewind.capture.children import command_of_cell
from nbrewind.capture.events import Touch, TouchKind
from nbrewind.capture.expansion import came_from, children_of
from nbrewind.capture.images import BeforeImages, Image
from nbrewind.capture.ledger import Ledger
from nbrewind.capture.span import Ending, JournalHeader, Rename, SpanRecord, Touched, TurnOutcome, ending_of
from nbrewind.capture.witness import Located, Witnessing
from nbrewind.model import EntryKind, Note, Settings
from nbrewind.resources.files.signature import entry_kind, raw_signature
from nbrewind.store.layout import SessionPaths

__all__ = ["OpenSpan"]

_MAX_COMMANDS: Final = 100
_MAX_NOTES: Final = 1000
_MAX_ENDINGS: Final = 300
_WAIT: Final = 30.0


class _Pending:
    """A before-image in the making; other threads that are about to change the same path wait for it."""

    __slots__ = ("done", "owner")

    def __init__(self) -> None:
        self.owner = threading.get_ident()
        self.done = threading.Event()


class OpenSpan:
    """What one span has seen. Only the first touch of a resolved path keeps a before-image; renames always count.

    Order for each touch: copy, row in the journal, entry in memory, then the hook returns and the effect happens.
    """

    def __init__(
        self,
        paths: SessionPaths,
        settings: Settings,
        header: JournalHeader,
        witnessing: Witnessing,
        writable_at_start: Mapping[str, str],
    ) -> None:
        self.header = header
        self.kind = header.kind
        self.writable_at_start = writable_at_start
        self.busy: set[int] = set()
        self._witnessing = witnessing
        self._prefix = header.operation_id
        self._images = BeforeImages(paths, settings, header.operation_id, witnessing.held)
        self._lock = threading.RLock()
        self._ledger = Ledger(paths, header, witnessing.hide, self._unjournaled)
        self._touches: dict[str, Touched] = {}
        self._pending: dict[str, _Pending] = {}
        self._seen: dict[str, tuple[int, int]] = {}
        self._late: set[str] = set()
        self._renames: list[Rename] = []
        self._ran: dict[str, None] = {}
        self._mapped: set[str] = set()
        self._notes: dict[Note, None] = {}
        self._forked = False
        self._outcome: TurnOutcome | None = None
        self._started_ns = time.time_ns()
        self._ended_ns = 0
        self._endings: dict[str, Ending | None] = {}

    # -- edges ---------------------------------------------------------------------------------------------------------
    def become(self, header: JournalHeader) -> None:
        """Let a turn begin in this gap: what the gap has seen goes along as the turn's."""
        with self._lock:
            self.header = header
            self.kind = header.kind
            self._started_ns = time.time_ns()

    def open_journal(self, header: JournalHeader) -> None:
        """Put *header* (the span's, veiled where need be) on the disk."""
        with self._lock:
            self._ledger.open(header)

    def end(self, outcome: TurnOutcome) -> None:
        """Note the cell's end."""
        with self._lock:
            self._outcome = outcome
            self._ended_ns = time.time_ns()
            self._endings = {path: _ending(path) for path in islice(self._touches, _MAX_ENDINGS)}
            self._ledger.end(outcome)

    def close(self) -> SpanRecord:
        """Close the journal and return what was seen."""
        with self._lock:
            journal = self._ledger.close()
            now = time.time_ns()
            return SpanRecord(
                header=self.header,
                outcome=self._outcome,
                root=self._witnessing.root,
                touches=dict(self._touches),
                touched_late=frozenset(self._late),
                renames=tuple(self._renames),
                ran=tuple(self._ran),
                forked=self._forked,
                mapped=frozenset(self._mapped),
                skipped=tuple(self._notes),
                endings=self._endings,
                started_ns=self._started_ns,
                ended_ns=self._ended_ns or now,
                closed_ns=now,
                writable_at_start=self.writable_at_start,
                journal=journal,
                images_prefix=self._prefix,
            )

    # -- what happens --------------------------------------------------------------------------------------------------
    def seen_again(self, given: object) -> bool:
        """Return whether *given*, as a call names it, is just the file that the same name meant at its last touch."""
        if self._ended_ns or not isinstance(given, str):
            return False
        known = self._seen.get(given)
        if known is None:
            return False
        try:
            found = os.stat(given)
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == known

    def touch(self, touch: Touch, given: object = None) -> None:
        """Keep what *touch* is about to change."""
        if touch.kind is TouchKind.RENAME:
            self._rename(touch)
            return
        directory = touch.found is not None and entry_kind(touch.found.st_mode) is EntryKind.DIRECTORY
        place = self._witnessing.locate(touch.path, directory=directory or touch.kind is TouchKind.MKDIR)
        if place is None:
            return
        if touch.kind is TouchKind.MAP:
            self._mapped.add(touch.path)
        self._first(touch.path, touch.kind, touch.event, touch.found, place)
        if isinstance(given, str) and touch.found is not None:
            self._seen[given] = (touch.found.st_dev, touch.found.st_ino)

    def ran(self, text: str, *, forked: bool) -> None:
        """Note a child process; *text* is "" where the event does not tell."""
        with self._lock:
            self._forked |= forked
            if text or not self._ran:
                text = command_of_cell(self.header.code, text) or "a forked child"
            if text and text not in self._ran and len(self._ran) < _MAX_COMMANDS:
                self._ran[text] = None
                self._ledger.ran(text)

    def skip(self, note: Note) -> None:
        """Note what could not be seen or kept."""
        with self._lock:
            if note not in self._notes and len(self._notes) < _MAX_NOTES:
                self._notes[note] = None
                self._ledger.skip(note)

    # -- parts ---------------------------------------------------------------------------------------------------------
    def _rename(self, touch: Touch) -> None:
        assert touch.target is not None and touch.found is not None
        directory = entry_kind(touch.found.st_mode) is EntryKind.DIRECTORY
        source = self._witnessing.locate(touch.path, directory=directory)
        target = self._witnessing.locate(touch.target, directory=directory)
        if source is None and target is None:
            return
        expanded = not directory or self._expand(touch, source, target)
        if source is not None:
            self._first(touch.path, touch.kind, touch.event, touch.found, source)
        if target is not None:
            self._first(touch.target, touch.kind, touch.event, touch.target_found, target)
        rename = Rename(
            source=touch.path,
            target=touch.target,
            source_inside=source.inside if source else None,
            target_inside=target.inside if target else None,
            directory=directory,
            expanded=expanded,
        )
        with self._lock:
            self._seen.clear()
            self._renames.append(rename)
            self._ledger.rename(rename)

    def _expand(self, touch: Touch, source: Located | None, target: Located | None) -> bool:
        """Keep what lies in a directory that is about to move; return False where it is too much for that.

        Inside the workspace only what the shadow repository does not hold; the scan sees the rest.
        """
        assert touch.target is not None
        found = children_of(touch.path)
        if found is None:
            if source is not None and source.inside is None:
                self.skip(Note(touch.path, "a directory with too much in it was renamed: its files were not kept"))
            return False
        for relative, status in found:
            directory = entry_kind(status.st_mode) is EntryKind.DIRECTORY
            for top, side, state in ((touch.path, source, status), (touch.target, target, None)):
                if side is None or (side.inside is not None and (state is None or directory)):
                    continue
                path = f"{top}/{relative}"
                place = self._witnessing.locate(path, directory=directory)
                if place is None or (place.inside is not None and self._witnessing.held(place.inside, status)):
                    continue
                self._first(path, touch.kind, touch.event, state, place)
        return True

    def _first(self, path: str, kind: TouchKind, event: str, found: os.stat_result | None, place: Located) -> None:
        """Keep what stands at *path* unless this span has done so."""
        with self._lock:
            if path in self._touches:
                if self._ended_ns:
                    self._late.add(path)
                return
            pending = self._pending.get(path)
            mine = pending is None
            if pending is None:
                pending = self._pending[path] = _Pending()
        if not mine:
            if pending.owner != threading.get_ident():
                pending.done.wait(_WAIT)
            return
        try:
            image = Image(None) if self._arrived(path, found, place) else self._images.keep(path, found, place)
            touched = self._touched(path, kind, event, found, image, place)
            with self._lock:
                self._ledger.touch(touched)
                self._touches[path] = touched
                if touched.after_end:
                    self._late.add(path)
        finally:
            with self._lock:
                self._pending.pop(path, None)
            pending.done.set()

    def _arrived(self, path: str, found: os.stat_result | None, place: Located) -> bool:
        """Return whether a renamed directory brought here what stands at *path*: that is kept under its old name."""
        if found is None or place.inside is None or not self._renames:
            return False
        old = came_from(path, self._renames)
        if old == path or os.path.lexists(old):
            return False
        if old in self._touches or entry_kind(found.st_mode) is EntryKind.DIRECTORY:
            return True
        was = self._witnessing.locate(old, directory=False)
        return was is not None and was.inside is not None and self._witnessing.held(was.inside, found) is not None

    def _touched(
        self, path: str, kind: TouchKind, event: str, found: os.stat_result | None, image: Image, place: Located
    ) -> Touched:
        if image.memory is not None:
            self._witnessing.keep_secret(self.header.operation_id, path, image.memory)
        where, background = origins.origin()
        return Touched(
            path=path,
            kind=kind.value,
            event=event,
            before=image.state,
            image=image.path,
            crc=image.crc,
            link=image.link,
            inside=place.inside,
            secret=place.secret,
            device=found.st_dev if found else 0,
            inode=found.st_ino if found else 0,
            links=found.st_nlink if found else 1,
            thread=threading.main_thread().name if not background else _thread_name(),
            origin=where if where != self.header.operation_id else None,
            background=background,
            after_end=bool(self._ended_ns),
        )

    def _unjournaled(self, error: OSError) -> None:
        # A note in memory; the user's call goes on.
        self._notes.setdefault(Note("", f"the turn's journal cannot be written: {error.strerror or error}"))


def _ending(path: str) -> Ending | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return ending_of(raw_signature(found))


def _thread_name() -> str:
    thread = getattr(threading, "_active", {}).get(threading.get_ident())
    return str(getattr(thread, "name", "a thread that Python did not start"))
