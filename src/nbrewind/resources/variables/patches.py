"""Functions of cells that were put into libraries: a method for `DataFrame`, another `json.dumps`."""

from __future__ import annotations

import types
import weakref
from collections.abc import Iterable, Iterator
from typing import Any, Final

from nbrewind.resources.variables.kinds import QUIET, kind_of

__all__ = ["Patches", "dictionary", "holders"]

_STEPS: Final = 200


class Patches:
    """The places in libraries where functions of cells were found. It holds places, not functions."""

    def __init__(self) -> None:
        self._places: dict[tuple[int, str], weakref.ref[Any]] = {}

    def look(self, names: Iterable[str], words: Iterable[str], namespace: dict[str, object]) -> None:
        """Remember what the cell with these *names* and *words* may have put into a library."""
        for holder, word, _ in _places(names, words, namespace):
            self._places[id(holder), word] = weakref.ref(holder)

    def met(self, names: Iterable[str], words: Iterable[str], namespace: dict[str, object]) -> Iterator[object]:
        """Yield the functions of cells that code with these *names* and *words* finds in libraries."""
        for _, _, value in _places(names, words, namespace):
            yield value

    def present(self, namespace: dict[str, object]) -> Iterator[object]:
        """Yield the functions remembered that are still in their places."""
        for (key, word), reference in list(self._places.items()):
            holder = reference()
            value = dictionary(holder).get(word) if holder is not None else None
            if holder is None or not _is_of_a_cell(value, namespace):
                del self._places[key, word]
            else:
                yield value


def holders(names: Iterable[str], words: Iterable[str], namespace: dict[str, object]) -> Iterator[Any]:
    """Yield the modules and classes of libraries that code with these *names* and *words* can get at."""
    front = [namespace[name] for name in names if name in namespace]
    seen: set[int] = set()
    words = list(words)
    while front and len(seen) < _STEPS:
        value = front.pop()
        if id(value) in seen or type(value) in QUIET:
            continue
        seen.add(id(value))
        for holder in _classes(value):
            if holder is object or (isinstance(holder, type) and kind_of(holder).own):
                continue
            yield holder
            own = dictionary(holder)
            front += [
                own[word] for word in words if word in own and issubclass(type(own[word]), types.ModuleType | type)
            ]


def _classes(value: Any) -> Iterable[Any]:
    if type(value) is types.ModuleType:
        return (value,)
    mro: tuple[type, ...] = type.__getattribute__(value if issubclass(type(value), type) else type(value), "__mro__")
    return mro


def _places(
    names: Iterable[str], words: Iterable[str], namespace: dict[str, object]
) -> Iterator[tuple[object, str, object]]:
    """Yield holder, word and value for functions of cells that *words* lead to from the values of *names*."""
    words = list(words)
    for holder in holders(names, words, namespace):
        own = dictionary(holder)
        for word in words:
            if word in own and _is_of_a_cell(own[word], namespace):
                yield holder, word, own[word]


def _is_of_a_cell(value: object, namespace: dict[str, object]) -> bool:
    cls = type(value)
    if cls is types.FunctionType:
        function: Any = value
        return function.__globals__ is namespace or _wraps_one(function, namespace)
    if issubclass(cls, type):
        return kind_of(value).own
    if cls in (property, staticmethod, classmethod):
        one: Any = value
        return _is_of_a_cell(getattr(one, "fget", None) or getattr(one, "__func__", None), namespace)
    return kind_of(cls).own or _is_accessor(value)


def _wraps_one(function: types.FunctionType, namespace: dict[str, object]) -> bool:
    inner: Any = function.__dict__.get("__wrapped__")
    return type(inner) is types.FunctionType and inner.__globals__ is namespace


def _is_accessor(value: object) -> bool:
    """Return whether it is what `register_dataframe_accessor` leaves in a class."""
    accessor = getattr(value, "__dict__", {}).get("_accessor") if type(value).__name__ == "CachedAccessor" else None
    return isinstance(accessor, type) and kind_of(accessor).own


def dictionary(holder: object) -> Any:
    """Return what a module or class holds, without running code of its own."""
    if isinstance(holder, type):
        return type.__getattribute__(holder, "__dict__")
    return types.ModuleType.__getattribute__(holder, "__dict__")
