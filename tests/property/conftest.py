"""Run random programs in shared memory where there is some: each flushes a dozen packs."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_SHARED_MEMORY = "/dev/shm"


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Path]:
    """Return an empty folder on the fastest file system there is."""
    if not os.access(_SHARED_MEMORY, os.W_OK):
        yield tmp_path
        return
    folder = tempfile.mkdtemp(prefix="nbrewind-test-", dir=_SHARED_MEMORY)
    yield Path(folder)
    shutil.rmtree(folder)
