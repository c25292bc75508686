"""Attributes of modules and of libraries' classes that a cell replaced: `math.sqrt = ...`, `DataFrame.to_csv = ...`."""

from __future__ import annotations

import sys
from types import FunctionType, MethodType, ModuleType
from typing import Any, Final

from nbrewind.model import Note
from nbrewind.resources.variables.patches import dictionary
from nbrewind.resources.variables.providers import Undo, decode, encode, note_differences
from nbrewind.resources.variables.providers.live import AS_LOADED, LiveObjects, Lost

__all__ = ["Overwritten"]

_MISSING: Final = object()
_ABSENT: Final = "absent"


class Overwritten:
    """Attributes that cells may have set. What stood there before the first such cell is held: it is a library's.

    `watch` must be called before a cell that sets attributes runs.
    """

    name = "overwritten"

    def __init__(self) -> None:
        self._first: dict[str, tuple[Any, str, object]] = {}
        self._live = LiveObjects()

    def watch(self, holder: Any, attributes: frozenset[str]) -> None:
        """Remember what *attributes* of the module or class *holder* are now."""
        path = _path(holder)
        if not path:
            return
        own = dictionary(holder)
        for attribute in attributes:
            place = f"{path}.{attribute}"
            value = own.get(attribute, _MISSING)
            if place not in self._first and not _is_of_a_cell(value):
                self._first[place] = (holder, attribute, value)

    def capture(self) -> bytes:
        """Return the tokens of places that hold something else than at first."""
        changed = {}
        for place, (holder, attribute, first) in self._first.items():
            value = dictionary(holder).get(attribute, _MISSING)
            if value is not first:
                changed[place] = _ABSENT if value is _MISSING else self._live.token(value)
        return encode(changed)

    def describe(self, before: bytes, after: bytes) -> tuple[Note, ...]:
        """Return the attributes that differ."""
        return note_differences(decode(before) or {}, decode(after) or {})

    def restore(self, state: bytes) -> Undo:
        """Put back what stood there, as far as it lives."""
        wanted, before, notes = decode(state) or {}, decode(self.capture()), []
        held = [
            (holder, attribute, dictionary(holder).get(attribute, _MISSING))
            for holder, attribute, _ in self._first.values()
        ]
        for place in sorted(wanted.keys() | before.keys()):
            token = wanted.get(place, AS_LOADED)
            if token == before.get(place, AS_LOADED):
                continue
            known = self._first.get(place)
            if known is None:
                notes.append(Note(place, "was replaced by a function that is gone; kept as it is now"))
                continue
            holder, attribute, first = known
            try:
                _put(holder, attribute, self._value(token, first))
            except Lost as lost:
                notes.append(Note(place, f"{lost.args[0]} is gone; kept as it is now"))
            except (TypeError, AttributeError) as error:
                notes.append(Note(place, str(error)))
        return Undo(lambda: _back(held), notes)

    def _value(self, token: str, first: object) -> object:
        if token == AS_LOADED:
            return first
        return _MISSING if token == _ABSENT else self._live.value(token)


def _path(holder: Any) -> str:
    """Return where *holder* is found, "" if it is not found there."""
    if isinstance(holder, ModuleType):
        name = dictionary(holder).get("__name__")
        return name if isinstance(name, str) and sys.modules.get(name) is holder and name != "__main__" else ""
    module, name = type.__getattribute__(holder, "__module__"), type.__getattribute__(holder, "__qualname__")
    return f"{module}.{name}" if isinstance(module, str) and module != "__main__" else ""


def _is_of_a_cell(value: object) -> bool:
    if isinstance(value, FunctionType | MethodType | type):
        return value.__module__ == "__main__"
    return type(value).__module__ == "__main__"


def _put(holder: Any, attribute: str, value: object) -> None:
    if value is not _MISSING:
        setattr(holder, attribute, value)
    elif attribute in dictionary(holder):
        delattr(holder, attribute)


def _back(held: list[tuple[Any, str, object]]) -> None:
    for holder, attribute, value in held:
        if dictionary(holder).get(attribute, _MISSING) is not value:
            _put(holder, attribute, value)
