"""The capturing side of the variables resource: what the last checkpoint holds, and what differs from it.

How to call it, for one turn:

1. On the kernel's main thread, with no cell running: `examined = tracker.examine(reached)`.
   *reached* are the names that the cell can have changed (`names.reach`), None for all. Arrays that are examined
   are hashed, not copied, so no cell may run until 2. is through.
2. On the worker, into the turn's pack: `snapshot = tracker.store(examined, writer)`. `snapshot.address` goes into
   `Checkpoint.variables` (it is a git tree that reaches everything: give it to the side manifest, or to a reference of
   its own), `snapshot.changes` into `Operation.variables`, `snapshot.notes` into the turn's reasons.
3. Once the pack is durable and the frame is in the log: `tracker.adopt(snapshot)`. If anything failed before, nothing
   is adopted, and the next `examine` finds the same again.

`examine(None, late=True)` is the full comparison, in idle time and before a rewind; its changes are marked uncertain.
After an attach nothing needs to be loaded: the first capture of the new kernel stores what it holds, and `recover` is a
rewind to the old kernel's last address.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import compress
from operator import ne

from nbrewind.model import Note, ObjectId, VariableChange, VariableState
from nbrewind.resources.variables.examination import Examination
from nbrewind.resources.variables.memory import Examined, Memory
from nbrewind.resources.variables.ports import KernelPort, Sealer, StatePort
from nbrewind.resources.variables.rows import CLASS, Row, differing, is_class
from nbrewind.resources.variables.storing import Fresh, Shelves, store_rows
from nbrewind.store.shadow.writer import PackWriter

__all__ = ["Known", "VariableTracker", "VariablesSnapshot", "changes_between"]

_TEXT = frozenset({str})


@dataclass(frozen=True, slots=True)
class Known:
    """What a checkpoint holds: *rows* by every name in them, and the address of each name's object then.

    *stale* names are looked at next time whatever is reached; *classes*: there may be rows of classes.
    """

    rows: Mapping[str, Row] = field(default_factory=dict)
    bindings: Mapping[str, int] = field(default_factory=dict)
    shelves: Shelves = field(default_factory=Shelves)
    stale: frozenset[str] = frozenset()
    classes: bool = False

    @property
    def process(self) -> Mapping[str, bytes]:
        """Process state by provider, for `StatePort.describe` of two of them."""
        return {name: state for name, (state, _) in self.shelves.process.items()}


@dataclass(frozen=True, slots=True)
class VariablesSnapshot:
    """A stored capture, to be adopted once it is durable. *address* is that of the last one if nothing changed."""

    address: ObjectId | None
    changes: tuple[VariableChange, ...]
    notes: tuple[Note, ...]
    base: Known
    known: Known


class VariableTracker:
    """Knows what the last checkpoint holds of the namespace. Holds no object of the user's between two calls.

    *budget*: seconds of one `examine`; *max_size*: bytes of one variable, a larger one goes by reference.
    Invariant: it believes only what `adopt` and `VariablesResource.finish` gave it.
    """

    def __init__(
        self,
        port: KernelPort,
        *,
        states: StatePort | None = None,
        sealer: Sealer | None = None,
        budget: float = 5.0,
        max_size: int = 1 << 30,
    ) -> None:
        self._port = port
        self._budget = budget
        self._max_size = max_size
        self.states = states
        self.sealer = sealer
        self.memory = Memory()
        self.known = Known()

    @property
    def address(self) -> ObjectId | None:
        """Where the last checkpoint's variables are."""
        return self.known.shelves.address

    @property
    def namespace(self) -> dict[str, object]:
        """The live namespace."""
        return self._port.namespace()

    def bindings(self) -> dict[str, int]:
        """Return the address of what each of the user's names is bound to now."""
        namespace = self.namespace
        found = dict(zip(namespace, map(id, namespace.values()), strict=True))
        for name in self._port.hidden():
            found.pop(name, None)
        if not _TEXT.issuperset(map(type, found)):
            found = {name: place for name, place in found.items() if type(name) is str}
        return found

    def examine(
        self,
        reached: frozenset[str] | None,
        *,
        budget: float | None = None,
        late: bool = False,
        sure: frozenset[str] | None = None,
        keep: bool = False,
    ) -> Examined:
        """Look at what may have changed; main thread only. Never raises for anything that a variable does.

        Args:
            reached: Names that the cell can have changed beside rebinding; None for all.
            budget: Seconds, if not those of the tracker; what is not looked at by then is named, and goes by reference.
            late: The changes are not known to be those of the last cell.
            sure: Only those of these names, and of what shares objects with them, are; None for all.
            keep: Hold on to everything looked at (`Examined.live`), for a rewind that follows at once.
        """
        namespace, known = self.namespace, self.known
        bindings = self.bindings()
        wanted = self._wanted(bindings, reached)
        seconds = self._budget if budget is None else budget
        examination = Examination(
            namespace,
            bindings,
            known.rows,
            self.memory,
            budget=seconds,
            max_size=self._max_size,
            shown=self._port.shown,
        )
        fresh = examination.run(sorted(wanted))
        rows = self._rows_after(bindings, fresh, examination.late)
        process = self.states.capture() if self.states is not None else {}
        notes = list(examination.reasons())
        gone = {row.names: row for row in map(known.rows.__getitem__, differing(rows, known.rows))}
        news = differing(known.rows, rows)
        changed = [one for one in fresh if one.row.names[0] in news and rows[one.row.names[0]] is one.row]
        stale = frozenset(examination.late)
        live = {one.row.names[0]: one for one in fresh} if keep else {}
        certain = frozenset[str]() if late else None
        if sure is not None and not late:
            certain = frozenset((known.bindings.keys() - bindings.keys()) | self._wanted(bindings, sure))
        return Examined(
            bindings, changed, list(gone.values()), rows, stale, process, tuple(notes), certain, live, frozenset(wanted)
        )

    def _wanted(self, bindings: Mapping[str, int], reached: frozenset[str] | None) -> set[str]:
        known = self.known
        if reached is None:
            return set(bindings)
        wanted = {name for name in reached if name in bindings}
        if bindings != known.bindings:
            old = known.bindings
            wanted.update(compress(bindings, map(ne, bindings.values(), map(old.get, bindings))))
            wanted |= old.keys() - bindings.keys()
        wanted |= known.stale
        # Whatever shares an object with one of them may have changed through it, and so may the classes that it named:
        # the name of a class may be another's by now.
        todo = [*wanted]
        while todo:
            row = known.rows.get(todo.pop())
            if row is not None:
                more = {*row.names, *(CLASS + uid for uid in row.anchors)} - wanted
                wanted |= more
                todo += more
        return {name for name in wanted if name in bindings or is_class(name)}

    def _rows_after(self, bindings: Mapping[str, int], fresh: Iterable[Fresh], late: set[str]) -> dict[str, Row]:
        known = self.known.rows
        rows = dict(known)
        dropped = {rows.pop(name).names for name in known.keys() - bindings.keys() if not is_class(name)}
        for one in fresh:
            for name in one.row.names:
                before = known.get(name)
                if before is not None and before.names != one.row.names:
                    dropped.add(before.names)
            rows.update(dict.fromkeys(one.row.names, one.row))
        for names in dropped:
            for name in names:
                if name in rows and rows[name].names == names:
                    del rows[name]
        # No class, no orphan: with thousands of names the search is the dearest part of a trivial turn.
        return (
            _without_orphans(rows) if self.known.classes or any(is_class(one.row.names[0]) for one in fresh) else rows
        )

    def store(self, examined: Examined, writer: PackWriter) -> VariablesSnapshot:
        """Store what was found; any thread. The caller finishes the writer, then adopts.

        Raises:
            StoreError: The repository cannot be written, or a variable changed meanwhile (`Unstable`).
        """
        known = self.known
        shelves = known.shelves
        process = known.process
        rows = dict(examined.rows)
        if examined.fresh or examined.gone or process != examined.process or shelves.address is None:
            shelves, stored = store_rows(
                writer, examined.fresh, examined.gone, shelves, examined.process, self._held, self.sealer
            )
            for row in stored:
                rows.update(dict.fromkeys(row.names, row))
        changes = tuple(changes_between(known.rows, rows, examined.sure))
        classes = known.classes or any(is_class(name) for one in examined.fresh for name in one.row.names)
        after = Known(rows, examined.bindings, shelves, examined.stale, classes)
        return VariablesSnapshot(shelves.address, changes, examined.notes, known, after)

    def adopt(self, snapshot: VariablesSnapshot) -> None:
        """Believe *snapshot*, whose objects are durable now."""
        if snapshot.base is not self.known:
            raise RuntimeError("BUG: the snapshot was made on other ground")
        self.known = snapshot.known
        before, after = snapshot.base.rows, self.known.rows
        news = [*map(after.__getitem__, differing(before, after)), *map(before.__getitem__, differing(after, before))]
        if any(row.tokens or row.quiet for row in news):
            rows = [row for row in after.values() if row.tokens or row.quiet]
            self.memory.references.keep_only({token for row in rows for token in (*row.tokens, *row.quiet)})
        if any(row.buffers for row in news):
            self.memory.remember({row.digest: row for row in after.values() if row.buffers}.values())

    def _held(self) -> dict[bytes, ObjectId]:
        return {
            key: oid
            for row in self.known.rows.values()
            for buffer in row.buffers
            for key, oid in zip(buffer.hashes, buffer.oids, strict=True)
        }

    def forget_bindings(self, names: Iterable[str]) -> None:
        """Look at *names* in the next capture whatever is reached."""
        self.known = replace(self.known, stale=self.known.stale | frozenset(names))


def _without_orphans(rows: dict[str, Row]) -> dict[str, Row]:
    """Drop classes that no component names any more."""
    if not any(map(is_class, rows)):
        return rows
    while True:
        used = {CLASS + uid for name, row in rows.items() for uid in row.anchors if row.names != (CLASS + uid,)}
        gone = [name for name, row in rows.items() if len(row.names) == 1 and is_class(name) and name not in used]
        if not gone:
            return rows
        for name in gone:
            del rows[name]


def changes_between(
    before: Mapping[str, Row], after: Mapping[str, Row], sure: frozenset[str] | None = None
) -> Iterable[VariableChange]:
    """Yield what differs between two checkpoints, by name; all but the names *sure* (None: none) are uncertain."""
    names = differing(before, after) | (before.keys() - after.keys())
    if any(map(is_class, names)):
        # A name for a class shows what became of the class, which has a row of its own.
        names |= {name for name, row in after.items() if row.anchors}
    for name in sorted(names):
        if is_class(name):
            continue
        old, new = _shown(before, name), _shown(after, name)
        if old is None or new is None or old.digest != new.digest:
            yield VariableChange(name, old, new, sure is not None and name not in sure)


def _shown(rows: Mapping[str, Row], name: str) -> VariableState | None:
    """Return the state of *name*; where it is a class, that of the class counts too."""
    row = rows.get(name)
    if row is None:
        return None
    state = row.states[name]
    if row.anchors and state.type in ("type", "abc.ABCMeta", "enum.EnumType", "enum.EnumMeta"):
        inner = "".join(rows[CLASS + uid].states[CLASS + uid].digest for uid in row.anchors if CLASS + uid in rows)
        return replace(state, digest=state.digest + inner)
    return state
