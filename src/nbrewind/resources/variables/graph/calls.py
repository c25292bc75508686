"""A call that a stream holds in place of an object that is not worth naming itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Call", "importable", "name_of"]


class Call:
    """Reduces to *function* called with *arguments*; what it stands for never exists while capturing."""

    __slots__ = ("arguments", "function")

    def __init__(self, function: Callable[..., Any], *arguments: object) -> None:
        self.function = function
        self.arguments = arguments


def importable(value: Any) -> bool:
    """Return whether another process finds this very class or function by its module and name."""
    import sys

    try:
        module, name = value.__module__, value.__qualname__
        if type(module) is not str or module == "__main__" or type(name) is not str or "<" in name:
            return False
        found: Any = sys.modules[module]
        for part in name.split("."):
            found = getattr(found, part)
    except Exception:  # noqa: BLE001 - `__getattr__` of a module or class may be anything
        return False
    return found is value


def name_of(kind: type) -> str:
    """Return module and name of a class, whatever its metaclass says of it."""
    try:
        return f"{kind.__module__}.{kind.__qualname__}"
    except Exception:  # noqa: BLE001 - it is the user's code
        return f"__main__.{type.__dict__['__qualname__'].__get__(kind)}"
