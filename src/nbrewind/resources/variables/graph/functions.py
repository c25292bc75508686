"""Functions made in the notebook: by value, over the live namespace, with the cells that they share."""

from __future__ import annotations

import marshal
import sys
import weakref
from sys import getrefcount
from types import CellType, CodeType, FunctionType
from typing import Any

from nbrewind.resources.variables.graph import rebuild
from nbrewind.resources.variables.graph.calls import Call, importable
from nbrewind.resources.variables.graph.reducing import Reducing

__all__ = ["reduce_cell", "reduce_code", "reduce_function"]

_ALONE = getrefcount((lambda: None).__dict__)
# Marshalling code is the dearest part of a function; the weak references keep no code alive.
_codes: dict[int, tuple[weakref.ref[CodeType], bytes]] = {}


def code_bytes(code: CodeType) -> bytes:
    """Return *code* marshalled, always to the same bytes: version 2 has no marks that follow reference counts."""
    known = _codes.get(id(code))
    if known is not None and known[0]() is code:
        return known[1]
    if len(_codes) > 10_000:
        _codes.clear()
    data = marshal.dumps(code, 2)
    _codes[id(code)] = (weakref.ref(code), data)
    return data


def reduce_code(pickler: Reducing, code: CodeType) -> Any:
    """Reduce a code object; it loads only under the Python that made it."""
    return rebuild.code, (code_bytes(code), sys.version_info[:2])


def reduce_cell(pickler: Reducing, cell: CellType) -> Any:
    """Reduce a cell, its content last: it may lead back to the cell."""
    try:
        content = cell.cell_contents
    except ValueError:
        return rebuild.cell, ()
    return rebuild.cell, (), (content,), None, None, rebuild.set_cell


def reduce_function(pickler: Reducing, function: FunctionType) -> Any:
    """Reduce a function: by name if another process finds it there, else by value."""
    if importable(function):
        return NotImplemented
    state = {
        "defaults": function.__defaults__,
        "keywords": function.__kwdefaults__,
        "annotations": function.__annotations__ or None,
        # An empty one counts where somebody else holds it: the function and this call are two.
        "dict": function.__dict__ if function.__dict__ or getrefcount(function.__dict__) > _ALONE else None,
        "doc": function.__doc__,
        "module": function.__module__,
        "qualname": function.__qualname__,
        "types": getattr(function, "__type_params__", ()),
    }
    arguments = (function.__code__, _globals(pickler, function), function.__name__, function.__closure__)
    return rebuild.function, arguments, state, None, None, rebuild.set_function


def _globals(pickler: Reducing, function: FunctionType) -> object:
    space = function.__globals__
    if space is pickler.census.namespace:
        return space
    name = space.get("__name__")
    home = sys.modules.get(name) if type(name) is str else None
    if home is not None and getattr(home, "__dict__", None) is space:
        return Call(rebuild.module_space, name)
    return space
