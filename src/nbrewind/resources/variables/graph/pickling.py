"""From one or several variables to one stream: C pickle, with a say in every object that is not a plain container."""

from __future__ import annotations

import _thread
import ctypes
import io
import pickle
import sys
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from nbrewind.resources.variables.graph import rebuild
from nbrewind.resources.variables.graph.buffers import CHUNK, Buffer
from nbrewind.resources.variables.graph.calls import name_of
from nbrewind.resources.variables.graph.census import Census
from nbrewind.resources.variables.graph.fence import TimeUp
from nbrewind.resources.variables.graph.kinds import reducer_of

__all__ = ["Failure", "Pickled", "pickled"]

_PROTOCOL = 5
_STACK = 512 << 20
_DEPTH = 200_000


class Failure(Exception):
    """A value could not be stored; the text says why."""


@dataclass(slots=True)
class Pickled:
    """One stream and what it names outside itself.

    *tokens* of objects kept by reference, with their types, *quiet* those whose state is in the stream; *outside* are
    the buffers that pickle itself asks for. *memo* is the pickler, which knows all objects, while it lives. *extents*
    are beginning and end of the memory of arrays, whether they come back with memory of their own, and identity.
    """

    stream: bytes
    buffers: list[Buffer]
    tokens: dict[str, str]
    quiet: dict[str, str]
    anchors: tuple[str, ...]
    opaque: bool
    notes: list[str] = field(default_factory=list)
    outside: tuple[int, ...] = ()
    handles: list[object] = field(default_factory=list)
    memo: Any = None
    extents: list[tuple[int, int, bool, int]] = field(default_factory=list)


class _Sink(io.RawIOBase):
    """Takes the stream frame by frame, and ends what grows too large or takes too long."""

    def __init__(self, census: Census) -> None:
        self._census = census
        self.parts: list[bytes] = []
        self._size = 0

    def write(self, data: Any) -> int:
        self.parts.append(bytes(data))
        self._size += len(data)
        if self._size > self._census.max_size:
            raise Failure("too large")
        if time.monotonic() > self._census.deadline:
            raise TimeUp
        return len(data)


class _Common:
    """The state of one stream in the making, shared by the C and the Python pickler."""

    def _begin(self, census: Census) -> None:
        self.census = census
        self.anchors: dict[str, None] = {}
        self.tokens: dict[str, str] = {}
        self.quiet: dict[str, str] = {}
        self.buffers: list[Buffer] = []
        self.handles: list[object] = []
        self.notes: list[str] = []
        self.outside: list[int] = []
        self.opaque = False
        self.current: object = None
        self.since = 0.0
        self.reduced: set[int] = set()
        self.extents: list[tuple[int, int, bool, int]] = []
        self._numbers: dict[tuple[int, int], int] = {}
        self._size = 0

    def reducer_override(self, value: object) -> Any:
        kind = type(value)
        reducers = self.census.reducers
        try:
            reduce = reducers.get(kind)
            if reduce is None:
                reduce = reducers[kind] = reducer_of(kind)
        except Exception:  # noqa: BLE001 - a metaclass of the user's that compares, hashes or answers in its own way
            return self.by_reference(value)
        return reduce(self, value)

    def quiet_reference(self, value: object) -> str:
        token = self.census.references.token(value)
        self.quiet[token] = name_of(type(value))
        self.census.unlinked.add(id(value))
        self.opaque = True
        return token

    def by_reference(self, value: object) -> Any:
        token = self.census.references.token(value)
        name = self.tokens[token] = name_of(type(value))
        self.census.unlinked.add(id(value))
        self.handles.append(value)
        return rebuild.kept, (token, name)

    def buffer(self, address: int, size: int, owner: object, *, writable: bool) -> int:
        place = (address, size)
        number = self._numbers.get(place)
        if number is None:
            self._size += size
            if self._size > self.census.max_size:
                raise Failure("too large")
            number = self._numbers[place] = len(self.buffers)
            self.buffers.append(self.census.buffers.add(address, size, owner, writable=writable))
        return number

    def in_band(self, raw: pickle.PickleBuffer) -> bool:
        """Take memory that a library hands out (Arrow's, above all) as a buffer; return whether it is too small."""
        numpy: Any = sys.modules.get("numpy")
        memory = raw.raw()
        if numpy is None or memory.nbytes < CHUNK:
            return True
        place = int(numpy.frombuffer(memory, numpy.uint8).ctypes.data)
        self.outside.append(self.buffer(place, memory.nbytes, memory, writable=False))
        return False


class _CPickler(_Common, pickle.Pickler):
    pass


class _PythonPickler(_Common, pickle._Pickler):
    """As deep as memory goes where the C pickler's depth is fixed (Python 3.12 and later)."""


def pickled(value: object, census: Census) -> Pickled:
    """Return the stream of *value*.

    Raises:
        Failure: It cannot be stored; also where it is too large.
        TimeUp: The deadline is over.
    """
    sink = _Sink(census)
    pickler = _made(_CPickler, sink)
    try:
        _dump(pickler, value, census)
    except RecursionError:
        sink = _Sink(census)
        pickler = _made(_CPickler if sys.version_info < (3, 12) else _PythonPickler, sink)
        try:
            _deep(lambda: _dump(pickler, value, census), census)
        except RecursionError as error:
            if _skip(pickler):
                raise TimeUp from error
            raise Failure("nested too deeply") from error
    stream = sink.parts[0] if len(sink.parts) == 1 else b"".join(sink.parts)
    return Pickled(
        stream,
        pickler.buffers,
        pickler.tokens,
        pickler.quiet,
        tuple(pickler.anchors),
        pickler.opaque,
        pickler.notes,
        tuple(pickler.outside),
        pickler.handles,
        pickler,
        pickler.extents,
    )


def _made(kind: Any, sink: _Sink) -> Any:
    made: list[Any] = []
    pickler = kind(sink, _PROTOCOL, buffer_callback=lambda one: made[0].in_band(one))
    made.append(weakref.proxy(pickler))
    return pickler


def _dump(pickler: Any, value: object, census: Census) -> None:
    pickler._begin(census)
    census.pickler = pickler
    pickler.memo = dict(census.memo)
    try:
        pickler.dump(value)
    except (RecursionError, Failure, MemoryError):
        raise
    except Exception as error:
        raise Failure(_reason(error)) from error
    except TimeUp:
        _skip(pickler)
        raise
    finally:
        census.pickler = None


def _skip(pickler: Any) -> bool:
    """Let the object whose reduction did not end go by reference in the next try; return whether there is one."""
    if pickler.current is None:
        return False
    pickler.census.skipped.add(id(pickler.current))
    pickler.census.held.append(pickler.current)
    return True


def _reason(error: BaseException) -> str:
    try:
        return f"it cannot be pickled ({type(error).__name__}: {str(error)[:120]})"
    except Exception:  # noqa: BLE001 - the error may be the user's own
        return "it cannot be pickled"


def _deep(act: Callable[[], None], census: Census) -> None:
    """Run *act* on a stack that holds very deep structures, while this thread waits.

    The thread is started below `threading`, since it is none of the user's; this thread runs nothing meanwhile, so the
    object graph stands still.
    """
    done = _thread.allocate_lock()
    done.acquire()
    outcome: list[BaseException | None] = []
    worker: list[int] = []

    def run() -> None:
        worker.append(_thread.get_ident())
        try:
            act()
            outcome.append(None)
        except BaseException as error:  # noqa: BLE001 - carried over to the waiting thread
            outcome.append(error)
        finally:
            done.release()

    before, limit = threading.stack_size(), sys.getrecursionlimit()
    try:
        threading.stack_size(_STACK)
        sys.setrecursionlimit(_DEPTH)
        _thread.start_new_thread(run, ())
        threading.stack_size(before)
        _await(done, worker, census)
    except (RuntimeError, ValueError) as error:
        raise Failure("nested too deeply") from error
    finally:
        threading.stack_size(before)
        sys.setrecursionlimit(limit)
    failed = outcome[0] if outcome else TimeUp()
    if failed is not None:
        raise failed


def _await(done: Any, worker: list[int], census: Census) -> None:
    try:
        if done.acquire(timeout=max(census.seconds_left, 0.1) + 0.5):
            return
    except TimeUp:
        pass
    stop = ctypes.pythonapi.PyThreadState_SetAsyncExc
    for ident in worker:
        stop(ctypes.c_ulong(ident), ctypes.py_object(TimeUp))
    done.acquire(timeout=0.5)
