"""What reducers see of the pickler that calls them, and of the capture it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["Reducing", "Shared"]


class Shared(Protocol):
    """What all streams of one capture share; see `census.Census`."""

    namespace: dict[str, object]
    unlinked: set[int]
    skipped: set[int]
    pending: dict[str, type]
    stand_ins: dict[tuple[object, ...], Any]
    is_slow: Callable[[type], bool]

    def landmark(self, value: object) -> tuple[str, str] | None:
        """Return module and name of *value* if it is a module's own object."""

    def uid(self, cls: type) -> str:
        """Return the id of a class made in the notebook."""


class Reducing(Protocol):
    """One stream in the making."""

    anchors: dict[str, None]
    notes: list[str]
    opaque: bool
    current: object
    since: float
    reduced: set[int]
    extents: list[tuple[int, int, bool, int]]

    @property
    def census(self) -> Shared:
        """What all streams of the capture share."""

    def by_reference(self, value: object) -> Any:
        """Let *value* be put back as the same object, if it still lives."""

    def quiet_reference(self, value: object) -> str:
        """Return the token of *value*, whose state the stream holds beside it."""

    def buffer(self, address: int, size: int, owner: object, *, writable: bool) -> int:
        """Return the number in this stream of the *size* bytes at *address*."""
