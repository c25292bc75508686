"""A session of this process for each test of a field fault."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import TestWorkspace
from tests.sessions import Book, attached


@pytest.fixture
def book(workspace: TestWorkspace, home: Path) -> Iterator[Book]:
    """Return a session of this process in the workspace."""
    with attached(workspace, home) as book:
        yield book
