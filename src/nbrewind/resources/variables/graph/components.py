"""Which variables belong together: those that share an object that can change, or whose identity can be asked for."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from nbrewind.resources.variables.graph.calls import Call, importable
from nbrewind.resources.variables.graph.pickling import Pickled

__all__ = ["groups"]

_LOOSE: frozenset[type] = frozenset(
    {str, bytes, int, float, complex, bool, type(None), tuple, range, slice, Call}
    | {types.CodeType, types.ModuleType, types.BuiltinFunctionType}
)
"""Types whose objects nobody can change; that two names hold the very same one makes no difference."""
_APART = "shares memory with another variable, and comes back with its own"
_LOOSE_NAMES = frozenset(
    {
        ("datetime", "datetime"),
        ("datetime", "date"),
        ("datetime", "time"),
        ("datetime", "timedelta"),
        ("datetime", "timezone"),
        ("decimal", "Decimal"),
        ("fractions", "Fraction"),
        ("uuid", "UUID"),
        ("re", "Pattern"),
        ("pathlib", "PosixPath"),
        ("pathlib", "PurePosixPath"),
        ("zoneinfo", "ZoneInfo"),
    }
)
_ELEMENTS = frozenset({"generic", "dtype", "ufunc", "_ArrayFunctionDispatcher"})


def _is_loose(value: object) -> bool:
    kind = type(value)
    if kind in _LOOSE:
        return True
    # Not `isinstance`: a proxy answers for what it stands for.
    if issubclass(kind, type) or kind is types.FunctionType:
        return issubclass(kind, type) or importable(value)
    module = kind.__module__
    if (module, kind.__qualname__) in _LOOSE_NAMES:
        return True
    # numpy's types of elements and its scalars: `dtype('float64')` is one object for the whole process.
    if isinstance(module, str) and (module.startswith("pyarrow") or kind.__name__ == "cython_function_or_method"):
        return True
    if module == "pandas" and kind.__name__.endswith("Dtype"):
        return True
    if module == "numpy":
        return kind.__name__ not in ("record", "void") and any(one.__name__ in _ELEMENTS for one in kind.__mro__)
    return bool(module == "numpy.dtypes")


def groups(streams: Mapping[str, Pickled], unlinked: set[int]) -> list[list[str]]:
    """Return the names of *streams* in groups that share objects, each sorted.

    Raises:
        KeyError: A stream whose pickler is gone.
    """
    owner: dict[int, str] = {}
    parent = {name: name for name in streams}

    def top(name: str) -> str:
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for name, stream in streams.items():
        if stream.memo is None:
            continue
        memo: dict[int, tuple[int, Any]] = stream.memo.memo.copy() if hasattr(stream.memo.memo, "copy") else {}
        for place in memo.keys() & owner.keys():
            if place not in unlinked and not _is_loose(memo[place][1]):
                parent[top(name)] = top(owner[place])
        for place in memo:
            owner.setdefault(place, name)
    for name, other in _overlapping(streams):
        if top(name) != top(other):
            for one in (name, other):
                streams[one].notes += [_APART] if _APART not in streams[one].notes else []
            parent[top(name)] = top(other)
    found: dict[str, list[str]] = {}
    for name in streams:
        found.setdefault(top(name), []).append(name)
    return [sorted(names) for names in _ordered(found.values())]


def _overlapping(streams: Mapping[str, Pickled]) -> Iterator[tuple[str, str]]:
    """Yield names whose arrays share memory that no stream tells of: it changes together, and comes back apart."""
    if not any(apart for stream in streams.values() for _, _, apart, _ in stream.extents):
        return
    found = sorted((*extent, name) for name, stream in streams.items() for extent in stream.extents)
    reach, holder, is_apart, owner = 0, "", False, 0
    for start, end, apart, array, name in found:
        if start < reach and name != holder and array != owner and (apart or is_apart):
            yield name, holder
        if end > reach:
            reach, holder, is_apart, owner = end, name, apart, array


def _ordered(found: Iterable[list[str]]) -> list[list[str]]:
    return sorted(found, key=min)
