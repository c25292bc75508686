"""The full comparison in steps, for idle time: what a cell changed that no name in it told."""

from __future__ import annotations

from collections.abc import Iterator

from nbrewind.resources.variables.memory import Examined
from nbrewind.resources.variables.rows import Row, is_class
from nbrewind.resources.variables.tracker import VariableTracker

__all__ = ["Comparison"]

_MEMORY_A_SECOND = 4e9
_STREAM_A_SECOND = 20e6
_EACH = 5e-5
_DEAREST = 0.25
"""Seconds that one component may take: a cell that comes meanwhile waits. Dearer ones are left for the next move."""


class Comparison:
    """Looks at all variables, a few at a time. It holds names, no objects."""

    def __init__(self, tracker: VariableTracker) -> None:
        self._tracker = tracker
        self._left: list[str] | None = None

    def restart(self) -> None:
        """Begin again with the next step: something ran."""
        self._left = None

    def step(self, seconds: float) -> Examined | None:
        """Look at as many variables as *seconds* are estimated to be enough for; return None when all are looked at."""
        rows = self._tracker.known.rows
        if self._left is None:
            self._left = sorted(name for name in rows if not is_class(name))
        wanted: set[str] = set()
        spent = 0.0
        while self._left and spent < seconds:
            name = self._left.pop()
            if name in wanted or name not in rows:
                continue
            cost = estimate(rows[name])
            if cost <= _DEAREST:
                wanted.update(rows[name].names)
                spent += cost
        if not wanted:
            return None
        return self._tracker.examine(frozenset(wanted), late=True)


def estimate(row: Row) -> float:
    """Return about how many seconds it takes to look at the component."""
    memory = sum(one.size for one in row.buffers)
    streams = sum(_sizes(row)) - memory
    return _EACH + memory / _MEMORY_A_SECOND + max(streams, 0) / _STREAM_A_SECOND


def _sizes(row: Row) -> Iterator[int]:
    yield from (state.size for state in row.states.values())
