"""Compares a namespace before and after a cell, independently of what is judged: by value, all of it, each time."""

from __future__ import annotations

import contextvars
import gc
import hashlib
import io
import sqlite3
import sys
import threading
import types
import weakref
from typing import Any

__all__ = ["Picture", "closed", "picture"]

ATOMS = (int, float, complex, bool, str, bytes, type(None), type(...), type(NotImplemented), range, slice)
CODE = (types.FunctionType, types.ModuleType, types.CodeType)
SELF_KEEPING = frozenset({"IPython", "ipykernel", "zmq", "tornado", "comm", "threading", "_thread", "asyncio"})


class Picture:
    """A digest of each variable, and which variables share a mutable part with which: the components."""

    def __init__(self) -> None:
        self.digests: dict[str, str] = {}
        self.linked: dict[str, set[str]] = {}


def picture(namespace: dict[str, Any], names: list[str]) -> Picture:
    """Return the picture of *names* in *namespace*; nothing of the namespace is held afterwards."""
    found = Picture()
    held: list[object] = []  # an identity means nothing once its object is gone
    walks = {}
    for name in names:
        walks[name] = walk = _Walk(namespace, held)
        walk.value(namespace[name])
        found.digests[name] = hashlib.blake2b("\0".join(walk.words).encode("utf-8", "replace")).hexdigest()
    for name, walk in walks.items():
        found.linked[name] = {other for other, its in walks.items() if walk.shares(its)}
    return found


def closed(names: set[str], before: Picture) -> set[str]:
    """Return *names* and all whose values share a mutable part with one of theirs, in turn."""
    done, front = set(names), set(names)
    while front:
        front = set().union(*(before.linked.get(name, set()) for name in front)) - done
        done |= front
    return done


class _Walk:
    def __init__(self, namespace: dict[str, Any], held: list[object]) -> None:
        self._namespace = namespace
        self._memo: dict[int, int] = {}
        self._held = held
        self.words: list[str] = []
        self.parts: set[int] = set()
        self.ranges: list[tuple[int, int]] = []

    def shares(self, other: _Walk) -> bool:
        """Return whether both values have a mutable part, or memory, in common."""
        if self.parts & other.parts:
            return True
        return any(a < d and c < b for a, b in self.ranges for c, d in other.ranges)

    def value(self, one: Any) -> None:
        stack = [one]
        while stack:
            one = stack.pop()
            cls = type(one)
            if cls in ATOMS:
                self.words.append(f"{cls.__name__}:{one!r}")
                continue
            if id(one) in self._memo:
                self.words.append(f"@{self._memo[id(one)]}")
                continue
            self._memo[id(one)] = len(self._memo)
            self._held.append(one)
            self.words.append(f"{cls.__module__}.{cls.__qualname__}")
            stack += reversed(self._below(one, cls))

    def _below(self, one: Any, cls: type) -> list[Any]:
        if not issubclass(cls, (type, *CODE, tuple, frozenset)):
            self.parts.add(id(one))
        for kinds, parts in (*_TABLE, *_library_table()):
            if issubclass(cls, kinds):
                return list(parts(self, one))
        return list(_generic(self, one))

    # -- kinds --------------------------------------------------------------------------------------------------------

    def function(self, one: Any) -> list[Any]:
        own = one.__globals__ is self._namespace
        if not own and not one.__closure__:
            return [one.__qualname__]
        cells = list(one.__closure__ or ())
        self.parts |= {id(cell) for cell in cells if own}
        self._held.extend(cells)
        contents = [_content(cell) for cell in cells]
        return [
            one.__qualname__,
            repr(one.__code__.co_code),
            *contents,
            one.__defaults__,
            one.__kwdefaults__,
            vars(one),
        ]

    def class_(self, one: Any) -> list[Any]:
        if one.__module__ != "__main__":
            return [one.__qualname__]
        hidden = {"__dict__", "__weakref__", "__doc__", "__abstractmethods__", "_abc_impl", "__static_attributes__"}
        # Values only: a class is no part that links its instances to each other.
        return [one.__qualname__, [[key, value] for key, value in sorted(vars(one).items()) if key not in hidden]]

    def array(self, one: Any) -> list[Any]:
        import numpy as np

        if one.dtype.hasobject:
            return [str(one.dtype), one.shape, one.ravel().tolist()]
        if one.base is not None:
            self.parts.add(id(one.base.obj if isinstance(one.base, memoryview) else one.base))
        low, high = np.lib.array_utils.byte_bounds(one)
        self.ranges.append((low, high))
        return [str(one.dtype), one.shape, one.flags.writeable, one.tobytes()]

    def tensor(self, one: Any) -> list[Any]:
        plain = one.detach()
        storage = plain.untyped_storage()
        self.ranges.append((storage.data_ptr(), storage.data_ptr() + storage.nbytes()))
        return [str(one.dtype), one.requires_grad, plain.cpu().numpy().tobytes(), one.grad if one.is_leaf else None]


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _frame(walk: _Walk, one: Any) -> list[Any]:
    frame = getattr(one, "gi_frame", None) or getattr(one, "cr_frame", None) or getattr(one, "ag_frame", None)
    if frame is None:
        return ["finished"]
    return [frame.f_lasti, dict(frame.f_locals)]


def _figure(walk: _Walk, one: Any) -> list[Any]:
    return [[_axes(walk, axes) for axes in one.axes]]


def _axes(walk: _Walk, one: Any) -> list[Any]:
    lines = [[line.get_xydata().tobytes(), line.get_linewidth(), line.get_color()] for line in one.lines]
    labels = [one.get_title(), one.get_xlabel(), one.get_ylabel(), one.get_xlim(), one.get_ylim()]
    sizes = [len(one.patches), len(one.collections), len(one.images), len(one.texts), len(one.tables)]
    return [lines, [str(label) for label in labels], sizes]


def _traits(walk: _Walk, one: Any) -> list[Any]:
    skip = {"comm", "keys", "log", "parent", "config"}
    values = sorted((key, value) for key, value in one._trait_values.items() if key not in skip)
    return [[[key, value] for key, value in values]]


def _database(walk: _Walk, one: Any) -> list[Any]:
    return list(one.iterdump())


def _generic(walk: _Walk, one: Any) -> list[Any]:
    if type(one).__module__.partition(".")[0] in SELF_KEEPING:
        return []
    try:
        reduced = one.__reduce_ex__(4)
    except Exception:  # noqa: BLE001  whatever cannot be reduced is told by what it refers to
        return [part for part in gc.get_referents(one) if not isinstance(part, type)]
    if isinstance(reduced, str):
        return [reduced]
    items = [list(part) if part is not None else None for part in reduced[3:5]]
    return [reduced[0], list(reduced[1] or ()), *reduced[2:3], *items]


_TABLE: tuple[tuple[Any, Any], ...] = (
    (types.FunctionType, _Walk.function),
    (type, _Walk.class_),
    (types.ModuleType, lambda walk, one: [one.__name__]),
    (types.CellType, lambda walk, one: [_content(one)]),
    ((types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType), _frame),
    (dict, lambda walk, one: [part for item in list(dict.items(one)) for part in item] + _attributes(one)),
    ((list, tuple), lambda walk, one: [*one, *_attributes(one)] if type(one) in (list, tuple) else _generic(walk, one)),
    ((set, frozenset), lambda walk, one: sorted(one, key=repr)),
    (types.MethodType, lambda walk, one: [one.__func__, one.__self__]),
    (types.BuiltinFunctionType, lambda walk, one: [one.__name__, one.__self__]),
    ((property,), lambda walk, one: [one.fget, one.fset]),
    ((staticmethod, classmethod), lambda walk, one: [one.__func__]),
    (types.MappingProxyType, lambda walk, one: gc.get_referents(one)),
    (weakref.ReferenceType, lambda walk, one: [one()]),
    ((weakref.ProxyType, weakref.CallableProxyType), lambda walk, one: []),
    (contextvars.ContextVar, lambda walk, one: [contextvars.copy_context().get(one)]),
    (threading.local, lambda walk, one: [vars(one)]),
    (memoryview, lambda walk, one: [one.tobytes(), one.obj]),
    (bytearray, lambda walk, one: [bytes(one)]),
    ((io.StringIO, io.BytesIO), lambda walk, one: [one.getvalue(), one.tell()]),
    (io.TextIOWrapper, lambda walk, one: [one.buffer]),
    (sqlite3.Connection, _database),
    (sqlite3.Cursor, lambda walk, one: [one.connection]),
    ((types.FrameType, types.TracebackType), lambda walk, one: []),
)


def _attributes(one: Any) -> list[Any]:
    return [vars(one)] if hasattr(type(one), "__dict__") and getattr(one, "__dict__", None) else []


_tables: list[tuple[Any, Any]] = []
_loaded = 0


def _library_table() -> list[tuple[Any, Any]]:
    global _loaded
    if _loaded != len(sys.modules):
        _loaded = len(sys.modules)
        _tables.clear()
        for module, name, parts in (
            ("numpy", "ndarray", _Walk.array),
            ("torch", "Tensor", _Walk.tensor),
            ("matplotlib.figure", "Figure", _figure),
            ("matplotlib.axes", "Axes", _axes),
            ("matplotlib.lines", "Line2D", lambda walk, one: [one.get_xydata().tobytes(), one.get_linewidth()]),
            ("matplotlib.artist", "Artist", lambda walk, one: [str(one)]),
            ("traitlets", "HasTraits", _traits),
            ("PIL.Image", "Image", lambda walk, one: [one.mode, one.size, one.tobytes()]),
            ("polars", "DataFrame", lambda walk, one: [str(one.schema), repr(one.rows())]),
            ("polars", "Series", lambda walk, one: [one.name, repr(one.to_list())]),
        ):
            kind = getattr(sys.modules.get(module), name, None)
            if isinstance(kind, type):
                _tables.append((kind, parts))
    return _tables
