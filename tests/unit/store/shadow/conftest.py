"""A fresh shadow repository for every test here."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbrewind.store.shadow import ShadowRepository


@pytest.fixture
def repository(tmp_path: Path) -> ShadowRepository:
    return ShadowRepository.open(str(tmp_path / "shadow"))
