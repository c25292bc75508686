"""Instances: what they say of themselves, fenced, and what may be left to C pickle."""

from __future__ import annotations

import copyreg
import sys
import time
from collections import Counter
from itertools import islice
from sys import getrefcount
from typing import Any

from nbrewind.resources.variables.graph import rebuild
from nbrewind.resources.variables.graph.fence import TimeUp
from nbrewind.resources.variables.graph.reducing import Reducing

__all__ = ["reduce_counter", "reduce_instance", "reduce_plain"]

_PROTOCOL = 5
_NEW: Any = copyreg.__dict__["__newobj__"]
_TRANSPARENT = (
    "numpy",
    "pandas",
    "pyarrow",
    "datetime",
    "decimal",
    "collections",
    "pathlib",
    "uuid",
    "functools",
    "builtins",
    "_",
)
"""Modules whose objects keep nothing that follows from the memory of an array they hold."""


_PART, _MOST = 1 << 16, 1 << 24


class _Probe:
    pass


def _alone(value: object) -> int:
    space = value.__dict__
    return getrefcount(space)


_ALONE = _alone(_Probe())


def reduce_plain(pickler: Reducing, value: object) -> Any:
    """Leave an instance of classes that are all written in Python to C pickle: nothing of theirs interferes."""
    if pickler.census.skipped and id(value) in pickler.census.skipped:
        return pickler.by_reference(value)
    space = getattr(value, "__dict__", None)
    # The instance, this name and the call: with one more, somebody else holds its dictionary too (`vars(x)`, the Borg
    # pattern), and must hold the same one again.
    if space is None or getrefcount(space) <= _ALONE:
        return NotImplemented
    kind = type(value)
    slots: Any = object.__reduce_ex__(value, _PROTOCOL)[2]
    return (
        _NEW,
        (kind,),
        (space, slots[1] if type(slots) is tuple else None),
        None,
        None,
        (rebuild.set_space),
    )


def reduce_instance(pickler: Any, value: object) -> Any:
    """Reduce any other instance as it says itself; by reference if it says nothing useful."""
    census = pickler.census
    place = census.landmark(value)
    if place is not None:
        return rebuild.landmark, place
    # A second time, before the first is through: it is an argument of its own making.
    if id(value) in census.skipped or id(value) in pickler.reduced or census.is_slow(type(value)):
        return pickler.by_reference(value)
    pickler.reduced.add(id(value))
    pickler.current, pickler.since = value, time.monotonic()
    try:
        registered = copyreg.dispatch_table.get(type(value))
        reduced = _checked(value, registered(value) if registered else value.__reduce_ex__(_PROTOCOL))
    except (RecursionError, MemoryError, TimeUp):
        raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        pickler.current = None
        return pickler.by_reference(value)
    # Not in a `finally`: where the time is up, it names the object that took it.
    pickler.current = None
    if not str(type(value).__module__).startswith(_TRANSPARENT):
        pickler.opaque = True
    return reduced


def _checked(value: object, reduced: Any) -> Any:
    """Return what `__reduce_ex__` gave, with its iterators read to the end here, where they may fail.

    Raises:
        TypeError: It is nothing that could be pickled.
    """
    if isinstance(reduced, str):
        if value.__module__ == "__main__":
            # A name of the notebook may be another's by the time it is looked up.
            return _as_it_stands(value)
        if getattr(sys.modules[value.__module__], reduced) is not value:
            raise TypeError("not the object of that name")
        return reduced
    if type(reduced) is not tuple or not 2 <= len(reduced) <= 6:
        raise TypeError("no reduction")
    if not callable(reduced[0]) or not isinstance(reduced[1], tuple):
        raise TypeError("no reduction")
    if reduced[0] is _NEW and value.__class__ is not reduced[1][0]:
        raise TypeError("of another class than it says")
    items = reduced[3] if len(reduced) > 3 else None
    pairs = reduced[4] if len(reduced) > 4 else None
    if items is None and pairs is None:
        return reduced
    listed = None if items is None else iter(_read(items))
    paired = None if pairs is None else iter([(key, one) for key, one in _read(pairs)])
    return (*reduced[:3], listed, paired, *reduced[5:])


def _read(items: Any) -> list[Any]:
    """Return what *items* yields; in parts, since only between two calls of C an end can be put to what has none.

    Raises:
        TypeError: It has no end.
    """
    found: list[Any] = []
    source = iter(items)
    while part := list(islice(source, _PART)):
        found += part
        if len(found) > _MOST:
            raise TypeError("too many items")
    return found


def _as_it_stands(value: object) -> Any:
    """Return the reduction of an instance to its class and attributes, whatever it says itself.

    Raises:
        TypeError: It is more than these.
    """
    kind = type(value)
    if kind.__basicsize__ > object.__basicsize__ + 2 * tuple.__itemsize__ or kind.__itemsize__:
        raise TypeError("more than attributes")
    return _NEW, (kind,), dict(getattr(value, "__dict__", ())) or None


def reduce_counter(pickler: Reducing, value: Any) -> Any:
    """Reduce a counter with its attributes, which its own reduction leaves out."""
    return _NEW, (Counter,), vars(value) or None, None, iter(list(value.items()))
