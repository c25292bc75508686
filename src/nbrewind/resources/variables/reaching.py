"""The walk from the values that code names to everything that code of theirs can touch: no user code runs in it."""

from __future__ import annotations

import contextvars
import functools
import gc
import sys
import types
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Final

from nbrewind.resources.variables.facts import CodeFacts, facts_of
from nbrewind.resources.variables.kinds import QUIET, is_user_module, kind_of, name_of_module

__all__ = ["Walk", "targets_of_proxies"]

_SIZED: Final[dict[type, Callable[[Any], int]]] = {
    list: list.__len__,
    tuple: tuple.__len__,
    dict: dict.__len__,
    set: set.__len__,
    frozenset: frozenset.__len__,
    deque: deque.__len__,
}
_CLOSED: Final = frozenset({"IPython", "ipykernel", "nbrewind", "zmq", "tornado", "jupyter_client"})
"""Libraries of the kernel itself: all of it hangs together, and none of it is the user's."""
_OF_PICTURES: Final = frozenset({"PixelAccess", "ImagingCore", "ImagingDraw"})
"""Types of Pillow's core, which say of no module that they are its own, and show no reference to their picture."""
_BUILTIN: Final = types.BuiltinFunctionType


class Walk:
    """One walk over objects, breadth first, with a budget of objects.

    *seen* are the identities met, *loads* the global names that functions met read or bind, *modules* the user's own
    modules met, *linked* the libraries of objects met that may link their objects by other means than references.
    *escape* is set when something met can reach any name; *over* when the budget ended first.
    """

    def __init__(self, namespace: dict[str, object], budget: int) -> None:
        self._namespace = namespace
        self._budget = budget
        self.kept: list[object] = []  # an identity stands for an object only while it lives
        self.seen: set[int] = set()
        self.loads: set[str] = set()
        self.words: set[str] = set()
        self.modules: set[str] = set()
        self.linked: set[str] = set()
        self.escape = ""
        self.over = False
        self.proxies = False

    def visit(self, roots: Iterable[object]) -> None:
        """Walk from *roots*; what was met in an earlier walk is not walked again."""
        front = [root for root in roots if type(root) not in QUIET]
        while front and not self.escape:
            wider: list[object] = []
            follow: list[object] = []
            for one in front:
                key = id(one)
                if key not in self.seen:
                    self.seen.add(key)
                    self.kept.append(one)
                    self._step(one, wider, follow)
            self._budget -= len(wider) + len(follow)
            if self._budget < 0:
                self.over = True
                return
            front = [one for one in gc.get_referents(*wider) if type(one) not in QUIET]
            front += [one for one in follow if type(one) not in QUIET]

    def name(self, names: Iterable[str]) -> None:
        """Walk from the values of global *names*; of a name that no variable has, from the built-in's."""
        fresh = [name for name in names if name not in self.loads]
        self.loads.update(fresh)
        self.visit([self._namespace[name] for name in fresh if name in self._namespace])
        missing = [name for name in fresh if name not in self._namespace]
        builtins = sys.modules["builtins"].__dict__
        # A built-in that a cell replaced by a function of its own.
        self.visit([builtins[name] for name in missing if type(builtins.get(name)) not in (_BUILTIN, type, type(None))])

    def code(self, facts: CodeFacts) -> None:
        """Take in what a piece of code with the namespace as its globals says."""
        self.escape = self.escape or facts.escape
        self.words |= facts.words
        if not self.escape:
            self.name(facts.loads | facts.stores)

    def join(self, other: Walk) -> None:
        """Take over what *other* met."""
        self.kept += other.kept
        other.kept.clear()
        self.seen |= other.seen
        self.loads |= other.loads
        self.modules |= other.modules
        self.over = self.over or other.over
        self.proxies = self.proxies or other.proxies

    def extend(self, budget: int) -> None:
        """Allow for *budget* more objects."""
        self._budget = budget

    # -- one object ---------------------------------------------------------------------------------------------------

    def _step(self, one: object, wider: list[object], follow: list[object]) -> None:
        cls = type(one)
        size = _SIZED.get(cls)
        if size is not None:
            if one is self._namespace:
                self.escape = "globals()"
            elif size(one) > self._budget:
                self.over = True
            elif cls is not dict or "__builtins__" not in one:  # type: ignore[operator]  # a dictionary
                wider.append(one)
        elif cls is types.FunctionType:
            self._function(one, follow)  # type: ignore[arg-type]  # its exact type
        elif cls is types.ModuleType or issubclass(cls, types.ModuleType):
            self._module(one)
        elif cls is _BUILTIN:
            if not issubclass(type(one.__self__), types.ModuleType):  # type: ignore[attr-defined]
                follow.append(one.__self__)  # type: ignore[attr-defined]  # a method bound to a value
        elif issubclass(cls, type):
            self._class(one, wider, follow)  # type: ignore[arg-type]
        elif cls in (types.MethodType, types.CellType, functools.partial, property, staticmethod, classmethod):
            wider.append(one)
        else:
            self._instance(one, cls, wider, follow)

    def _function(self, function: types.FunctionType, follow: list[object]) -> None:
        follow += [function.__closure__, function.__defaults__, function.__kwdefaults__, function.__dict__]
        if function.__globals__ is self._namespace:
            # Not at once: naming walks, and we are inside a walk.
            facts = facts_of(function.__code__)
            self.escape = self.escape or facts.escape
            self.words |= facts.words
            for name in facts.loads | facts.stores:
                if name not in self.loads:
                    self.loads.add(name)
                    if name in self._namespace:
                        follow.append(self._namespace[name])
        else:
            home = function.__globals__.get("__name__")
            if isinstance(home, str) and is_user_module(home):
                self.modules.add(home)

    def _module(self, module: object) -> None:
        name = name_of_module(module)
        if types.ModuleType.__getattribute__(module, "__dict__") is self._namespace:
            self.escape = "__main__"
        elif is_user_module(name):
            self.modules.add(name)
        else:
            self.linked.add(name.partition(".")[0])

    def _class(self, cls: type, wider: list[object], follow: list[object]) -> None:
        kind = kind_of(cls)
        if kind.foreign:
            self.modules |= {name for name in _modules_of(cls) if is_user_module(name)}
        if kind.own or kind.foreign:
            wider.append(cls)
            follow.append(type(cls))
        else:
            self.linked |= {"PIL core"} if cls.__name__ in _OF_PICTURES else kind.roots

    def _instance(self, one: object, cls: type, wider: list[object], follow: list[object]) -> None:
        kind = kind_of(cls)
        if kind.roots & _CLOSED and not kind.own:
            return
        follow.append(cls)
        wider.append(one)
        if issubclass(cls, weakref.ReferenceType):
            follow.append(one())  # type: ignore[operator]  # a live reference says its target when called
        elif cls in (weakref.ProxyType, weakref.CallableProxyType):
            self.proxies = True
        elif cls is contextvars.ContextVar:
            follow.append(contextvars.copy_context().get(one))  # type: ignore[call-overload]
        elif "numpy" in kind.roots:
            self._array(one, wider, follow)
        elif "_thread" in kind.roots and hasattr(cls, "__dict__"):
            follow.append(_dictionary(one))

    def _array(self, one: object, wider: list[object], follow: list[object]) -> None:
        """Follow what the collector does not see: an array's base, and the objects in it."""
        numpy = sys.modules.get("numpy")
        if numpy is None:
            return
        if issubclass(type(one), numpy.ndarray):
            follow.append(numpy.ndarray.base.__get__(one))
            dtype = numpy.ndarray.dtype.__get__(one)
            if dtype.hasobject:
                if numpy.ndarray.size.__get__(one) > self._budget:
                    self.over = True
                else:
                    wider.append(numpy.ndarray.tolist(one))
        elif issubclass(type(one), numpy.void | numpy.flatiter):
            follow.append(one.base)  # type: ignore[attr-defined]


def _modules_of(cls: type) -> Iterable[str]:
    for base in type.__getattribute__(cls, "__mro__"):
        name = type.__getattribute__(base, "__module__")
        if isinstance(name, str):
            yield name


def _dictionary(one: object) -> object:
    try:
        return object.__getattribute__(one, "__dict__")
    except AttributeError:
        return None


def targets_of_proxies(values: Iterable[tuple[str, object]]) -> Iterable[str]:
    """Return the names whose values somebody refers to through a weak proxy, which hides what it stands for."""
    kinds = (weakref.ProxyType, weakref.CallableProxyType)
    for name, value in values:
        if weakref.getweakrefcount(value) and any(type(one) in kinds for one in weakref.getweakrefs(value)):
            yield name
