"""A request: one thing that a front end asks for, with the fields that were given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Request"]


@dataclass(frozen=True, slots=True)
class Request:
    """One checked request: its *id*, its *verb* and the fields that were given."""

    id: str
    verb: str
    fields: Mapping[str, Any] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """Return a text that was given, or ""."""
        return str(self.fields.get(name, ""))

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the texts of a list that was given."""
        return tuple(map(str, self.fields.get(name, ())))

    def has(self, name: str) -> bool:
        """Return whether a flag was given."""
        return bool(self.fields.get(name))
