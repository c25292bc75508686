"""Large plain containers: numbers, texts and containers of them go in slices, several times as fast as one pickle.

marshal of one slice is exact about what is shared inside it. Nothing that can change is shared with another slice or
with anybody else, or the container is pickled as any other: proved by reference counts when a slice is first seen, and
by equal bytes from then on, since an object that somebody else refers to is marked in them.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterable, Mapping
from itertools import chain, islice
from sys import getrefcount
from types import MappingProxyType
from typing import Any

from nbrewind.resources.variables.graph.digests import digest

__all__ = ["LEAST", "SLICE", "SliceMemory", "joined", "sliced"]

LEAST = 20_000
SLICE = 4096
_VERSION = 4
_ATOMS = frozenset({int, float, str, bytes, bool, complex, type(None)})
_MUTABLE = frozenset({list, dict, set})
_PLAIN = _ATOMS | _MUTABLE | {tuple, frozenset}

SliceMemory = frozenset[bytes]
"""Digests of slices that were proved to share nothing."""


class _NotPlain(Exception):
    """The container has to be pickled."""


def sliced(
    value: Any, proved: SliceMemory, shown: Mapping[int, int] = MappingProxyType({})
) -> tuple[list[bytes], SliceMemory] | None:
    """Return the marshalled slices of a list or dictionary, and their digests; None where it has to be pickled.

    *shown*: how many references, by address, do not count, since they are those of results that were looked at.
    """
    kind = type(value)
    if kind not in (list, dict) or len(value) < LEAST:
        return None
    try:
        if _shared(value if kind is list else value.values(), shown):
            return None
        parts: list[bytes] = []
        digests: set[bytes] = set()
        for piece in _pieces(value):
            data = marshal.dumps(piece, _VERSION)
            key = digest(data)
            if key not in proved:
                _prove(piece if kind is list else list(chain.from_iterable(piece)))
            digests.add(key)
            parts.append(data)
    except (ValueError, _NotPlain):
        return None
    return parts, frozenset(digests)


def joined(kind: str, parts: Iterable[bytes]) -> list[Any] | dict[Any, Any]:
    """Return the container that `sliced` took apart."""
    if kind == "list":
        whole: list[Any] = []
        for part in parts:
            whole += marshal.loads(part)
        return whole
    mapping: dict[Any, Any] = {}
    for part in parts:
        mapping.update(marshal.loads(part))
    return mapping


def _pieces(value: Any) -> Iterable[Any]:
    if type(value) is list:
        for start in range(0, len(value), SLICE):
            yield value[start : start + SLICE]
        return
    items = iter(value.items())
    while piece := list(islice(items, SLICE)):
        yield piece


def _calibrate(probe: Callable[[Any], Any]) -> int:
    """Return the reference count that `map` shows for an object with no other reference than its container's."""
    return int(max(map(getrefcount, probe([[]]))))


_ALONE_IN_LIST = _calibrate(lambda one: one)
_ALONE_IN_VALUES = _calibrate(lambda one: dict(enumerate(one)).values())


def _shared(elements: Any, shown: Mapping[int, int]) -> bool:
    """Return whether any element that can change has another reference than its container's."""
    alone = _ALONE_IN_LIST if type(elements) is list else _ALONE_IN_VALUES
    if max(map(getrefcount, elements)) <= alone:
        return False
    kinds = set(map(type, elements))
    if kinds <= _ATOMS:
        return False
    if not kinds <= _PLAIN:
        raise _NotPlain
    rest = alone + 1
    return any(
        getrefcount(one) > rest and getrefcount(one) > rest + shown.get(id(one), 0)
        for one in elements
        if type(one) not in _ATOMS and one
    )


def _prove(level: list[Any]) -> None:
    """Check that *level*, the elements of one slice, holds only plain values, and shares none that can change.

    Raises:
        _NotPlain: It does not.
    """
    first = True
    while level:
        kinds = set(map(type, level))
        if not kinds <= _PLAIN:
            raise _NotPlain
        below: list[Any] = []
        for kind in kinds - _ATOMS:
            group: list[Any] = level if len(kinds) == 1 else [one for one in level if type(one) is kind]
            # `_shared` has looked at the first level, which two containers hold now.
            if not first:
                _alone(group, level, kind)
            if kind is dict:
                below += chain.from_iterable(map(dict.values, group))
                below += _keys(group)
            else:
                below += chain.from_iterable(group)
        level, first = below, False


def _alone(group: list[Any], level: list[Any], kind: type) -> None:
    """Check that each of *group* has no reference but its container's and those of the lists here."""
    # Its container, `level`, perhaps `group`; `map` and the call add what calibration shows beyond one container.
    expected = _ALONE_IN_LIST + 1 + (group is not level)
    if kind in (tuple, frozenset):
        if any(getrefcount(one) > expected + 1 and not _ATOMS.issuperset(map(type, one)) for one in group):
            raise _NotPlain
    elif max(map(getrefcount, group)) > expected:
        raise _NotPlain


def _keys(group: list[dict[Any, Any]]) -> list[Any]:
    return [key for key in set(map(type, chain.from_iterable(group))) - _ATOMS] and list(chain.from_iterable(group))
