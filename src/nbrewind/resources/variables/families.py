"""Objects of libraries that hang together by other means than references: tensors of one graph, widgets, artists."""

from __future__ import annotations

import gc
import sys
from itertools import islice
from typing import Any, Final

from nbrewind.resources.variables.kinds import QUIET, Kind, kind_of

__all__ = ["drawing", "family", "overlapping"]

_MOST: Final = 1000
_DEEP: Final = 4


def family(namespace: dict[str, object], roots: frozenset[str]) -> list[str]:
    """Return the names whose values are, or hold, objects of the libraries *roots*."""
    return [name for name, value in namespace.items() if type(value) not in QUIET and _belongs(value, roots)]


def _belongs(value: object, roots: frozenset[str]) -> bool:
    kind = kind_of(type(value))
    if kind.roots & roots:
        return True
    if type(value) in (list, tuple, dict, set, frozenset):
        return _holds(value, roots)
    return (kind.own or kind.foreign or _is_object_array(value)) and _holds(value, roots)


def _holds(value: object, roots: frozenset[str]) -> bool:
    """Return whether something a few steps below *value* is of *roots*; of long containers, the beginning is asked."""
    if QUIET.issuperset(map(type, _parts(value))):
        return False
    front, seen, budget = [value], {id(value)}, _MOST
    for _ in range(_DEEP):
        below: list[object] = []
        for one in front:
            for part in islice(_parts(one), budget):
                budget -= 1
                if type(part) in QUIET or id(part) in seen:
                    continue
                seen.add(id(part))
                kind: Kind = kind_of(type(part))
                if kind.roots & roots and not isinstance(part, type):
                    return True
                below.append(part)
        front = below
    return False


def _parts(one: object) -> list[object]:
    cls = type(one)
    if cls in (list, tuple, set, frozenset):
        return list(islice(one, _MOST))  # type: ignore[call-overload]
    if cls is dict:
        return list(islice(one.values(), _MOST))  # type: ignore[attr-defined]
    if _is_object_array(one):
        return list(islice(sys.modules["numpy"].ndarray.ravel(one).tolist(), _MOST))
    if kind_of(cls).own or kind_of(cls).foreign:
        return [] if isinstance(one, type) else gc.get_referents(one)
    return []


def _is_object_array(value: object) -> bool:
    numpy = sys.modules.get("numpy")
    array: Any = getattr(numpy, "ndarray", None)
    if not (isinstance(array, type) and issubclass(type(value), array)):
        return False
    whole: Any = array
    return bool(whole.dtype.__get__(value).hasobject)


def drawing() -> bool:
    """Return whether pyplot has a current figure, on which any library may draw."""
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    return bool(helpers is not None and helpers.Gcf.figs)


def overlapping(namespace: dict[str, object]) -> list[str]:
    """Return the names of arrays whose memory a tensor shares (`torch.from_numpy`): no reference tells."""
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is None or numpy is None:
        return []
    ranges = []
    for value in namespace.values():
        for one in value if type(value) in (list, tuple) and len(value) < _MOST else (value,):  # type: ignore[arg-type, attr-defined]
            if issubclass(type(one), torch.Tensor) and one.device.type == "cpu" and one.layout == torch.strided:
                storage = one.untyped_storage()
                ranges.append((storage.data_ptr(), storage.data_ptr() + storage.nbytes()))
    found = []
    for name, value in namespace.items():
        if issubclass(type(value), numpy.ndarray):
            low, high = numpy.lib.array_utils.byte_bounds(value)
            if any(low < end and start < high for start, end in ranges):
                found.append(name)
    return found
