"""Every class of the table comes back as the table says: in value, in its other names, and in what is said of it."""

from __future__ import annotations

import gc
import importlib.util
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbrewind.session.core import RewindResult
from tests.conformance.class_notebook import ClassNotebook, opened
from tests.conformance.class_page import PAGE, page
from tests.conformance.class_table import TABLE, How, Row

# A file that died with its only name is closed by Python, which warns of it.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:Pickle, copy, and deepcopy support will be removed:DeprecationWarning"),
]

NAMES = ("x", "other", "box")
FORGET = "for name in [*globals()]:\n    if name[:2] != '__': del globals()[name]"


@pytest.fixture(scope="module", autouse=True)
def short_collections() -> Iterator[None]:
    """Keep what libraries made when they were imported out of every collection of garbage."""
    yield
    gc.unfreeze()


@pytest.fixture
def notebook(ground: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ClassNotebook]:
    folder, home = ground / "work", ground / "home"
    folder.mkdir()
    home.mkdir()
    monkeypatch.chdir(folder)
    with opened(folder, home) as found:
        yield found


def said(result: RewindResult) -> list[str]:
    return [f"{note.subject}: {note.reason}" for note in result.notes]


def of_names(result: RewindResult) -> list[str]:
    return [f"{note.subject}: {note.reason}" for note in result.notes if note.subject in NAMES]


def is_equal(one: Any, other: Any) -> bool:
    if repr(one) == repr(other):
        return True
    return bool(one == other)


def check_beside_the_living(row: Row, notebook: ClassNotebook, before: Any, changed: Any, place: int) -> None:
    result = notebook.back()

    found = notebook.look(row.look)
    if row.how is How.REFERENCE:
        assert id(notebook.names["x"]) == place
        assert is_equal(found, before if row.settles or not row.change else changed)
        assert row.settles or (any(row.says in line for line in said(result)) if row.says else of_names(result))
    else:
        assert is_equal(found, before)
        assert any(row.says in line for line in of_names(result)) if row.says else not of_names(result)
    check_names(row, notebook)


def check_after_death(row: Row, notebook: ClassNotebook, before: Any) -> None:
    result = notebook.back()

    if not row.revives:
        assert any("lost" in line.lower() for line in of_names(result))
        return
    assert is_equal(notebook.look(row.look), before)
    assert not of_names(result) or row.how is not How.VALUE
    check_names(row, notebook)


def check_names(row: Row, notebook: ClassNotebook) -> None:
    names = notebook.names
    if row.change:
        assert names["x"] is names["other"] is names["box"]["x"]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name.replace(" ", "-"))
def test_a_class_comes_back_as_the_table_says(row: Row, notebook: ClassNotebook) -> None:
    if row.needs and importlib.util.find_spec(row.needs) is None:
        pytest.skip(f"{row.needs} is not installed")
    gc.collect()
    gc.freeze()
    try:
        notebook.run(f"{row.make}\nother = x; box = {{'x': x}}")
        before, place = notebook.look(row.look), id(notebook.names["x"])
        notebook.run(f"{row.change or 'pass'}\nx = None")
        changed = notebook.look_as_was(row.look)
        assert not row.change or row.unseen or not is_equal(before, changed), "the row changes nothing that it shows"
        check_beside_the_living(row, notebook, before, changed, place)

        notebook.run(FORGET)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gc.collect()
        check_after_death(row, notebook, before)
    finally:
        notebook.free(row.after)


def test_the_table_has_more_than_a_hundred_and_fifty_classes_and_none_twice() -> None:
    assert len({row.name for row in TABLE}) == len(TABLE) >= 180
    assert all(bool(row.why) is (row.how is not How.VALUE) for row in TABLE)


def test_the_page_of_classes_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tests.conformance.class_page`"
