"""The user's own modules: what they keep may be the objects that variables stand for."""

from __future__ import annotations

import gc
import sys
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable, Mapping
from typing import Final

from nbrewind.resources.variables.facts import facts_of
from nbrewind.resources.variables.kinds import QUIET, is_user_module, kind_of, name_of_module, user_modules

__all__ = ["SharedState"]

_MOST: Final = 20_000
_HELD_HERE: Final = 3
"""References that asking for their number makes: the dictionary's, the loop variable's, the argument's."""
_KEPT: Final = frozenset({list, dict, set, bytearray, deque, defaultdict, OrderedDict, Counter})
_TO_VARIABLES: Final = frozenset(
    {
        *("__main__", "f_globals", "f_locals", "user_ns", "user_global_ns", "get_ipython", "InteractiveShell"),
        *("get_objects", "get_referrers"),
    }
)
"""Words by which code of a module gets at the variables. `globals()` and `exec` are at home in the module itself."""
_OF_IMPORT: Final = frozenset(
    {"__builtins__", "__loader__", "__spec__", "__path__", "__cached__", "__warningregistry__"}
)
_CLOSED: Final = frozenset({"IPython", "ipykernel", "nbrewind", "zmq", "tornado", "threading", "_thread"})


class SharedState:
    """What all of the user's modules keep at present: one walk, and the references counted in it.

    *seen* are the identities of what they keep; *cells* are functions and classes made in cells among it; *escape* says
    why code of theirs may reach any variable, or "".
    """

    def __init__(self, namespace: dict[str, object]) -> None:
        self._namespace = namespace
        self._front: list[object] = []
        self._objects: dict[int, object] = {}
        self._found: dict[int, int] = {}
        self._done: set[str] = set()
        self.cells: list[object] = []
        self.escape = ""

    @property
    def seen(self) -> Iterable[int]:
        """The identities of everything that the modules keep."""
        return self._objects.keys()

    def walk(self, names: Mapping[int, int], held: Mapping[int, int]) -> None:
        """Walk; *names* says how many variables stand for an identity, *held* how often the caller holds it."""
        for name in user_modules():
            self._module(name)
        while self._front and not self.escape:
            front, self._front = self._front, []
            for one in front:
                self._step(one)
            if len(self._objects) > _MOST:
                self.escape = "much state in modules"
        del front
        # Over the keys: an iterator over items holds one more reference, but only at times.
        for key in list(self._objects):
            one = self._objects[key]
            if self.escape:
                break
            if type(one) in _KEPT or _is_data(type(one)):
                others = sys.getrefcount(one) - _HELD_HERE - self._found[key] - names.get(key, 0) - held.get(key, 0)
                # A variable that stands for it is reached by its identity; a part of a variable's value is not.
                if others > 0 and key not in names:
                    self.escape = "an object shared with a module"

    def _add(self, parts: Iterable[object]) -> None:
        for part in parts:
            if type(part) not in QUIET:
                key = id(part)
                self._found[key] = self._found.get(key, 0) + 1
                if key not in self._objects:
                    self._objects[key] = part
                    self._front.append(part)

    def _module(self, name: str) -> None:
        module = sys.modules.get(name)
        if name not in self._done and module is not None:
            self._done.add(name)
            state: dict[str, object] = types.ModuleType.__getattribute__(module, "__dict__")
            self._add(value for name, value in list(state.items()) if name not in _OF_IMPORT)

    def _step(self, one: object) -> None:
        cls = type(one)
        if cls is types.FunctionType:
            self._function(one)  # type: ignore[arg-type]  # its exact type
        elif issubclass(cls, types.ModuleType):
            if types.ModuleType.__getattribute__(one, "__dict__") is self._namespace:
                self.escape = "__main__"
            elif is_user_module(name_of_module(one)):
                self._module(name_of_module(one))
        elif issubclass(cls, type):
            kind = kind_of(one)
            if kind.foreign:
                self._add(list(type.__getattribute__(one, "__dict__").values()))
            elif kind.own:
                self.cells.append(one)
        elif one is self._namespace:
            self.escape = "globals()"
        elif cls is types.MethodType or not kind_of(cls).roots & _CLOSED:
            if kind_of(cls).own:
                self.cells.append(one)
            self._add(gc.get_referents(one))

    def _function(self, function: types.FunctionType) -> None:
        if function.__globals__ is self._namespace:
            self.cells.append(function)
            return
        name = function.__globals__.get("__name__")
        if isinstance(name, str) and is_user_module(name):
            facts = facts_of(function.__code__)
            self.escape = self.escape or min((facts.words | facts.loads) & _TO_VARIABLES, default="")
        self._add([function.__closure__, function.__defaults__, function.__kwdefaults__, function.__dict__])


def _is_data(cls: type) -> bool:
    kind = kind_of(cls)
    return kind.own or kind.foreign or bool(kind.roots & {"numpy", "pandas"})
