"""Notebooks in shared memory where there is some."""

from __future__ import annotations

from tests.property.conftest import ground

__all__ = ["ground"]
