"""The restoring side of the variables resource, for `rewind.transaction.RewindTransaction`, after the files resource.

How to call it, on the kernel's main thread:

    resource = VariablesResource(tracker, repository, target.checkpoint.variables, guard)
    RewindTransaction(log, [files, resource], context).run(plan, operation)   # prepare, stage, apply, finish | rollback

* `prepare` examines everything that lives (no separate full comparison is needed right before), keeps it in the
  rewind's archive, checks the seal, and builds and checks all new objects. `resource.address` is then what the
  operation's checkpoint gets as `variables`, and `resource.variable_changes` what goes into `Operation.variables`.
  `resource.archived` is the address of what lived before, in the archive's pack: equal to the last checkpoint's, unless
  something changed since, and then nothing but a reference of the caller's keeps it.
* `apply` swaps names, patches live classes and memory, and sets process state; `rollback` puts all of it back.
* `finish` makes the tracker believe the target and hands what was taken away to *guard*. The session calls
  `guard.release()` when the undo expires: when the next turn begins, after `Settings.pending_ttl`, and at close.
* After a death nothing is left to do: `recover_variables` is the recoverer of the name "variables".
* A new kernel (`recover`) uses the same resource over an empty namespace: what only lived in the old kernel is lost,
  and `finish` returns it by name.
* `names` restores single variables; with `rename` under other names. All else stays.
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from nbrewind.errors import RefusalReason, RewindRefused, StoreError
from nbrewind.model import Change, Note, ObjectId, RewindPlan, VariableChange
from nbrewind.resources import RewindContext
from nbrewind.resources.variables.graph.classes import class_state
from nbrewind.resources.variables.graph.living import settle
from nbrewind.resources.variables.guard import Guard
from nbrewind.resources.variables.inplace import Patch, patch_for
from nbrewind.resources.variables.loading import Loaded, Loader
from nbrewind.resources.variables.memory import Examined
from nbrewind.resources.variables.patching import Steps
from nbrewind.resources.variables.providers.process import search_path
from nbrewind.resources.variables.reading import StoredVariables, read_variables
from nbrewind.resources.variables.rows import CLASS, Row, is_class
from nbrewind.resources.variables.running import running
from nbrewind.resources.variables.tracker import Known, VariableTracker, changes_between
from nbrewind.store.shadow.repository import ShadowRepository

__all__ = ["VariablesResource", "recover_variables"]


def recover_variables(intent: str, committed: bool, context: RewindContext) -> tuple[Note, ...]:
    """Do nothing: the memory that a rewind was changing went with its kernel."""
    return ()


class VariablesResource:
    """One rewind of the namespace to the variables stored at *target*."""

    name = "variables"

    def __init__(
        self,
        tracker: VariableTracker,
        repository: ShadowRepository,
        target: ObjectId,
        guard: Guard,
        *,
        names: frozenset[str] | None = None,
        rename: Mapping[str, str] | None = None,
    ) -> None:
        self._tracker = tracker
        self._repository = repository
        self._target = target
        self._guard = guard
        self._names = names
        self._rename = dict(rename or {})
        self._steps = Steps()
        self._loaded = Loaded()
        self._patches: list[Patch] = []
        self._gone: set[str] = set()
        self._stored: StoredVariables | None = None
        self._current: Mapping[str, Row] = {}
        self._notes: list[Note] = []
        self.variable_changes: tuple[VariableChange, ...] = ()
        self.archived: ObjectId | None = None

    @property
    def address(self) -> ObjectId | None:
        """What the rewind's checkpoint has as its variables; None where only single names are restored."""
        return self._target if self._names is None else None

    def prepare(self, plan: RewindPlan, context: RewindContext) -> None:
        """Archive what lives, then build and check all that differs.

        Raises:
            RewindRefused: untrusted-store, or damaged where the target cannot be read.
        """
        tracker = self._tracker
        with tracker.memory.references.watching():
            examined = tracker.examine(None, keep=True)
            held = tracker.memory.references.hold()
        # The archive: an undo of what nobody else has kept.
        before = tracker.store(examined, context.archive.writer)
        self._current, self.archived = before.known.rows, before.address
        try:
            self._stored = read_variables(self._repository, self._target, tracker.sealer)
            self._build(self._stored, examined, held)
        except StoreError as error:
            raise RewindRefused(
                RefusalReason.DAMAGED, f"The variables cannot be read, so nothing changed: {error.message}"
            ) from error

    def _build(self, stored: StoredVariables, examined: Examined, held: Mapping[str, object]) -> None:
        namespace = self._tracker.namespace
        wanted = {name for name in stored.rows if not is_class(name)}
        if self._names is not None:
            wanted &= self._names
        rows = {stored.rows[name].names: stored.rows[name] for name in wanted if self._differs(stored, name)}
        if self._names is None:
            rows |= {row.names: row for name, row in stored.rows.items() if is_class(name) and self._live(stored, name)}
        for names, row in list(rows.items()) if self._names is None else ():
            patch = self._patch(self._tracker.memory.recall(row), examined)
            if patch is not None:
                self._patches.append(patch)
                wanted.difference_update(rows.pop(names).names)
        search = search_path(stored.process)
        loader = Loader(self._repository, stored.rows, self._tracker.memory, namespace, held, search)
        self._loaded = loader.load(rows.values())
        # Only now: loading imports what was not there.
        self._notes += stored.other_versions()
        built = self._loaded.values
        self._loaded.values = {self._rename.get(name, name): built[name] for name in wanted & built.keys()}
        if self._names is None:
            self._gone = {name for name in examined.bindings if name not in stored.rows}
            lost = self._loaded.failed.keys() & examined.bindings.keys()
            self._gone |= {name for name in lost if self._other(stored, name)}
            self._notes += _as_it_is(stored, wanted - {name for names in rows for name in names})
        self._notes += self._loaded.notes
        self._notes += [Note(name, reason) for name, reason in self._loaded.failed.items() if not is_class(name)]
        self.variable_changes = tuple(
            change
            for change in changes_between(self._current, stored.rows)
            if (self._names is None or change.name in self._names) and change.name not in self._loaded.failed
        )

    def _patch(self, row: Row, examined: Examined) -> Patch | None:
        name = row.names[0]
        now = self._current.get(name)
        return patch_for(self._repository, now, examined.live.get(name), row, self._tracker.namespace.get(name))

    def _differs(self, stored: StoredVariables, name: str) -> bool:
        row, now = stored.rows[name], self._current.get(name)
        return now is None or now.digest != row.digest or now.names != row.names or name in self._rename

    def _live(self, stored: StoredVariables, name: str) -> bool:
        """Return whether the class *name* is alive and is to become another."""
        return self._differs(stored, name) and self._tracker.memory.classes.live(name.removeprefix(CLASS)) is not None

    def _other(self, stored: StoredVariables, name: str) -> bool:
        """Return whether *name* holds something else now than what cannot be built."""
        now = self._current.get(name)
        return now is None or now.states[name].digest != stored.rows[name].states[name].digest

    def intent(self) -> str:
        """Return nothing: memory needs no recovery."""
        return "{}"

    def changes(self) -> tuple[Change, ...]:
        """Return nothing: variables are no files; see `variable_changes`."""
        return ()

    def stage(self) -> None:
        """Do nothing: `prepare` has built everything, and no cell ran since."""

    def apply(self) -> None:
        """Make the target stand in memory. What fails is put back by `rollback`."""
        namespace = self._tracker.namespace
        values = self._loaded.values
        discarded = [namespace[name] for name in (*values, *self._gone) if name in namespace]
        for cls, state in self._loaded.patches if self._names is None else ():
            self._steps.patch_class(cls, state, class_state(cls))
        for patch in self._patches:
            patch.apply(self._steps)
        for value, kind, state in self._loaded.living:
            self._settle(value, kind, state)
        _disarm(discarded, self._steps)
        self._notes += running(
            {name: namespace[name] for name in (*values, *self._gone) if name in namespace}, namespace
        )
        self._steps.bind(namespace, values, self._gone)
        states = self._tracker.states
        if states is not None and self._stored is not None and self._names is None:
            undo = states.restore(self._stored.process)
            self._steps.add(undo)
            self._notes += undo.notes
            # With the objects that the restore took out of the process.
            discarded.append(undo)
        self._guard.hold(*discarded)

    def _settle(self, value: object, kind: str, state: Any) -> None:
        try:
            undo = settle(value, kind, state)
        except OSError as error:
            undo = None
            self._notes.append(Note("", f"an open file cannot be opened again: {error}"))
        if undo is None:
            self._notes.append(Note("", f"kept as it is now: a {kind}"))
        else:
            self._steps.add(undo)

    def rollback(self) -> tuple[Note, ...]:
        """Put back names, classes, memory and process state."""
        self._steps.undo()
        return ()

    def finish(self) -> tuple[Note, ...]:
        """Let the tracker believe what stands now; return what did not come back, by name."""
        tracker, stored = self._tracker, self._stored
        if stored is None:
            return ()
        for uid, cls in self._loaded.classes.items():
            tracker.memory.classes.adopt(uid, cls)
        if self._names is not None:
            tracker.forget_bindings(self._loaded.values)
        else:
            rows = {name: self._kept_row(name, row) for name, row in stored.rows.items()}
            for name in self._loaded.failed:
                rows.pop(name, None)
            stale = frozenset(self._loaded.failed) | frozenset(note.subject for note in self._loaded.notes)
            tracker.known = Known(rows, tracker.bindings(), stored.shelves, stale, classes=True)
        self._stored = None
        return tuple(self._notes)

    def _kept_row(self, name: str, row: Row) -> Row:
        now = self._current.get(name)
        same = now is not None and now.digest == row.digest and now.names == row.names
        return now if same and now is not None else self._tracker.memory.recall(row)

    def close(self) -> None:
        """Let go of what was built."""
        self._loaded, self._patches = Loaded(), []


def _as_it_is(stored: StoredVariables, names: Iterable[str]) -> Iterator[Note]:
    """Yield what stays bound to the same object, whose own state nobody can put back."""
    for name in sorted(names):
        for kind in dict.fromkeys(stored.rows[name].tokens.values()):
            yield Note(name, f"the same object, as it is now: {kind}")


def _disarm(values: list[Any], steps: Steps) -> None:
    """Keep a temporary directory that is taken away from removing, later, the folder that the rewind brings back."""
    for value in values:
        if type(value) is not tempfile.TemporaryDirectory:
            continue
        finalizer: weakref.finalize[Any, Any] = value._finalizer  # type: ignore[attr-defined]  # not in the stubs
        parts = finalizer.detach()
        if parts is not None:
            steps.add(partial(_arm, value, parts))


def _arm(value: Any, parts: tuple[Any, ...]) -> None:
    target, act, arguments, keywords = parts
    value._finalizer = weakref.finalize(target, act, *arguments, **(keywords or {}))
