"""Changing what lives, step by step, so that it can be put back: names, attributes of classes, memory of arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from nbrewind.resources.variables.graph.classes import FIXED
from nbrewind.resources.variables.graph.slices import SLICE

__all__ = ["Steps"]

_MISSING = object()


class Steps:
    """Changes with their opposites. `undo` puts everything back, newest first, from any point on."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], object]] = []

    def add(self, undo: Callable[[], object]) -> None:
        """Take in the opposite of a change that was made elsewhere."""
        self._undo.append(undo)

    def bind(self, namespace: dict[str, object], values: Mapping[str, object], gone: set[str]) -> None:
        """Bind names, and remove others."""
        before = {name: namespace.get(name, _MISSING) for name in (*values, *gone)}

        def undo() -> None:
            for name, value in before.items():
                if value is _MISSING:
                    namespace.pop(name, None)
                else:
                    namespace[name] = value

        self._undo.append(undo)
        namespace.update(values)
        for name in gone:
            namespace.pop(name, None)

    def patch_class(self, cls: type, state: Mapping[str, Any], present: Mapping[str, Any]) -> None:
        """Give a live class the attributes *state* instead of *present*."""
        members = state.get("\0members", {})
        wanted = {name: value for name, value in state.items() if name != "\0members"}
        now = {name: value for name, value in present.items() if name != "\0members"}
        for name in now.keys() - wanted.keys():
            self._undo.append(partial(_set, cls, name, now[name]))
            type.__delattr__(cls, name)
        for name, value in wanted.items():
            if name in now:
                self._undo.append(partial(_set, cls, name, now[name]))
            else:
                self._undo.append(partial(_delete, cls, name))
            type.__setattr__(cls, name, value)
        for name, attributes in members.items():
            member: Any = cls.__members__[name]  # type: ignore[attr-defined]  # an enumeration
            self._patch_member(member.__dict__, attributes)

    def _patch_member(self, space: dict[str, Any], attributes: Mapping[str, Any]) -> None:
        before = dict(space)

        def undo() -> None:
            space.clear()
            space.update(before)

        self._undo.append(undo)
        for key in [key for key in space if key not in attributes and key not in FIXED]:
            del space[key]
        space.update(attributes)

    def patch_memory(self, address: int, data: bytes, owner: object) -> None:
        """Write *data* into memory that *owner* keeps alive."""
        before = ctypes.string_at(address, len(data))

        def undo(owner: object = owner) -> None:
            ctypes.memmove(address, before, len(before))

        self._undo.append(undo)
        ctypes.memmove(address, data, len(data))

    def patch_slice(self, target: list[Any], start: int, elements: list[Any]) -> None:
        """Put *elements* in the place of as many of a list, or of all that follow."""
        end = min(start + SLICE, len(target))
        before = target[start:end]
        after = start + len(elements)

        def undo() -> None:
            target[start:after] = before

        self._undo.append(undo)
        target[start:end] = elements

    def undo(self) -> None:
        """Put everything back; twice is fine."""
        while self._undo:
            self._undo[-1]()
            self._undo.pop()


def _set(cls: type, name: str, value: object) -> None:
    """Put an attribute back; one that could not be changed in the first place cannot be put back either."""
    if type.__dict__["__dict__"].__get__(cls).get(name, _MISSING) is not value:
        type.__setattr__(cls, name, value)


def _delete(cls: type, name: str) -> None:
    if name in type.__dict__["__dict__"].__get__(cls):
        type.__delattr__(cls, name)
