"""Objects that code put in places of the interpreter: streams, hooks, signal handlers, built-ins of its own."""

from __future__ import annotations

import builtins
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar, Final

from nbrewind.model import Note
from nbrewind.resources.variables.providers import Undo, decode, encode, note_differences
from nbrewind.resources.variables.providers.live import AS_LOADED, LiveObjects, Lost

__all__ = ["Builtins", "Hooks", "SignalHandlers"]

# Below `signal`, which looks each number up in an enumeration: that takes longer than all else that a turn asks here.
_handler: Final[Callable[[int], Any]] = import_module("_signal").getsignal
_NOTHING: Final = object()
_NOT_OURS: Final = frozenset({"get_ipython", "display", "exit", "quit", "copyright", "credits", "license", "_"})
"""Built-ins that IPython puts in and takes out while a cell runs."""


class _Places:
    """Named places, each with a live object; a state is the token of each that does not hold what it held at load."""

    name: ClassVar[str]
    subject: ClassVar[str] = "{}"

    def __init__(self) -> None:
        self._live = LiveObjects(dict(self._present()))

    def _present(self) -> Iterable[tuple[str, object]]:
        raise NotImplementedError

    def _put(self, place: str, value: object) -> None:
        raise NotImplementedError

    def capture(self) -> bytes:
        """Return the tokens of places that were changed."""
        return encode(self._tokens())

    def describe(self, before: bytes, after: bytes) -> tuple[Note, ...]:
        """Return the places that differ."""
        return note_differences(decode(before) or {}, decode(after) or {}, self.subject)

    def restore(self, state: bytes) -> Undo:
        """Put back what stood in each place, as far as it lives."""
        wanted, before, held = decode(state) or {}, self._tokens(), dict(self._present())
        notes = []
        for place in sorted(wanted.keys() | before.keys()):
            token = wanted.get(place, AS_LOADED)
            if token != before.get(place, AS_LOADED):
                try:
                    self._put(place, self._live.value(token, place))
                except Lost as lost:
                    notes.append(Note(self.subject.format(place), f"{lost.args[0]} is gone; kept as it is now"))
                except (OSError, ValueError, TypeError) as error:
                    notes.append(Note(self.subject.format(place), str(error)))
        return Undo(lambda: self._back(held), notes)

    def _tokens(self) -> dict[str, str]:
        return self._live.changed(self._present())

    def _back(self, held: dict[str, object]) -> None:
        present = dict(self._present())
        for place, value in held.items():
            if present.get(place) is not value:
                self._put(place, value)


class Hooks(_Places):
    """Streams and hooks of `sys`, `threading` and `warnings`. `sys.displayhook` is IPython's while a cell runs."""

    name = "hooks"
    _PLACES: Final[tuple[tuple[ModuleType, str], ...]] = (
        *((sys, name) for name in ("stdout", "stderr", "stdin", "excepthook", "unraisablehook", "breakpointhook")),
        (threading, "excepthook"),
        (warnings, "showwarning"),
        (warnings, "formatwarning"),
    )

    def _present(self) -> Iterable[tuple[str, object]]:
        for module, name in self._PLACES:
            value = getattr(module, name, None)
            # IPython has one while a cell runs and another one between cells, whatever a cell sets.
            if name == "excepthook" and module is sys and _is_kernels(value):
                value = sys.__excepthook__
            yield f"{module.__name__}.{name}", value
        yield "sys.settrace", sys.gettrace()
        yield "sys.setprofile", sys.getprofile()

    def _put(self, place: str, value: object) -> None:
        module, _, name = place.partition(".")
        setter: Any = getattr(sys.modules[module], name, None)
        if name in ("settrace", "setprofile"):
            setter(value)
        else:
            setattr(sys.modules[module], name, value)


class SignalHandlers(_Places):
    """Handlers of signals. The kernel changes that of SIGINT around each cell, from one usual value to another."""

    name = "signals"
    subject = "signal handler of {}"
    _USUAL: Final = (signal.SIG_DFL, signal.SIG_IGN, signal.default_int_handler)
    _DEFAULTS: Final[dict[int, object]] = {int(one): one for one in (signal.SIG_DFL, signal.SIG_IGN)}
    _ASKED: Final = tuple(
        (name, getattr(signal, name))
        for name in (
            *("SIGINT", "SIGTERM", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGCHLD", "SIGHUP", "SIGPIPE", "SIGQUIT"),
            *("SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGTSTP"),
        )
        if hasattr(signal, name)
    )

    def _present(self) -> Iterable[tuple[str, object]]:
        for name, number in self._ASKED:
            handler = _handler(number)
            # In the critical section of a move all handlers wait: the one that waits is meant.
            handler = _waiting(handler).get(int(number), handler)
            if type(handler) is int:
                handler = self._DEFAULTS.get(handler, handler)
            if name == "SIGINT" and any(handler is usual for usual in self._USUAL):
                handler = signal.default_int_handler
            elif _is_kernels(handler):
                handler = signal.SIG_DFL
            yield name, handler

    def _put(self, place: str, value: Any) -> None:
        # A handler that C code set reads as None and cannot be set from here; other threads may set none.
        if value is not None and threading.current_thread() is threading.main_thread():
            number = getattr(signal, place)
            waiting = _waiting(_handler(number))
            if int(number) in waiting:
                waiting[int(number)] = value
            else:
                signal.signal(number, value)


def _waiting(handler: object) -> dict[int, Any]:
    """Return the handlers that *handler* keeps for the end of a move's critical section; empty for any other one."""
    if getattr(type(handler), "__module__", "") != "nbrewind.rewind.critical":
        return {}
    former: dict[int, Any] = vars(handler).get("former", {})
    return former


class Builtins:
    """Built-in names that were overwritten, added or removed."""

    name = "builtins"

    def __init__(self) -> None:
        self._loaded = {name: value for name, value in vars(builtins).items() if name not in _NOT_OURS}
        self._live = LiveObjects(self._loaded)

    def capture(self) -> bytes:
        """Return the tokens of names whose values are not those at load time; "" for a name that was removed."""
        present, loaded = vars(builtins), self._loaded
        others = [(name, value) for name, value in present.items() if loaded.get(name, _NOTHING) is not value]
        changed = {
            name: self._live.token(value, name)
            for name, value in others
            if name not in _NOT_OURS and not _is_prompt(name, value)
        }
        if len(present) < len(loaded) or not loaded.keys() <= present.keys():
            changed |= dict.fromkeys(loaded.keys() - present.keys(), "")
        return encode(changed)

    def describe(self, before: bytes, after: bytes) -> tuple[Note, ...]:
        """Return the names that differ."""
        return note_differences(decode(before) or {}, decode(after) or {}, "builtins.{}")

    def restore(self, state: bytes) -> Undo:
        """Put back the built-ins."""
        wanted, before, held = decode(state) or {}, decode(self.capture()), dict(vars(builtins))
        notes = []
        for name in sorted(wanted.keys() | before.keys()):
            if wanted.get(name) != before.get(name):
                token = wanted.get(name, AS_LOADED if name in self._loaded else "")
                try:
                    _set_or_delete(name, self._live.value(token, name) if token else None, present=bool(token))
                except Lost as lost:
                    notes.append(Note(f"builtins.{name}", f"{lost.args[0]} is gone; kept as it is now"))
        return Undo(lambda: _back(held), notes)


def _is_kernels(value: object) -> bool:
    """Return whether this is a method of the kernel itself, or of ours."""
    root = type(getattr(value, "__self__", None)).__module__.partition(".")[0]
    return root in ("ipykernel", "IPython", "traitlets", "nbrewind")


def _is_prompt(name: str, value: object) -> bool:
    """Return whether this is the `input` that the kernel puts in, anew for each cell."""
    return name == "input" and (_is_kernels(value) or getattr(value, "__module__", "") == "builtins")


def _set_or_delete(name: str, value: object, *, present: bool) -> None:
    if present:
        setattr(builtins, name, value)
    elif name in vars(builtins):
        delattr(builtins, name)


def _back(held: dict[str, object]) -> None:
    for name in vars(builtins).keys() - held.keys() - _NOT_OURS:
        delattr(builtins, name)
    for name, value in held.items():
        if name not in _NOT_OURS and vars(builtins).get(name) is not value:
            setattr(builtins, name, value)
