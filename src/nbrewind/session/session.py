"""The façade of one session: turns in, points out, and every verb that front ends offer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbrewind.model import (
    Change,
    FileState,
    Note,
    Operation,
    OperationId,
    PlanOptions,
    RewindPlan,
    SessionId,
    Settings,
)
from nbrewind.session.points import Difference, HistoryRow, Line, Point
from nbrewind.session.shell import ShellMove, ShellPort
from nbrewind.session.status import Status
from nbrewind.session.turns import TurnEnd, TurnStart

if TYPE_CHECKING:
    from nbrewind.resources.files.tree import SnapshotTree
    from nbrewind.rewind.targets import Target
    from nbrewind.rewind.timeline import Timeline

__all__ = [
    "Difference",
    "HistoryRow",
    "Line",
    "Parked",
    "Point",
    "RewindResult",
    "Session",
    "ShellMove",
    "ShellPort",
    "Status",
    "TurnEnd",
    "TurnStart",
]


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


class Session:
    """One line of turns in one workspace, held by this process (or read only).

    Invariant: the operation log is the truth, and all that this object remembers can be built again from it and from
    a scan. One thread at a time runs a method; the worker of the capture takes the same lock.
    """

    # -- how to get one -------------------------------------------------------------------------------------------

    @classmethod
    def attach(
        cls, settings: Settings, *, notebook: str = "", kernel: str = "", shell: ShellPort | None = None
    ) -> Session:
        """Take the newest free session of the workspace with the same notebook (or none), or begin a new one.

        Unfinished rewinds are recovered first, and a turn that a death interrupted is put in the log.

        Raises:
            StoreError: the store can be neither read nor written (StoreTooNew, StoreReadOnly).
        """
        raise NotImplementedError

    @classmethod
    def open(cls, settings: Settings, session: SessionId | None = None, *, readonly: bool = True) -> Session:
        """Open a stored session (the newest by default) without a kernel, for the command line.

        With *readonly* nothing is written and no lock is taken; without it the session is held, recovered and may move
        files, but no `attach` is put in the log.

        Raises:
            StoreError: there is no such store or session.
            SessionLocked: a kernel holds it (only without *readonly*).
        """
        raise NotImplementedError

    # -- what it is -----------------------------------------------------------------------------------------------

    id: SessionId
    settings: Settings
    notebook: str
    readonly: bool

    @property
    def workspace(self) -> str:
        """The real path of the folder that is protected."""
        raise NotImplementedError

    @property
    def frozen(self) -> Note | None:
        """Why cells are held, or None."""
        raise NotImplementedError

    def status(self) -> Status:
        """Return the session's health; reads the disk, changes nothing."""
        raise NotImplementedError

    # -- turns ----------------------------------------------------------------------------------------------------

    def begin_turn(self, start: TurnStart) -> None:
        """Finish the last capture, log what changed since, and open the turn's journal. Never raises."""
        raise NotImplementedError

    def end_turn(self, end: TurnEnd) -> None:
        """Close the turn; its capture runs soon (or now, without a scheduler). Never raises."""
        raise NotImplementedError

    @property
    def turn_is_open(self) -> bool:
        """Return whether a turn is open in this process."""
        raise NotImplementedError

    def turn(self, label: str) -> AbstractContextManager[None]:
        """Return a context in which everything is one turn, for plain scripts: `with session.turn("clean"):`."""
        raise NotImplementedError

    def settle(self, timeout: float | None = None) -> bool:
        """Finish the last capture and log what changed since; return whether that was done within *timeout*."""
        raise NotImplementedError

    # -- looking --------------------------------------------------------------------------------------------------

    @property
    def operations(self) -> tuple[Operation, ...]:
        """All readable operations of the log, oldest first."""
        raise NotImplementedError

    @property
    def timeline(self) -> Timeline:
        """The timeline over `operations`."""
        raise NotImplementedError

    def points(self) -> tuple[Point, ...]:
        """Return one row per operation, oldest first: the present line, what was taken back, moves, damaged rows."""
        raise NotImplementedError

    def point(self, operation: OperationId) -> Point:
        """Return one row.

        Raises:
            TargetError: there is no such operation.
        """
        raise NotImplementedError

    def resolve(self, target: str) -> Target:
        """Return the operation that the words *target* mean, with the sentence that says which cell stays.

        Raises:
            TargetError: with a suggestion.
        """
        raise NotImplementedError

    def changes_of(self, operation: Operation) -> tuple[Change, ...]:
        """Return all changes of *operation*, inline or stored as an object."""
        raise NotImplementedError

    def tree(self, operation: Operation) -> SnapshotTree | None:
        """Return the files in force after *operation*; None where no snapshot was made."""
        raise NotImplementedError

    def code_of(self, operation: Operation) -> str:
        """Return the whole code of a turn."""
        raise NotImplementedError

    def outputs_of(self, operation: Operation) -> str:
        """Return the whole outputs of a turn as nbformat JSON text."""
        raise NotImplementedError

    def content(self, state: FileState) -> Iterator[bytes]:
        """Yield the kept bytes of *state*, verified.

        Raises:
            MissingObject, DamagedObject: the bytes cannot be given.
        """
        raise NotImplementedError

    def state_at(self, target: str, path: str) -> FileState | None:
        """Return what stood at *path* (relative to the workspace, or as a person types it) at *target*."""
        raise NotImplementedError

    def state_now(self, path: str) -> FileState | None:
        """Return what stands at *path* on the disk now, hashed."""
        raise NotImplementedError

    def cat(self, target: str, path: str) -> Iterator[bytes]:
        """Yield the bytes of *path* at *target*.

        Raises:
            TargetError: no such target, or the file did not exist then.
        """
        raise NotImplementedError

    def diff(self, target: str, path: str | None = None) -> tuple[Difference, ...]:
        """Return the paths that differ between *target* and the disk now, only *path* (or below it) if given."""
        raise NotImplementedError

    def bytes_now(self, path: str) -> bytes:
        """Return the bytes of *path* on the disk now, at most `settings.max_file_size`."""
        raise NotImplementedError

    def history(self, path: str) -> tuple[HistoryRow, ...]:
        """Return the operations that changed *path*, newest first."""
        raise NotImplementedError

    # -- moving ---------------------------------------------------------------------------------------------------

    def plan(self, target: str, options: PlanOptions | None = None) -> RewindPlan:
        """Return what going to *target* would discard and change. Settles first, changes nothing.

        Raises:
            TargetError: the words do not name a point.
            RewindRefused: for a reason of the closed list.
        """
        raise NotImplementedError

    def plan_undo(self, options: PlanOptions | None = None) -> RewindPlan:
        """Return the plan that takes the last rewind back.

        Raises:
            RewindRefused: `new-turns` or `unknown-checkpoint` (nothing to undo).
        """
        raise NotImplementedError

    def plan_redo(self, options: PlanOptions | None = None) -> RewindPlan:
        """Return the plan that takes the last undo back.

        Raises:
            RewindRefused: there is nothing to redo.
        """
        raise NotImplementedError

    def plan_restore(self, paths: Sequence[str], target: str, options: PlanOptions | None = None) -> RewindPlan:
        """Return the plan that brings single *paths* back from *target*; `options.destination` puts one beside.

        Raises:
            TargetError, RewindRefused: as `plan`.
        """
        raise NotImplementedError

    def park(self, plan: RewindPlan, target: str = "") -> Parked:
        """Keep *plan* for its confirmation, for `settings.pending_ttl` seconds. Only the newest is kept."""
        raise NotImplementedError

    def parked(self, token: str = "") -> Parked:
        """Return the parked plan.

        Raises:
            RewindRefused: `expired` or `stale-plan`, or nothing is parked.
        """
        raise NotImplementedError

    def cancel(self) -> bool:
        """Drop what is parked; return whether something was."""
        raise NotImplementedError

    def rewind(self, plan: RewindPlan) -> RewindResult:
        """Carry out *plan*: all of it or nothing.

        Raises:
            RewindRefused: nothing was changed (stale plan, busy, conflict, full disk ...).
            RewindRolledBack: a failure came, and everything was put back.
            InconsistentState: putting back failed; the session is frozen.
        """
        raise NotImplementedError

    def undo(self) -> RewindResult:
        """Take the last rewind back: `rewind(plan_undo())`."""
        raise NotImplementedError

    def redo(self) -> RewindResult:
        """Go forward again: `rewind(plan_redo())`."""
        raise NotImplementedError

    def restore(self, paths: Sequence[str], target: str, *, destination: str = "") -> RewindResult:
        """Bring single *paths* back from *target*, beside the present one with *destination*."""
        raise NotImplementedError

    def name(self, text: str) -> Operation:
        """Name the present point; a named point is kept for ever.

        Raises:
            UsageError: an empty or overlong name.
        """
        raise NotImplementedError

    def on_rewound(self, callback: Callable[[RewindResult], None]) -> Callable[[], None]:
        """Call *callback* after each move; return the function that ends it."""
        raise NotImplementedError

    # -- housekeeping ---------------------------------------------------------------------------------------------

    def pause(self) -> None:
        """Stop recording; points stay and can be gone back to."""
        raise NotImplementedError

    def resume(self) -> None:
        """Record again; what changed meanwhile is logged as an external change."""
        raise NotImplementedError

    def unfreeze(self) -> tuple[Note, ...]:
        """Recover what a failed rewind left and let cells run again; return what was done."""
        raise NotImplementedError

    def gc(self) -> tuple[Note, ...]:
        """Pack the store and drop what nothing names any more; return figures.

        Raises:
            GitUnavailable: git is not installed.
        """
        raise NotImplementedError

    def verify(self) -> tuple[Note, ...]:
        """Read and hash every object of every point; return what is damaged (empty: all is well)."""
        raise NotImplementedError

    def close(self, *, flush: float = 3.0) -> None:
        """Finish the last capture within *flush* seconds and give the session back. Twice is fine. Never raises."""
        raise NotImplementedError
