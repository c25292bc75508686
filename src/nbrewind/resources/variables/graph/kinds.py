"""Which reducer serves which type: chosen once per type and capture, by the type alone."""

from __future__ import annotations

import copyreg
import functools
import gc
import importlib
import io
import sys
import types
import weakref
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

from nbrewind.resources.variables.graph import rebuild
from nbrewind.resources.variables.graph.calls import Call, importable
from nbrewind.resources.variables.graph.classes import reduce_class
from nbrewind.resources.variables.graph.functions import reduce_cell, reduce_code, reduce_function
from nbrewind.resources.variables.graph.living import reduce_database, reduce_file, reduce_widget
from nbrewind.resources.variables.graph.objects import reduce_counter, reduce_instance, reduce_plain
from nbrewind.resources.variables.graph.proxies import reduce_proxy
from nbrewind.resources.variables.graph.reducing import Reducing
from nbrewind.resources.variables.graph.unwritten import EXACT, reduce_exception, reduce_member, reduce_parser

__all__ = ["Reducer", "reducer_of"]

Reducer = Callable[["Reducing", Any], Any]


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
    # What it holds cannot be read, but that it holds something else can.
    arguments = (wrapped, parameters["maxsize"], parameters["typed"], tuple(value.cache_info()))
    return rebuild.lru_cache, arguments, state, None, None, rebuild.set_lru_cache


def reduce_view(pickler: Reducing, value: Any) -> Any:
    """Reduce a view of a dictionary to the dictionary."""
    owners = [one for one in gc.get_referents(value) if isinstance(one, dict)]
    if len(owners) != 1:
        return pickler.by_reference(value)
    return rebuild.partial_view, (owners[0], type(value).__name__.rsplit("_", 1)[-1])


def reduce_mapping_proxy(pickler: Reducing, value: Any) -> Any:
    """Reduce a read-only mapping to what it shows."""
    owners = gc.get_referents(value)
    # Of a class: a copy of its dictionary would say nothing of the class.
    if len(owners) != 1 or (type(owners[0]) is dict and "__module__" in owners[0]):
        return pickler.by_reference(value)
    return rebuild.mapping_proxy, (owners[0],)


def reduce_memory(pickler: Reducing, value: memoryview) -> Any:
    """Reduce a view of memory to what it shows, if it shows all of it."""
    base: Any = value.obj
    if type(base) in (bytes, bytearray) or type(base).__module__ in ("numpy", "array"):
        whole = memoryview(base)
        if all(getattr(whole, one) == getattr(value, one) for one in ("format", "shape", "strides", "readonly")):
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
    **EXACT,
    Call: reduce_call,
    Counter: reduce_counter,
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
    io.StringIO: reduce_instance,
    io.BytesIO: reduce_instance,
    memoryview: reduce_memory,
    type({}.keys()): reduce_view,
    type({}.values()): reduce_view,
    type({}.items()): reduce_view,
    type(OrderedDict().keys()): reduce_view,
    type(OrderedDict().values()): reduce_view,
    type(OrderedDict().items()): reduce_view,
    weakref.ref: reduce_weak,
    weakref.ProxyType: reduce_proxy,
    weakref.CallableProxyType: reduce_proxy,
    weakref.WeakValueDictionary: reduce_weak_values,
    weakref.WeakKeyDictionary: reduce_weak_keys,
    weakref.WeakSet: reduce_weak_set,
    weakref.finalize: reduce_finalizer,
}
_LATE: dict[tuple[str, str], tuple[str, str]] = {
    ("numpy", "ndarray"): ("arrays", "reduce_array"),
    ("numpy", "memmap"): ("arrays", "reduce_memmap"),
    ("pandas._libs.internals", "BlockValuesRefs"): ("frames", "reduce_refs"),
    ("pandas.core.internals.managers", "BlockManager"): ("frames", "reduce_manager"),
    ("pandas.core.internals.managers", "SingleBlockManager"): ("frames", "reduce_manager"),
    ("nbrewind.resources.variables.graph.tensors", "Storage"): ("tensors", "reduce_storage"),
}
"""Types of packages that are imported by the user alone, and the module here that knows them."""
_LATE_BASES: dict[tuple[str, str], tuple[str, str]] = {
    ("pandas._libs.internals", "Block"): ("frames", "reduce_block"),
    ("pandas", "Index"): ("frames", "reduce_index"),
    ("pandas.core.generic", "NDFrame"): ("frames", "reduce_frame"),
    ("torch", "Tensor"): ("tensors", "reduce_tensor"),
    ("numpy", "ndarray"): ("arrays", "reduce_other_array"),
}
_INHERITED: dict[tuple[str, str], Reducer] = {
    ("builtins", "type"): reduce_class,
    ("builtins", "module"): reduce_module,
    ("threading", "Thread"): by_reference,
    ("_thread", "_local"): by_reference,
    ("_io", "_IOBase"): reduce_file,
    ("sqlite3", "Connection"): reduce_database,
    ("ipywidgets.widgets.widget", "Widget"): reduce_widget,
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
    # Pieces of a file that is open elsewhere too: a copy would write over what the other writes.
    ("zipfile", "ZipFile"): by_reference,
    ("tarfile", "TarFile"): by_reference,
    ("builtins", "BaseException"): reduce_exception,
    ("enum", "Enum"): reduce_member,
    ("argparse", "_AttributeHolder"): reduce_parser,
    ("argparse", "_ActionsContainer"): reduce_parser,
}


def reducer_of(kind: type) -> Reducer:
    """Return the reducer for objects whose type is exactly *kind*."""
    exact = _EXACT.get(kind)
    if exact is not None:
        return exact
    late = _LATE.get((kind.__module__, kind.__qualname__))
    if late is not None:
        return _late(*late)
    for base in kind.__mro__:
        late = _LATE_BASES.get((base.__module__, base.__qualname__))
        if late is not None:
            return _late(*late)
        inherited = _INHERITED.get((base.__module__, base.__qualname__))
        if inherited is not None:
            return inherited
    return reduce_plain if _is_plain(kind) else reduce_instance


def _late(module: str, name: str) -> Reducer:
    home = importlib.import_module(f"nbrewind.resources.variables.graph.{module}")
    reducer: Reducer = getattr(home, name)
    return reducer


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
    if kind.__module__ != "__main__" or kind in copyreg.dispatch_table:
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
