"""torch tensors on the CPU: storages as buffers, views as views of one storage. Imported only beside torch.

`make_*` and `set_*` are named by streams: names and arguments are a format.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from nbrewind.resources.variables.graph import rebuild
from nbrewind.resources.variables.graph.reducing import Reducing

__all__ = ["Storage", "make_storage", "make_tensor", "reduce_storage", "reduce_tensor", "set_tensor"]

torch: Any = import_module("torch")


class Storage:
    """Stands for one storage while capturing: torch makes a new object for it each time it is asked."""

    __slots__ = ("size", "storage")

    def __init__(self, storage: Any, size: int) -> None:
        self.storage = storage
        self.size = size


def reduce_tensor(pickler: Reducing, tensor: Any) -> Any:
    """Reduce a tensor to its storage and its place in it; one with a history of operations by reference."""
    if tensor.grad_fn is not None:
        return pickler.by_reference(tensor)
    if tensor.device.type != "cpu" or tensor.layout is not torch.strided or tensor.is_quantized:
        return tensor.__reduce_ex__(5)
    storage = tensor.untyped_storage()
    place = ("torch", storage.data_ptr(), storage.nbytes())
    shared = pickler.census.stand_ins.setdefault(place, Storage(storage, storage.nbytes()))
    state = (tensor.grad, dict(tensor.__dict__) or None)
    arguments = (
        type(tensor),
        shared,
        tensor.dtype,
        tensor.storage_offset(),
        tuple(tensor.size()),
        tensor.stride(),
        tensor.requires_grad,
        tensor.is_conj(),
    )
    return make_tensor, arguments, state if state != (None, None) else None, None, None, set_tensor


def reduce_storage(pickler: Reducing, shared: Storage) -> Any:
    """Reduce a storage to a buffer."""
    if shared.size == 0:
        return make_storage, (-1, 0)
    number = pickler.buffer(shared.storage.data_ptr(), shared.size, shared.storage, writable=True)
    return make_storage, (number, shared.size)


def make_storage(number: int, size: int) -> Any:
    """Return a storage with the bytes of a buffer."""
    storage = torch.UntypedStorage(size)
    if size:
        rebuild.fill(number, storage.data_ptr(), size)
    return storage


def make_tensor(
    cls: Any, storage: Any, dtype: Any, offset: int, size: Any, stride: Any, requires_grad: bool, conjugated: bool
) -> Any:
    """Return a tensor over *storage*."""
    made = torch.empty(0, dtype=dtype).set_(storage, offset, size, stride)
    if conjugated:
        made = torch.conj(made)
    if issubclass(cls, torch.nn.Parameter):
        return cls(made, requires_grad)
    if cls is not torch.Tensor:
        made = made.as_subclass(cls)
    return made.requires_grad_(requires_grad)


def set_tensor(tensor: Any, state: tuple[Any, dict[str, Any] | None] | None) -> None:
    """Give a tensor its gradient and attributes."""
    if state is None:
        return
    tensor.grad = state[0]
    tensor.__dict__.update(state[1] or {})
