"""A notebook that is renamed while its kernel runs stays the same session (S14)."""

from __future__ import annotations

import json
import os

import pytest

from nbrewind.session.turns import TurnEnd, TurnStart
from tests.sessions import attached

CELLS = ("a1b2c3d4", "e5f6a7b8", "c9d0e1f2")


def notebook(*cells):
    return json.dumps({"cells": [{"id": cell, "cell_type": "code", "source": ""} for cell in cells], "nbformat": 4})


@pytest.fixture
def old(workspace):
    workspace.write({"old.ipynb": notebook(*CELLS)})
    return workspace.path("old.ipynb")


def run(book, number, effect=None):
    book.session.begin_turn(TurnStart(code=f"cell {number}", number=number, cell_id=CELLS[number - 1]))
    if effect is not None:
        effect()
    book.session.end_turn(TurnEnd())
    book.session.settle()


def test_history_is_found_under_the_new_name_and_by_the_session(workspace, home, old):
    with attached(workspace, home, notebook=old) as book:
        run(book, 1)
        name = book.session.id
    new = workspace.path("new.ipynb")
    os.rename(old, new)

    with attached(workspace, home, notebook=new) as book:
        assert book.session.id == name
        assert [point.number for point in book.session.points() if point.number] == [1]


def test_a_running_session_follows_and_neither_name_is_ever_rewound(workspace, home, old):
    new = workspace.path("new.ipynb")
    with attached(workspace, home, notebook=old) as book:
        run(book, 1, lambda: workspace.write({"f": "1"}))
        os.rename(old, new)
        run(book, 2, lambda: workspace.write({"f": "2"}))

        assert book.session.notebook == new
        book.to(1, everything=True)

        assert workspace.read("f") == b"1"
        assert not os.path.lexists(old)
        assert workspace.read("new.ipynb") == notebook(*CELLS).encode()
        name = book.session.id
    with attached(workspace, home, notebook=new) as book:
        assert book.session.id == name


def test_a_copy_begins_a_session_of_its_own(workspace, home, old):
    with attached(workspace, home, notebook=old) as book:
        run(book, 1)
        name = book.session.id
    workspace.write({"copy.ipynb": notebook(*CELLS)})

    with attached(workspace, home, notebook=workspace.path("copy.ipynb")) as book:
        assert book.session.id != name


@pytest.mark.parametrize(
    "content", [notebook("00000000"), notebook(CELLS[0], "1", "2"), "no json", "[]", '{"cells": 3}']
)
def test_another_notebook_does_not_take_over_what_is_left_of_a_deleted_one(workspace, home, old, content):
    with attached(workspace, home, notebook=old) as book:
        for number in (1, 2, 3):
            run(book, number)
        name = book.session.id
    os.unlink(old)
    workspace.write({"other.ipynb": content})

    with attached(workspace, home, notebook=workspace.path("other.ipynb")) as book:
        assert book.session.id != name


def test_where_two_files_may_be_it_neither_is_followed(workspace, home, old):
    with attached(workspace, home, notebook=old) as book:
        run(book, 1)
        os.rename(old, workspace.path("x.ipynb"))
        workspace.write({"y.ipynb": notebook(*CELLS)})
        run(book, 2)

        assert book.session.notebook == old
