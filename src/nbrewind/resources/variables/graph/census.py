"""What all streams of one capture share: deadlines, tokens, buffers, and the classes met on the way."""

from __future__ import annotations

import builtins
import sys
import time
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from nbrewind.resources.variables.graph.buffers import BufferTable
from nbrewind.resources.variables.graph.classes import ClassRegistry
from nbrewind.resources.variables.graph.references import References

__all__ = ["Census", "seeds"]

_ONE_OBJECT = 1.0


def seeds(namespace: dict[str, object]) -> tuple[object, ...]:
    """Return the well-known containers that streams name by place, first to last. Only ever appended to."""
    return (namespace, builtins.__dict__, sys.modules, sys.path, sys.argv, sys.meta_path, sys.path_hooks)


class Census:
    """One capture in the making, on the main thread; thrown away with all objects it holds when `examine` returns.

    *skipped* are addresses of objects that go by reference because storing them failed or took too long.
    """

    def __init__(
        self,
        namespace: dict[str, object],
        references: References,
        classes: ClassRegistry,
        buffers: BufferTable,
        *,
        deadline: float,
        max_size: int,
        is_slow: Callable[[type], bool] = lambda kind: False,
    ) -> None:
        self.namespace = namespace
        self.references = references
        self.classes = classes
        self.buffers = buffers
        self.deadline = deadline
        self.max_size = max_size
        self.is_slow = is_slow
        self.memo = {id(one): (place, one) for place, one in enumerate(seeds(namespace))}
        self.unlinked: set[int] = set(self.memo)
        self.skipped: set[int] = set()
        self.reducers: dict[type, Any] = {}
        self._landmarks: dict[type, dict[int, tuple[str, str]]] = {}
        self.pending: dict[str, type] = {}
        self.held: list[object] = []
        self.pickler: Any = None
        # Objects of ours that stand for memory which several objects of the user's share.
        self.stand_ins: dict[tuple[object, ...], Any] = {}

    @property
    def seconds_left(self) -> float:
        """Time until the deadline."""
        return self.deadline - time.monotonic()

    def overdue(self) -> bool:
        """Return whether the time is over, or one object takes all of it."""
        now = time.monotonic()
        pickler = self.pickler
        slow = pickler is not None and pickler.current is not None and now - pickler.since > _ONE_OBJECT
        return slow or now > self.deadline

    def uid(self, cls: type) -> str:
        """Return the id of a class made in the notebook."""
        return self.classes.uid(cls)

    def landmark(self, value: object) -> tuple[str, str] | None:
        """Return module and name of *value* if it is a module's own object (`random._inst`, `os.environ`)."""
        kind = type(value)
        found = self._landmarks.get(kind)
        if found is None:
            found = self._landmarks[kind] = _landmarks(kind)
        if not found:
            return None
        place = found.get(id(value))
        if place is not None:
            self.unlinked.add(id(value))
        return place


def _landmarks(kind: type) -> dict[int, tuple[str, str]]:
    module = kind.__module__
    if not isinstance(module, str) or module in ("__main__", "builtins"):
        return {}
    found: dict[int, tuple[str, str]] = {}
    for name in _homes(module):
        home = sys.modules.get(name)
        if isinstance(home, ModuleType):
            for attribute, one in list(vars(home).items()):
                if type(one) is kind:
                    found.setdefault(id(one), (name, attribute))
    return found


def _homes(module: str) -> Iterable[str]:
    parts = module.split(".")
    for count in range(len(parts), 0, -1):
        yield ".".join(parts[:count])
    # A C module's public face: `_random` and `random`, `_decimal` and `decimal`.
    if parts[-1].startswith("_"):
        yield ".".join([*parts[:-1], parts[-1].lstrip("_")])
