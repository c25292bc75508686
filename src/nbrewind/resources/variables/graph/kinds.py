"""Which reducer serves which type: chosen once per type and capture, by the type alone."""

from __future__ import annotations

import functools
import gc
import importlib
import sys
import types
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nbrewind.resources.variables.graph import rebuild
from nbrewind.resources.variables.graph.calls import Call, importable
from nbrewind.resources.variables.graph.classes import reduce_class
from nbrewind.resources.variables.graph.fence import TimeUp
from nbrewind.resources.variables.graph.functions import reduce_cell, reduce_code, reduce_function

if TYPE_CHECKING:
    from nbrewind.resources.variables.graph.pickling import Reducing

__all__ = ["Reducer", "reducer_of"]

Reducer = Callable[["Reducing", Any], Any]
_PROTOCOL = 5


def reduce_plain(pickler: Reducing, value: object) -> Any:
    """Leave an instance of classes that are all written in Python to C pickle: nothing of theirs interferes."""
    if pickler.census.skipped and id(value) in pickler.census.skipped:
        return pickler.by_reference(value)
    return NotImplemented


def reduce_instance(pickler: Any, value: object) -> Any:
    """Reduce any other instance as it says itself; by reference if it says nothing useful."""
    census = pickler.census
    place = census.landmark(value)
    if place is not None:
        return rebuild.landmark, place
    if id(value) in census.skipped:
        return pickler.by_reference(value)
    pickler.current = value
    try:
        reduced = _checked(value, value.__reduce_ex__(_PROTOCOL))
    except (RecursionError, MemoryError, TimeUp):
        raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        pickler.current = None
        return pickler.by_reference(value)
    # Not in a `finally`: where the time is up, it names the object that took it.
    pickler.current = None
    pickler.opaque = True
    return reduced


def _checked(value: object, reduced: Any) -> Any:
    """Return what `__reduce_ex__` gave, with its iterators read to the end here, where they may fail.

    Raises:
        TypeError: It is nothing that could be pickled.
    """
    if isinstance(reduced, str):
        if getattr(sys.modules[value.__module__], reduced) is not value:
            raise TypeError("not the object of that name")
        return reduced
    if type(reduced) is not tuple or not 2 <= len(reduced) <= 6:
        raise TypeError("no reduction")
    if not callable(reduced[0]) or not isinstance(reduced[1], tuple):
        raise TypeError("no reduction")
    items = reduced[3] if len(reduced) > 3 else None
    pairs = reduced[4] if len(reduced) > 4 else None
    if items is None and pairs is None:
        return reduced
    listed = None if items is None else iter(list(items))
    paired = None if pairs is None else iter([(key, one) for key, one in pairs])
    return (*reduced[:3], listed, paired, *reduced[5:])


def by_reference(pickler: Reducing, value: object) -> Any:
    """Put the object itself back."""
    return pickler.by_reference(value)


def reduce_call(pickler: Reducing, call: Call) -> Any:
    """Reduce to the call."""
    return call.function, call.arguments


def reduce_module(pickler: Reducing, value: types.ModuleType) -> Any:
    """Reduce a module to its name; one that is in no file to its content."""
    name = value.__name__
    if sys.modules.get(name) is value or getattr(value, "__spec__", None) is not None:
        return rebuild.module, (name,)
    return rebuild.new_module, (name, dict(value.__dict__))


def reduce_property(pickler: Reducing, value: property) -> Any:
    """Reduce a property to its functions."""
    return type(value), (value.fget, value.fset, value.fdel, value.__doc__)


def reduce_wrapped(pickler: Reducing, value: Any) -> Any:
    """Reduce a static or class method to its function."""
    return type(value), (value.__func__,)


def reduce_cached_property(pickler: Reducing, value: functools.cached_property[Any]) -> Any:
    """Reduce a cached property without its lock."""
    return rebuild.cached_property, (value.func, value.attrname, value.__doc__)


def reduce_lru_cache(pickler: Any, value: Any) -> Any:
    """Reduce a cache to its function: its content cannot be read."""
    if importable(value):
        return NotImplemented
    parameters = value.cache_parameters()
    if value.cache_info().currsize:
        pickler.notes.append(f"the cache of {getattr(value, '__name__', 'a function')} comes back empty")
    state = dict(vars(value))
    wrapped = state.get("__wrapped__")
    return rebuild.lru_cache, (wrapped, parameters["maxsize"], parameters["typed"]), state, None, None, (
        rebuild.set_lru_cache
    )


def reduce_view(pickler: Reducing, value: Any) -> Any:
    """Reduce a view of a dictionary to the dictionary."""
    owners = [one for one in gc.get_referents(value) if isinstance(one, dict)]
    if len(owners) != 1:
        return pickler.by_reference(value)
    return rebuild.partial_view, (owners[0], type(value).__name__.rsplit("_", 1)[-1])


def reduce_mapping_proxy(pickler: Reducing, value: Any) -> Any:
    """Reduce a read-only mapping to what it shows."""
    owners = gc.get_referents(value)
    if len(owners) != 1 or type(owners[0]) is not dict or "__weakref__" in owners[0]:
        return pickler.by_reference(value)
    return rebuild.mapping_proxy, (owners[0],)


def reduce_memory(pickler: Reducing, value: memoryview) -> Any:
    """Reduce a view of memory to what it shows, if it shows all of it."""
    base = value.obj
    if type(base) in (bytes, bytearray) and value.format == "B" and value.contiguous and value.nbytes == len(base):
        return rebuild.memory, (base,)
    return pickler.by_reference(value)


def reduce_weak(pickler: Reducing, value: weakref.ref[object]) -> Any:
    """Reduce a weak reference to its object; the object is in the same component, so it is one again."""
    target = value()
    if target is None:
        return rebuild.dead, ()
    return rebuild.weak, (target, value.__callback__)


def reduce_weak_values(pickler: Reducing, value: Any) -> Any:
    """Reduce a dictionary with weak values."""
    return rebuild.weak_values, (type(value), list(value.items()))


def reduce_weak_keys(pickler: Reducing, value: Any) -> Any:
    """Reduce a dictionary with weak keys."""
    return rebuild.weak_keys, (type(value), list(value.items()))


def reduce_weak_set(pickler: Reducing, value: Any) -> Any:
    """Reduce a set of weak references."""
    return rebuild.weak_set, (type(value), list(value))


def reduce_finalizer(pickler: Reducing, value: weakref.finalize[Any, Any]) -> Any:
    """Reduce a finaliser to what it will do."""
    parts = value.peek()
    return rebuild.finalizer, (parts, value.atexit if parts is not None else False)


_EXACT: dict[type, Reducer] = {
    Call: reduce_call,
    types.FunctionType: reduce_function,
    types.CodeType: reduce_code,
    types.CellType: reduce_cell,
    types.ModuleType: reduce_module,
    types.MappingProxyType: reduce_mapping_proxy,
    types.GeneratorType: by_reference,
    types.CoroutineType: by_reference,
    types.AsyncGeneratorType: by_reference,
    types.FrameType: by_reference,
    types.TracebackType: by_reference,
    property: reduce_property,
    staticmethod: reduce_wrapped,
    classmethod: reduce_wrapped,
    functools.cached_property: reduce_cached_property,
    functools._lru_cache_wrapper: reduce_lru_cache,
    memoryview: reduce_memory,
    type({}.keys()): reduce_view,
    type({}.values()): reduce_view,
    type({}.items()): reduce_view,
    weakref.ref: reduce_weak,
    weakref.WeakValueDictionary: reduce_weak_values,
    weakref.WeakKeyDictionary: reduce_weak_keys,
    weakref.WeakSet: reduce_weak_set,
    weakref.finalize: reduce_finalizer,
}
_LATE: dict[tuple[str, str], tuple[str, str]] = {
    ("numpy", "ndarray"): ("arrays", "reduce_array"),
    ("numpy", "memmap"): ("arrays", "reduce_memmap"),
}
"""Types of packages that are imported by the user alone, and the module here that knows them."""
_INHERITED: dict[tuple[str, str], Reducer] = {
    ("builtins", "type"): reduce_class,
    ("builtins", "module"): reduce_module,
    ("threading", "Thread"): by_reference,
    ("_thread", "_local"): by_reference,
    ("_io", "_IOBase"): by_reference,
    ("tempfile", "_TemporaryFileWrapper"): by_reference,
    ("subprocess", "Popen"): by_reference,
    ("_socket", "socket"): by_reference,
    ("ctypes", "CDLL"): by_reference,
    ("concurrent.futures._base", "Executor"): by_reference,
    ("concurrent.futures._base", "Future"): by_reference,
    ("multiprocessing.process", "BaseProcess"): by_reference,
    ("asyncio.events", "AbstractEventLoop"): by_reference,
    ("_asyncio", "Future"): by_reference,
    ("logging", "Handler"): by_reference,
    ("contextvars", "ContextVar"): by_reference,
}


def reducer_of(kind: type) -> Reducer:
    """Return the reducer for objects whose type is exactly *kind*."""
    exact = _EXACT.get(kind)
    if exact is not None:
        return exact
    late = _LATE.get((kind.__module__, kind.__qualname__))
    if late is not None:
        home = importlib.import_module(f"nbrewind.resources.variables.graph.{late[0]}")
        reducer: Reducer = getattr(home, late[1])
        return reducer
    for base in kind.__mro__:
        inherited = _INHERITED.get((base.__module__, base.__qualname__))
        if inherited is not None:
            return inherited
    return reduce_plain if _is_plain(kind) else reduce_instance


_HOOKS = (
    "__reduce__",
    "__reduce_ex__",
    "__getstate__",
    "__getattribute__",
    "__getattr__",
    "__getnewargs__",
    "__getnewargs_ex__",
)


def _is_plain(kind: type) -> bool:
    """Return whether nothing but Python's own code runs when an instance of *kind* is reduced."""
    if kind.__module__ != "__main__":
        # Landmarks are looked for among instances of library classes.
        return False
    for base in kind.__mro__[:-1]:
        space = vars(base)
        if base.__module__ != "__main__" or ("__dict__" in space and not _is_slot(space["__dict__"])):
            return False
        if any(hook in space for hook in _HOOKS) or "__class__" in space:
            return False
    return kind.__mro__[-1] is object


def _is_slot(value: object) -> bool:
    return type(value) in (types.GetSetDescriptorType, types.MemberDescriptorType)


