"""The notebooks for people run top to bottom in a kernel of their own, and their outputs are those that they show."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_FOLDER = Path(__file__).parents[2] / "notebooks"
_BOOKS = sorted(_FOLDER.glob("*.ipynb"))


@pytest.mark.kernel
@pytest.mark.parametrize("book", _BOOKS, ids=lambda book: book.stem)
def test_a_notebook_runs_and_shows_what_it_says(book: Path, tmp_path: Path) -> None:
    # Run where it stands, a notebook would be nbrewind's own project; its first cell makes a workspace for it.
    told = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--nbval", "--rootdir", str(tmp_path)]

    done = subprocess.run(
        [*told, "-c", "/dev/null", str(book)], cwd=tmp_path, capture_output=True, text=True, timeout=240
    )

    assert done.returncode == 0, done.stdout[-4000:]
    assert not list(tmp_path.glob("*")), "something was left behind"


def test_the_table_lists_every_notebook() -> None:
    table = (_FOLDER / "README.md").read_text()

    assert _BOOKS
    assert [book.name for book in _BOOKS if f"]({book.name})" not in table] == []
