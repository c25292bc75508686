"""The parameters of matplotlib."""

from __future__ import annotations

import pickle
from typing import Any, Final

from nbrewind.model import Note
from nbrewind.resources.variables.providers import Undo, note_differences
from nbrewind.resources.variables.providers.options import loaded

__all__ = ["MatplotlibOptions"]


class MatplotlibOptions:
    """`rcParams`, but for the backend, which cannot be changed without closing figures."""

    name = "matplotlib"
    _LEFT: Final = frozenset({"backend", "backend_fallback"})

    def __init__(self) -> None:
        self._last: dict[str, Any] | None = None
        self._state = b""

    def capture(self) -> bytes:
        """Return the parameters; empty while matplotlib is not loaded."""
        module = loaded("matplotlib")
        if module is None or not hasattr(module, "rcParams"):
            return b""
        present = self._get(module)
        if present != self._last:
            self._last = {key: list(value) if type(value) is list else value for key, value in present.items()}
            self._state = pickle.dumps(sorted(present.items(), key=lambda item: item[0]), 4)
        return self._state

    def describe(self, before: bytes, after: bytes) -> tuple[Note, ...]:
        """Return the parameters that differ."""
        if not before or not after or before == after:
            return ()
        was, now = (dict(pickle.loads(state)) for state in (before, after))
        return note_differences(was, now, "rcParams[{!r}]")

    def restore(self, state: bytes) -> Undo:
        """Set the parameters that differ, as they were: without judging them again."""
        module = loaded("matplotlib")
        if module is None or not hasattr(module, "rcParams") or state == self.capture():
            return Undo(lambda: None)
        before = self._get(module)
        wanted = dict(pickle.loads(state)) if state else dict.copy(module.rcParamsDefault)
        self._put(module, wanted)
        return Undo(lambda: self._put(module, before))

    def _get(self, module: Any) -> dict[str, Any]:
        return {key: value for key, value in dict.items(module.rcParams) if key not in self._LEFT}

    def _put(self, module: Any, wanted: dict[str, Any]) -> None:
        for key, value in wanted.items():
            if key not in self._LEFT and dict.get(module.rcParams, key) != value:
                dict.__setitem__(module.rcParams, key, value)
