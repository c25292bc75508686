"""The values that the layers exchange: frozen, without input or output.

Paths inside the workspace are POSIX paths relative to it; paths outside are absolute. Both are `str` as `os.fsdecode`
makes them (surrogate escapes for bytes that are not UTF-8).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NewType

__all__ = [
    "Change",
    "Checkpoint",
    "Claim",
    "EntryKind",
    "FileState",
    "FileStep",
    "FilesAddress",
    "Note",
    "ObjectId",
    "Operation",
    "OperationId",
    "OperationKind",
    "PlanOptions",
    "RewindPlan",
    "SessionId",
    "Settings",
    "Turn",
    "TurnStatus",
    "VariableChange",
    "VariableState",
    "Verdict",
    "Witness",
]

OperationId = NewType("OperationId", str)
"""`[0-9a-z-]{1,40}`, ours; also the id of the checkpoint after the operation."""
SessionId = NewType("SessionId", str)
ObjectId = NewType("ObjectId", str)
"""A git object id, 40 hexadecimal digits."""


class OperationKind(StrEnum):
    """What a move of the session was."""

    ATTACH = "attach"
    TURN = "turn"
    EXTERNAL = "external"
    REWIND = "rewind"
    UNDO = "undo"
    REDO = "redo"
    RESTORE = "restore"
    NAME = "name"


class EntryKind(StrEnum):
    """What stands at a path. SPECIAL (FIFO, socket, device) is listed but never stored or restored."""

    FILE = "file"
    SYMLINK = "symlink"
    DIRECTORY = "directory"
    SPECIAL = "special"


class Witness(StrEnum):
    """JOURNAL saw the change before its effect, SCAN after it."""

    JOURNAL = "journal"
    SCAN = "scan"


class Claim(StrEnum):
    """Whose change it is (DESIGN §4, Attribution). A rewind takes back only OURS by default."""

    OURS = "ours"
    UNCLAIMED = "unclaimed"
    EXTERNAL = "external"
    OTHER_SESSION = "other-session"


class TurnStatus(StrEnum):
    """How a turn ended."""

    OK = "ok"
    ERROR = "error"
    INTERRUPTED = "interrupted"


class Verdict(StrEnum):
    """How well a turn is covered. Absence of a flag is never shown as proof."""

    PROTECTED = "protected"
    WORKSPACE_ONLY = "workspace-only"
    PARTIAL = "partial"


@dataclass(frozen=True, slots=True)
class FileState:
    """What stood at a path at one moment.

    *object* is the git blob of a file's bytes (of the chunk pointer if *chunked*) or of a symlink's target; None for
    directories, for special files and where the bytes were not kept (*missing* then says why: "too large", "secret",
    "unreadable", "unstable" ...). *mode* is `st_mode & 0o7777`, *size* in bytes, *mtime_ns* in ns since the epoch.
    *owner* is the user and the group of a file, empty where they are those of the process that took it in.
    """

    kind: EntryKind
    object: ObjectId | None = None
    size: int = 0
    mode: int = 0o644
    mtime_ns: int = 0
    chunked: bool = False
    missing: str = ""
    owner: tuple[int, ...] = ()

    @property
    def is_secret(self) -> bool:
        """Whether this is a secret file: its bytes are never stored, and size and time have to tell it from others."""
        return self.kind is EntryKind.FILE and self.object is None and self.missing == "secret"

    def same_content(self, other: FileState | None) -> bool:
        """Return whether kind and bytes are known to be equal; modes and times do not count, but of secrets."""
        if other is None or self.kind is not other.kind:
            return False
        if self.kind is EntryKind.DIRECTORY:
            return True
        if self.is_secret and other.is_secret:
            return (self.size, self.mtime_ns) == (other.size, other.mtime_ns)
        return self.object is not None and self.object == other.object

    def same(self, other: FileState | None) -> bool:
        """Return whether kind, bytes and mode are known to be equal; a symlink's mode does not count."""
        return (
            other is not None
            and self.same_content(other)
            and (self.kind is EntryKind.SYMLINK or self.mode == other.mode)
        )


@dataclass(frozen=True, slots=True)
class Change:
    """One row of a manifest: what an operation changed at *path*; None stands for absence.

    *moved_to* is set for a directory outside the workspace that was renamed as a whole. *note* says what is not known
    or was skipped, and why.
    """

    path: str
    before: FileState | None
    after: FileState | None
    claim: Claim = Claim.OURS
    witnesses: tuple[Witness, ...] = ()
    moved_to: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class FilesAddress:
    """Where a checkpoint's files are: *commit* and its *tree* (equal to `git write-tree`), *side* the side manifest."""

    commit: ObjectId
    tree: ObjectId
    side: ObjectId


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state after an operation, as four addresses.

    *log* is an exclusive cursor: the `seq` that the next operation gets. None: no such snapshot was made.
    """

    files: FilesAddress | None = None
    log: int = 0
    variables: ObjectId | None = None
    notebook: ObjectId | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """A path or variable with the reason why it is listed."""

    subject: str
    reason: str


@dataclass(frozen=True, slots=True)
class VariableState:
    """What a name was bound to at one moment, for people to read.

    *type* is the class's qualified name; *shape*, *dtype* and *length* only where the object has them; *size* in bytes;
    *text* a short repr where making one runs no code of the user's. Equal *digest*: equal in value and alias
    structure. *how*: "value", or "reference" where the object itself cannot be stored, or "lost" where it is gone.
    """

    type: str
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    length: int | None = None
    size: int = 0
    text: str = ""
    digest: str = ""
    how: str = "value"


@dataclass(frozen=True, slots=True)
class VariableChange:
    """What an operation, or a rewind, changes at *name*; None stands for a name that is bound to nothing.

    *uncertain*: found late, by a full comparison, so that an earlier turn may have done it; *since* is the number of
    the turn after which the name was last known to be as it was before, None for the start.
    """

    name: str
    before: VariableState | None
    after: VariableState | None
    uncertain: bool = False
    since: int | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One cell execution. Times are seconds since the epoch, for display only; *outputs* is nbformat JSON text.

    *number* is the number in the brackets (None where the front end keeps none). Long code or outputs are objects
    (*code_at*, *outputs_at*) and the inline field holds a beginning.
    """

    code: str
    number: int | None
    cell_id: str | None = None
    status: TurnStatus = TurnStatus.OK
    error: str = ""
    started: float = 0.0
    ended: float = 0.0
    outputs: str = "[]"
    code_at: ObjectId | None = None
    outputs_at: ObjectId | None = None
    ran: tuple[str, ...] = ()
    verdict: Verdict = Verdict.PROTECTED
    reasons: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One move of the session. Never consumed, never rewritten.

    *parent* is the operation whose state this one starts from: the head for a turn, the target for a rewind. The
    visible line is the chain of parents from the head. *previous* is the head before this operation; the two differ
    only for rewind, undo and redo. *undone* is the operation that an undo or redo takes back.
    Changes are inline, or in the object *changes_at* where they are many. *asked_by* names the saved notebook cell that
    asked for a rewind or restore (a hash of cell id and code), so that "Run All" does not do it again. *archive* is the
    commit of what a rewind took away.
    """

    id: OperationId
    seq: int
    kind: OperationKind
    session: SessionId
    at: float
    checkpoint: Checkpoint
    parent: OperationId | None = None
    previous: OperationId | None = None
    grandparent: OperationId | None = None
    undone: OperationId | None = None
    label: str = ""
    turn: Turn | None = None
    changes: tuple[Change, ...] = ()
    changes_at: ObjectId | None = None
    change_count: int = 0
    variables: tuple[VariableChange, ...] = ()
    kernel: str = ""
    notebook: str = ""
    asked_by: str = ""
    archive: ObjectId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """What a person asked for besides the target.

    *paths*: single files (restore), *names*: single variables; *destination*: restore beside; *asked_by*: goes into the
    operation as it is.
    """

    only: tuple[str, ...] = ("files", "variables", "outputs")
    everything: bool = False
    overwrite: bool = False
    force: bool = False
    paths: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    destination: str = ""
    asked_by: str = ""


@dataclass(frozen=True, slots=True)
class FileStep:
    """One path that a rewind changes, from *current* to *wanted*; None stands for absence."""

    path: str
    current: FileState | None
    wanted: FileState | None
    moved_to: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RewindPlan:
    """What a rewind would discard and change, computed without changing anything.

    *steps* is all that changes in files; *conflicts* (changed by a discarded turn and by someone else later) and
    *kept* (others' changes) are left alone; *lost* cannot come back. *taken_back* and *brought_back* are turns, oldest
    first. *variables* is all that changes in variables (*before* what is bound now); *references* names those that are
    put back as the same object, as it is now, or not at all.
    """

    kind: OperationKind
    head: OperationId
    target: OperationId
    undone: OperationId | None = None
    options: PlanOptions = field(default_factory=PlanOptions)
    taken_back: tuple[OperationId, ...] = ()
    brought_back: tuple[OperationId, ...] = ()
    steps: tuple[FileStep, ...] = ()
    conflicts: tuple[Note, ...] = ()
    kept: tuple[Note, ...] = ()
    lost: tuple[Note, ...] = ()
    needs_force: str = ""
    variables: tuple[VariableChange, ...] = ()
    references: tuple[Note, ...] = ()

    @property
    def token(self) -> str:
        """A hash of head and plan: eight characters that name exactly this plan."""
        return hashlib.blake2b(repr(self).encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the composition roots (extension, command line) hand down; nothing below reads the environment.

    Sizes in bytes, times in seconds. *store_dir*, *workspace* and *home* are absolute real paths. *shared_roots* and
    *temp_roots* are absolute paths that are never rewound.
    """

    store_dir: str
    workspace: str
    home: str = ""
    exclude: tuple[str, ...] = ()
    rewind_paths: tuple[str, ...] | None = None
    protect_paths: tuple[str, ...] = ()
    shared_roots: tuple[str, ...] = ()
    temp_roots: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    recording: bool = True
    max_file_size: int = 1 << 30
    first_copy: int = 2 << 30
    turn_budget: float = 5.0
    first_copy_wait: float = 1.0
    capture_delay: float = 0.05
    idle_delay: float = 3.0
    max_workspace_files: int = 200_000
    max_workspace_size: int = 20 << 30
    min_free_disk: float = 0.05
    durability: str = "turn"
    pending_ttl: float = 600.0
    force_deletions: int = 50
    shadow_dir: str = ""
    turns: str = "each"
    every_n_turns: int = 0
    git_anchor: bool = True
    variables: bool = True
    max_variable_size: int = 1 << 30
    key_file: str = ""
