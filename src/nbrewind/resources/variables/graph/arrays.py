"""numpy arrays: memory as buffers, views as views of the array that owns it. Imported only where numpy already is.

`make_*` are named by streams: names and arguments are a format.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nbrewind.resources.variables.graph import rebuild
from nbrewind.resources.variables.graph.objects import reduce_instance
from nbrewind.resources.variables.graph.reducing import Reducing

__all__ = [
    "SMALL",
    "make_array",
    "make_foreign",
    "make_memmap",
    "make_small",
    "make_view",
    "reduce_array",
    "reduce_memmap",
    "reduce_other_array",
]

SMALL = 2048


def reduce_array(pickler: Reducing, array: np.ndarray[Any, Any]) -> Any:
    """Reduce an array to a buffer if it owns its memory, else to a view of who does."""
    root = _root(array)
    order: Any
    if root is not array:
        return _reduce_view(pickler, array, root)
    _extend(pickler, array, False)
    if array.dtype.hasobject:
        return array.__reduce_ex__(5)
    flags = array.flags
    base: Any = array.base
    if base is not None and not isinstance(base, np.ndarray):
        foreign = _foreign(array)
        if foreign is not None:
            return foreign
    if array.nbytes <= SMALL or not (flags.c_contiguous or flags.f_contiguous):
        order = "F" if flags.f_contiguous and not flags.c_contiguous else "C"
        return make_small, (array.tobytes(order), array.dtype, array.shape, order, flags.writeable)
    owned = flags.owndata
    number = pickler.buffer(array.ctypes.data, array.nbytes, array, writable=owned)
    order = "C" if flags.c_contiguous else "F"
    return make_array, (number, array.dtype, array.shape, order, flags.writeable)


def reduce_other_array(pickler: Reducing, array: Any) -> Any:
    """Reduce an array of a class of its own as that class says, which makes memory of its own again."""
    _extend(pickler, array, True)
    return reduce_instance(pickler, array)


def _extend(pickler: Reducing, array: Any, apart: bool) -> None:
    if array.nbytes:
        start = int(array.__array_interface__["data"][0]) if array.flags.c_contiguous else _low(array)
        end = start + array.nbytes if array.flags.c_contiguous else int(np.lib.array_utils.byte_bounds(array)[1])
        pickler.extents.append((start, end, apart, id(array)))


def reduce_memmap(pickler: Reducing, array: Any) -> Any:
    """Reduce an array that is mapped from a file to the file, which has its own history."""
    if array.filename is None or array._mmap is None:
        return reduce_array(pickler, array)
    root = array
    while isinstance(root.base, np.memmap):
        root = root.base
    if root is not array:
        return _reduce_view(pickler, array, root)
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    return make_memmap, (str(array.filename), array.dtype, array.mode, array.offset, array.shape, order)


def _root(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    root: Any = array
    while type(root.base) in (np.ndarray, np.memmap):
        root = root.base
    found: np.ndarray[Any, Any] = root
    return found


def _reduce_view(pickler: Reducing, array: np.ndarray[Any, Any], root: np.ndarray[Any, Any]) -> Any:
    if root.dtype.hasobject and array.dtype != root.dtype:
        # Addresses of objects, read as numbers: nothing to keep.
        return pickler.by_reference(array)
    start = _low(root)
    offset = array.ctypes.data - start
    if not (root.flags.c_contiguous or root.flags.f_contiguous):
        return make_small, (array.tobytes(), array.dtype, array.shape, "C", array.flags.writeable)
    return make_view, (root, offset, array.dtype, array.shape, array.strides, array.flags.writeable)


def _low(array: np.ndarray[Any, Any]) -> int:
    return int(np.lib.array_utils.byte_bounds(array)[0])


def _foreign(array: np.ndarray[Any, Any]) -> Any:
    """Return the reduction of an array over memory that Python objects own; None where it is unknown."""
    base: Any = array.base
    if isinstance(base, memoryview):
        base = base.obj
    if type(base) not in (bytes, bytearray) and type(base).__module__ != "array":
        return None
    start = np.frombuffer(base, np.uint8).ctypes.data if len(base) else 0
    return make_foreign, (
        base,
        array.ctypes.data - start,
        array.dtype,
        array.shape,
        array.strides,
        array.flags.writeable,
    )


def _sealed(array: np.ndarray[Any, Any], writeable: bool) -> np.ndarray[Any, Any]:
    if not writeable:
        array.flags.writeable = False
    return array


def make_small(data: bytes, dtype: Any, shape: Any, order: Any, writeable: bool) -> np.ndarray[Any, Any]:
    """Return an array of its own with *data*."""
    made = np.empty(shape, dtype, order=order)
    if made.nbytes:
        flat = made.reshape(-1, order=order).view(np.uint8)
        flat[:] = np.frombuffer(data, np.uint8)
    return _sealed(made, writeable)


def make_array(number: int, dtype: Any, shape: Any, order: Any, writeable: bool) -> np.ndarray[Any, Any]:
    """Return an array of its own with the bytes of a buffer."""
    made = np.empty(shape, dtype, order=order)
    rebuild.fill(number, made.ctypes.data, made.nbytes)
    return _sealed(made, writeable)


def make_view(
    root: np.ndarray[Any, Any], offset: int, dtype: Any, shape: Any, strides: Any, writeable: bool
) -> np.ndarray[Any, Any]:
    """Return a view of *root*."""
    if root.dtype.hasobject:
        flat = root.reshape(-1, order="A")
        start = flat[offset // root.itemsize :]
        made = np.lib.stride_tricks.as_strided(start, shape, strides)
        return _sealed(made, writeable)
    base = root if root.flags.c_contiguous else root.T
    return _sealed(np.ndarray(shape, dtype, base, offset, strides), writeable)


def make_foreign(base: Any, offset: int, dtype: Any, shape: Any, strides: Any, writeable: bool) -> np.ndarray[Any, Any]:
    """Return an array over the memory of *base*."""
    return _sealed(np.ndarray(shape, dtype, base, offset, strides), writeable)


def make_memmap(path: str, dtype: Any, mode: Any, offset: int, shape: Any, order: Any) -> Any:
    """Return an array mapped from a file; a mode that would empty the file only opens it."""
    return np.memmap(path, dtype, "r+" if mode == "w+" else mode, offset, shape, order)
