"""Live objects in states: a stream, a hook, a replaced function, each as a token that names it."""

from __future__ import annotations

import sys
import uuid
import weakref
from collections.abc import Iterable, Mapping
from enum import Enum
from types import BuiltinFunctionType, FunctionType
from typing import Any, Final

__all__ = ["AS_LOADED", "LiveObjects", "Lost"]

_NOTHING: Final = object()
_NAMED: Final = frozenset({FunctionType, BuiltinFunctionType})

AS_LOADED: Final = "as-loaded"
"""The object that stood in the same place when nbrewind was loaded, in this kernel or another."""


class Lost(LookupError):
    """The object that a token names is gone. Its argument says what it was."""


class LiveObjects:
    """Tokens for objects that no bytes stand for.

    What stood at load time is held (it is not the user's); everything else by weak references only. A token is good in
    the process that made it, except for `AS_LOADED` and for what can be imported.
    """

    def __init__(self, loaded: Mapping[str, object] | None = None) -> None:
        self._loaded = dict(loaded or {})
        self._process = uuid.uuid4().hex[:12]
        self._tokens: dict[int, tuple[weakref.ref[Any], str]] = {}
        self._objects: dict[str, weakref.ref[Any]] = {}

    def token(self, value: object, place: str = "") -> str:
        """Return the token of *value*, which stands in *place*."""
        if place in self._loaded and self._loaded[place] is value:
            return AS_LOADED
        if value is None:
            return "none"
        path = _import_path(value)
        if path:
            return f"import:{path}"
        known = self._tokens.get(id(value))
        if known is not None and known[0]() is value:
            return known[1]
        try:
            reference = weakref.ref(value)
        except TypeError:
            return f"gone:{type(value).__name__}"
        token = f"object:{self._process}:{len(self._tokens)}-{id(value):x}:{type(value).__name__}"
        self._tokens[id(value)] = (reference, token)
        self._objects[token] = reference
        return token

    def changed(self, present: Iterable[tuple[str, object]]) -> dict[str, str]:
        """Return the tokens of those objects, by place, that are not what stood there at load time."""
        loaded = self._loaded
        found = [(place, value) for place, value in present if loaded.get(place, _NOTHING) is not value]
        return {place: self.token(value, place) for place, value in found}

    def value(self, token: str, place: str = "") -> Any:
        """Return the object that *token* names.

        Raises:
            Lost: it is gone.
        """
        kind, _, rest = token.partition(":")
        if kind == AS_LOADED and place in self._loaded:
            return self._loaded[place]
        if kind == "none":
            return None
        if kind == "import":
            return _imported(rest)
        reference = self._objects.get(token)
        value = reference() if reference is not None else None
        if value is None:
            raise Lost(token.rpartition(":")[2])
        return value

    def loaded(self, place: str) -> Any:
        """Return what stood in *place* when nbrewind was loaded."""
        return self._loaded.get(place)


def _import_path(value: object) -> str:
    """Return `module:name` where that leads to the very object, and it was not made in a cell."""
    module: Any
    if isinstance(value, Enum):
        module, name = type(value).__module__, f"{type(value).__qualname__}.{value.name}"
    elif type(value) in _NAMED or isinstance(value, type):
        one: Any = value
        module, name = getattr(one, "__module__", None), one.__qualname__
    else:
        return ""
    if not isinstance(module, str) or module == "__main__":
        return ""
    try:
        return f"{module}:{name}" if _imported(f"{module}:{name}") is value else ""
    except Lost:
        return ""


def _imported(path: str) -> Any:
    module, _, name = path.partition(":")
    value: Any = sys.modules.get(module)
    for part in name.split("."):
        value = getattr(value, part, None)
    if value is None:
        raise Lost(path)
    return value
