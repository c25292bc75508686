"""What a session consists of, and the small moves that all its verbs share."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from nbrewind.capture.recorder import Recorder
from nbrewind.errors import StoreError
from nbrewind.model import (
    Change,
    Checkpoint,
    FilesAddress,
    Note,
    ObjectId,
    Operation,
    OperationId,
    OperationKind,
    RewindPlan,
    SessionId,
    Settings,
    Turn,
    VariableChange,
)
from nbrewind.resources.files.coverage import Coverage
from nbrewind.resources.files.tracker import FileTracker
from nbrewind.resources.files.vault import Vault
from nbrewind.rewind.timeline import Timeline
from nbrewind.session.mainthread import MainThread
from nbrewind.session.mutex import Mutex
from nbrewind.session.secrecy import Secrecy
from nbrewind.session.shell import ShellPort
from nbrewind.session.trust import StoreTrust
from nbrewind.session.variables import Variables
from nbrewind.store.layout import SessionPaths, StorePaths, new_operation_id
from nbrewind.store.locks import GcLock, SessionLock
from nbrewind.store.oplog import OperationLog
from nbrewind.store.shadow.repository import ShadowRepository

__all__ = ["Core", "Parked", "Parts", "RewindResult"]

LOGGER = logging.getLogger("nbrewind")


@dataclass(frozen=True, slots=True, kw_only=True)
class RewindResult:
    """What a move did. *notes* are paths with what is to be said of them; *variables* were left as they are now."""

    operation: Operation
    plan: RewindPlan
    notes: tuple[Note, ...] = ()
    variables: tuple[str, ...] = ()

    @property
    def files(self) -> int:
        """Return how many paths were changed."""
        return len(self.operation.changes) or self.operation.change_count


@dataclass(frozen=True, slots=True)
class Parked:
    """A plan that waits for its confirmation until *expires* (seconds since the epoch)."""

    plan: RewindPlan
    target: str
    expires: float

    @property
    def token(self) -> str:
        """The eight characters that confirm exactly this plan."""
        return self.plan.token


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Everything that a session is wired from. Read-only sessions have neither lock, log nor recorder."""

    settings: Settings
    session: SessionId
    store: StorePaths
    paths: SessionPaths
    repository: ShadowRepository
    coverage: Coverage
    tracker: FileTracker
    gc: GcLock
    secrecy: Secrecy
    lock: SessionLock | None = None
    log: OperationLog | None = None
    recorder: Recorder | None = None
    shell: ShellPort | None = None
    variables: Variables | None = None
    operations: tuple[Operation, ...] = ()
    damaged: tuple[Note, ...] = ()
    recovered: tuple[Note, ...] = ()
    notebook: str = ""
    kernel: str = ""
    vault: Vault = field(default_factory=Vault)


@dataclass(slots=True)
class Health:
    """What is wrong with a session, if anything."""

    frozen: Note | None = None
    not_protected: Note | None = None
    read_only: str = ""
    paused: bool = False
    closed: bool = False
    notes: dict[str, str] = field(default_factory=dict)


class Core:
    """State of a session and what its verbs share.

    `_mutex` guards all of it: one thread at a time plans, captures or moves. The recorder has guards of its own, so
    that a cell never waits for a capture beyond the turn's budget.
    """

    def __init__(self, parts: Parts) -> None:
        self.id = parts.session
        self.settings = parts.settings
        self.notebook = parts.notebook
        self.kernel = parts.kernel
        self.readonly = parts.log is None
        self.main_thread = MainThread()
        self._parts = parts
        self._health = Health()
        self._mutex = Mutex()
        self._pid = os.getpid()
        self._timeline: Timeline | None = None
        self._callbacks: list[Callable[[RewindResult], None]] = []
        self._watchers: tuple[Callable[[], None], ...] = ()
        self._parked: Parked | None = None
        self._generation = parts.gc.generation()
        self._trust = StoreTrust(parts.store, parts.settings.key_file)

    @property
    def workspace(self) -> str:
        """The real path of the folder that is protected."""
        return self.settings.workspace

    @property
    def frozen(self) -> Note | None:
        """Why cells are held, or None."""
        return self._health.frozen

    @property
    def operations(self) -> tuple[Operation, ...]:
        """All readable operations of the log, oldest first."""
        return self._parts.log.operations if self._parts.log is not None else self._parts.operations

    @property
    def timeline(self) -> Timeline:
        """The timeline over `operations`."""
        operations = self.operations
        known = self._timeline
        if known is None or len(known.operations) != len(operations):
            known = self._timeline = Timeline(operations)
        return known

    @property
    def head(self) -> OperationId | None:
        """The operation whose state is in force."""
        # Not by the timeline: with each operation it is made anew from all of them.
        operations = self.operations
        return operations[-1].id if operations else None

    @property
    def _variables_in_force(self) -> ObjectId | None:
        variables = self._parts.variables
        return variables.address if variables is not None else None

    @property
    def is_child(self) -> bool:
        """Return whether this is a forked copy of the session, which has to keep still."""
        return os.getpid() != self._pid

    @property
    def is_watched(self) -> bool:
        """Return whether anybody is told of what happens here."""
        return bool(self._watchers)

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Call *watcher* when what front ends show may have changed, from any thread; return what ends it.

        A cell waits for it: it may take note, and no more.
        """
        self._watchers = (*self._watchers, watcher)

        def end() -> None:
            self._watchers = tuple(one for one in self._watchers if one is not watcher)

        return end

    def _stir(self) -> None:
        """Tell who watches that what front ends show may have changed; from any thread."""
        for watcher in self._watchers:
            try:
                watcher()
            except Exception:
                LOGGER.debug("A front end could not be told.", exc_info=True)

    def _absolute(self, path: str) -> str:
        """Return *path*, as manifests name it, as an absolute path."""
        return path if path.startswith("/") else f"{self.workspace.rstrip('/')}/{path}"

    def _log(self) -> OperationLog:
        """Return the log for writing.

        Raises:
            StoreError: the session is read only or closed.
        """
        log = self._parts.log
        if log is None or self._health.closed or self.is_child:
            raise StoreError("This session is open for reading only.")
        return log

    def _append(
        self,
        kind: OperationKind,
        *,
        files: FilesAddress | None,
        operation_id: OperationId | None = None,
        turn: Turn | None = None,
        changes: Iterable[Change] = (),
        changes_at: ObjectId | None = None,
        change_count: int = 0,
        label: str = "",
        variables: ObjectId | None = None,
        variable_changes: tuple[VariableChange, ...] = (),
    ) -> Operation:
        """Append an operation that follows the head, and return it."""
        operation = self._draft(
            kind, files=files, operation_id=operation_id, turn=turn, changes=tuple(changes), changes_at=changes_at,
            change_count=change_count, label=label,
        )  # fmt: skip
        checkpoint = replace(operation.checkpoint, variables=variables)
        operation = replace(operation, checkpoint=checkpoint, variables=variable_changes)
        self._log().append(operation)
        self._stir()
        return operation

    def _draft(
        self,
        kind: OperationKind,
        *,
        files: FilesAddress | None,
        parent: OperationId | None = None,
        undone: OperationId | None = None,
        operation_id: OperationId | None = None,
        turn: Turn | None = None,
        changes: tuple[Change, ...] = (),
        changes_at: ObjectId | None = None,
        change_count: int = 0,
        label: str = "",
        asked_by: str = "",
    ) -> Operation:
        operations = self.operations
        seq = self._log().next_seq
        before = self.timeline.operation(parent) if parent else (operations[-1] if operations else None)
        return Operation(
            id=operation_id or new_operation_id(),
            seq=seq,
            kind=kind,
            session=self.id,
            at=time.time(),
            checkpoint=Checkpoint(files=files, log=seq + 1),
            parent=before.id if before else None,
            previous=self.head,
            grandparent=before.parent if before else None,
            undone=undone,
            label=label,
            asked_by=asked_by,
            turn=turn,
            changes=changes,
            changes_at=changes_at,
            change_count=change_count or len(changes),
            kernel=self.kernel,
            notebook=self.notebook,
        )
