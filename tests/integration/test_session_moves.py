"""A session without IPython: what plans see, what is refused, and what is never lost."""

import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import time

import pytest

from nbrewind.errors import RewindRefused, SessionLocked, TargetError, UsageError
from nbrewind.model import Claim, OperationKind, PlanOptions
from nbrewind.session.defaults import Surroundings, make_settings
from nbrewind.session.session import Line, Session, TurnEnd, TurnStart


@pytest.fixture
def settings(workspace, home):
    return make_settings(Surroundings({}, str(home), str(workspace.root), (str(home / "tmp"),)))


@pytest.fixture
def session(settings, workspace):
    workspace.write({"a.txt": "0", "d/b.txt": "b"})
    session = Session.attach(settings)
    yield session
    session.close()


def put(workspace, name, text):
    with open(workspace.path(name), "w") as file:
        file.write(text)


def by_somebody_else(workspace, name, text):
    subprocess.run(["sh", "-c", f"printf %s '{text}' > '{workspace.path(name)}'"], check=True)


def outsider(session, workspace, name, text):
    """Write from another process while this session is not looking: its own children would be claimed."""
    session.pause()
    by_somebody_else(workspace, name, text)
    session.resume()


def test_turn_rewind_undo_redo(session, workspace):
    start = workspace.tree()
    with session.turn("change"):
        put(workspace, "a.txt", "1")
        os.remove(workspace.path("d/b.txt"))
        os.mkdir(workspace.path("e"))
    end = workspace.tree()

    result = session.rewind(session.plan("start"))
    assert workspace.tree() == start and result.operation.kind is OperationKind.REWIND
    session.undo()
    assert workspace.tree() == end
    session.redo()
    assert workspace.tree() == start
    assert session.verify() == ()


def test_every_checkpoint_says_what_stands_after_it(session, workspace):
    with session.turn("a"):
        put(workspace, "a.txt", "1")
        os.mkdir(workspace.path("empty"))
    session.rewind(session.plan("start"))
    session.settle()
    session.undo()
    session.settle()

    assert [operation.kind.value for operation in session.operations] == ["attach", "turn", "rewind", "undo"]
    for operation in session.operations:
        tree = dict(session.tree(operation).walk())
        assert ("empty" in tree) is (operation.kind.value in ("turn", "undo"))


def test_other_peoples_changes_stay_and_are_listed(session, workspace):
    with session.turn("mine"):
        put(workspace, "a.txt", "1")
    outsider(session, workspace, "theirs.txt", "x")

    plan = session.plan("start")

    assert [step.path for step in plan.steps] == ["a.txt"]
    assert [note.subject for note in plan.kept] == ["theirs.txt"]
    session.rewind(plan)
    assert workspace.read("theirs.txt") == b"x"


def test_file_changed_by_a_turn_and_later_by_someone_else_is_a_conflict(session, workspace):
    with session.turn("mine"):
        put(workspace, "a.txt", "1")
    outsider(session, workspace, "a.txt", "theirs")

    plan = session.plan("start")

    assert plan.steps == () and [note.subject for note in plan.conflicts] == ["a.txt"]
    session.rewind(session.plan("start", PlanOptions(overwrite=True)))
    assert workspace.read("a.txt") == b"0"
    session.undo()
    assert workspace.read("a.txt") == b"theirs"


def test_save_between_cell_end_and_capture_is_a_conflict(session, workspace):
    waiting = []
    session.scheduler = lambda job: not waiting.append(job)
    with session.turn("mine"):
        put(workspace, "a.txt", "1")
    time.sleep(0.03)
    by_somebody_else(workspace, "a.txt", "saved by hand")

    plan = session.plan("start")

    assert [note.subject for note in plan.conflicts] == ["a.txt"] and waiting
    assert {change.claim for change in session.operations[-1].changes} == {Claim.EXTERNAL}


def test_plan_is_refused_when_its_files_changed_after_the_preview(session, workspace):
    with session.turn("mine"):
        put(workspace, "a.txt", "1")
    plan = session.plan("start")
    outsider(session, workspace, "a.txt", "later")

    with pytest.raises(RewindRefused) as refused:
        session.rewind(plan)

    assert refused.value.reason.value == "stale-plan" and "a.txt" in refused.value.message
    assert workspace.read("a.txt") == b"later"


def test_plan_survives_a_save_that_it_does_not_touch(session, workspace):
    with session.turn("mine"):
        put(workspace, "a.txt", "1")
    plan = session.plan("start")
    outsider(session, workspace, "notes.ipynb", "autosaved")

    session.rewind(plan)

    assert workspace.read("a.txt") == b"0" and workspace.read("notes.ipynb") == b"autosaved"


def test_parked_plan_serves_once_and_expires(session, workspace):
    with session.turn("mine"):
        put(workspace, "a.txt", "1")
    parked = session.park(session.plan("start"), "start")
    assert session.parked(parked.token) == parked and session.status().parked == (parked.token,)
    with pytest.raises(RewindRefused, match="not the preview"):
        session.parked("00000000")

    session.rewind(session.parked().plan)

    with pytest.raises(RewindRefused, match="Nothing waits"):
        session.parked()
    session._parked = dataclasses.replace(parked, expires=time.time() - 1)
    with pytest.raises(RewindRefused) as refused:
        session.parked(parked.token)
    assert refused.value.reason.value == "expired"


def test_moves_are_refused_while_a_turn_is_open(session):
    with session.turn("open"):
        for verb in (lambda: session.plan("start"), session.undo, lambda: session.name("here")):
            with pytest.raises(RewindRefused) as refused:
                verb()
            assert refused.value.reason.value == "busy"
        with pytest.raises(RewindRefused):
            session.turn("inner").__enter__()


def test_undo_is_refused_after_a_new_turn_and_the_old_line_can_be_brought_back(session, workspace):
    with session.turn("one"):
        put(workspace, "a.txt", "1")
    result = session.rewind(session.plan("start"))
    with session.turn("two"):
        put(workspace, "c.txt", "2")

    with pytest.raises(RewindRefused) as refused:
        session.plan_undo()
    assert refused.value.reason.value == "new-turns"

    session.rewind(session.plan(result.operation.previous))
    assert workspace.read("a.txt") == b"1" and not workspace.exists("c.txt")


def test_edits_made_after_a_rewind_survive_its_undo(session, workspace):
    with session.turn("one"):
        put(workspace, "a.txt", "1")
        put(workspace, "c.txt", "1")
    session.rewind(session.plan("start"))
    outsider(session, workspace, "a.txt", "edited")

    session.undo()

    assert workspace.read("a.txt") == b"edited" and workspace.read("c.txt") == b"1"


def test_restore_in_place_and_beside(session, workspace):
    with session.turn("one"):
        put(workspace, "a.txt", "1")
        os.remove(workspace.path("d/b.txt"))

    session.restore(["a.txt"], "start", destination="a_old.txt")
    assert workspace.read("a_old.txt") == b"0" and workspace.read("a.txt") == b"1"
    session.restore([workspace.path("d/b.txt")], "start")
    assert workspace.read("d/b.txt") == b"b"
    session.undo()
    assert not workspace.exists("d/b.txt") and workspace.exists("a_old.txt")
    with pytest.raises(TargetError, match=r"nothing\.txt was not there"):
        session.restore(["nothing.txt"], "start")


def test_cat_diff_and_history(session, workspace):
    with session.turn("one"):
        put(workspace, "a.txt", "1")

    assert b"".join(session.cat("start", "a.txt")) == b"0"
    assert [(row.path, row.then.size) for row in session.diff("start")] == [("a.txt", 1)]
    assert session.diff("start", "d") == ()
    assert [row.point.code for row in session.history("a.txt")] == ["one"]
    assert session.bytes_now("a.txt") == b"1"
    with pytest.raises(TargetError, match="was not there"):
        session.cat("start", "zzz")


def test_names_are_kept_and_checked(session, workspace):
    session.name("  clean \n state ")
    with session.turn("one"):
        put(workspace, "a.txt", "1")

    session.rewind(session.plan('"clean state"'))

    assert workspace.read("a.txt") == b"0"
    with pytest.raises(UsageError):
        session.name("  ")


def test_points_know_their_line(session, workspace):
    with session.turn("one"):
        put(workspace, "a.txt", "1")
    move = session.rewind(session.plan("start")).operation

    rows = {point.code or point.kind.value: point for point in session.points()}

    assert rows["one"].line is Line.TAKEN_BACK and rows["one"].taken_back_by == move.id and rows["one"].changed == 1
    assert rows["rewind"].is_head and rows["attach"].line is Line.PRESENT


def test_callbacks_hear_of_moves_and_cannot_break_them(session, workspace):
    heard = []

    def broken(result):
        raise ValueError("mine")

    session.on_rewound(broken)
    end = session.on_rewound(heard.append)
    with session.turn("one"):
        put(workspace, "a.txt", "1")

    session.rewind(session.plan("start"))
    end()
    session.undo()

    assert [result.operation.kind.value for result in heard] == ["rewind"]


def test_each_rewind_leaves_a_readable_list(session, workspace):
    with session.turn("spoil = 1"):
        put(workspace, "a.txt", "1")
    session.rewind(session.plan("start"))

    (path,) = pathlib.Path(session._parts.paths.archive).iterdir()
    rows = [json.loads(line) for line in path.read_text().splitlines()]

    assert [row["row"] for row in rows] == ["move", "taken-back", "file"]
    assert rows[1]["code"] == "spoil = 1" and rows[2]["path"] == "a.txt"


def test_held_session_is_locked_and_a_free_one_is_taken_up(settings, session, workspace):
    with session.turn("one"):
        put(workspace, "a.txt", "1")
    with pytest.raises(SessionLocked):
        Session.open(settings, session.id, readonly=False)
    looking = Session.open(settings)
    assert [point.code for point in looking.points()] == ["", "one"] and looking.readonly
    session.close()

    with_disk = Session.open(settings, readonly=False)
    with_disk.rewind(with_disk.plan("start"))
    with_disk.close()

    assert workspace.read("a.txt") == b"0"
    again = Session.attach(settings)
    assert again.id == session.id
    assert [operation.kind.value for operation in again.operations] == ["attach", "turn", "rewind", "attach"]
    again.close()


def test_session_of_another_notebook_is_not_taken_up(settings, workspace):
    first = Session.attach(settings, notebook=workspace.path("one.ipynb"))
    first.close()

    second = Session.attach(settings, notebook=workspace.path("two.ipynb"))
    again = Session.attach(settings, notebook=workspace.path("one.ipynb"))

    assert second.id != first.id and again.id == first.id
    second.close()
    again.close()


def test_changes_between_kernels_are_somebody_elses(settings, session, workspace):
    session.close()
    by_somebody_else(workspace, "a.txt", "edited")

    again = Session.attach(settings)

    kinds = [(operation.kind.value, [change.path for change in operation.changes]) for operation in again.operations]
    assert kinds == [("attach", []), ("external", ["a.txt"]), ("attach", [])]
    assert again.operations[1].changes[0].claim is Claim.EXTERNAL
    again.close()


def test_large_manifests_and_texts_are_objects(session, workspace):
    code = "# " + "x" * 10_000
    with session.turn(code):
        for number in range(100):
            put(workspace, f"f{number}", "x")

    operation = session.operations[-1]

    assert operation.changes == () and operation.change_count == 100 and len(session.changes_of(operation)) == 100
    assert session.code_of(operation) == code and len(operation.turn.code) < 5000
    session.gc()
    assert session.verify() == () and session.code_of(operation) == code
    session.rewind(session.plan("start"))
    assert not workspace.exists("f0")


def test_turn_without_effect_makes_no_commit(session):
    with session.turn("nothing"):
        pass

    first, second = session.operations[-2:]
    assert second.kind is OperationKind.TURN and second.checkpoint.files == first.checkpoint.files


def test_values_of_touched_secrets_are_not_stored(session, workspace, settings):
    workspace.write({".env": "TOKEN=oldsecret123\n"})
    code = "open('.env').write('TOKEN=newsecret456')  # was oldsecret123"
    with session.turn(code):
        put(workspace, ".env", "TOKEN=newsecret456\n")
    session.close()

    stored = b"".join(
        path.read_bytes()
        for path in pathlib.Path(settings.store_dir).rglob("*")
        if path.is_file() and "pack" not in path.name
    )
    looking = Session.open(settings)
    turn = next(operation.turn for operation in looking.operations if operation.turn)
    assert "secret4" not in turn.code and "oldsecret" not in turn.code and "[secret]" in turn.code
    assert b"newsecret456" not in stored and b"oldsecret123" not in stored


def test_full_disk_degrades_and_says_since_when(session, workspace, monkeypatch):
    monkeypatch.setattr(session, "settings", dataclasses.replace(session.settings, min_free_disk=0.99999))
    session.begin_turn(TurnStart(code="a", number=7))
    put(workspace, "a.txt", "1")
    session.end_turn(TurnEnd())
    status = session.status()
    assert (
        status.state == "not protected"
        and status.not_protected.subject == "[7]"
        and "full" in status.not_protected.reason
    )

    session.begin_turn(TurnStart(code="b", number=8))
    session.end_turn(TurnEnd())
    monkeypatch.undo()
    session.settle()

    assert session.status().not_protected is None
    assert [(op.turn.number, op.turn.verdict.value) for op in session.operations if op.turn] == [
        (7, "partial"),
        (8, "partial"),
    ]


def test_store_in_the_workspace_is_not_captured(workspace, home):
    workspace.write({"a.txt": "0"})
    settings = make_settings(Surroundings({}, str(home), str(workspace.root), ("/tmp",)), store_dir="workspace")
    session = Session.attach(settings)
    with session.turn("one"):
        put(workspace, "a.txt", "1")

    assert list(dict(session.tree(session.operations[-1]).walk())) == ["a.txt"]
    session.rewind(session.plan("start"))
    assert workspace.read("a.txt") == b"0"
    session.close()


def test_deleting_many_files_that_no_cell_made_needs_force(session, workspace):
    session.pause()
    workspace.write({f"f{number}": "x" for number in range(60)})
    session.resume()
    with session.turn("touch"):
        put(workspace, "a.txt", "1")

    plan = session.plan(session.operations[0].id, PlanOptions(everything=True))

    with pytest.raises(RewindRefused) as refused:
        session.rewind(plan)
    assert refused.value.reason.value == "needs-force" and workspace.exists("f0")


def test_only_every_nth_cell_is_a_point(workspace, settings):
    session = Session.attach(dataclasses.replace(settings, every_n_turns=2))
    for number in range(1, 5):
        session.begin_turn(TurnStart(code=str(number), number=number))
        put(workspace, "n", str(number))
        session.end_turn(TurnEnd())

    assert [op.turn.number for op in session.operations if op.turn] == [2, 4]
    session.rewind(session.plan("2"))
    assert workspace.read("n") == b"2"
    session.close()


def test_with_named_turns_only_what_is_asked_for_is_a_point(workspace, settings):
    session = Session.attach(dataclasses.replace(settings, turns="named"))
    session.begin_turn(TurnStart(code="cell", number=1))
    put(workspace, "n", "1")
    session.end_turn(TurnEnd())
    session.name("here")
    with session.turn("asked for"):
        put(workspace, "n", "2")

    assert [op.kind.value for op in session.operations] == ["attach", "external", "name", "turn"]
    session.rewind(session.plan('"here"'))
    assert workspace.read("n") == b"1"
    session.close()


def test_without_git_anchor_points_hold_no_files(workspace, settings):
    session = Session.attach(dataclasses.replace(settings, git_anchor=False))
    with session.turn("one"):
        put(workspace, "n", "1")

    assert all(op.checkpoint.files is None for op in session.operations)
    with pytest.raises(RewindRefused) as refused:
        session.plan("start")
    assert refused.value.reason.value == "no-file-snapshot"
    session.rewind(session.plan("start", PlanOptions(only=("outputs",))))
    assert workspace.read("n") == b"1"
    session.close()


def test_a_pipe_that_a_cell_made_is_left_alone_and_the_preview_says_so(session, workspace):
    with session.turn("one"):
        workspace.write({"a": "1"})
    with session.turn("two"):
        os.mkfifo(workspace.path("pipe"))
    session.settle()
    first = next(point for point in session.points() if point.code == "one")

    plan = session.plan(first.id)

    assert [note.subject for note in plan.kept] == ["pipe"]
    assert "pipe" in plan.kept[0].reason
    assert ("pipe", "a pipe is left alone") in [(note.subject, note.reason) for note in session.status().not_covered]


def after_the_cell(session, workspace, act):
    """A cell writes `a`; before its capture *act* happens to the file from outside. Return its claims, in order."""
    session.scheduler = lambda job: True
    with session.turn("one"):
        workspace.write({"a": "1"})
    session.settle()
    with session.turn("two"), open(workspace.path("a"), "w") as file:
        file.write("2")
    time.sleep(0.02)
    act(workspace.path("a"))
    session.settle()
    rows = [change for operation in session.operations for change in session.changes_of(operation)]
    return [change.claim for change in rows if change.path == "a"][1:]


def by_another_process(command):
    return lambda path: subprocess.run(command.replace("PATH", path), shell=True, capture_output=True, check=False)


@pytest.mark.parametrize("command", ["chmod 600 PATH", "chattr +A PATH"])
def test_what_is_no_change_of_content_after_the_end_makes_no_conflict(session, workspace, command):
    assert after_the_cell(session, workspace, by_another_process(command)) == [Claim.OURS]


OLD_FILE = "echo old > PATH.new && touch -d 2001-01-01 PATH.new && mv PATH.new PATH"


@pytest.mark.parametrize("command", [OLD_FILE, "rm PATH", "echo x >> PATH"])
def test_what_others_do_after_the_end_is_theirs(session, workspace, command):
    assert after_the_cell(session, workspace, by_another_process(command)) == [Claim.OURS, Claim.EXTERNAL]


def test_a_folder_made_again_after_a_rewind_removed_it_is_in_the_next_point(session, workspace):
    with session.turn("one"):
        workspace.write({"made/one": "1"})
    session.rewind(session.plan("-1"))
    assert not workspace.exists("made")
    with session.turn("two"):
        workspace.write({"made/two": "2"})
    session.settle()

    tree = session.tree(session.operations[-1])
    assert [path for path, _ in tree.walk() if path.startswith("made")] == ["made", "made/two"]
    session.rewind(session.plan("-1"))
    assert not workspace.exists("made")


def test_folders_get_the_times_that_they_had_and_trees_stay_alike(session, workspace):
    workspace.write({"d/kept": "x", "d/gone": "x", "e/all": "x"})
    old = {name: 1_600_000_000_000_000_000 + place for place, name in enumerate(("d", "e", ""))}
    for name, time_ns in old.items():
        os.utime(workspace.path(name), ns=(time_ns, time_ns))
    session.settle()
    then = session.operations[-1]
    with session.turn("change"):
        os.unlink(workspace.path("d/gone"))
        put(workspace, "new", "x")
        shutil.rmtree(workspace.path("e"))
    new = {name: os.stat(workspace.path(name)).st_mtime_ns for name in ("d", "")}

    session.rewind(session.plan(then.id))

    assert {name: os.stat(workspace.path(name)).st_mtime_ns for name in old} == old
    assert session.operations[-1].checkpoint.files.tree == then.checkpoint.files.tree
    session.undo()
    assert {name: os.stat(workspace.path(name)).st_mtime_ns for name in new} == new


def test_a_folder_with_a_name_that_is_new_keeps_its_new_time(session, workspace):
    put(workspace, "d/x", "x")
    os.utime(workspace.path("d"), ns=(10**18, 10**18))
    session.settle()
    with session.turn("change"):
        os.unlink(workspace.path("d/x"))
    outsider(session, workspace, "d/mine", "x")

    session.rewind(session.plan("start"))

    assert workspace.exists("d/x") and workspace.exists("d/mine")
    assert os.stat(workspace.path("d")).st_mtime_ns != 10**18
