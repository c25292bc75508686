"""Classes made in the notebook: each under an id of ours, which instances name, and patched in place by a rewind."""

from __future__ import annotations

import _collections_abc
import enum
import secrets
import types
import weakref
from abc import ABCMeta
from collections.abc import Mapping
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any

from nbrewind.resources.variables.graph import rebuild
from nbrewind.resources.variables.graph.calls import importable
from nbrewind.resources.variables.graph.reducing import Reducing

__all__ = ["FIXED", "ClassRegistry", "class_head", "class_state", "reduce_class"]

# `__slotnames__` is a note that copyreg leaves on classes; `__doc__` is taken apart, since it is not always a text.
_NOT_STATE = frozenset(
    {"__dict__", "__weakref__", "__slots__", "__slotnames__", "__module__", "__doc__", "_abc_impl", "__class__"}
)
_NOT_ENUM_STATE = frozenset(
    {
        "_generate_next_value_",
        "_member_names_",
        "_member_map_",
        "_member_type_",
        "_value2member_map_",
        "_unhashable_values_",
        "_hashable_values_",
        "_new_member_",
        "_use_args_",
        "_value_repr_",
        "__new__",
    }
)
FIXED = frozenset({"_value_", "_name_", "__objclass__", "_sort_order_"})
"""Attributes of an enumeration's member that Python gives it."""
_IMMUTABLE = 1 << 8
"""Flag of classes written in C: nobody made them in a notebook, and nobody can change them."""
_places: dict[int, tuple[str, str]] = {}
_ATOMS = frozenset({int, float, complex, bool, str, bytes, tuple, type(None)})
_TYPING_METACLASSES = frozenset({"_ProtocolMeta", "_TypedDictMeta", "NamedTupleMeta"})


class ClassRegistry:
    """Ids of classes that live. A class that something alive refers to is alive, so its id finds it."""

    def __init__(self) -> None:
        self._run = secrets.token_hex(4)
        self._next = 0
        self._by_place: dict[int, tuple[str, weakref.ref[type]]] = {}
        self._by_uid: dict[str, weakref.ref[type]] = {}

    def uid(self, cls: type) -> str:
        """Return the id of *cls*, a new one if it has none."""
        known = self._by_place.get(id(cls))
        if known is not None and known[1]() is cls:
            return known[0]
        self._next += 1
        uid = f"{self._run}-{self._next}"
        self.adopt(uid, cls)
        return uid

    def adopt(self, uid: str, cls: type) -> None:
        """Let *uid* name *cls* from now on."""
        weak = weakref.ref(cls)
        self._by_place[id(cls)] = (uid, weak)
        self._by_uid[uid] = weak

    def live(self, uid: str) -> type | None:
        """Return the class that *uid* names, if it is alive."""
        weak = self._by_uid.get(uid)
        return weak() if weak is not None else None


def reduce_class(pickler: Reducing, cls: type) -> Any:
    """Reduce a class: by name where it can be imported, else by its id; its own stream holds what it is."""
    if cls is type(None) or cls is type(NotImplemented) or cls is type(...) or importable(cls):
        return NotImplemented
    census = pickler.census
    if type.__dict__["__flags__"].__get__(cls) & _IMMUTABLE:
        census.unlinked.add(id(cls))
        place = _public(cls)
        return pickler.by_reference(cls) if place is None else (rebuild.landmark, place)
    if not _creatable(type(cls)):
        return pickler.by_reference(cls)
    uid = census.uid(cls)
    census.pending.setdefault(uid, cls)
    census.unlinked.add(id(cls))
    pickler.anchors[uid] = None
    return rebuild.anchor, (uid,)


def _public(cls: type) -> tuple[str, str] | None:
    """Return where a class of the interpreter's can be found that does not say so: `types.FunctionType`."""
    if not _places:
        for home in (types, _collections_abc):
            for name, one in vars(home).items():
                if isinstance(one, type):
                    _places.setdefault(id(one), (home.__name__, name))
    return _places.get(id(cls))


def _creatable(metaclass: type) -> bool:
    """Return whether a class of *metaclass* can be made without running code of a library."""
    own = [one for one in metaclass.__mro__ if one.__module__ == "__main__"]
    if any(name in vars(one) for one in own for name in ("__getattribute__", "__eq__", "__hash__")):
        # Nothing can be asked of a class that answers, compares or hashes by itself.
        return False
    for one in metaclass.__mro__:
        if one in (type, ABCMeta, enum.EnumMeta):
            return True
        if one.__module__ != "__main__" and one.__name__ not in _TYPING_METACLASSES:
            return False
    return False


def class_head(cls: type) -> tuple[object, ...]:
    """Return what `rebuild.class_skeleton` needs: all that is fixed when a class is made."""
    attributes = type.__dict__["__dict__"].__get__(cls)
    slots = attributes.get("__slots__")
    if isinstance(slots, str):
        slots = (slots,)
    members = None
    if isinstance(cls, enum.EnumMeta):
        named: Mapping[str, Any] = cls.__members__
        members = {name: getattr(member, "_value_", None) for name, member in named.items()}
    # What its instances say they are, as a mock does: it is given to a class when that is made, and never later.
    said = attributes.get("__class__")
    born = ({"__class__": said},) if said is not None and _has_no_cells(said) else ()
    return (
        type(cls),
        cls.__name__,
        cls.__qualname__,
        attributes.get("__module__"),
        cls.__bases__,
        None if slots is None else tuple(slots),
        members,
        *born,
    )


def _has_no_cells(value: object) -> bool:
    """Return whether a property leads back to no class: its functions have no closure."""
    functions = (value.fget, value.fset, value.fdel) if type(value) is property else ()
    return bool(functions) and all(getattr(one, "__closure__", None) is None for one in functions)


def class_state(cls: type) -> dict[str, object]:
    """Return what can change about a class: its attributes, without what Python makes by itself."""
    attributes = type.__dict__["__dict__"].__get__(cls)
    is_enum = isinstance(cls, enum.EnumMeta)
    members: Mapping[str, Any] = cls.__members__ if isinstance(cls, enum.EnumMeta) else {}
    state: dict[str, object] = {}
    for name, value in attributes.items():
        if name in _NOT_STATE or (is_enum and (name in _NOT_ENUM_STATE or name in members)):
            continue
        if type(value) in (GetSetDescriptorType, MemberDescriptorType) and value.__objclass__ is cls:
            continue
        state[name] = value
    if isinstance(attributes.get("__doc__"), str):
        state["__doc__"] = attributes["__doc__"]
    if members:
        # What a `__new__` or `__init__` of the enumeration gave to its members.
        extra = {name: dict(vars(member)) for name, member in members.items() if hasattr(member, "__dict__")}
        state["\0members"] = {name: _own(attributes) for name, attributes in extra.items()}
    return state


def _own(attributes: dict[str, object]) -> dict[str, object]:
    """Return what can change of a member: also what a value that is a list, say, holds."""
    return {
        name: value
        for name, value in attributes.items()
        if name not in FIXED or (name == "_value_" and type(value) not in _ATOMS)
    }
