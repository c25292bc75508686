"""The values of capture: headers, outcomes, touches and the record of one span."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from nbrewind.model import EntryKind, FileState, Note, OperationId, TurnStatus
from nbrewind.resources.files.signature import FORMAT, RawSignature

__all__ = ["Ending", "JournalHeader", "Rename", "SpanKind", "SpanRecord", "Touched", "TurnOutcome", "ending_of"]

Ending = tuple[int, int, int, int, int]
"""What tells whether other content stands at a path: type, mtime, size, inode, device. Not ctime: modes move that."""
SECRET: Final = "secret"
"""Why bytes are kept in memory only."""
DATABASE_SIBLINGS: Final = ("-journal", "-wal", "-shm")
"""Endings that SQLite puts behind a database's name; such a file belongs to its database."""


def ending_of(raw: RawSignature) -> Ending:
    """Return what is compared of a signature."""
    mode, mtime_ns, _, size, inode, device, _ = raw
    return (mode & FORMAT, mtime_ns, size, inode, device)


class SpanKind(StrEnum):
    """A turn, or the gap between two turns in which callbacks and late threads run."""

    TURN = "turn"
    GAP = "gap"


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalHeader:
    """What is known when a span opens. A gap has no code and no number."""

    operation_id: OperationId
    code: str = ""
    number: int | None = None
    cell_id: str | None = None
    started: float = 0.0
    parent: OperationId | None = None
    kind: SpanKind = SpanKind.TURN


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOutcome:
    """What is known when the cell has ended. *outputs* is nbformat JSON text."""

    status: TurnStatus = TurnStatus.OK
    error: str = ""
    ended: float = 0.0
    outputs: str = "[]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """One resolved path that this process was about to change, and what stood there before the span.

    *before* is None where nothing stood. Its bytes are in the shadow repository if `before.object` is set, else in the
    raw copy at *image* (with that *crc*), else, of a *secret* file, in memory; `before.missing` says why they are
    nowhere. A symlink's text is *link*. *inside* is the path relative to the workspace, None outside of it. *origin* is
    the operation whose thread or task it was, where that is not this span's own.
    """

    path: str
    kind: str
    event: str
    before: FileState | None
    image: str = ""
    crc: int | None = None
    link: str | None = None
    inside: str | None = None
    secret: bool = False
    device: int = 0
    inode: int = 0
    links: int = 1
    thread: str = ""
    origin: OperationId | None = None
    background: bool = False
    after_end: bool = False

    @property
    def key(self) -> str:
        """The path as manifests name it: relative inside the workspace, absolute outside."""
        return self.path if self.inside is None else self.inside

    @property
    def bytes_known(self) -> bool:
        """Whether the state before can be put back."""
        before = self.before
        if before is None or before.kind in (EntryKind.DIRECTORY, EntryKind.SPECIAL):
            return True
        return bool(before.object or self.image) or self.link is not None or (self.secret and before.missing == SECRET)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rename:
    """A rename as it was asked for, resolved, oldest first in a journal. Renames are never left out."""

    source: str
    target: str
    source_inside: str | None = None
    target_inside: str | None = None
    directory: bool = False
    expanded: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanRecord:
    """All that was seen of a span, as of its close.

    *touches* is by absolute path. *touched_late* holds the paths touched (again) after the cell's end. *ran* names the
    child processes that were started, *workers* the live pool processes that took work without a new start, *children*
    all live children at the close with *new_children* those started in the span. *writable_at_start* and *_at_end* give
    by real path how a file was open ("open", "append", "mapped"). *writers* are the loaded native libraries that write
    without any event. *threads* are live threads that turns started. *endings* tell what stood at journaled paths (by
    absolute path, None: nothing) when the cell ended.
    """

    header: JournalHeader
    outcome: TurnOutcome | None = None
    root: str = ""
    touches: Mapping[str, Touched] = field(default_factory=dict)
    touched_late: frozenset[str] = frozenset()
    renames: tuple[Rename, ...] = ()
    ran: tuple[str, ...] = ()
    forked: bool = False
    workers: tuple[str, ...] = ()
    children: tuple[str, ...] = ()
    new_children: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()
    mapped: frozenset[str] = frozenset()
    writers: frozenset[str] = frozenset()
    skipped: tuple[Note, ...] = ()
    hook_errors: tuple[str, ...] = ()
    endings: Mapping[str, Ending | None] = field(default_factory=dict)
    started_ns: int = 0
    ended_ns: int = 0
    closed_ns: int = 0
    writable_at_start: Mapping[str, str] = field(default_factory=dict)
    writable_at_end: Mapping[str, str] = field(default_factory=dict)
    journal: str = ""
    images_prefix: str = ""

    @property
    def outside(self) -> tuple[Touched, ...]:
        """The touches outside the workspace, in the order in which they came."""
        return tuple(touched for touched in self.touches.values() if touched.inside is None)

    @property
    def empty(self) -> bool:
        """Whether this process gave no sign of an effect: nothing touched, renamed or started."""
        return not (self.touches or self.renames or self.ran or self.forked or self.skipped or self.hook_errors)

    def absolute(self, path: str) -> str:
        """Return *path* of a manifest as an absolute path."""
        if path.startswith("/"):
            return path
        return f"{self.root.rstrip('/')}/{path}"

    def journaled(self, path: str) -> bool:
        """Return whether the journal saw *path* of a manifest: touched itself, or below a renamed directory."""
        full = self.absolute(path)
        if full in self.touches:
            return True
        return any(
            full.startswith((f"{rename.source}/", f"{rename.target}/")) for rename in self.renames if rename.directory
        )

    def held_open(self, path: str) -> bool:
        """Return whether this process had *path* open for writing or mapped at either end of the span."""
        full = self.absolute(path)
        names = [full, *(full.removesuffix(suffix) for suffix in DATABASE_SIBLINGS if full.endswith(suffix))]
        return any(
            name in self.writable_at_start or name in self.writable_at_end or name in self.mapped for name in names
        )

    def forced(self) -> frozenset[str]:
        """Return the paths inside the workspace that must be hashed whatever their stat says."""
        top = f"{self.root.rstrip('/')}/"
        names = {*self.writable_at_start, *self.writable_at_end, *self.mapped}
        return frozenset(name[len(top) :] for name in names if name.startswith(top))
