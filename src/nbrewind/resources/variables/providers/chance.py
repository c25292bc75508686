"""Generators of random numbers that live in modules: `random`, numpy's old interface, torch."""

from __future__ import annotations

import marshal
import sys
from typing import Any, ClassVar

from nbrewind.model import Note
from nbrewind.resources.variables.providers import Undo

__all__ = ["NumpyRandom", "PythonRandom", "TorchRandom"]

_VERSION = 2
"""Of marshal: without references, so that equal states are equal bytes, in every Python."""


class _Generator:
    """A generator in the module *module*; nothing is known, and nothing imported, until somebody loads it."""

    name: ClassVar[str]
    module: ClassVar[str]

    def capture(self) -> bytes:
        """Return its state; empty while its module is not loaded."""
        module = sys.modules.get(self.module)
        return self._get(module) if module is not None else b""

    def describe(self, before: bytes, after: bytes) -> tuple[Note, ...]:
        """Return whether numbers were drawn or it was seeded."""
        if before == after or not before:
            return ()
        return (Note(f"random numbers of {self.module.partition('.')[0]}", "drawn or seeded"),)

    def restore(self, state: bytes) -> Undo:
        """Continue from *state*."""
        module, before = sys.modules.get(self.module), self.capture()
        if not state or module is None or before == state:
            return Undo(lambda: None)
        self._set(module, state)
        return Undo(lambda: self._set(module, before))

    def _get(self, module: Any) -> bytes:
        raise NotImplementedError

    def _set(self, module: Any, state: bytes) -> None:
        raise NotImplementedError


class PythonRandom(_Generator):
    """The generator behind `random.random()`."""

    name = "random"
    module = "random"

    def _get(self, module: Any) -> bytes:
        return marshal.dumps(module.getstate(), _VERSION)

    def _set(self, module: Any, state: bytes) -> None:
        module.setstate(marshal.loads(state))


class NumpyRandom(_Generator):
    """The generator behind `numpy.random.rand()`; `default_rng()` makes values of variables."""

    name = "numpy.random"
    module = "numpy.random"

    def _get(self, module: Any) -> bytes:
        state = module.get_state(legacy=False)
        return marshal.dumps(_plain(state), _VERSION)

    def _set(self, module: Any, state: bytes) -> None:
        numpy = sys.modules["numpy"]
        wanted: dict[str, Any] = marshal.loads(state)
        inner = wanted.get("state", {})
        for key, value in inner.items():
            if isinstance(value, tuple):
                inner[key] = numpy.frombuffer(value[1], dtype=value[0]).copy()
        module.set_state(wanted)


def _plain(state: dict[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for key in sorted(state):
        value = state[key]
        if isinstance(value, dict):
            plain[key] = _plain(value)
        elif hasattr(value, "tobytes") and hasattr(value, "dtype") and value.ndim:
            plain[key] = (value.dtype.str, value.tobytes())
        else:
            plain[key] = value.item() if hasattr(value, "item") else value
    return plain


class TorchRandom(_Generator):
    """torch's generator on the processor. Those on graphics cards are not kept: asking them waits for the card."""

    name = "torch.random"
    module = "torch"

    def _get(self, module: Any) -> bytes:
        return bytes(module.get_rng_state().numpy().tobytes())

    def _set(self, module: Any, state: bytes) -> None:
        module.set_rng_state(module.frombuffer(bytearray(state), dtype=module.uint8))
