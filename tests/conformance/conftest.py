"""Notebooks in shared memory where there is some: each row of the table flushes a dozen packs."""

from __future__ import annotations

from tests.property.conftest import ground

__all__ = ["ground"]
