from __future__ import annotations

import json
import os
import re
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from nbrewind.errors import RefusalReason, RewindError, RewindRefused, UsageError
from nbrewind.ui import preview
from nbrewind.ui.page import Page
from nbrewind.ui.payload import to_json
from nbrewind.ui.render import to_plain
from nbrewind.ui.story import error_text
from nbrewind.ui.verbs import Desk
from nbrewind.ui.words import parse
from tests.builders import TestWorkspace
from tests.outsider import Outsider
from tests.sessions import Book, attached


@pytest.fixture
def book(workspace: TestWorkspace, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Book]:
    monkeypatch.chdir(workspace.root)
    with attached(workspace, home) as found:
        yield found


def run(book: Book, line: str, **about: object) -> Page:
    return Desk(session=book.session, **about).run(parse(line))


def say(book: Book, line: str, **about: object) -> str:
    return to_plain(run(book, line, **about))


def refusal(book: Book, line: str, **about: object) -> str:
    with pytest.raises(RewindError) as caught:
        run(book, line, **about)
    return error_text(caught.value)


def three_cells(book: Book, workspace: TestWorkspace) -> None:
    with book.turn("sales = write()"):
        workspace.write({"sales.csv": "a,b\n1,2\n"})
    with book.turn("x = 1"):
        pass
    with book.turn("clean()\nmore()"):
        workspace.write({"sales.csv": "a,b\n1,3\n", "raw/1": "1", "raw/2": "2"})


def test_the_list_shows_cells_newest_first_with_what_they_changed(book, workspace):
    three_cells(book, workspace)

    lines = say(book, "").split("\n")

    assert [line.split("  ")[0] for line in lines if line.startswith("[")] == ["[3]", "[1]"]
    assert "clean() …" in lines[1]
    assert "+2 files, 1 file changed" in lines[1]
    assert "▸ 1 cell changed no file ([2])" in lines[2]
    assert "Start · before [1]" in lines[4]


def test_a_preview_changes_nothing_and_its_token_does_it(book, workspace):
    three_cells(book, workspace)

    page = run(book, "to 1")
    token = page.data["plan"]["token"]
    assert workspace.exists("raw/1")
    text = to_plain(page)
    assert text.startswith("Back to just after [1]. [1] stays; [2] and [3] are taken back.")
    assert "2 files go (2 B):" in text
    assert "sales.csv  8 B → 8 B" in text
    assert f"%rewind confirm {token} does it" in text

    done = say(book, f"confirm {token}")

    assert done.startswith("Back to just after [1]: 3 files. Nothing was thrown away.")
    assert workspace.read("sales.csv") == b"a,b\n1,2\n"
    assert not workspace.exists("raw")


def test_a_confirmation_without_a_token_takes_what_waits_and_serves_once(book, workspace):
    three_cells(book, workspace)
    run(book, "to 1")

    run(book, "confirm")

    assert refusal(book, "confirm").startswith("Nothing waits for a confirmation. Nothing changed.")


def test_a_wrong_token_and_a_dropped_preview_change_nothing(book, workspace):
    three_cells(book, workspace)
    run(book, "to 1")

    assert "Nothing changed." in refusal(book, "confirm deadbeef")
    assert say(book, "cancel") == "Dropped. Nothing changed."
    assert "Nothing waits" in refusal(book, "confirm")
    assert say(book, "cancel") == "There was nothing to drop. Nothing changed."
    assert workspace.exists("raw/1")


def test_a_preview_expires(book, workspace, monkeypatch):
    import time

    three_cells(book, workspace)
    run(book, "to 1")
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 601)

    assert refusal(book, "confirm") == "The preview has expired. Nothing changed. Preview it again."


def test_a_preview_that_is_out_of_date_names_the_file(book, workspace, outsider: Outsider):
    three_cells(book, workspace)
    run(book, "to 1")
    outsider.write(workspace.root, {"sales.csv": "by hand"})

    said = refusal(book, "confirm")

    assert said.startswith("Not rewound, nothing changed: sales.csv")
    assert workspace.read("sales.csv") == b"by hand"


def test_undo_and_redo_say_what_is_back(book, workspace):
    three_cells(book, workspace)
    run(book, "to 1 --yes")

    assert say(book, "undo").startswith("Undone, [2] and [3] are back: 3 files.")
    assert workspace.read("sales.csv") == b"a,b\n1,3\n"
    assert say(book, "redo").startswith("Forward again, [2] and [3] are taken back: 3 files.")
    assert workspace.read("sales.csv") == b"a,b\n1,2\n"


def test_undo_with_nothing_to_undo_offers_back_1(book, workspace):
    three_cells(book, workspace)

    assert refusal(book, "undo") == "There is no rewind to undo. Nothing changed. %rewind back 1 goes one turn back."


def test_undo_after_a_new_cell_names_it_and_the_way_back(book, workspace):
    three_cells(book, workspace)
    run(book, "to 1 --yes")
    with book.turn("new"):
        workspace.write({"new": "1"})

    said = refusal(book, "undo")

    assert said.startswith("Not undone, nothing changed: [4] ran after that rewind.")
    identifier = said.split("%rewind to ")[1].split(" ")[0]
    run(book, f"to {identifier} --yes")
    assert workspace.read("sales.csv") == b"a,b\n1,3\n"


def test_everything_that_stays_is_named_as_a_person_writes_it(book, workspace, outsider: Outsider):
    three_cells(book, workspace)
    outsider.write(workspace.root, {"sales.csv": "by hand", "other/eval.jsonl": "theirs"})

    text = say(book, "to 1 --yes")

    assert (
        "Conflicts, left alone:\n  sales.csv: changed by a cell that is taken back, and by someone else later" in text
    )
    assert "other/eval.jsonl: changed by someone else" in text
    assert workspace.read("other/eval.jsonl") == b"theirs"


def test_variables_that_stay_are_named(book, workspace):
    with book.turn("df = load()"):
        workspace.write({"a": "1"})
    with book.turn("df = 2; model = 3"):
        workspace.write({"a": "2"})

    text = say(book, "to 1", user_names={"df": 1, "model": 2, "other": 3})

    assert "Variables stay as they are now: df, model." in text


def test_connections_to_a_database_that_went_back_are_named(book, workspace):
    connection = sqlite3.connect(workspace.path("app.db"))
    with book.turn("create"):
        connection.execute("create table t(x)")
        connection.commit()
    with book.turn("drop"):
        connection.execute("drop table t")
        connection.commit()

    other = sqlite3.connect(":memory:")
    text = say(book, "to 1 --yes", user_names={"con": connection, "memory": other, "_con": connection})
    other.close()
    connection.close()

    assert "Still on the old database file: con." in text


def test_headless_a_rewind_without_yes_is_an_error_that_says_so(book, workspace):
    three_cells(book, workspace)

    said = refusal(book, "to 1", headless=True)

    assert said.startswith("Nothing changed: nobody can be asked here. Add --yes, or run %rewind confirm ")
    assert workspace.exists("raw/1")
    assert run(book, "to 1 --json", headless=True).data["plan"]["token"]
    run(book, f"confirm {said.split('confirm ')[1].split(' ')[0]}", headless=True)
    assert not workspace.exists("raw/1")


def test_a_rewind_cell_that_is_run_again_does_nothing_and_says_when(book, workspace):
    three_cells(book, workspace)
    run(book, "to 1 --yes", asked_by="cell-a")
    with book.turn("again"):
        workspace.write({"sales.csv": "again"})

    text = say(book, "to 1 --yes", asked_by="cell-a")

    assert text.startswith("This cell did that already at ")
    assert workspace.read("sales.csv") == b"again"
    run(book, "to 1 --yes", asked_by="cell-b")
    assert workspace.read("sales.csv") == b"a,b\n1,2\n"


def test_again_does_it_again(book, workspace):
    three_cells(book, workspace)
    run(book, "to 1 --yes", asked_by="cell-a")
    with book.turn("again"):
        workspace.write({"sales.csv": "again"})

    run(book, "to 1 --yes --again", asked_by="cell-a")

    assert workspace.read("sales.csv") == b"a,b\n1,2\n"


def test_an_undo_cell_goes_one_further_step_each_time_and_never_stops_run_all(book, workspace):
    three_cells(book, workspace)
    run(book, "to 2 --yes")
    run(book, "to 1 --yes")
    run(book, "undo", asked_by="cell-u")
    run(book, "undo", asked_by="cell-u")
    assert workspace.read("sales.csv") == b"a,b\n1,3\n"

    assert say(book, "undo", asked_by="cell-u").startswith("This cell did that already at ")


def test_restore_brings_one_file_back_and_another_beside(book, workspace):
    three_cells(book, workspace)

    assert say(book, "restore sales.csv --from 1 --as old.csv").startswith("Restored from just after [1]: old.csv.")
    assert workspace.read("old.csv") == b"a,b\n1,2\n"
    assert workspace.read("sales.csv") == b"a,b\n1,3\n"
    assert "old.csv exists already" in refusal(book, "restore sales.csv --from 1 --as old.csv")
    run(book, "restore sales.csv --from 1")
    assert workspace.read("sales.csv") == b"a,b\n1,2\n"
    assert workspace.exists("raw/1")


@pytest.mark.parametrize(
    "name", [b"*", b"[a]", b":(top)x", b"a{1}.csv", b" lead.csv", "Zürich 🎉".encode(), b"b\xff\n.txt"]
)
def test_odd_names_can_be_restored_as_they_are_shown(name, book, workspace):
    with book.turn("one"):
        workspace.write({name: "1", b"astar": "1"})
    with book.turn("two"):
        workspace.write({name: "2", b"astar": "2"})
    shown = run(book, "show 2").data["changes"]
    typed = next(to_plain(Page().say(row["path"])) for row in shown if row["path"] != "astar")

    run(book, f'restore "{typed}" --from 1')

    assert workspace.read(name) == b"1"
    assert workspace.read(b"astar") == b"2"
    json.loads(to_json(run(book, "list").data))


def test_restore_of_what_was_not_there_suggests(book, workspace):
    three_cells(book, workspace)

    assert "Did you mean raw/1?" in refusal(book, "restore 1 --from 3")
    assert "was not there just after [1]. Nothing changed." in refusal(book, "restore raw/1 --from 1")


def test_a_path_outside_without_a_cell_that_touched_it_is_refused(book, workspace, tmp_path):
    three_cells(book, workspace)
    (tmp_path / "outside").write_text("x")

    assert "Nothing changed." in refusal(book, "restore ../outside --from 1")
    assert "Nothing changed." in refusal(book, "restore /etc/passwd --from 1")


def test_looking_shows_code_output_files_and_differences(book, workspace):
    three_cells(book, workspace)

    assert "clean()\n  more()" in say(book, "show 3")
    assert "raw/1  — → 1 B" in say(book, "show 3")
    assert say(book, "cat 1 sales.csv") == "a,b\n1,2"
    assert run(book, "cat 1 sales.csv").raw == b"a,b\n1,2\n"
    assert "sales.csv  8 B → 8 B" in say(book, "diff 1")
    assert "row 0: b 2 → 3" in say(book, "diff 1 sales.csv")
    assert say(book, "diff 3") == "Every file is now as it was just after [3]."
    history = say(book, "history sales.csv").split("\n")
    assert [line[:3] for line in history[1:]] == ["[3]", "[1]"]
    assert say(book, "history nothing.csv") == "No cell on record changed nothing.csv."


def test_a_cell_that_was_taken_back_can_still_be_looked_at(book, workspace):
    three_cells(book, workspace)
    run(book, "to 1 --yes")

    assert "clean()" in say(book, "show 3")
    assert say(book, "cat 3 sales.csv") == "a,b\n1,3"
    assert "[3] was taken back" in refusal(book, "to 3")
    run(book, "restore raw/1 --from 3")
    assert workspace.read("raw/1") == b"1"


def test_binary_is_not_poured_into_the_notebook(book, workspace):
    with book.turn("one"):
        workspace.write({"a.bin": b"\0\xff"})

    assert "2 B of binary data" in say(book, "cat 1 a.bin")


def test_a_name_is_kept_beside_its_cell_and_is_a_target(book, workspace):
    three_cells(book, workspace)

    assert (
        say(book, 'name "the right state"') == 'Named "the right state" (just after [3]). This point is kept for ever.'
    )
    assert "★the right state" in say(book, "")
    with book.turn("bad"):
        workspace.write({"sales.csv": "bad"})
    assert say(book, 'to "the right state" --yes').startswith('Back to "the right state" (just after [3]): 1 file.')


def test_errors_suggest_and_change_nothing(book, workspace):
    three_cells(book, workspace)
    before = workspace.tree()

    assert refusal(book, "to 12") == "No cell [12]; the newest is [3]. Nothing changed."
    assert "Nothing changed." in refusal(book, "to nowhere")
    assert "Nothing changed." in refusal(book, "cat 1 nothing")
    assert workspace.tree() == before


def test_what_is_not_there_yet_says_so(book):
    for line in ("forget all", "purge x", "clear"):
        assert refusal(book, line).endswith("Nothing changed."), line


def test_going_where_one_is_says_that_there_is_nothing_to_do(book, workspace):
    three_cells(book, workspace)
    head = book.head()

    text = say(book, "to 3 --yes")

    assert "There is nothing to change: everything is as it was then." in text
    assert book.head() == head


def test_many_files_of_others_need_force(book, workspace, outsider: Outsider):
    three_cells(book, workspace)
    outsider.write(workspace.root, {f"theirs/{number}": "x" for number in range(50)})

    with pytest.raises(RewindRefused) as caught:
        run(book, "to 1 --everything --yes")
    assert caught.value.reason is RefusalReason.NEEDS_FORCE
    assert workspace.exists("theirs/1")
    run(book, "to 1 --everything --yes --force")
    assert not workspace.exists("theirs/1")


def test_status_pause_and_on(book, workspace):
    three_cells(book, workspace)

    assert str(workspace.root) in say(book, "status")
    assert "Paused" in say(book, "pause")
    assert "paused" in say(book, "status")
    with book.turn("unseen"):
        workspace.write({"unseen": "1"})
    assert say(book, "on") == "Recording again."
    data = run(book, "status").data["status"]
    assert data["workspace"] == str(workspace.root)
    json.loads(to_json(data))


def test_verify_and_gc_report(book, workspace):
    three_cells(book, workspace)

    assert "all is well" in say(book, "verify")
    assert re.fullmatch(
        r"The store is packed: \d+ objects before, \d+ now; (.+ freed|nothing to free)\.", say(book, "gc")
    )
    assert run(book, "gc").data["gc"]["freed"] == 0


def test_verify_names_what_is_damaged_and_ends_with_a_status(book, workspace):
    three_cells(book, workspace)
    run(book, "list")
    packs = sorted(Path(book.session.status().store, "shadow/objects/pack").glob("*.pack"), key=os.path.getsize)
    os.chmod(packs[-1], 0o600)
    with open(packs[-1], "r+b") as file:
        file.seek(-30, os.SEEK_END)
        file.write(b"\x55" * 8)

    page = run(book, "verify")

    assert page.exit_status == 6
    assert page.data["damaged"]


def test_help_lists_every_verb(book):
    text = say(book, "help all")

    for verb in ("to N", "restore PATH", "verify", "forget"):
        assert f"%rewind {verb}" in text
    assert "--everything" in say(book, "help to")
    with pytest.raises(UsageError):
        run(book, "help zzz")


@pytest.mark.parametrize("line", ["list", "to 1", "show 1", "cat 1 sales.csv", "diff 1", "history sales.csv", "status"])
def test_every_look_has_json(line, book, workspace):
    three_cells(book, workspace)

    data = run(book, f"{line} --json").data

    assert json.loads(to_json(data)) == json.loads(json.dumps(data, default=str))
    assert data


def test_every_move_offers_the_way_back(book, workspace):
    three_cells(book, workspace)

    assert say(book, "to 1 --yes").split("\n")[0].endswith("%rewind undo takes this back.")
    assert say(book, "undo").split("\n")[0].endswith("%rewind redo goes forward again.")
    assert say(book, "redo").split("\n")[0].endswith("%rewind undo takes this back.")


def test_b55_a_preview_says_how_old_a_point_is_that_may_be_forgotten(book, workspace, monkeypatch):
    three_cells(book, workspace)
    assert "days old" not in say(book, "to 1")

    monkeypatch.setattr(preview, "time", SimpleNamespace(time=lambda: time.time() + 8 * 86_400))

    assert "This point is 8 days old." in say(book, "to 1")
