from __future__ import annotations

import json
import os
import subprocess

import pytest

from nbrewind.errors import RewindRefused
from nbrewind.model import PlanOptions, TurnStatus
from nbrewind.session.turns import TurnEnd, TurnStart
from nbrewind.ui.preview import preview_page
from nbrewind.ui.render import to_plain
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


def test_a_secret_goes_back_from_memory_and_forward_again_and_is_nowhere_in_the_store(book, workspace, home):
    with book.turn():
        write_env(workspace)
        os.chmod(workspace.path(".env"), 0o600)
    book.head()
    then = os.stat(workspace.path(".env"))
    with book.turn():
        write_env(workspace, "API_KEY=zzz999SECRET\n")
    book.head()

    assert book.to(1).plan.lost == ()
    now = os.stat(workspace.path(".env"))
    assert workspace.read(".env") == LINE.encode()
    assert (now.st_mode, now.st_mtime_ns) == (then.st_mode, then.st_mtime_ns)
    book.session.undo()
    assert workspace.read(".env") == b"API_KEY=zzz999SECRET\n"
    book.session.redo()
    assert workspace.read(".env") == LINE.encode()
    assert found(home) == found(home, "zzz999SECRET") == []


def test_a_secret_that_a_child_removed_with_its_folder_comes_back(book, workspace, home):
    workspace.write({"conf/x": "1"})
    write_env(workspace, name="conf/.env")
    with book.turn():
        workspace.write({"f": "1"})
    with book.turn("!rm -r conf"):
        subprocess.run("rm -r conf", shell=True, cwd=workspace.root, check=True)
    book.head()

    book.to(1)
    assert workspace.read("conf/.env") == LINE.encode()
    book.session.undo()
    assert not workspace.exists("conf")
    assert found(home) == []


def test_a_secret_outside_the_workspace_goes_back_from_memory(book, workspace, home, tmp_path):
    place = tmp_path / "elsewhere" / ".env"
    place.parent.mkdir()
    place.write_text(LINE)
    with book.turn():
        workspace.write({"f": "1"})
    with book.turn():
        place.write_text("API_KEY=none\n")
    book.head()

    book.to(1)
    assert place.read_text() == LINE
    assert found(home) == []


def test_a_mode_that_a_cell_gave_to_a_secret_goes_back(book, workspace, home):
    write_env(workspace)
    os.chmod(workspace.path(".env"), 0o600)
    with book.turn():
        workspace.write({"f": "1"})
    with book.turn():
        os.chmod(workspace.path(".env"), 0o644)
    book.head()

    book.to(1)
    assert os.stat(workspace.path(".env")).st_mode & 0o777 == 0o600


def test_after_a_restart_a_secret_is_named_as_not_restorable_and_stays(workspace, home):
    with attached(workspace, home) as book:
        with book.turn():
            write_env(workspace)
        with book.turn():
            write_env(workspace, "API_KEY=zzz\n")
            workspace.write({"f": "2"})
        book.head()
    with attached(workspace, home) as book:
        result = book.to("1")

        ((subject, reason),) = [(note.subject, note.reason) for note in result.plan.lost]
        assert subject == ".env"
        assert "memory" in reason
    assert workspace.read(".env") == b"API_KEY=zzz\n"
    assert not workspace.exists("f")


def test_a_secret_saved_after_the_preview_is_left_alone(book, workspace):
    with book.turn():
        write_env(workspace)
    with book.turn():
        write_env(workspace, "API_KEY=zzz\n")
    plan = book.session.plan("1")
    write_env(workspace, "API_KEY=mine\n")

    with pytest.raises(RewindRefused):
        book.session.rewind(plan)
    assert workspace.read(".env") == b"API_KEY=mine\n"


def test_the_preview_names_a_secret_as_excluded(book, workspace):
    with book.turn():
        write_env(workspace)
    with book.turn():
        write_env(workspace, "API_KEY=zzz\n")
    text = to_plain(preview_page(book.session.plan("1"), book.session.timeline, str(workspace.root)))

    assert "Excluded from the store as secret, kept in this kernel's memory only: .env." in text
