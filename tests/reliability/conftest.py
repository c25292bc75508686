"""What the programs of this folder share."""

from __future__ import annotations

from tests.crash.conftest import ground

__all__ = ["ground"]
