"""What a span changed outside the workspace: before-images become objects, and what stands now is kept too."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, replace

from nbrewind import fs
from nbrewind.capture.images import checksum
from nbrewind.capture.span import SpanRecord, Touched
from nbrewind.model import Change, Claim, EntryKind, FileState, Note, ObjectId, Settings, Witness
from nbrewind.resources.files.coverage import Coverage
from nbrewind.store.shadow.objects import Unstable
from nbrewind.store.shadow.writer import PackWriter

__all__ = ["Keeper", "OutsideChanges", "before_images", "observe", "outside_changes", "store_image"]

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


@dataclass(frozen=True, slots=True)
class OutsideChanges:
    """One row per path that differs, and what is worth telling."""

    rows: tuple[Change, ...]
    notes: tuple[Note, ...] = ()


class Keeper:
    """Stores states through one writer and remembers what has to stay reachable."""

    def __init__(self, writer: PackWriter) -> None:
        self.writer = writer
        self._blobs: list[ObjectId] = []
        self._trees: list[ObjectId] = []

    @property
    def blobs(self) -> dict[str, ObjectId]:
        """Return the blobs that the side manifest has to hold, by a name."""
        return {f"kept-{place}": oid for place, oid in enumerate(dict.fromkeys(self._blobs))}

    @property
    def trees(self) -> dict[str, ObjectId]:
        """Return the chunk trees that it has to hold."""
        return {f"chunks-{place}": oid for place, oid in enumerate(dict.fromkeys(self._trees))}

    def file(self, fd: int, size: int, state: FileState) -> FileState:
        """Store the open file and return *state* with its bytes."""
        stored = self.writer.file(fd, size)
        self._blobs.append(stored.oid)
        if stored.chunk_tree is not None:
            self._trees.append(stored.chunk_tree)
        return replace(state, object=stored.oid, size=stored.size, chunked=stored.chunked, missing="")

    def link(self, target: bytes, state: FileState) -> FileState:
        """Store a symlink's *target* and return *state* with it."""
        oid = self.writer.blob(target)
        self._blobs.append(oid)
        return replace(state, object=oid, size=len(target), missing="")


def outside_changes(span: SpanRecord, keeper: Keeper, coverage: Coverage, settings: Settings) -> OutsideChanges:
    """Return one row per path outside the workspace that *span* touched and that differs from before."""
    rows: list[Change] = []
    notes: list[Note] = []
    moved = {rename.source for rename in span.renames if rename.directory and not rename.expanded}
    for rename in span.renames:
        if rename.directory and not rename.expanded and rename.source_inside is None and rename.target_inside is None:
            state = FileState(EntryKind.DIRECTORY, mode=0o755)
            rows.append(Change(rename.source, state, None, Claim.OURS, (Witness.JOURNAL,), moved_to=rename.target))
    for touched in span.outside:
        if coverage.outside(touched.path) or touched.path in moved:
            continue
        before = store_image(touched, keeper)
        after = observe(touched.path, keeper, settings.max_file_size, coverage.secret(touched.path))
        if (before is None and after is None) or (before is not None and before.same(after)):
            continue
        note = "" if touched.bytes_known else (before.missing if before else "")
        rows.append(Change(touched.path, before, after, Claim.OURS, (Witness.JOURNAL,), note=note))
        if note:
            notes.append(Note(touched.path, note))
    return OutsideChanges(tuple(rows), tuple(notes))


def before_images(span: SpanRecord, keeper: Keeper) -> dict[str, FileState | None]:
    """Return what stood at the touched paths of the workspace, for files whose first copy was not made yet."""
    return {
        touched.inside: store_image(touched, keeper)
        for touched in span.touches.values()
        if touched.inside is not None and (touched.before is None or touched.before.object is None)
    }


def store_image(touched: Touched, keeper: Keeper) -> FileState | None:
    """Return the state before, its bytes put into the pack where only a raw copy has them."""
    before = touched.before
    if before is None or before.object is not None or before.kind in (EntryKind.DIRECTORY, EntryKind.SPECIAL):
        return before
    if touched.link is not None:
        return keeper.link(os.fsencode(touched.link), before)
    if touched.secret:
        return before if before.missing else replace(before, missing="secret")
    if not touched.image:
        return before if before.missing else replace(before, missing="not kept")
    try:
        fd = os.open(touched.image, _READ)
    except OSError:
        return replace(before, missing="its copy is gone")
    try:
        if touched.crc is not None and _differs(fd, touched.crc):
            return replace(before, missing="its copy is damaged")
        return keeper.file(fd, os.fstat(fd).st_size, before)
    except Unstable:
        return replace(before, missing="its copy cannot be read")
    finally:
        os.close(fd)


def _differs(fd: int, crc: int) -> bool:
    # Copies are not flushed in the user's call: after a power cut the row may be there, and not the bytes.
    try:
        return checksum(fd) != crc
    except OSError:
        return True


def observe(path: str, keeper: Keeper, limit: int, secret: bool = False) -> FileState | None:
    """Return what stands at the absolute *path* now, its bytes stored."""
    try:
        there = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return FileState(EntryKind.SPECIAL, missing=error.strerror or "unreadable")
    kind, owner = _kind(there.st_mode), fs.owner_of(there)
    state = FileState(kind, mode=stat.S_IMODE(there.st_mode), mtime_ns=there.st_mtime_ns)
    if kind is EntryKind.FILE:
        state = replace(state, owner=owner)
    if state.kind is EntryKind.SYMLINK:
        return keeper.link(os.fsencode(os.readlink(path)), state)  # noqa: PTH115
    if state.kind is not EntryKind.FILE:
        return state
    state = replace(state, size=there.st_size)
    if secret:
        return replace(state, missing="secret")
    if there.st_size > limit:
        return replace(state, missing="too large")
    try:
        fd = os.open(path, _READ)
    except OSError as error:
        return replace(state, missing=error.strerror or "unreadable")
    try:
        return keeper.file(fd, os.fstat(fd).st_size, state)
    except Unstable:
        return replace(state, missing="unstable")
    except OSError as error:
        return replace(state, missing=error.strerror or "unreadable")
    finally:
        os.close(fd)


def _kind(mode: int) -> EntryKind:
    if stat.S_ISREG(mode):
        return EntryKind.FILE
    if stat.S_ISLNK(mode):
        return EntryKind.SYMLINK
    return EntryKind.DIRECTORY if stat.S_ISDIR(mode) else EntryKind.SPECIAL
