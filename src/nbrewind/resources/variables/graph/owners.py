"""Objects of libraries that are nothing without a socket, a thread or a loop: found when one is met, and kept whole.

A copy of a client that shares the live socket of the other would be worse than either.
"""

from __future__ import annotations

import gc
import types
from collections.abc import Iterable
from typing import Any

__all__ = ["owners"]

_MOST = 50_000
_CONTAINERS = (dict, list, tuple, set, frozenset)
_CLOSED = (type, types.ModuleType, types.FunctionType, types.CodeType, types.FrameType)
_PARTS = frozenset({"lock", "RLock", "traceback"})
"""Kept by reference, but no reason to keep whole what holds them: it is as good with another, or without."""


def owners(root: object, handles: Iterable[object], namespace: dict[str, object]) -> list[object]:
    """Return the outermost objects of library classes, at or below *root*, that hold one of *handles*."""
    wanted = {id(one) for one in handles if type(one).__name__ not in _PARTS}
    if not wanted:
        return []
    parents = _parents(root, namespace, wanted)
    found: dict[int, object] = {}
    for handle in wanted:
        todo, seen = [handle], {handle}
        while todo:
            for parent in parents.get(todo.pop(), ()):
                if id(parent) in seen:
                    continue
                seen.add(id(parent))
                if _is_library(parent):
                    found[id(parent)] = parent
                if _is_library(parent) or type(parent) in _CONTAINERS or type(parent) is types.MethodType:
                    todo.append(id(parent))
    return list(found.values())


def _parents(root: object, namespace: dict[str, object], handles: set[int]) -> dict[int, list[Any]]:
    parents: dict[int, list[Any]] = {}
    todo, seen = [root], {id(root), id(namespace)}
    while todo and len(seen) < _MOST:
        parent = todo.pop()
        if id(parent) in handles or issubclass(type(parent), _CLOSED):
            continue
        for child in gc.get_referents(parent):
            parents.setdefault(id(child), []).append(parent)
            if id(child) not in seen and gc.is_tracked(child):
                seen.add(id(child))
                todo.append(child)
    return parents


def _is_library(value: object) -> bool:
    """Return whether *value* is of a library's class that does not say itself how it is stored."""
    kind = type(value)
    return (
        kind.__module__ not in ("__main__", "builtins")
        and kind.__reduce_ex__ is object.__reduce_ex__
        and kind.__reduce__ is object.__reduce__
        and getattr(kind, "__getstate__", None) is getattr(object, "__getstate__", None)
        and not issubclass(kind, _CONTAINERS)
        and not issubclass(kind, _CLOSED)
    )
