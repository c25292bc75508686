"""How a session begins in a process: the first copy, what a death left, focus, and files outside the workspace."""

import dataclasses
import os
import pathlib
import signal
import time

import pytest

from nbrewind.model import Claim
from nbrewind.session.defaults import Surroundings, choose_workspace, make_settings
from nbrewind.session.session import Session, TurnEnd, TurnStart
from tests.builders import wait_until


@pytest.fixture
def settings(workspace, home):
    return make_settings(Surroundings({}, str(home), str(workspace.root), ("/tmp",)))


def put(path, text):
    with open(path, "w") as file:
        file.write(text)


def in_child(act):
    """Run *act* in a fork that ends by SIGKILL, unless it returns first."""
    pid = os.fork()
    if pid == 0:
        try:
            act()
        finally:
            os._exit(9)
    return os.waitpid(pid, 0)[1]


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def test_first_copy_goes_on_in_the_background_and_ends(workspace, settings):
    workspace.write({f"d/{number}": os.urandom(400_000) for number in range(60)})

    session = Session.attach(settings)

    assert wait_until(lambda: session.status().state == "saved", timeout=30), session.status().state
    assert session.operations[0].kind.value == "attach"
    states = [state for _, state in session.tree(session.operations[0]).walk() if state.kind.value == "file"]
    assert len(states) == 60 and all(state.object for state in states)
    assert session.status().first_copy == 1.0
    session.close()


def test_first_cell_waits_only_so_long_and_its_files_come_back_all_the_same(workspace, settings):
    content = os.urandom(40_000_000)
    workspace.write({"big.bin": content, "small.txt": "s"})
    quick = dataclasses.replace(settings, first_copy_wait=0.05)
    session = Session.attach(quick)

    started = time.monotonic()
    session.begin_turn(TurnStart(code="x", number=1))
    waited = time.monotonic() - started
    put(workspace.path("big.bin"), "gone")
    session.end_turn(TurnEnd())

    assert waited < 3
    session.rewind(session.plan("start"))
    assert workspace.read("big.bin") == content
    session.close()


def test_what_is_beyond_the_budget_of_the_first_copy_is_named_and_copied_before_its_first_write(workspace, settings):
    workspace.write({"a": "small", "big": "x" * 5000, "huge": "y" * 9000})
    session = Session.attach(dataclasses.replace(settings, first_copy=10_000))

    named = {note.subject for note in session.status().not_covered}
    assert named == {"huge"}
    with session.turn("write"):
        put(workspace.path("huge"), "new")
    session.rewind(session.plan("start"))
    assert workspace.read("huge") == b"y" * 9000
    session.close()


def test_turn_that_a_death_left_open_is_taken_up(workspace, settings):
    workspace.write({"a.txt": "0"})

    def child():
        session = Session.attach(settings)
        with session.turn("whole"):
            put(workspace.path("a.txt"), "1")
        session.begin_turn(TurnStart(code="half", number=4))
        put(workspace.path("a.txt"), "2")
        put(workspace.path("b.txt"), "new")
        die()

    assert in_child(child) == signal.SIGKILL
    session = Session.attach(settings)

    turns = [operation.turn for operation in session.operations if operation.turn]
    assert [(turn.code, turn.status.value) for turn in turns] == [("whole", "ok"), ("half", "interrupted")]
    assert [note.subject for note in session.status().recovered] == ["[4]"]
    session.rewind(session.plan(session.timeline.turns[0].id))
    assert workspace.read("a.txt") == b"1" and not workspace.exists("b.txt")
    assert [name for name in os.listdir(session._parts.paths.root) if name.startswith("turn")] == []
    # Where the first cell's file was read long enough after its write, there was nothing to copy.
    images = session._parts.paths.images
    assert not os.path.exists(images) or os.listdir(images) == []
    session.close()


def test_death_between_log_and_journal_makes_no_second_turn(workspace, settings, monkeypatch):
    def child():
        session = Session.attach(settings)
        session._parts.recorder.saved = lambda record: die() if record.header.code else None
        with session.turn("once"):
            put(workspace.path("a.txt"), "1")

    assert in_child(child) == signal.SIGKILL
    session = Session.attach(settings)

    assert [operation.kind.value for operation in session.operations] == ["attach", "turn", "attach"]
    session.close()


def test_what_a_callback_did_between_turns_before_a_death_is_ours(workspace, settings):
    workspace.write({"a.txt": "0"})

    def child():
        Session.attach(settings)
        put(workspace.path("a.txt"), "1")
        die()

    assert in_child(child) == signal.SIGKILL
    session = Session.attach(settings)

    assert [(row.path, row.claim) for row in session.operations[1].changes] == [("a.txt", Claim.OURS)]
    session.close()


def test_files_outside_the_workspace_come_back(workspace, settings, tmp_path):
    outside = tmp_path / "shared"
    outside.mkdir()
    put(outside / "conf", "old")
    os.symlink("conf", outside / "link")
    session = Session.attach(settings)
    with session.turn("spoil"):
        put(outside / "conf", "new")
        os.remove(outside / "link")
        put(outside / "more", "m")

    assert session.diff("start", str(outside / "conf"))[0].now.size == 3
    session.rewind(session.plan("start"))

    assert (outside / "conf").read_text() == "old" and os.readlink(outside / "link") == "conf"
    assert not (outside / "more").exists()
    session.undo()
    assert (outside / "conf").read_text() == "new" and (outside / "more").exists()
    session.gc()
    session.redo()
    assert (outside / "conf").read_text() == "old"
    session.close()


def test_home_as_workspace_is_covered_in_part(home):
    (home / "deep" / "er").mkdir(parents=True)
    put(home / "deep" / "er" / "x.csv", "old")
    put(home / "top.txt", "top")
    settings = make_settings(Surroundings({}, str(home), str(home), ()), store_dir=str(home / "jupyter" / "store"))
    session = Session.attach(settings)
    assert "home" in session.status().focus

    with session.turn("touch"):
        put(home / "deep" / "er" / "x.csv", "new")
        put(home / "top.txt", "new")
    session.rewind(session.plan("start"))

    assert (home / "deep" / "er" / "x.csv").read_text() == "old" and (home / "top.txt").read_text() == "top"
    session.close()


def test_workspace_is_the_project_below_home_or_the_folder(tmp_path):
    home = tmp_path / "home"
    folder = home / "project" / "notebooks" / "deep"
    folder.mkdir(parents=True)
    assert choose_workspace(str(folder), str(home)) == str(folder)
    (home / ".git").mkdir()
    assert choose_workspace(str(folder), str(home)) == str(folder)
    (home / "project" / "pyproject.toml").touch()
    assert choose_workspace(str(folder), str(home)) == str(home / "project")
    elsewhere = tmp_path / "elsewhere" / "x"
    elsewhere.mkdir(parents=True)
    (tmp_path / "elsewhere" / ".git").mkdir()
    assert choose_workspace(str(elsewhere), str(home)) == str(elsewhere)


def test_inconsistent_state_freezes_and_unfreeze_recovers(workspace, settings):
    workspace.write({"a.txt": "0", "b.txt": "0"})
    session = Session.attach(settings)
    with session.turn("spoil"):
        put(workspace.path("a.txt"), "1")
        put(workspace.path("b.txt"), "1")
    plan = session.plan("start")

    from nbrewind.errors import InconsistentState
    from nbrewind.resources.files.rollback import Rollback

    def failing(*_):
        raise OSError(5, "no more")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session._parts.log, "append", failing)
        patch.setattr(Rollback, "run", failing)
        with pytest.raises(InconsistentState):
            session.rewind(plan)
    assert session.frozen is not None and session.status().state == "frozen"
    with pytest.raises(InconsistentState):
        session.plan("start")

    session.unfreeze()

    assert session.frozen is None and workspace.read("a.txt") == b"1"
    session.rewind(session.plan("start"))
    assert workspace.read("a.txt") == b"0" and pathlib.Path(workspace.path("b.txt")).read_text() == "0"
    session.close()


def test_failed_rewind_is_put_back_and_changes_nothing_in_the_line(workspace, settings):
    workspace.write({"a.txt": "0"})
    session = Session.attach(settings)
    with session.turn("spoil"):
        put(workspace.path("a.txt"), "1")
    plan = session.plan("start")

    from nbrewind.errors import RewindRolledBack, StoreError

    def failing(*_, **__):
        raise StoreError("The disk is full.")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session._parts.tracker, "project", failing)
        with pytest.raises(RewindRolledBack, match="put back"):
            session.rewind(plan)

    assert workspace.read("a.txt") == b"1"
    session.settle()
    assert [operation.kind.value for operation in session.operations] == ["attach", "turn"]
    session.rewind(plan)
    assert workspace.read("a.txt") == b"0"
    session.close()
