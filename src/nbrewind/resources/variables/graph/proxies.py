"""Weak proxies, which answer every question with what they stand for: pickle would take them for that."""

from __future__ import annotations

import ctypes
import gc
import sys
from typing import Any

from nbrewind.resources.variables.graph import rebuild
from nbrewind.resources.variables.graph.reducing import Reducing

__all__ = ["reduce_proxy"]


def reduce_proxy(pickler: Reducing, value: Any) -> Any:
    """Reduce a weak proxy to its object; the object is in the same component, so it is one again."""
    target = _target(value)
    if target is None:
        return rebuild.dead_proxy, ()
    callback = [one for one in gc.get_referents(value) if one is not target]
    return rebuild.proxy, (target, callback[0] if callback else None)


def _target(value: Any) -> Any:
    """Return what *value* stands for; None if that is dead. Only C tells, since nothing asked of it is about itself."""
    found = ctypes.c_void_p()
    if sys.version_info >= (3, 13):
        if ctypes.pythonapi.PyWeakref_GetRef(ctypes.py_object(value), ctypes.byref(found)) != 1:
            return None
        target = ctypes.cast(found, ctypes.py_object).value
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(target))
        return target
    look = ctypes.pythonapi.PyWeakref_GetObject
    # An address: as an object, the reference that is only lent would be taken.
    look.restype = ctypes.c_void_p
    return ctypes.cast(ctypes.c_void_p(look(ctypes.py_object(value))), ctypes.py_object).value
