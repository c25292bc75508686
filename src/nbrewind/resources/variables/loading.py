"""From stored components to new objects, beside everything that lives; nothing is bound or changed here."""

from __future__ import annotations

import _thread
import ctypes
import io
import pickle
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nbrewind.errors import RewindError
from nbrewind.model import Note
from nbrewind.resources.variables.graph import rebuild
from nbrewind.resources.variables.graph.census import seeds
from nbrewind.resources.variables.graph.fence import TimeUp, time_limit
from nbrewind.resources.variables.graph.living import revived
from nbrewind.resources.variables.graph.references import Lost
from nbrewind.resources.variables.graph.slices import joined
from nbrewind.resources.variables.graph.tolerant import tolerant_load
from nbrewind.resources.variables.memory import Memory
from nbrewind.resources.variables.providers.process import searching
from nbrewind.resources.variables.reading import buffer_pieces, chunk_bytes, stream_of
from nbrewind.resources.variables.rows import CLASS, Row, is_class
from nbrewind.store.shadow.repository import ShadowRepository

__all__ = ["Loaded", "Loader"]

_ONE, _LIMIT, _LEAST = 10.0, 60.0, 1.0
"""Seconds for one component, for all, and for one when that is over."""
_SPEED = 10 << 20
_AGAIN = 1.0
_LOCKS = frozenset({"_thread.lock", "_thread.RLock"})


@dataclass(slots=True)
class Loaded:
    """What was built.

    *values* by name, new *classes* by id, what live classes are to become (*patches*), and the states that *living*
    objects are to get.
    """

    values: dict[str, object] = field(default_factory=dict)
    classes: dict[str, type] = field(default_factory=dict)
    patches: list[tuple[type, dict[str, Any]]] = field(default_factory=list)
    living: list[tuple[object, str, Any]] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)


class Loader:
    """Builds components of one checkpoint.

    *held* are live objects by token (`References.hold`), *search* the folders where modules were found then.
    """

    def __init__(
        self,
        repository: ShadowRepository,
        rows: Mapping[str, Row],
        memory: Memory,
        namespace: dict[str, object],
        held: Mapping[str, object] | None = None,
        search: Iterable[str] = (),
    ) -> None:
        self._repository = repository
        self._rows = rows
        self._memory = memory
        self._namespace = namespace
        self._held = dict(held or {})
        self._search = tuple(search)
        self._classes: dict[str, type] = {}
        self._revived: dict[str, object] = {}
        self._queue: list[Row] = []
        self._bodies: list[Row] = []
        self._bases = 0
        self._done: set[tuple[str, ...]] = set()
        self._row: Row | None = None
        self._until = 0.0
        self._lost: list[str] = []
        self._kept: list[str] = []
        self.loaded = Loaded()

    def load(self, rows: Iterable[Row]) -> Loaded:
        """Return the objects of *rows*, and of all classes they need that are dead.

        What cannot be built is in `failed`, by name, with the reason. Raises nothing for what user code does.

        Raises:
            StoreError: Something cannot be read.
        """
        self._queue = list(rows)
        end = time.monotonic() + _LIMIT
        with time_limit(self._overdue), rebuild.use(self), searching(self._search):
            while self._queue:
                row = self._queue.pop()
                size = sum(buffer.size for buffer in row.buffers)
                self._until = min(time.monotonic() + _ONE, max(end, time.monotonic() + _LEAST)) + size / _SPEED
                try:
                    self._build(row)
                except TimeUp:
                    self._row, self._lost, self._kept = None, [], []
                    self.loaded.failed.update(dict.fromkeys(row.names, "loading it takes too long"))
        return self.loaded

    def _overdue(self) -> bool:
        """Return whether the component takes too long; once, and again only to those who do not take it for an end."""
        if time.monotonic() < self._until:
            return False
        self._until = time.monotonic() + _AGAIN
        return True

    def _build(self, row: Row) -> None:
        """Build one component, unless it is built already; comes back here for a class that its objects need."""
        if row.names in self._done:
            return
        self._done.add(row.names)
        outer = self._row, self._lost, self._kept
        try:
            self._row, self._lost, self._kept = row, [], []
            for uid in row.heads:
                self.anchor(uid)
            self._read(row)
        finally:
            self._row, self._lost, self._kept = outer

    def _read(self, row: Row) -> None:
        if row.sliced:
            parts = [self._buffer_bytes(row, number) for number in range(len(row.buffers))]
            self.loaded.values[row.names[0]] = joined(row.sliced, parts)
            return
        stream = stream_of(self._repository, row)
        reasons: list[str] = []
        try:
            value = self._unpickled(stream, self._outside(row))
        except (TimeUp, RewindError):
            raise
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            value, reasons = tolerant_load(stream, seeds(self._namespace), self._outside(row))
        values = value if len(row.names) > 1 else {row.names[0]: value}
        for name in row.names:
            # Asked for its class by `isinstance`, an object of the user's may answer anything.
            lost = values if type(values) is Lost else values.get(name)
            if type(lost) is Lost:
                self.loaded.failed[name] = f"lost: {reasons[0] if reasons else lost.kind}"
            elif not is_class(name):
                self.loaded.values[name] = values[name]
        for name in row.names:
            if name not in self.loaded.failed and not is_class(name):
                self.loaded.notes += [Note(name, reason) for reason in reasons]
                self.loaded.notes += [Note(name, f"lost: {kind}") for kind in dict.fromkeys(self._lost)]
                self.loaded.notes += [Note(name, f"the same object, as it is now: {kind}") for kind in set(self._kept)]
                self.loaded.notes += [Note(name, note) for note in row.notes]
            elif is_class(name):
                lost = [*reasons, *(f"lost: {kind}" for kind in dict.fromkeys(self._lost))]
                self.loaded.notes += [Note(f"class {row.states[name].text}", reason) for reason in lost]

    def _outside(self, row: Row) -> list[bytearray]:
        return [bytearray(self._buffer_bytes(row, number)) for number in row.outside]

    def _unpickled(self, stream: bytes, outside: Iterable[bytearray] = ()) -> Any:
        unpickler: Any = pickle.Unpickler(io.BytesIO(stream), buffers=outside)
        unpickler.memo = dict(enumerate(seeds(self._namespace)))
        return unpickler.load()

    # -- what `rebuild` asks for ----------------------------------------------------------------------------------

    def kept(self, token: str, kind: str) -> object:
        """Return the live object of *token*, a new lock for a dead one, or what says that it is lost."""
        live = self._memory.references.live(token, self._held)
        live = live if live is not None else self._revived.get(token)
        if live is not None:
            self._kept.append(kind)
            return live
        if kind in _LOCKS:
            lock = self._revived[token] = _thread.allocate_lock() if kind == "_thread.lock" else _thread.RLock()
            return lock
        self._lost.append(kind)
        return Lost(kind)

    def living(self, token: str, kind: str, state: Any) -> object:
        """Return the live object of *token*, or a new one; `apply` gives it its *state*."""
        value: Any = self._revived.get(token)
        if value is not None:
            return value
        value = self._memory.references.live(token, self._held)
        if value is None or (kind == "file" and value.closed and not state[-1]):
            value = revived(kind, state)
        if value is None:
            self._lost.append(kind)
            return Lost(kind)
        self.loaded.living.append((value, kind, state))
        self._revived[token] = value
        return value

    def anchor(self, uid: str) -> type:
        """Return the class *uid*: the live one, or a new one whose component is built in this load."""
        found = self._classes.get(uid) or self._memory.classes.live(uid)
        if found is not None:
            self._classes[uid] = found
            return found
        row = self._rows.get(CLASS + uid)
        if row is None or uid not in row.heads:
            raise LookupError("its class is not stored")
        # A base needs no more than to be there: what it holds, perhaps this very class, comes when all bases are.
        self._bases += 1
        try:
            made = rebuild.class_skeleton(self._unpickled(row.heads[uid]))
        finally:
            self._bases -= 1
        self._classes[uid] = self.loaded.classes[uid] = made
        self._bodies.append(row)
        while self._bodies and not self._bases:
            self._build(self._bodies.pop(0))
        return made

    def class_body(self, uid: str, state: dict[str, Any]) -> None:
        """Give a new class its attributes; note what a live one is to become."""
        cls = self.anchor(uid)
        if uid in self.loaded.classes:
            rebuild.set_class(cls, state)
        else:
            self.loaded.patches.append((cls, state))

    def fill(self, number: int, address: int, size: int) -> None:
        """Write the bytes of a buffer of the row that is being built to *address*."""
        if self._row is None or self._row.buffers[number].size != size:
            raise ValueError("a buffer of another size")
        for at, oid, length in buffer_pieces(self._repository, self._row, number):
            ctypes.memmove(address + at, chunk_bytes(self._repository, oid, length), length)

    def _buffer_bytes(self, row: Row, number: int) -> bytes:
        return b"".join(
            [
                chunk_bytes(self._repository, oid, length)
                for _, oid, length in buffer_pieces(self._repository, row, number)
            ]
        )
