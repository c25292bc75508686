"""Recalling: what is stored of variables at a point, compared and loaded without changing anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from nbrewind.errors import MissingObject, RefusalReason, RewindRefused, StoreError, TargetError, clipped
from nbrewind.model import (
    Note,
    ObjectId,
    Operation,
    OperationKind,
    PlanOptions,
    RewindPlan,
    VariableChange,
    VariableState,
)
from nbrewind.resources.variables.loading import Loader
from nbrewind.resources.variables.providers.process import search_path
from nbrewind.resources.variables.reading import StoredVariables, read_variables
from nbrewind.resources.variables.restore import VariablesResource
from nbrewind.resources.variables.rows import is_class
from nbrewind.resources.variables.tracker import VariablesSnapshot, changes_between
from nbrewind.rewind.targets import NOTHING_CHANGED, title
from nbrewind.session.planning import Planning
from nbrewind.session.points import Point
from nbrewind.store.shadow.writer import PackWriter

__all__ = ["Recalling", "VariableRow"]


@dataclass(frozen=True, slots=True)
class VariableRow:
    """An operation that changed a variable."""

    point: Point
    change: VariableChange


class Recalling(Planning):
    """Answers what variables were, and says in plans what becomes of them."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._recalled: VariablesSnapshot | None = None
        if self._parts.variables is not None:
            self._parts.variables.key.trusted = self._trust.is_told

    def _stored(self, address: ObjectId) -> StoredVariables:
        """Return what is stored at *address*, its seal checked.

        Raises:
            RewindRefused: untrusted-store.
            StoreError: it cannot be read.
        """
        variables = self._parts.variables
        return read_variables(self._parts.repository, address, variables.key if variables is not None else None)

    # -- plans ----------------------------------------------------------------------------------------------------

    def _with_variables(self, plan: RewindPlan) -> RewindPlan:
        """Return *plan* with what becomes of variables.

        Raises:
            RewindRefused: (damaged) they cannot be read.
        """
        address = self._variables_of(plan)
        if address is None:
            return plan
        try:
            stored = self._stored(address)
        except RewindRefused as refused:
            if plan.options.names:
                raise
            return replace(plan, references=(Note("variables", f"{refused.message} {refused.hint}"),))
        except StoreError as error:
            raise RewindRefused(
                RefusalReason.DAMAGED,
                f"Not rewound, nothing changed: the variables cannot be read: {error.message}",
                hint="--only files,outputs goes back without them.",
            ) from error
        variables = self._parts.variables
        now = variables.tracker.known.rows if variables is not None else {}
        names = plan.options.names
        new = plan.options.destination if names else ""
        changes = tuple(
            replace(change, name=new or change.name, before=None if new else change.before)
            for change in changes_between(now, stored.rows)
            if not names or change.name in names
        )
        changes = tuple(
            change
            for change in changes
            if change.after is None or change.before is None or change.before.digest != change.after.digest
        )
        references = tuple(
            Note(name, f"the same object, not a copy of then ({row.states[name].type})")
            for name, row in sorted(stored.rows.items())
            if not is_class(name) and (not names or name in names) and _is_reference(row.states[name], row.tokens)
        )
        return replace(plan, variables=changes, references=references)

    def _variables_of(self, plan: RewindPlan) -> ObjectId | None:
        """Return the address that *plan* brings variables to; None where it leaves them alone."""
        if self._parts.variables is None or "variables" not in plan.options.only:
            return None
        if plan.kind is OperationKind.RESTORE and not plan.options.names:
            return None
        return self.timeline.operation(plan.target).checkpoint.variables

    def moves_variables(self, plan: RewindPlan) -> bool:
        """Return whether *plan* brings variables to where they were; otherwise they stay as they are."""
        unread = any(note.subject == "variables" for note in plan.references)
        return self._variables_of(plan) is not None and not unread

    def _variables_resource(self, plan: RewindPlan) -> VariablesResource | None:
        variables, address = self._parts.variables, self._variables_of(plan)
        if variables is None or address is None or not self.moves_variables(plan):
            return None
        names = frozenset(plan.options.names) or None
        rename = {plan.options.names[0]: plan.options.destination} if names and plan.options.destination else {}
        return VariablesResource(
            variables.tracker, self._parts.repository, address, variables.guard, names=names, rename=rename
        )

    @contextmanager
    def _variables_held(self, resource: VariablesResource | None) -> Iterator[None]:
        """Return a context for the transaction; after a failure nothing is believed of the variables."""
        variables = self._parts.variables
        self._recalled = None
        if variables is None or resource is None:
            yield
            return
        try:
            yield
        except BaseException:
            variables.lose()
            raise
        finally:
            variables.states.held = None

    def _variables_after(
        self, resource: VariablesResource | None, plan: RewindPlan, writer: PackWriter
    ) -> ObjectId | None:
        """Return where the variables are that stand after the move; single ones are stored as they are now."""
        variables = self._parts.variables
        if variables is None or resource is None:
            return self._variables_in_force
        if resource.address is not None:
            return resource.address
        bound = frozenset([plan.options.destination] if plan.options.destination else plan.options.names)
        # The handlers of signals are not the user's while the transaction runs.
        variables.states.held = {name: state for name, (state, _) in variables.tracker.known.shelves.process.items()}
        self._recalled = variables.tracker.store(variables.tracker.examine(bound), writer)
        return self._recalled.address

    def plan_recall(self, names: Sequence[str], target: str, options: PlanOptions | None = None) -> RewindPlan:
        """Return the plan that brings single variables back from *target*, under `options.destination` if given.

        Raises:
            TargetError: a variable was not there then, or the new name is none.
        """
        with self._planning():
            goal = self.timeline.operation(self.resolve(target).operation)
            chosen = replace(options or PlanOptions(), names=tuple(names), only=("variables",))
            if chosen.destination and (len(names) > 1 or not chosen.destination.isidentifier()):
                raise TargetError(
                    f"{clipped(chosen.destination)!r} cannot be the name of a variable. {NOTHING_CHANGED}"
                )
            for name in names:
                self._row_of(goal, name)
            head = self.head
            if head is None:
                raise TargetError(f"There is no point yet. {NOTHING_CHANGED}")
            return self._with_variables(
                RewindPlan(kind=OperationKind.RESTORE, head=head, target=goal.id, options=chosen)
            )

    def plan_recover(self, target: str = "", options: PlanOptions | None = None) -> RewindPlan:
        """Return the plan that loads variables, process state, In and Out of *target* into this kernel.

        Without a target it is the newest point of an earlier kernel that has variables.

        Raises:
            TargetError: there is none.
        """
        chosen = replace(options or PlanOptions(), only=("variables", "outputs"))
        if target:
            return self.plan(target, chosen)
        with self._planning():
            before = False
            for operation in reversed(self.timeline.line):
                before = before or operation.kind is OperationKind.ATTACH
                if before and operation.kind is not OperationKind.ATTACH and operation.checkpoint.variables:
                    return self._planned(operation.id, chosen)
        raise TargetError(f"No earlier kernel left variables here. {NOTHING_CHANGED}", hint="%rewind lists the points.")

    def trust(self) -> None:
        """Believe this store from now on: load its variables, and change files outside the workspace for it.

        Raises:
            StoreError: that cannot be written down, so it holds in this process only.
        """
        if self._parts.variables is not None:
            self._parts.variables.key.trusted = True
        self._trust.believe(told=True)

    # -- looks ----------------------------------------------------------------------------------------------------

    def has_variable(self, target: str, name: str) -> bool:
        """Return whether *name* was bound at *target*, as far as is known."""
        operation = self.timeline.operation(self.resolve(target).operation)
        address = operation.checkpoint.variables
        if address is None or self._parts.variables is None:
            return False
        try:
            return name in self._stored(address).rows and not is_class(name)
        except (RewindRefused, StoreError):
            return False

    def variable(self, target: str, name: str) -> object:
        """Return the value of *name* at *target*, as a new object; nothing of the kernel changes.

        Raises:
            TargetError: it was not bound then, or cannot be loaded.
            RewindRefused: untrusted-store.
        """
        operation = self.timeline.operation(self.resolve(target).operation)
        stored = self._row_of(operation, name)
        variables = self._parts.variables
        assert variables is not None
        tracker = variables.tracker
        search = search_path(stored.process)
        loader = Loader(self._parts.repository, stored.rows, tracker.memory, tracker.namespace, search=search)
        loaded = loader.load([stored.rows[name]])
        if name not in loaded.values:
            why = loaded.failed.get(name, "it cannot be loaded")
            raise TargetError(f"{clipped(name)} cannot be given as it was {title(operation, self.timeline)}: {why}.")
        return loaded.values[name]

    def _row_of(self, operation: Operation, name: str) -> StoredVariables:
        where = title(operation, self.timeline)
        address = operation.checkpoint.variables
        if self._parts.variables is None:
            raise TargetError(f"Variables are not kept in this session. {NOTHING_CHANGED}")
        if address is None:
            raise TargetError(f"No variables were kept {where}. {NOTHING_CHANGED}")
        stored = self._stored(address)
        if name not in stored.rows or is_class(name):
            raise TargetError(f"{clipped(name)} was not bound {where}. {NOTHING_CHANGED}")
        return stored

    def variable_differences(self, target: str, name: str = "") -> tuple[VariableChange, ...]:
        """Return what differs in variables between *target* (before) and now (after)."""
        variables = self._parts.variables
        operation = self.timeline.operation(self.resolve(target).operation)
        if variables is None or operation.checkpoint.variables is None:
            return ()
        try:
            stored = self._stored(operation.checkpoint.variables)
        except (RewindRefused, MissingObject):
            return ()
        found = changes_between(stored.rows, variables.tracker.known.rows)
        return tuple(change for change in found if not name or change.name == name)

    def variable_history(self, name: str) -> tuple[VariableRow, ...]:
        """Return the operations that changed the variable *name*, newest first."""
        return tuple(
            VariableRow(point, change)
            for point in reversed(self.points())
            if point.operation is not None
            for change in point.operation.variables
            if change.name == name
        )


def _is_reference(state: VariableState, tokens: Any) -> bool:
    return state.how != "value" or bool(tokens)
