"""Planning: what a move would do, computed on what stands on the disk now."""

from __future__ import annotations

import posixpath
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TypeVar

from nbrewind.capture import hook
from nbrewind.errors import InconsistentState, RefusalReason, RewindError, RewindRefused, TargetError, clipped
from nbrewind.model import Change, FileState, Note, Operation, OperationId, PlanOptions, RewindPlan
from nbrewind.resources.files.tree import diff
from nbrewind.rewind.evidence import Difference, Evidence, is_outside
from nbrewind.rewind.intent import pending_intents
from nbrewind.rewind.plan import plan_redo, plan_restore, plan_rewind, plan_undo
from nbrewind.rewind.recovery import recover_session
from nbrewind.rewind.targets import NOTHING_CHANGED
from nbrewind.session.archiving import sweep_lists
from nbrewind.session.core import Parked
from nbrewind.session.idling import Idling
from nbrewind.session.mainthread import is_main
from nbrewind.session.outside import Keeper, observe
from nbrewind.session.recoverers import recoverers

__all__ = ["Planning"]

_LONGEST_NAME = 200
_T = TypeVar("_T")
_NOT_BELIEVED = "outside the workspace, and this store was not made by you on this machine"


class Planning(Idling):
    """Makes plans and keeps the one that waits for a confirmation. Settles first; changes nothing."""

    # -- plans ----------------------------------------------------------------------------------------------------

    def plan(self, target: str, options: PlanOptions | None = None) -> RewindPlan:
        """Return what going to *target* would discard and change. Settles first, changes nothing.

        Raises:
            TargetError: the words do not name a point.
            RewindRefused: for a reason of the closed list.
        """
        with self._planning():
            return self._planned(self.resolve(target).operation, options or PlanOptions())

    def _planned(self, goal: OperationId, options: PlanOptions) -> RewindPlan:
        return self._held_back(self._with_variables(plan_rewind(self._evidence(), goal, options)))

    def _with_variables(self, plan: RewindPlan) -> RewindPlan:
        """Return *plan* with what becomes of variables."""
        raise NotImplementedError

    def plan_undo(self, options: PlanOptions | None = None) -> RewindPlan:
        """Return the plan that takes the last rewind back.

        Raises:
            RewindRefused: (new-turns) a cell ran since.
            UsageError: there is nothing to undo.
        """
        with self._planning():
            return self._held_back(self._with_variables(plan_undo(self._evidence(), options or PlanOptions())))

    def plan_redo(self, options: PlanOptions | None = None) -> RewindPlan:
        """Return the plan that takes the last undo back.

        Raises:
            RewindRefused: (new-turns) a cell ran since.
            UsageError: there is nothing to redo.
        """
        with self._planning():
            return self._held_back(self._with_variables(plan_redo(self._evidence(), options or PlanOptions())))

    def plan_restore(self, paths: Sequence[str], target: str, options: PlanOptions | None = None) -> RewindPlan:
        """Return the plan that brings single *paths* back from *target*; `options.destination` puts one beside.

        Raises:
            TargetError: a path was not there then.
            RewindRefused: as `plan`; (outside-workspace) the destination is a place that no point covers;
                (untrusted-store) a path lies outside, and the store is somebody else's.
        """
        with self._planning():
            goal = self.timeline.operation(self.resolve(target).operation)
            chosen = options or PlanOptions()
            found = tuple(self._known_name(path, goal) for path in paths)
            self._require_belief((*found, chosen.destination))
            if chosen.destination:
                chosen = replace(chosen, destination=self._destination(chosen.destination, found))
            return plan_restore(self._evidence(), found, goal.id, replace(chosen, paths=found))

    def _destination(self, typed: str, sources: Sequence[str]) -> str:
        """Return where a restored copy goes: where the next point sees it, or beside a file outside.

        Raises:
            TargetError: no file can have that name.
            RewindRefused: (outside-workspace) nothing of ours may be written there.
        """
        name = self.names_of(typed)[0]
        if posixpath.isabs(name):
            beside = any(posixpath.dirname(name) == posixpath.dirname(source) for source in sources)
            why = self._parts.coverage.outside(name) if beside else "outside the workspace"
        else:
            why = "" if self._parts.coverage.focused else self._parts.coverage.excluded(name, False)
        if why or not name:
            raise RewindRefused(
                RefusalReason.OUTSIDE_WORKSPACE,
                f"Not restored, nothing changed: {clipped(typed)} is no place for a copy ({why or 'the workspace'}).",
                hint="Name a place in the workspace.",
            )
        return name

    def _known_name(self, path: str, goal: Operation) -> str:
        """Return which of the meanings of *path* stood there at *goal*; the first if none did."""
        names = self.names_of(path)
        for name in names:
            try:
                if not name or self._state_then(goal, name) is not None:
                    return name
            except (TargetError, RewindRefused):
                continue
        return names[0]

    @contextmanager
    def _planning(self) -> Iterator[None]:
        self._require_quiet()
        with self._mutex, hook.suspended():
            if not self.readonly:
                self._put_in_order()
                self._settle_fully()
            yield

    def _put_in_order(self) -> None:
        """Finish an earlier move that the disk did not let end: what is planned must begin from what will stand."""
        parts = self._parts
        with suppress(RewindError):
            # What still cannot be carried out keeps moves from running, and nobody from looking.
            if pending_intents(parts.paths):
                self._found += recover_session(parts.paths, self._log(), parts.repository, recoverers(self.workspace))
            sweep_lists(parts.paths, self._log())

    def _settle_fully(self) -> None:
        """Settle, with a look at every file.

        Raises:
            RewindRefused: (busy) that failed.
        """
        self._distrust = True
        try:
            settled = self._settle()
        finally:
            self._distrust = False
        if not settled:
            health = self._health
            why = (health.frozen or health.not_protected or Note("", "the last capture failed")).reason
            raise RewindRefused(RefusalReason.BUSY, f"Not rewound, nothing changed: {why}")

    def _require_quiet(self) -> None:
        """Refuse while a cell runs, from inside a cell with other code or another thread, and while cells are held.

        Raises:
            RewindRefused: busy.
            InconsistentState: an earlier rewind is not in order.
        """
        frozen = self._health.frozen
        if frozen is not None:
            raise InconsistentState(frozen.reason, hint="Restart the kernel to recover, or %rewind unfreeze.")
        self._require_no_cell()
        if self._parts.variables is not None and not is_main():
            raise RewindRefused(
                RefusalReason.BUSY,
                "Not rewound, nothing changed: this is another thread than the kernel's main one.",
                hint="session.on_main_thread(act) does it there.",
            )

    def _require_no_cell(self) -> None:
        why = "a turn is open." if self.turn_is_open else ""
        shell = self._parts.shell
        why = (shell.may_move() if shell is not None else "") or why
        if why:
            raise RewindRefused(
                RefusalReason.BUSY,
                f"Not rewound, nothing changed: {why}",
                hint="Run %rewind in a cell of its own.",
            )

    def on_main_thread(self, act: Callable[[], _T]) -> _T:
        """Return what *act*, which plans or moves, returns or raises; from any thread, carried out on the main one.

        Raises:
            RewindRefused: (busy) a cell runs, or the main thread does not come to it; then it is never carried out.
        """
        if not is_main():
            self._require_no_cell()
        return self.main_thread.run(act)

    def _evidence(self) -> Evidence:
        names = {self.notebook, *(operation.notebook for operation in self.operations)} - {""}
        notebooks = (self._parts.coverage.within(name) for name in names)
        return Evidence(
            timeline=self.timeline,
            changes_of=self.changes_of if self._trust.holds else self._changes_inside,
            tree_of=self.tree,
            current=self.state_now,
            difference=self._difference,
            notebooks=frozenset(name for name in notebooks if name),
            remembered=lambda path, state: self._parts.vault.holds(self._absolute(path), state),
            force_deletions=self.settings.force_deletions,
        )

    def _changes_inside(self, operation: Operation) -> tuple[Change, ...]:
        """Return what an operation of a store that is not believed changed in the workspace."""
        return tuple(
            change
            for change in self.changes_of(operation)
            if not is_outside(change.path) and not is_outside(change.moved_to or "")
        )

    def _require_belief(self, paths: Sequence[str]) -> None:
        outside = next(filter(is_outside, paths), "")
        if outside and not self._trust.holds:
            raise RewindRefused(
                RefusalReason.UNTRUSTED_STORE,
                f"Not restored, nothing changed: {clipped(outside)} lies {_NOT_BELIEVED}.",
                hint="%rewind trust, if you know where this store comes from.",
            )

    def _held_back(self, plan: RewindPlan) -> RewindPlan:
        """Return *plan*, naming what lies outside the workspace and stays, since the store is somebody else's."""
        if self._trust.holds:
            return plan
        turns = (*plan.taken_back, *plan.brought_back)
        paths = {
            change.path
            for turn in turns
            for change in self.changes_of(self.timeline.operation(turn))
            if is_outside(change.path)
        }
        return replace(plan, kept=(*plan.kept, *(Note(path, _NOT_BELIEVED) for path in sorted(paths))))

    def _difference(self, first: Operation, second: Operation) -> Iterator[Difference]:
        trees = self.tree(first), self.tree(second)
        if trees[0] is not None and trees[1] is not None:
            yield from diff(trees[0], trees[1])

    def state_now(self, path: str) -> FileState | None:
        """Return what stands at *path* (as manifests name it) now: of the last scan inside, looked at outside."""
        if not posixpath.isabs(path):
            return self._parts.tracker.state(path)
        if self.readonly:
            return None
        with self._parts.repository.writer() as writer:
            # Never finished: only the ids are wanted, and nothing is kept.
            return observe(path, Keeper(writer), self.settings.max_file_size, self._parts.coverage.secret(path))

    # -- parked plans ---------------------------------------------------------------------------------------------

    def park(self, plan: RewindPlan, target: str = "") -> Parked:
        """Keep *plan* for its confirmation, for `settings.pending_ttl` seconds. Only the newest is kept."""
        self._parked = Parked(plan, target, time.time() + self.settings.pending_ttl)
        return self._parked

    def parked(self, token: str = "") -> Parked:
        """Return the parked plan.

        Raises:
            RewindRefused: `expired` or `stale-plan`, or nothing is parked.
        """
        parked = self._parked
        if parked is None:
            raise RewindRefused(
                RefusalReason.EXPIRED,
                f"Nothing waits for a confirmation. {NOTHING_CHANGED}",
                hint="%rewind to N previews.",
            )
        if token and token != parked.token:
            raise RewindRefused(
                RefusalReason.STALE_PLAN,
                f"{clipped(token)} is not the preview that waits ({parked.token}). {NOTHING_CHANGED}",
                hint="Look at the preview again.",
            )
        if time.time() > parked.expires:
            self._parked = None
            raise RewindRefused(
                RefusalReason.EXPIRED, f"The preview has expired. {NOTHING_CHANGED}", hint="Preview it again."
            )
        return parked

    def cancel(self) -> bool:
        """Drop what is parked; return whether something was."""
        parked, self._parked = self._parked, None
        return parked is not None
