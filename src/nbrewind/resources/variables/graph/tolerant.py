"""Loading a stream of which parts cannot be loaded: the slow way, which puts `Lost` in their places."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from nbrewind.resources.variables.graph.references import Lost

__all__ = ["tolerant_load"]

_Unpickler: Any = pickle._Unpickler
"""The Python one: each step can be stood in for."""


_OURS = "nbrewind.resources.variables.graph.rebuild"
_SAID = {"anchor": "its class", "code": "its code", "new_module": "a module", "landmark": "an object of a module"}
"""What the functions that streams name are to a person."""


class _Tolerant(_Unpickler):  # type: ignore[misc]  # Any
    """Goes on after every step that fails."""

    dispatch: ClassVar[dict[int, Any]] = dict(_Unpickler.dispatch)

    def __init__(self, file: io.BytesIO, buffers: Sequence[bytearray]) -> None:
        super().__init__(file, buffers=buffers)
        self.reasons: list[str] = []

    def find_class(self, module: str, name: str) -> Any:
        """Return the class or function, or a stand-in for a missing one."""
        try:
            return super().find_class(module, name)
        except Exception as error:  # noqa: BLE001 - an import may raise anything
            kind = f"{module}.{name}"
            self.reasons.append(f"{kind} cannot be loaded ({type(error).__name__}: {str(error)[:100]})")
            return _Missing(kind)

    def lose(self, what: Any, error: Exception, arguments: object = ()) -> Lost:
        """Note that *what* could not be made of *arguments*."""
        if type(what) in (_Missing, Lost):
            return Lost(what.kind)
        kind = str(getattr(what, "__qualname__", type(what).__name__))
        if getattr(what, "__module__", "") == _OURS:
            first = arguments[0] if isinstance(arguments, tuple) and arguments else ""
            kind = f"module {first}" if kind == "module" else _SAID.get(kind, kind)
        self.reasons.append(f"{kind} cannot be made here ({type(error).__name__}: {str(error)[:100]})")
        return Lost(kind)


class _Missing:
    """A class or function that is not there."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __call__(self, *_: object, **__: object) -> Lost:
        return Lost(self.kind)

    def __new__(cls, kind: str = "", *_: object) -> _Missing:
        return super().__new__(cls)


def _making(opcode: bytes, takes: int) -> None:
    """Let the step *opcode*, which makes one object of *takes* others, put `Lost` on the stack when it fails."""
    step: Callable[[Any], None] = _Unpickler.dispatch[opcode[0]]

    def tolerant(self: Any) -> None:
        parts = self.stack[-takes:]
        below = len(self.stack) - takes
        try:
            if any(type(one) in (_Missing, Lost) for one in parts[:1]):
                raise LookupError("missing")
            step(self)
        except Exception as error:  # noqa: BLE001 - it is the user's or a library's code
            del self.stack[below:]
            self.stack.append(self.lose(parts[0], error, parts[-1]))

    _Tolerant.dispatch[opcode[0]] = tolerant


def _changing(opcode: bytes) -> None:
    """Let the step *opcode*, which gives an object its content, leave out what fails."""
    step: Callable[[Any], None] = _Unpickler.dispatch[opcode[0]]
    marked = opcode in (pickle.SETITEMS, pickle.APPENDS, pickle.ADDITEMS)

    def tolerant(self: Any) -> None:
        stack = self.metastack[-1] if marked else self.stack
        depth = len(self.metastack)
        target = stack[-1] if marked else stack[-3] if opcode == pickle.SETITEM else stack[-2]
        height = len(stack) if marked else len(stack) - (2 if opcode == pickle.SETITEM else 1)
        try:
            step(self)
        except Exception as error:  # noqa: BLE001 - as above
            if marked and len(self.metastack) == depth:
                self.pop_mark()
            del self.stack[height:]
            self.lose(target, error)

    _Tolerant.dispatch[opcode[0]] = tolerant


for _code, _takes in ((pickle.REDUCE, 2), (pickle.NEWOBJ, 2), (pickle.NEWOBJ_EX, 3)):
    _making(_code, _takes)
for _code in (pickle.BUILD, pickle.SETITEM, pickle.SETITEMS, pickle.APPEND, pickle.APPENDS, pickle.ADDITEMS):
    _changing(_code)


def tolerant_load(stream: bytes, seeds: Sequence[object], buffers: Sequence[bytearray]) -> tuple[Any, list[str]]:
    """Return what *stream* holds, with `Lost` for what cannot be made, and the reasons. Raises nothing."""
    unpickler = _Tolerant(io.BytesIO(stream), buffers)
    # As `pickle.Unpickler.memo` would be: places in the stream go on counting from the seeds.
    unpickler.memo = dict(enumerate(seeds))
    try:
        value = unpickler.load()
    except Exception as error:  # noqa: BLE001 - whatever is left of it
        return Lost("value"), [f"it cannot be loaded ({type(error).__name__}: {str(error)[:100]})"]
    return value, list(dict.fromkeys(unpickler.reasons))
