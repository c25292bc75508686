"""The functions that streams name: each makes one kind of object again. Names and arguments are a format.

They run inside `loading.Loader.load`, which says through `use` where tokens, classes and buffers are found.
"""

from __future__ import annotations

import enum
import functools
import importlib
import marshal
import sys
import types
import weakref
from abc import ABCMeta
from collections.abc import Iterator
from contextlib import contextmanager
from types import CellType, CodeType, FunctionType, MappingProxyType
from typing import Any, Protocol

__all__ = ["Source", "use"]


class Source(Protocol):
    """Where the parts of a stream are found that are not in it."""

    def kept(self, token: str, kind: str) -> object:
        """Return the live object of *token*."""

    def living(self, token: str, kind: str, state: Any) -> object:
        """Return the live object of *token*, or a new one, to be given its *state* later."""

    def anchor(self, uid: str) -> type:
        """Return the class *uid*."""

    def class_body(self, uid: str, state: dict[str, Any]) -> None:
        """Give the class *uid* its attributes: at once if it is new, else when the rewind is applied."""

    def fill(self, number: int, address: int, size: int) -> None:
        """Write the bytes of a buffer into new memory."""


_sources: list[Source] = []


@contextmanager
def use(source: Source) -> Iterator[None]:
    """Take tokens, classes and buffers from *source* in the block."""
    _sources.append(source)
    try:
        yield
    finally:
        _sources.pop()


def kept(token: str, kind: str) -> object:
    """Return the object that was kept by reference."""
    return _sources[-1].kept(token, kind)


def living(token: str, kind: str, state: Any) -> object:
    """Return an object that stays the same and has a state."""
    return _sources[-1].living(token, kind, state)


def anchor(uid: str) -> type:
    """Return a class made in the notebook."""
    return _sources[-1].anchor(uid)


def class_body(uid: str, state: dict[str, Any]) -> None:
    """Take in what a class holds, before its instances follow in the stream."""
    _sources[-1].class_body(uid, state)


def fill(number: int, address: int, size: int) -> None:
    """Write the *size* bytes of a buffer to *address*."""
    _sources[-1].fill(number, address, size)


def module(name: str) -> types.ModuleType:
    """Return the module *name*, imported if need be."""
    found = sys.modules.get(name)
    return found if found is not None else importlib.import_module(name)


def module_space(name: str) -> dict[str, Any]:
    """Return the dictionary of the module *name*."""
    return module(name).__dict__


def new_module(name: str, attributes: dict[str, object]) -> types.ModuleType:
    """Return a module that is in no file."""
    made = types.ModuleType(name)
    made.__dict__.update(attributes)
    return made


def landmark(home: str, name: str) -> object:
    """Return the object that a module calls *name*."""
    return getattr(module(home), name)


def code(data: bytes, version: tuple[int, int]) -> CodeType:
    """Return a code object.

    Raises:
        RuntimeError: Another Python made it.
    """
    if tuple(version) != sys.version_info[:2]:
        made, here = ".".join(map(str, version)), ".".join(map(str, sys.version_info[:2]))
        raise RuntimeError(f"its code was made by Python {made}, and this is {here}")
    made_of: CodeType = marshal.loads(data)
    return made_of


def cell() -> CellType:
    """Return an empty cell."""
    return CellType()


def set_cell(target: CellType, content: tuple[object]) -> None:
    """Fill a cell."""
    target.cell_contents = content[0]


def function(body: CodeType, space: dict[str, Any], name: str, closure: tuple[CellType, ...] | None) -> FunctionType:
    """Return a function over *space*."""
    return FunctionType(body, space, name, None, closure)


def set_function(target: FunctionType, state: dict[str, Any]) -> None:
    """Give a function what may lead back to it."""
    target.__defaults__ = state["defaults"]
    target.__kwdefaults__ = state["keywords"]
    if state["annotations"]:
        target.__annotations__ = state["annotations"]
    if state["dict"] is not None:
        target.__dict__ = state["dict"]
    target.__doc__ = state["doc"]
    target.__module__ = state["module"]
    target.__qualname__ = state["qualname"]
    if state["types"]:
        target.__type_params__ = state["types"]  # type: ignore[attr-defined]  # Python 3.12 and later


@contextmanager
def _unannounced(bases: tuple[type, ...]) -> Iterator[None]:
    """Keep the notebook's own `__init_subclass__` out of the block: it was told of the class when that was made."""
    owners = {one for base in bases for one in base.__mro__ if "__init_subclass__" in vars(one)}
    hooks = [(one, vars(one)["__init_subclass__"]) for one in owners if one.__module__ == "__main__"]
    for one, _ in hooks:
        type.__setattr__(one, "__init_subclass__", classmethod(lambda cls, **_: None))
    try:
        yield
    finally:
        for one, hook in hooks:
            type.__setattr__(one, "__init_subclass__", hook)


def class_skeleton(head: tuple[Any, ...]) -> type:
    """Return a class without attributes; no code of the user's runs."""
    metaclass, name, qualname, home, bases, slots, members, *born = head
    if issubclass(metaclass, enum.EnumMeta):
        return _enumeration(metaclass, name, qualname, home, bases, members)
    space: dict[str, Any] = {"__module__": home, "__qualname__": qualname}
    for attributes in born:
        space.update(attributes)
    if slots is not None:
        space["__slots__"] = slots
    maker: Any = ABCMeta if issubclass(metaclass, ABCMeta) else type
    with _unannounced(bases):
        made: type = maker.__new__(metaclass, name, bases, space)
    return made


def _enumeration(
    metaclass: Any, name: str, qualname: str, home: str, bases: tuple[type, ...], members: dict[str, Any]
) -> type:
    space = metaclass.__prepare__(name, bases)
    for member, value in members.items():
        space[member] = value
    space["__module__"] = home
    space["__qualname__"] = qualname
    made: type = metaclass.__new__(metaclass, name, bases, space)
    return made


def partial_view(mapping: dict[Any, Any], kind: str) -> object:
    """Return the view *kind* of a dictionary."""
    return getattr(mapping, kind)()


def mapping_proxy(mapping: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    """Return a read-only view of *mapping*."""
    return MappingProxyType(mapping)


def weak(target: object, callback: Any = None) -> weakref.ref[object]:
    """Return a weak reference."""
    return weakref.ref(target, callback)


class _Mortal:
    """Something to die at once."""


def dead() -> weakref.ref[_Mortal]:
    """Return a weak reference to nothing."""
    return weakref.ref(_Mortal())


def proxy(target: object, callback: Any = None) -> Any:
    """Return a weak proxy."""
    return weakref.proxy(target, callback)


def dead_proxy() -> Any:
    """Return a weak proxy of nothing."""
    return weakref.proxy(_Mortal())


def weak_values(cls: type, items: list[tuple[object, object]]) -> Any:
    """Return a dictionary with weak values."""
    return cls(items)


def weak_keys(cls: type, items: list[tuple[object, object]]) -> Any:
    """Return a dictionary with weak keys."""
    return cls(items)


def weak_set(cls: type, items: list[object]) -> Any:
    """Return a set of weak references."""
    return cls(items)


def finalizer(parts: tuple[Any, ...] | None, atexit: bool) -> weakref.finalize[Any, Any]:
    """Return a finaliser; one that is dead without *parts*."""
    if parts is None:
        made: weakref.finalize[Any, Any] = weakref.finalize(_Mortal(), int)
        made.detach()
        return made
    target, act, arguments, keywords = parts
    made = weakref.finalize(target, act, *arguments, **(keywords or {}))
    made.atexit = atexit
    return made


def lru_cache(wrapped: Any, maxsize: int | None, typed: bool, told: tuple[int, ...] = ()) -> Any:
    """Return an empty cache around *wrapped*."""
    return functools.lru_cache(maxsize, typed)(wrapped)


def set_lru_cache(target: Any, attributes: dict[str, object]) -> None:
    """Give a cache its attributes."""
    target.__dict__.update(attributes)


def cached_property(act: Any, name: str | None, doc: str | None) -> Any:
    """Return a cached property."""
    made = functools.cached_property(act)
    made.attrname = name
    made.__doc__ = doc
    return made


def memory(base: Any) -> memoryview:
    """Return a view of all of *base*."""
    return memoryview(base)


def set_class(cls: type, state: dict[str, Any]) -> None:
    """Give a class made by `class_skeleton` its attributes."""
    members = state.pop("\0members", {})
    for name, value in state.items():
        type.__setattr__(cls, name, value)
    for name, attributes in members.items():
        member = cls.__members__[name]  # type: ignore[attr-defined]  # an enumeration
        for key, value in attributes.items():
            object.__setattr__(member, key, value)


def set_space(target: Any, state: tuple[dict[str, object], dict[str, object] | None]) -> None:
    """Give an instance the very dictionary that others hold too, and its slots."""
    space, slots = state
    target.__dict__ = space
    for name, value in (slots or {}).items():
        object.__setattr__(target, name, value)
