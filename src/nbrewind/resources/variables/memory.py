"""What lasts between captures, and what one capture hands to the next step."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from nbrewind.model import Note
from nbrewind.resources.variables.graph.buffers import HashCache
from nbrewind.resources.variables.graph.classes import ClassRegistry
from nbrewind.resources.variables.graph.references import References
from nbrewind.resources.variables.graph.slices import SliceMemory
from nbrewind.resources.variables.rows import Row
from nbrewind.resources.variables.storing import Fresh

__all__ = ["Examined", "Memory"]

_RECENT = 64


@dataclass(slots=True)
class Memory:
    """What lasts from one capture to the next beside the rows. Holds no object of the user's strongly.

    *slow* are types whose instances took too long, by address; *proved* digests of slices, by name; *recent* rows with
    buffers, by digest: they know the digests of their chunks, which the store does not tell.
    """

    references: References = field(default_factory=References)
    classes: ClassRegistry = field(default_factory=ClassRegistry)
    hashes: HashCache = field(default_factory=HashCache)
    slow: dict[int, weakref.ref[type]] = field(default_factory=dict)
    proved: dict[str, SliceMemory] = field(default_factory=dict)
    recent: OrderedDict[str, Row] = field(default_factory=OrderedDict)

    def recall(self, row: Row) -> Row:
        """Return *row*, with the digests of its chunks if they are known."""
        known = self.recent.get(row.digest)
        if (
            known is None
            or known.names != row.names
            or [one.pieces for one in known.buffers] != [one.pieces for one in row.buffers]
        ):
            return row
        return known

    def remember(self, rows: Iterable[Row]) -> None:
        """Keep *rows* for `recall`."""
        for row in rows:
            if row.buffers and row.buffers[0].hashes:
                self.recent[row.digest] = row
                self.recent.move_to_end(row.digest)
        while len(self.recent) > _RECENT:
            self.recent.popitem(last=False)

    def is_slow(self, kind: type) -> bool:
        """Return whether an instance of *kind* took too long before."""
        known = self.slow.get(id(kind)) if self.slow else None
        return known is not None and known() is kind


@dataclass(slots=True)
class Examined:
    """What one capture found; `tracker.VariableTracker.store` makes it durable.

    Until then *fresh* may hold the user's arrays; no cell may run meanwhile. *sure*: the names whose changes are known
    to be those of the last cell, None for all. *live*: all components, where a rewind follows that may patch them.
    *looked*: the names that were looked at.
    """

    bindings: dict[str, int]
    fresh: list[Fresh]
    gone: list[Row]
    rows: dict[str, Row]
    stale: frozenset[str]
    process: Mapping[str, bytes]
    notes: tuple[Note, ...] = ()
    sure: frozenset[str] | None = None
    live: Mapping[str, Fresh] = field(default_factory=dict)
    looked: frozenset[str] = frozenset()
