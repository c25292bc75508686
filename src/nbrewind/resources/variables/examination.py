"""The main thread's part of a capture: from names to components, with every byte hashed and small ones copied."""

from __future__ import annotations

import gc
import hashlib
import math
import time
import weakref
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from sys import getrefcount

from nbrewind.model import Note, VariableState
from nbrewind.resources.variables.graph import rebuild
from nbrewind.resources.variables.graph.buffers import BufferTable
from nbrewind.resources.variables.graph.calls import Call, name_of
from nbrewind.resources.variables.graph.census import Census
from nbrewind.resources.variables.graph.classes import class_head, class_state
from nbrewind.resources.variables.graph.components import groups
from nbrewind.resources.variables.graph.fence import TimeUp, ticking, time_limit
from nbrewind.resources.variables.graph.owners import owners
from nbrewind.resources.variables.graph.pickling import Failure, Pickled, pickled
from nbrewind.resources.variables.graph.slices import LEAST, sliced
from nbrewind.resources.variables.graph.summary import summary
from nbrewind.resources.variables.memory import Memory
from nbrewind.resources.variables.rows import CLASS, Row, is_class
from nbrewind.resources.variables.storing import Fresh

__all__ = ["Examination"]

_ATOMS = frozenset({int, float, bool, complex, type(None)})
_TRIES = 3
_ALONE = 4


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Keep the collector, and with it finalisers of the user's, out of the block."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class Examination:
    """One pass over some of the *names* in *namespace*; *rows* is what the last checkpoint holds, by name.

    *shown* is `KernelPort.shown`.
    """

    def __init__(
        self,
        namespace: dict[str, object],
        names: Container[str],
        rows: Mapping[str, Row],
        memory: Memory,
        *,
        budget: float,
        max_size: int,
        shown: Callable[[], Mapping[int, int]] = dict,
    ) -> None:
        self._names = names
        self._rows = rows
        self._memory = memory
        self._namespace = namespace
        self._end = time.monotonic() + budget
        self.census = Census(
            namespace,
            memory.references,
            memory.classes,
            BufferTable(memory.hashes),
            deadline=self._end,
            max_size=max_size,
            is_slow=memory.is_slow,
        )
        self._shown = shown
        self._slices: dict[str, list[bytes]] = {}
        self._streams: dict[str, Pickled] = {}
        self._heads: dict[str, Pickled] = {}
        self._values: dict[str, object] = {}
        self._how: dict[str, tuple[str, str]] = {}
        self.late: set[str] = set()

    def run(self, wanted: Iterable[str]) -> list[Fresh]:
        """Return the components of the names *wanted* and of every class met on the way."""
        with _undisturbed(), ticking():
            for name in wanted:
                self._take(name)
            self._take_classes()
            found = groups(self._streams, self.census.unlinked)
            fresh = [self._component(*part) for names in found for part in self._parts(names)]
            for stream in self._streams.values():
                stream.memo = None
                stream.handles.clear()
            return fresh

    def _take(self, name: str) -> None:
        if is_class(name):
            live = self._memory.classes.live(name.removeprefix(CLASS))
            if live is not None:
                self.census.pending.setdefault(name.removeprefix(CLASS), live)
            return
        value = self._values[name] = self._namespace[name]
        if time.monotonic() > self._end:
            self.late.add(name)
            self._streams[name] = self._reference(name, value, "the time for this turn was over")
            return
        # With one more reference than those of the namespace, of this object, this name and the call, it is shared.
        references = getrefcount(value)
        slices = None
        kind = type(value)
        # Not `in`: a metaclass may say that its classes equal everything.
        if (kind is list or kind is dict) and len(value) >= LEAST:  # type: ignore[arg-type]  # its exact type
            shown = self._shown()
            if references - shown.get(id(value), 0) <= _ALONE:
                slices = sliced(value, self._memory.proved.get(name, frozenset()), shown)
        if slices is not None:
            self._slices[name], self._memory.proved[name] = slices
            self._streams[name] = Pickled(
                b"", [self.census.buffers.add_bytes(one) for one in slices[0]], {}, {}, (), False
            )
            return
        self._streams[name] = self._pickled(name, value)

    def _take_classes(self) -> None:
        done: set[str] = set()
        while todo := [uid for uid in self.census.pending if uid not in done]:
            for uid in todo:
                done.add(uid)
                cls = self.census.pending[uid]
                self._heads[uid] = self._pickled(CLASS + uid, class_head(cls))
                self._values[CLASS + uid] = body = Call(rebuild.class_body, uid, class_state(cls))
                self._streams[CLASS + uid] = self._pickled(CLASS + uid, body)
                # What shares an object with the class was in its component, and stays so.
                row = self._rows.get(CLASS + uid)
                for name in row.names if row is not None else ():
                    if name not in self._streams and (is_class(name) or name in self._names):
                        self._take(name)

    def _pickled(self, name: str, value: object) -> Pickled:
        """Return the stream of *value*, of a reference to it if it cannot be stored."""
        kind = type(value)
        reason = "storing it takes too long" if self._memory.is_slow(kind) else ""
        for _ in range(_TRIES):
            if reason:
                break
            try:
                with time_limit(self.census.overdue):
                    stream = pickled(value, self.census)
                    if not self._whole(value, stream):
                        return stream
            except TimeUp:
                if not self._skip_slow():
                    reason = "storing it takes too long"
            except Failure as error:
                reason = str(error)
            except (RecursionError, MemoryError):
                reason = "nested too deeply or too large"
            except Exception as error:  # noqa: BLE001 - a metaclass of the user's that answers in its own way
                reason = f"it cannot be looked at ({type(error).__name__})"
        return self._reference(name, value, reason)

    def _reference(self, name: str, value: object, reason: str) -> Pickled:
        self._how[name] = ("reference", reason)
        token = self.census.references.token(value)
        described = name_of(type(value))
        self.census.unlinked.add(id(value))
        # Three words, and the last resort: the deadline that led here does not count for it.
        self.census.deadline = math.inf
        try:
            stream = pickled(Call(rebuild.kept, token, described), self.census)
        finally:
            self.census.deadline = self._end
        stream.tokens[token] = described
        return stream

    def _whole(self, value: object, stream: Pickled) -> bool:
        """Let objects of libraries that hold live handles go by reference as a whole; return whether there are more."""
        if not stream.handles or any(value is one for one in stream.handles):
            return False
        found = [one for one in owners(value, stream.handles, self._namespace) if id(one) not in self.census.skipped]
        self.census.skipped.update(map(id, found))
        return bool(found)

    def _skip_slow(self) -> bool:
        """Remember the type of the object that took too long; return whether there was one."""
        found = False
        for value in self.census.held:
            kind = type(value)
            if id(kind) not in self._memory.slow:
                self._memory.slow[id(kind)] = weakref.ref(kind)
            found = True
        self.census.held.clear()
        return found

    def _parts(self, names: list[str]) -> list[tuple[list[str], Pickled]]:
        """Return *names* with their one stream; each with its own where there is no time or room for that."""
        if len(names) == 1:
            return [(names, self._streams[names[0]])]
        # Classes first: their instances may need a `__new__` of theirs.
        ordered = sorted(names, key=lambda name: (not is_class(name), name))
        try:
            with time_limit(self.census.overdue):
                whole = pickled({name: self._values[name] for name in ordered}, self.census)
        except (TimeUp, Failure, RecursionError, MemoryError):
            for name in names:
                self._streams[name].notes.append("stored apart from what it shares objects with")
            return [([name], self._streams[name]) for name in names]
        for name in names:
            whole.notes += [note for note in self._streams[name].notes if note not in whole.notes]
        return [(names, whole)]

    def _component(self, names: list[str], whole: Pickled) -> Fresh:
        """Return the component of *names*; with the very row that is known where it is as it was."""
        heads = {name.removeprefix(CLASS): self._heads[name.removeprefix(CLASS)] for name in names if is_class(name)}
        anchors = dict.fromkeys(whole.anchors)
        for head in heads.values():
            anchors |= dict.fromkeys(head.anchors)
        stream_digest = hashlib.blake2b(whole.stream, digest_size=32).hexdigest()
        total = hashlib.blake2b(stream_digest.encode(), digest_size=16)
        for name in names:
            total.update(name.encode("utf-8", "surrogatepass"))
        for piece in (*(head.stream for head in heads.values()), *(one.digest for one in whole.buffers)):
            total.update(piece)
        digest, old = total.hexdigest(), self._rows.get(names[0])
        if old is not None and old.digest == digest and old.names == tuple(names):
            return Fresh(old, whole.stream, whole.buffers, old)
        digests = {name: _digest(self._streams[name]) for name in names}
        row = Row(
            names=tuple(names),
            digest=digest,
            states={name: self._state(name, digests[name]) for name in names},
            stream_digest=stream_digest,
            sliced=type(self._values[names[0]]).__name__ if len(names) == 1 and names[0] in self._slices else "",
            tokens=whole.tokens,
            quiet=whole.quiet,
            anchors=tuple(anchors),
            heads={uid: head.stream for uid, head in heads.items()},
            notes=tuple(whole.notes),
            opaque=whole.opaque,
            outside=whole.outside,
        )
        return Fresh(row, whole.stream, whole.buffers, old)

    def _state(self, name: str, digest: str) -> VariableState:
        stream = self._streams[name]
        size = len(stream.stream) + sum(buffer.size for buffer in stream.buffers)
        how = self._how.get(name, ("", ""))[0]
        if is_class(name):
            uid = name.removeprefix(CLASS)
            return VariableState("type", text=self.census.pending[uid].__name__, size=size, digest=digest)
        value = self._values[name]
        if not how and len(stream.tokens) == 1 and id(value) in self.census.unlinked:
            how = "reference"
        return summary(value, size, digest, how or "value")

    def reasons(self) -> Iterator[Note]:
        """Yield what could not be stored by value, with the reason, under the names of the user."""
        for name, (_, reason) in self._how.items():
            if not is_class(name):
                yield Note(name, f"kept by reference: {reason}")
        for name, stream in self._streams.items():
            if name not in self._how and not is_class(name):
                for kind in dict.fromkeys(stream.tokens.values()):
                    yield Note(name, f"kept by reference: {kind}")
                yield from (Note(name, note) for note in stream.notes)


def _digest(stream: Pickled) -> str:
    total = hashlib.blake2b(stream.stream, digest_size=12)
    for buffer in stream.buffers:
        total.update(buffer.digest)
    return total.hexdigest()
