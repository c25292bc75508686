from __future__ import annotations

import json
import os
import subprocess

import pytest

from nbrewind.model import PlanOptions, TurnStatus
from nbrewind.session.turns import TurnEnd, TurnStart
from tests.sessions import attached
from tests.stores import holding, stores_below

KEY = "abc123SECRET"
LINE = f"API_KEY={KEY}\n"


@pytest.fixture
def book(workspace, home):
    with attached(workspace, home) as book:
        yield book


def found(home, marker=KEY):
    (store,) = stores_below(home)
    return holding(store, marker.encode())


def write_env(workspace, text=LINE, name=".env"):
    with open(workspace.path(name), "w") as file:
        file.write(text)


def test_a_secret_that_a_cell_writes_is_nowhere_in_the_store(book, workspace, home):
    with book.turn(f"open('.env', 'w').write({LINE!r})"):
        write_env(workspace)
    book.session.settle()

    assert "[secret]" in book.point(1).operation.turn.code
    assert found(home) == []


def test_a_secret_overwritten_in_the_same_cell_is_nowhere_in_the_store(book, workspace, home):
    with book.turn(f"open('.env', 'w').write({LINE!r}); open('.env', 'w').write('API_KEY=none')"):
        write_env(workspace)
        write_env(workspace, "API_KEY=none")
    book.session.settle()

    assert found(home) == []


def test_a_secret_written_by_a_child_is_nowhere_in_the_store(book, workspace, home):
    with book.turn(f"!echo API_KEY={KEY} > .env"):
        subprocess.run(f"printf '%s' '{LINE}' > .env", shell=True, cwd=workspace.root, check=True)
    book.session.settle()

    assert book.point(1).operation.turn.ran
    assert found(home) == []


def test_outputs_and_errors_of_a_later_cell_lose_the_key(book, workspace, home):
    write_env(workspace)
    outputs = json.dumps([{"output_type": "stream", "name": "stdout", "text": f"key is {KEY}"}])
    book.session.begin_turn(TurnStart(code=f"use('{KEY}')", number=1))
    book.session.end_turn(TurnEnd(status=TurnStatus.ERROR, error=f"ValueError: {KEY}", outputs=outputs))
    book.session.settle()

    turn = book.point(1).operation.turn
    assert turn.error == "ValueError: [secret]"
    assert turn.outputs.count("[secret]") == 1
    assert found(home) == []


def test_the_list_of_what_was_taken_back_and_names_are_free_of_it(book, workspace, home):
    with book.turn("x = 1"):
        workspace.write({"f": "1"})
    with book.turn(f"write({LINE!r})"):
        write_env(workspace)
        workspace.write({"f": "2"})
    book.session.settle()
    book.session.name(f"with {KEY}")
    book.to(1)
    book.session.rewind(book.session.plan_undo(PlanOptions()))

    assert list(os.listdir(book.session._parts.paths.archive))
    assert found(home) == []


def test_an_ordinary_word_of_a_secret_file_stays_in_other_cells(book, workspace):
    write_env(workspace, "STAGE=production\n")
    with book.turn("stage = 'production'"):
        workspace.write({"f": "1"})
    book.session.settle()

    assert book.point(1).operation.turn.code == "stage = 'production'"


def test_the_open_journal_loses_the_code_at_the_first_touch_of_a_secret_file(book, workspace, home):
    name = ".en" + "v"
    with book.turn(f"write_it('{KEY}')"):
        workspace.write({"before": "1"})
        with open(workspace.path("before"), "w") as file:
            file.write("2")
        with open(workspace.path(name), "w") as file:
            with open(book.session._parts.paths.turn, "rb") as journal:
                rows = journal.read()
            file.write(KEY)
    assert KEY.encode() not in rows
    assert b"before" in rows and b".env" in rows
    book.session.settle()
    assert book.point(1).operation.turn.code == "write_it('[secret]')"


def test_a_turn_that_a_death_left_open_is_free_of_it(workspace, home):
    with attached(workspace, home) as book:
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        book.session.begin_turn(TurnStart(code=f"open('.env','w').write({LINE!r})", number=1))
        write_env(workspace)
        journal = book.session._parts.paths.turn
        with open(journal, "rb") as file:
            left = file.read()
        book.session.end_turn(TurnEnd())
    assert KEY.encode() not in left
    assert found(home) == []
