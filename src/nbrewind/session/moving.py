"""Moving: what carries plans out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from nbrewind.errors import InconsistentState, RefusalReason, RewindRefused, StoreError, UsageError
from nbrewind.model import Note, Operation, OperationKind, PlanOptions, RewindPlan
from nbrewind.resources import Resource
from nbrewind.resources.files.processes import writable_files
from nbrewind.resources.files.restore import FilesResource
from nbrewind.resources.files.snapshot import Snapshot
from nbrewind.resources.files.tree import SnapshotTree
from nbrewind.resources.variables.restore import VariablesResource
from nbrewind.rewind.plan import plan_redo, plan_restore, plan_undo
from nbrewind.rewind.targets import NOTHING_CHANGED
from nbrewind.rewind.transaction import RewindTransaction, TransactionContext
from nbrewind.session.archiving import write_list
from nbrewind.session.core import LOGGER, RewindResult
from nbrewind.session.lines import shell_move
from nbrewind.session.names import bound_by
from nbrewind.session.recall import Recalling
from nbrewind.session.recoverers import recoverers
from nbrewind.session.sealing import SealingLog

__all__ = ["Moving"]

_LONGEST_NAME = 200


class Moving(Recalling):
    """Carries plans out. Every verb settles first, so that the head is what stands on the disk."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._sealed: Snapshot | None = None
        self.progress: Callable[[int, int], None] | None = None

    def rewind(self, plan: RewindPlan) -> RewindResult:
        """Carry out *plan*: all of it or nothing.

        Raises:
            RewindRefused: nothing was changed (stale plan, busy, conflict, full disk ...).
            RewindRolledBack: a failure came, and everything was put back.
            InconsistentState: putting back failed; the session is frozen.
        """
        with self._planning():
            if self._parked is not None and self._parked.plan == plan:
                self._parked = None
            fresh = self._refreshed(plan)
            if fresh.needs_force and not fresh.options.force:
                raise RewindRefused(
                    RefusalReason.NEEDS_FORCE,
                    f"Not rewound, nothing changed: {fresh.needs_force}",
                    hint="--force does it.",
                )
            before = self.timeline
            operation, notes = self._carry_out(fresh)
            if "outputs" in fresh.options.only and operation.kind is not OperationKind.RESTORE:
                self._move_shell(before, operation)
            left = self._variables_left(fresh)
            result = RewindResult(operation=operation, plan=_as_done(fresh, operation), notes=notes, variables=left)
        for callback in tuple(self._callbacks):
            try:
                callback(result)
            except Exception:  # noqa: BLE001  somebody else's callback; the rewind is done
                LOGGER.warning("A callback of on_rewound failed.", exc_info=True)
        return result

    def _refreshed(self, plan: RewindPlan) -> RewindPlan:
        """Return *plan* on the present head if it would still do exactly the same.

        Somebody may have saved a file that the plan does not touch (a notebook is saved every two minutes).

        Raises:
            RewindRefused: (stale-plan) it would do something else now.
        """
        if plan.head == self.head:
            return plan
        fresh = self._planned_again(plan)
        ignored = {"head": plan.head, "kept": plan.kept, "variables": plan.variables, "references": plan.references}
        same = _wanted_variables(fresh) == _wanted_variables(plan)
        if not same or replace(fresh, **ignored) != plan:  # type: ignore[arg-type]  # fields of different types
            named = sorted({step.path for step in fresh.steps} ^ {step.path for step in plan.steps})
            named = named or [one.path for one, two in zip(fresh.steps, plan.steps, strict=False) if one != two]
            named = named or sorted({name for name, _ in _wanted_variables(fresh) ^ _wanted_variables(plan)})
            what = f"{named[0]} changed after the preview." if named else "the preview is out of date."
            raise RewindRefused(
                RefusalReason.STALE_PLAN, f"Not rewound, nothing changed: {what}", hint="Look at a new preview."
            )
        return fresh

    def _planned_again(self, plan: RewindPlan) -> RewindPlan:
        evidence = self._evidence()
        if plan.head not in self.timeline or not self.timeline.is_on_line(plan.head):
            raise RewindRefused(
                RefusalReason.STALE_PLAN,
                "Not rewound, nothing changed: something else was rewound after the preview.",
                hint="Look at a new preview.",
            )
        match plan.kind:
            case OperationKind.UNDO:
                return self._with_variables(plan_undo(evidence, plan.options))
            case OperationKind.REDO:
                return self._with_variables(plan_redo(evidence, plan.options))
            case OperationKind.RESTORE if plan.options.names:
                return self._with_variables(replace(plan, head=self.timeline.line[-1].id))
            case OperationKind.RESTORE:
                return plan_restore(evidence, plan.options.paths, plan.target, plan.options)
            case _:
                return self._planned(plan.target, plan.options)

    def _carry_out(self, plan: RewindPlan) -> tuple[Operation, tuple[Note, ...]]:
        parts = self._parts
        is_restore = plan.kind is OperationKind.RESTORE
        operation = self._draft(
            plan.kind,
            files=None,
            parent=self.head if is_restore else plan.target,
            undone=plan.undone,
            asked_by=plan.options.asked_by,
            label=", ".join((*plan.options.paths, *plan.options.names))[:_LONGEST_NAME] if is_restore else "",
        )
        operation = replace(operation, asked_by=plan.options.asked_by)
        goal = self.tree(self.timeline.operation(plan.target))
        linked = goal.link_group if goal is not None else None
        times = self._folder_times(plan, goal)
        resource = self._variables_resource(plan)
        log = SealingLog(self._log(), lambda made: self._seal(plan, made, times, resource))
        with parts.gc.try_shared() as trusted:
            self._heed_generation()
            files = FilesResource(
                self.workspace,
                parts.repository,
                writable_files=writable_files,
                vault=parts.vault,
                times=times,
                progress=self.progress or (lambda done, total: None),
                linked=lambda path: group.paths if linked is not None and (group := linked(path)) is not None else (),
            )
            context = TransactionContext(
                paths=parts.paths,
                repository=parts.repository,
                trust=trusted,
                write_list=lambda made, of: write_list(parts.paths, made, of, self.timeline, self.code_of),
                recoverers=recoverers(self.workspace),
            )
            resources: list[Resource] = [files] if resource is None else [files, resource]
            transaction = RewindTransaction(log, resources, context)
            try:
                with self._variables_held(resource), _unless_done(log):
                    transaction.run(plan, operation)
            except InconsistentState as error:
                self._freeze(error)
                raise
        done = log.sealed or operation
        # Only now: after a roll-back the files of before stand, and the tracker has to go on believing in them.
        if self._sealed is not None and self._sealed.address is not None:
            parts.tracker.adopt(self._sealed)
        self._name_roots(done)
        if parts.variables is not None and resource is not None:
            parts.variables.moved(self._recalled)
        self._hold_for_undo(done.id)
        return done, (*transaction.notes, *self._results_gone(plan))

    def _folder_times(self, plan: RewindPlan, goal: SnapshotTree | None) -> dict[str, int]:
        """Return the times of the folders that will have the names that they had at *goal*."""
        if goal is None:
            return {}
        names: dict[str, set[str]] = {}
        for step in plan.steps:
            if step.moved_to is None and not step.path.startswith("/"):
                folder, _, name = step.path.rpartition("/")
                found = names.setdefault(folder, set(self._parts.tracker.names(folder)))
                (found.discard if step.wanted is None else found.add)(name)
        times = {}
        for folder, found in names.items():
            with suppress(StoreError):
                stored = goal.folder(folder)
                if stored is not None and stored.mtime_ns and found == stored.states.keys():
                    times[folder] = stored.mtime_ns
        return times

    def _seal(
        self, plan: RewindPlan, operation: Operation, times: Mapping[str, int], resource: VariablesResource | None
    ) -> Operation:
        """Return *operation* with the checkpoint of what will stand: the moves are made, and not yet true."""
        tracker = self._parts.tracker
        with self._parts.gc.try_shared() as trusted, self._parts.repository.writer(trust=trusted) as writer:
            snapshot = tracker.project(
                writer,
                plan.steps,
                operation_id=operation.id,
                label=operation.kind.value,
                trailers={"Session": self.id, "Parent": operation.parent or "none"},
                times=times,
            )
            address = self._variables_after(resource, plan, writer)
            writer.finish()
        self._sealed = snapshot
        files = (snapshot.address or tracker.address) if self.settings.git_anchor else None
        return replace(
            operation,
            checkpoint=replace(operation.checkpoint, files=files, variables=address),
            variables=resource.variable_changes if resource is not None else (),
        )

    def _move_shell(self, before: Any, operation: Operation) -> None:
        shell = self._parts.shell
        if shell is not None:
            try:
                shell.follow(shell_move(before, operation, self.code_of, self._first_number))
            except Exception:  # noqa: BLE001  In and Out are a derived view; the rewind is true
                LOGGER.warning("In and Out could not follow.", exc_info=True)

    def _variables_left(self, plan: RewindPlan) -> tuple[str, ...]:
        """Return the names that the moved turns bind and that are bound now: the move left them as they are."""
        shell = self._parts.shell
        if shell is None or plan.kind is OperationKind.RESTORE or self._variables_resource(plan) is not None:
            return ()
        bound = shell.bound_names()
        named: set[str] = set()
        for identifier in (*plan.taken_back, *plan.brought_back):
            named |= bound_by(self.code_of(self.timeline.operation(identifier)))
        return tuple(sorted(named & bound))

    def undo(self) -> RewindResult:
        """Take the last rewind back: `rewind(plan_undo())`."""
        return self.rewind(self.plan_undo())

    def redo(self) -> RewindResult:
        """Go forward again: `rewind(plan_redo())`."""
        return self.rewind(self.plan_redo())

    def restore(self, paths: Sequence[str], target: str, *, destination: str = "") -> RewindResult:
        """Bring single *paths* back from *target*, beside the present one with *destination*."""
        return self.rewind(self.plan_restore(paths, target, PlanOptions(destination=destination)))

    def name(self, text: str) -> Operation:
        """Name the present point; a named point is kept for ever.

        Raises:
            UsageError: an empty or overlong name.
            RewindRefused: (busy) a cell with other code runs.
        """
        label = self._parts.secrecy.hide(" ".join(text.split()))
        if not label or len(label) > _LONGEST_NAME:
            raise UsageError(f"A name has 1 to {_LONGEST_NAME} characters. {NOTHING_CHANGED}")
        if self.turn_is_open:
            raise RewindRefused(
                RefusalReason.BUSY, "Not named: a turn is open.", hint="Run %rewind name in a cell of its own."
            )
        with self._planning():
            operation = self._append(
                OperationKind.NAME, files=self._files_in_force(), label=label, variables=self._variables_in_force
            )
            self._name_roots(operation)
            return operation

    def on_rewound(self, callback: Callable[[RewindResult], None]) -> Callable[[], None]:
        """Call *callback* after each move; return the function that ends it."""
        self._callbacks.append(callback)

        def end() -> None:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

        return end


def _as_done(plan: RewindPlan, operation: Operation) -> RewindPlan:
    """Return *plan* without the variables that could not be built; they are named among the notes."""
    if plan.options.names:
        return plan
    done = {change.name for change in operation.variables}
    return replace(plan, variables=tuple(change for change in plan.variables if change.name in done))


@contextmanager
def _unless_done(log: SealingLog) -> Iterator[None]:
    """Let an interrupt out only where the move is not true: delivered after the commit point, it came too late."""
    try:
        yield
    except KeyboardInterrupt:
        if log.sealed is None:
            raise


def _wanted_variables(plan: RewindPlan) -> set[tuple[str, str]]:
    """Return what *plan* makes of variables; what they are now is archived whatever it is."""
    return {(change.name, change.after.digest if change.after is not None else "") for change in plan.variables}
