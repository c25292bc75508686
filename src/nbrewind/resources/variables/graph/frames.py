"""pandas: blocks that know with whom they share memory, and indexes, which nobody changes. Imported only beside pandas.

`make_*` are named by streams: names and arguments are a format.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from nbrewind.resources.variables.graph import arrays
from nbrewind.resources.variables.graph.calls import Call
from nbrewind.resources.variables.graph.reducing import Reducing

__all__ = [
    "make_block",
    "make_manager",
    "make_objects",
    "make_refs",
    "reduce_block",
    "reduce_frame",
    "reduce_index",
    "reduce_manager",
    "reduce_refs",
]


def reduce_refs(pickler: Reducing, refs: Any) -> Any:
    """Reduce the list of who shares memory: the blocks of the stream enter themselves again."""
    return make_refs, ()


def reduce_block(pickler: Reducing, block: Any) -> Any:
    """Reduce a block with its list of sharers: else a copy-on-write view would be written through."""
    return make_block, (type(block), block.values, block.mgr_locs.indexer, block.ndim, block.refs)


def reduce_frame(pickler: Reducing, frame: Any) -> Any:
    """Reduce a frame or series as it does itself, but for a list of its class, which would tie all frames together."""
    reduced = frame.__reduce_ex__(5)
    state = reduced[2] if len(reduced) > 2 else None
    if type(state) is dict and state.get("_metadata") is type(frame)._metadata:
        state = {key: one for key, one in state.items() if key != "_metadata"}
        return *reduced[:2], state, *reduced[3:]
    return reduced


def reduce_manager(pickler: Reducing, manager: Any) -> Any:
    """Reduce what a frame or series is behind its face; its own reduction would drop the blocks for their values."""
    return make_manager, (type(manager), tuple(manager.blocks), list(manager.axes))


def reduce_index(pickler: Reducing, index: Any) -> Any:
    """Reduce an index with memory of its own: it cannot change, so nobody can tell."""
    reduced = index.__reduce__()
    make, (cls, parts, *rest) = reduced[0], reduced[1]
    if isinstance(parts, dict):
        parts = {key: _own(pickler, one) if type(one) is np.ndarray else one for key, one in parts.items()}
    return make, (cls, parts, *rest), *reduced[2:]


def _own(pickler: Reducing, array: np.ndarray[Any, Any]) -> object:
    if array.dtype.hasobject:
        return Call(make_objects, array.tolist()) if array.ndim == 1 else array
    order: Any = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    if array.nbytes <= arrays.SMALL or not (array.flags.c_contiguous or array.flags.f_contiguous):
        return Call(arrays.make_small, array.tobytes(order), array.dtype, array.shape, order, array.flags.writeable)
    # Not to be patched in place: the index has a table of its values.
    number = pickler.buffer(array.ctypes.data, array.nbytes, array, writable=False)
    return Call(arrays.make_array, number, array.dtype, array.shape, order, array.flags.writeable)


def make_refs() -> Any:
    """Return a list of sharers with nobody in it."""
    return _internals().BlockValuesRefs()


def make_block(cls: Any, values: Any, places: Any, ndim: int, refs: Any) -> Any:
    """Return a block, entered in *refs*."""
    return cls(values, placement=_internals().BlockPlacement(places), ndim=ndim, refs=refs)


def _internals() -> Any:
    return import_module("pandas._libs.internals")


def make_manager(cls: Any, blocks: Any, axes: Any) -> Any:
    """Return a manager of blocks."""
    if cls.__name__ == "SingleBlockManager":
        return cls(blocks[0], axes[0])
    return cls(blocks, axes, verify_integrity=False)


def make_objects(values: list[Any]) -> np.ndarray[Any, Any]:
    """Return an array of objects."""
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made
