"""Python's own classes that cannot say how they are stored, or leave something out when they do.

`make_*` and `set_*` are named by streams: names and arguments are a format.
"""

from __future__ import annotations

import enum
import random
import struct
import sys
import threading
import types
import typing
import weakref
from typing import Any

from nbrewind.resources.variables.graph import rebuild
from nbrewind.resources.variables.graph.calls import importable
from nbrewind.resources.variables.graph.objects import reduce_instance
from nbrewind.resources.variables.graph.reducing import Reducing

__all__ = [
    "EXACT",
    "make_member",
    "make_new_type",
    "make_variable",
    "reduce_exception",
    "reduce_member",
    "reduce_parser",
    "set_exception",
    "set_parser",
]


def _reduce_constant(pickler: Reducing, value: Any) -> Any:
    """Leave to C pickle what there is one of; it has no `__module__` that would say where."""
    return NotImplemented


def _reduce_method(pickler: Any, value: types.MethodType) -> Any:
    """Reduce a bound method to its name, if its object answers to that with this very function; else to both."""
    function, owner = value.__func__, value.__self__
    name = getattr(function, "__name__", None)
    for base in type.__getattribute__(type(owner), "__mro__"):
        found = type.__getattribute__(base, "__dict__").get(name)
        if found is not None:
            return reduce_instance(pickler, value) if found is function else (types.MethodType, (function, owner))
    if isinstance(owner, type):
        return reduce_instance(pickler, value)
    return types.MethodType, (function, owner)


def _reduce_super(pickler: Reducing, value: Any) -> Any:
    """Reduce a proxy of a base class; asked itself, it would answer for the object behind it."""
    space = super.__getattribute__
    return super, (space(value, "__thisclass__"), space(value, "__self__"))


def _reduce_weak_method(pickler: Reducing, value: weakref.WeakMethod[Any]) -> Any:
    """Reduce a weak bound method to the method."""
    method = value()
    return (rebuild.dead, ()) if method is None else (weakref.WeakMethod, (method,))


def _reduce_struct(pickler: Reducing, value: struct.Struct) -> Any:
    """Reduce a format of packed bytes to its text."""
    return struct.Struct, (value.format,)


def _reduce_system_random(pickler: Reducing, value: Any) -> Any:
    """Reduce the system's source of chance to nothing: it has no state."""
    return random.SystemRandom, ()


# -- typing: known by name, which only a module's own can be found by -------------------------------------------------

_VARIABLE = ("__bound__", "__covariant__", "__contravariant__", "__infer_variance__", "__default__")


def _reduce_variable(pickler: Reducing, value: Any) -> Any:
    """Reduce a type variable to what it was made of."""
    if _is_of_module(value):
        return NotImplemented
    given = {name: getattr(value, name) for name in _VARIABLE if getattr(value, name, None) not in (None, False)}
    if given.get("__default__") is getattr(typing, "NoDefault", None):
        given.pop("__default__", None)
    return make_variable, (type(value), value.__name__, getattr(value, "__constraints__", ()), given, value.__module__)


def make_variable(kind: Any, name: str, constraints: Any, given: dict[str, Any], home: str | None) -> Any:
    """Return a type variable."""
    made = kind(name, *constraints, **{key.strip("_"): one for key, one in given.items()})
    made.__module__ = home
    return made


def _reduce_new_type(pickler: Reducing, value: Any) -> Any:
    """Reduce a `NewType` to its name and supertype."""
    if _is_of_module(value):
        return NotImplemented
    return make_new_type, (value.__qualname__, value.__supertype__, value.__module__)


def make_new_type(name: str, supertype: Any, home: str) -> Any:
    """Return a `NewType`."""
    # Not as a declaration, which a type checker would want to know at once.
    made: Any = getattr(typing, "NewType")(name, supertype)  # noqa: B009
    made.__name__, made.__qualname__, made.__module__ = name.rpartition(".")[2], name, home
    return made


def _is_of_module(value: Any) -> bool:
    home = sys.modules.get(value.__module__) if value.__module__ != "__main__" else None
    return home is not None and getattr(home, value.__name__, None) is value


# -- what the reduction of Python leaves out --------------------------------------------------------------------------

_CHAIN: tuple[Any, ...] = (
    BaseException.__dict__["__cause__"],
    BaseException.__dict__["__context__"],
    BaseException.__dict__["__suppress_context__"],
    BaseException.__dict__["__traceback__"],
)


def reduce_exception(pickler: Any, value: BaseException) -> Any:
    """Reduce an exception with those it came from; its traceback, frames of running code, goes by reference."""
    reduced = reduce_instance(pickler, value)
    chain = tuple(part.__get__(value) for part in _CHAIN)
    if type(reduced) is not tuple or reduced[0] is rebuild.kept or not any(chain):
        return reduced
    state, items, pairs, setter = (*reduced[2:], None, None, None, None)[:4]
    if setter is not None:
        pickler.notes.append("what an exception came from is not kept")
        return reduced
    return *reduced[:2], (state, *chain), items, pairs, set_exception


def set_exception(target: BaseException, state: tuple[Any, ...]) -> None:
    """Give an exception its attributes and its chain."""
    own, *chain = state
    if own is not None:
        target.__setstate__(own)
    for part, one, kind in zip(_CHAIN, chain, (BaseException, BaseException, bool, types.TracebackType), strict=True):
        # A traceback that is gone leaves a word in its place, which no exception takes.
        if isinstance(one, kind):
            part.__set__(target, one)


def reduce_member(pickler: Any, value: enum.Enum) -> Any:
    """Reduce a member of an enumeration of the notebook to its name: its value may change."""
    kind = type(value)
    name = object.__getattribute__(value, "__dict__").get("_name_")
    members = type.__getattribute__(kind, "__dict__").get("_member_map_", {})
    if not isinstance(name, str) or members.get(name) is not value or importable(kind):
        return reduce_instance(pickler, value)
    return make_member, (kind, name)


def make_member(kind: Any, name: str) -> Any:
    """Return a member of an enumeration."""
    return type.__getattribute__(kind, "__dict__")["_member_map_"][name]


def reduce_parser(pickler: Any, value: Any) -> Any:
    """Reduce a part of an argument parser; it asks whether a text is the very one of its module."""
    reduced = reduce_instance(pickler, value)
    if type(reduced) is not tuple or len(reduced) < 3 or type(reduced[2]) is not dict:
        return reduced
    return *reduced[:3], None, None, set_parser


def set_parser(target: Any, state: dict[str, Any]) -> None:
    """Give a part of an argument parser its attributes."""
    import argparse

    hidden = argparse.SUPPRESS
    target.__dict__.update({key: hidden if type(one) is str and one == hidden else one for key, one in state.items()})


# -- threads wait at these very objects: living ones, with their state (`living.settle`) ------------------------------


def _reduce_signal(pickler: Reducing, value: Any) -> Any:
    """Reduce what threads wait at to itself with its flag or count."""
    state = {key: one for key, one in vars(value).items() if type(one) in (bool, int)}
    lock = vars(value).get("_lock") if type(value) is threading.Condition else None
    return rebuild.living, (pickler.quiet_reference(value), "signal", (type(value), state, lock))


EXACT: dict[type, Any] = {
    type(...): _reduce_constant,
    type(NotImplemented): _reduce_constant,
    types.MethodType: _reduce_method,
    super: _reduce_super,
    weakref.WeakMethod: _reduce_weak_method,
    struct.Struct: _reduce_struct,
    random.SystemRandom: _reduce_system_random,
    typing.TypeVar: _reduce_variable,
    typing.ParamSpec: _reduce_variable,
    typing.TypeVarTuple: _reduce_variable,
    typing.NewType: _reduce_new_type,
    threading.Event: _reduce_signal,
    threading.Condition: _reduce_signal,
    threading.Semaphore: _reduce_signal,
    threading.BoundedSemaphore: _reduce_signal,
}
"""By type; those that a class and its subclasses share are in `kinds`."""
