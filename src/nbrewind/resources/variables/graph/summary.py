"""What people read of a variable: type, shape, length and a short text, made without running code of theirs."""

from __future__ import annotations

import reprlib
import sys
from typing import Any

from nbrewind.model import VariableState

__all__ = ["summary"]

_ATOMS = frozenset({int, float, complex, bool, str, bytes, type(None), type(...)})
_CONTAINERS = frozenset({list, tuple, dict, set, frozenset, bytearray, range})
_SHOWN = 60
_short = reprlib.Repr()
_short.maxstring = _short.maxother = _SHOWN
_short.maxlist = _short.maxtuple = _short.maxdict = _short.maxset = _short.maxfrozenset = 4
_short.maxlevel = 2


def summary(value: Any, size: int, digest: str, how: str) -> VariableState:
    """Return what there is to say of *value*; *size* and *digest* are those of its stream and buffers."""
    try:
        return _summary(value, size, digest, how)
    except Exception:  # noqa: BLE001 - its metaclass may do anything, also when only compared
        return VariableState("object", None, "", None, size, "", digest, how)


def _summary(value: Any, size: int, digest: str, how: str) -> VariableState:
    kind = type(value)
    module = kind.__module__
    name = kind.__qualname__ if module in ("builtins", "__main__") else f"{module}.{kind.__qualname__}"
    if kind in _ATOMS:
        length = len(value) if kind in (str, bytes) else None
        return VariableState(name, None, "", length, size, _atom(value), digest, how)
    if kind in _CONTAINERS:
        text = _short.repr(value) if _harmless(value, 3) else ""
        return VariableState(name, None, "", len(value), size, text[: 2 * _SHOWN], digest, how)
    if isinstance(module, str) and module.partition(".")[0] in ("numpy", "pandas", "torch", "polars", "xarray"):
        shape, dtype = _shape(value)
        return VariableState(name, shape, dtype, shape[0] if shape else None, size, "", digest, how)
    if kind is type(sys) or kind is type or kind.__name__ in ("function", "builtin_function_or_method"):
        return VariableState(name, None, "", None, size, str(getattr(value, "__name__", ""))[:_SHOWN], digest, how)
    return VariableState(name, None, "", None, size, "", digest, how)


def _atom(value: Any) -> str:
    if isinstance(value, (str, bytes)):
        return _short.repr(value[: 2 * _SHOWN])
    if isinstance(value, int) and value.bit_length() > 256:
        return f"an integer of {value.bit_length()} bits"
    return repr(value)[:_SHOWN]


def _harmless(value: Any, levels: int) -> bool:
    """Return whether a short repr of *value* runs only Python's own code: atoms, and containers of them."""
    kind = type(value)
    if kind in _ATOMS or kind in (bytearray, range):
        return not (isinstance(value, int) and value.bit_length() > 256)
    if kind not in _CONTAINERS or levels == 0:
        return kind in _CONTAINERS
    if kind is dict:
        return all(
            _harmless(key, levels - 1) and _harmless(one, levels - 1)
            for (key, one), _ in zip(value.items(), range(6), strict=False)
        )
    return all(_harmless(one, levels - 1) for one, _ in zip(value, range(6), strict=False))


def _shape(value: Any) -> tuple[tuple[int, ...] | None, str]:
    try:
        found = value.shape
        shape = tuple(int(one) for one in found) if isinstance(found, tuple) else None
        dtype = getattr(value, "dtype", None)
        return shape, str(dtype)[:_SHOWN] if dtype is not None else ""
    except Exception:  # noqa: BLE001 - a subclass may do anything
        return None, ""
