"""The board: rows in order, each made once, and after a turn only what is new."""

import json
from contextlib import contextmanager
from pathlib import Path

import pytest

from nbrewind.model import OperationKind, TurnStatus
from nbrewind.session.turns import TurnEnd, TurnStart
from nbrewind.ui.board.view import BoardMaker
from tests.front_end import conforms, protocol
from tests.sessions import attached


@pytest.fixture
def book(workspace, home):
    with attached(workspace, home) as book:
        yield book


@pytest.fixture
def put(workspace):
    return lambda name, text="x": Path(workspace.path(name)).write_text(text)


@contextmanager
def cell(book, code, cell_id, *, outputs="[]", status=TurnStatus.OK, error=""):
    book.count += 1
    book.session.begin_turn(TurnStart(code=code, number=book.count, cell_id=cell_id))
    yield
    book.session.end_turn(TurnEnd(outputs=outputs, status=status, error=error))


def kinds(board):
    return [(row.data["kind"], row.data["number"]) for row in board.rows]


def test_a_fresh_session_has_its_start_alone(book):
    board = BoardMaker(book.session).board()

    assert kinds(board) == [("start", None)]
    assert board.rows[0].data["code"] == "Start" and board.rows[0].data["is_now"]


def test_rows_are_newest_first_and_cells_that_changed_nothing_fold(book, put):
    maker = BoardMaker(book.session)
    for number in range(4):
        with book.turn(f"cell {number}"):
            if number in (0, 3):
                put(f"file-{number}")

    board = maker.board()

    assert kinds(board) == [("turn", 4), ("folded", None), ("turn", 1), ("start", None)]
    folded = board.rows[1].data
    assert folded["code"] == "[2] and [3] changed nothing" and [row["number"] for row in folded["rows"]] == [3, 2]
    assert board.rows[-1].data["code"] == "Start · before [1]"
    conforms(board.data(), protocol()["$defs"]["Board"])


def test_the_newest_cell_stays_unfolded_until_another_one_ran(book):
    maker = BoardMaker(book.session)
    with book.turn("1"):
        pass
    assert kinds(maker.board())[0] == ("turn", 1)
    with book.turn("2"):
        pass

    assert kinds(maker.board())[:2] == [("turn", 2), ("folded", None)]


def test_cells_taken_back_are_one_row_that_brings_them_back(book, put):
    maker = BoardMaker(book.session)
    for number in range(3):
        with book.turn(f"cell {number}"):
            put(f"file-{number}")
    away = book.head()
    book.to(1)
    book.count = 1
    with book.turn("another"):
        put("another")

    board = maker.board()

    assert kinds(board) == [("turn", 2), ("move", None), ("left", None), ("turn", 1), ("start", None)]
    left = board.rows[2].data
    assert (left["code"], left["target"]) == (
        "2 cells taken back ([2] and [3])",
        away,
    )
    assert [row["number"] for row in left["rows"]] == [3, 2]


def test_a_difference_holds_what_is_new_and_the_number_of_rows_that_stay(book, put):
    maker = BoardMaker(book.session)
    for number in range(20):
        with book.turn(f"cell {number}"):
            put(f"file-{number}")
    before = maker.board()
    with book.turn("one more"):
        put("one-more")

    after = maker.board()
    told = after.data(before)

    assert told["base"] == before.revision and len(told["rows"]) == 2 and told["keep"] == len(before.rows) - 1
    rows = [*told["rows"], *[row.data for row in before.rows[-told["keep"] :]]]
    assert rows == [row.data for row in after.rows]
    assert all(new is old for new, old in zip(after.rows[2:], before.rows[1:], strict=True))
    assert len(json.dumps(told)) < 4000


def test_the_revision_is_that_of_what_is_shown(book, put):
    maker = BoardMaker(book.session)
    with book.turn("1"):
        put("a")
    first = maker.board()

    assert maker.board().revision == first.revision == BoardMaker(book.session).board().revision
    book.session.name("here")
    assert maker.board().revision != first.revision
    assert maker.board().rows[0].data["names"] == ["here"]


def test_a_board_of_a_difference_with_nothing_in_common_is_whole(book):
    board = BoardMaker(book.session).board()

    told = board.data(None)

    assert told["base"] is None and told["keep"] == 0 and len(told["rows"]) == 1


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "\x1b[31mred", "a\udcffb", "x" * 5000])
def test_texts_are_printable_and_short_whatever_cells_and_files_are_called(book, put, workspace, text):
    name = text.replace("/", "_")[:60]
    with cell(book, text, "c"):
        Path(workspace.path(name)).write_text("x")

    row = BoardMaker(book.session).board().rows[0].data

    shown = "".join((row["code"], row["what"], *row["files"], row["full"].replace("\n", "")))
    assert shown.isprintable() and len(row["full"]) <= 2000 and len(row["code"]) <= 60
    json.dumps(row).encode("ascii")


def test_the_open_turn_is_no_row_and_the_board_says_which_cell_runs(book):
    maker = BoardMaker(book.session)
    book.session.begin_turn(TurnStart(code="slow", number=7))
    try:
        board = maker.board()
    finally:
        book.session.end_turn(TurnEnd())

    assert kinds(board) == [("start", None)]
    assert (board.head["busy"]["number"], board.head["busy"]["text"]) == (7, "[7] is running")


def test_undo_and_redo_say_what_they_do(book, put):
    maker = BoardMaker(book.session)
    for number in range(2):
        with book.turn(f"cell {number}"):
            put("a", str(number))
    assert maker.board().head["undo"] is None
    book.to(1)
    assert maker.board().head["undo"] == {"text": "Undo going back to just after [1]"}
    book.session.undo()

    assert maker.board().head["redo"] == {"text": "Go back to just after [1] again"}


def test_paused_frozen_and_unprotected_sessions_say_so(book):
    maker = BoardMaker(book.session)
    book.session.pause()
    assert maker.board().head["state"] == "paused"
    book.session.resume()
    book.session._degrade("disk full", 12)
    head = maker.board().head
    assert head["state_text"] == "Not protected since [12]: disk full." and head["status"]["tone"] == "problem"
    assert head["offers"][0]["kind"] == "free-space"


def test_a_move_is_pending_until_the_document_agrees(book, put):
    maker = BoardMaker(book.session)
    shown = json.dumps([{"output_type": "stream", "name": "stdout", "text": "hello\n"}])
    with cell(book, "a", "cell-a", outputs=shown):
        put("a", "1")
    with cell(book, "b", "cell-b", outputs=shown):
        put("a", "2")
    book.to(1)

    board = maker.board()
    patch = book.session.document_patch()

    assert board.rows[0].data["mark"] == {"text": "notebook pending", "tone": "warning"}
    assert board.head["pending"] == patch.id
    assert [(found.id, found.number, found.outputs) for found in patch.cells] == [("cell-b", None, ())]
    assert book.session.acknowledge(patch.id) is None
    assert maker.board().head["pending"] is None and maker.board().rows[0].data["mark"] is None


def test_a_move_that_failed_leaves_nothing_pending(book, put, monkeypatch):
    with cell(book, "a", "cell-a"):
        put("a", "1")
    with cell(book, "b", "cell-b"):
        put("a", "2")
    plan = book.session.plan("1")

    def full(*arguments, **keywords):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("nbrewind.resources.archive.Archive.finish", full)
    with pytest.raises(Exception):  # noqa: B017  whichever way it is refused
        book.session.rewind(plan)

    assert book.session.pending_document is None and book.session._document.moves == ()


def test_moves_without_outputs_do_not_concern_the_document(book, put):
    with cell(book, "a", "cell-a"):
        put("a", "1")
    with cell(book, "b", "cell-b"):
        put("a", "2")
    book.to(1, only=("files", "variables"))

    assert book.session.document_patch() is None


def test_a_cell_that_ran_again_after_the_move_shows_that_run(book, put):
    for number, name in ((1, "cell-a"), (2, "cell-b")):
        shown = json.dumps([{"output_type": "stream", "name": "stdout", "text": f"{number}\n"}])
        with cell(book, name, name, outputs=shown):
            put("a", str(number))
    book.to(1)
    book.count = 1
    shown = json.dumps([{"output_type": "stream", "name": "stdout", "text": "again\n"}])
    with cell(book, "cell-b", "cell-b", outputs=shown):
        put("a", "3")
    book.session.settle()

    patch = book.session.document_patch()

    assert patch.id == next(found.id for found in book.session.operations if found.kind is OperationKind.REWIND)
    assert [(found.id, found.number, found.outputs[0]["text"]) for found in patch.cells] == [("cell-b", 2, "again\n")]
