"""A store that somebody else made changes nothing outside the workspace until it is believed, which then lasts."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from nbrewind.errors import RefusalReason, RewindRefused, StoreError
from nbrewind.session.session import Session
from nbrewind.session.turns import TurnStart
from nbrewind.ui.cli import main
from tests.faults import KILLED, run_forked
from tests.sessions import attached, settings_for
from tests.stores import stores_below


@pytest.fixture
def outside(tmp_path):
    (tmp_path / "outside").mkdir()
    return tmp_path / "outside" / "f"


@pytest.fixture
def foreign(workspace, home, outside):
    """Leave a store, with a turn that changed a file on both sides, as one that came out of an archive."""
    outside.write_text("1")
    workspace.write({"f": "1"})
    with attached(workspace, home, shared_roots=("/proc",)) as book, book.turn():
        outside.write_text("2")
        workspace.write({"f": "2"})
    store = stores_below(home)[0]
    os.utime(store / "format", (1e9, 1e9))
    return store


def opened(workspace, home):
    return Session.open(settings_for(workspace.root, home, shared_roots=("/proc",)), readonly=False)


def list_of(home) -> Path:
    return next(home.rglob("nbrewind.key.stores"))


def test_own_store_takes_back_what_lies_outside(workspace, home, outside):
    outside.write_text("1")
    with attached(workspace, home, shared_roots=("/proc",)) as book:
        with book.turn():
            outside.write_text("2")
        book.to("before 1")

    assert outside.read_text() == "1"
    assert stat.S_IMODE(list_of(home).stat().st_mode) == 0o600


def test_foreign_store_leaves_what_lies_outside_and_says_so(workspace, home, outside, foreign):
    session = opened(workspace, home)
    try:
        with pytest.raises(RewindRefused) as refused:
            session.plan_restore([str(outside)], "before 1")
        plan = session.plan("before 1")
        session.rewind(plan)
    finally:
        session.close()

    assert refused.value.reason is RefusalReason.UNTRUSTED_STORE
    assert outside.read_text() == "2"
    assert workspace.read("f") == b"1"
    assert [(note.subject, note.reason) for note in plan.kept] == [
        (str(outside), "outside the workspace, and this store was not made by you on this machine")
    ]


def test_trust_lasts(workspace, home, outside, foreign):
    session = opened(workspace, home)
    session.trust()
    session.close()
    session = opened(workspace, home)
    try:
        session.rewind(session.plan("before 1"))
    finally:
        session.close()

    assert outside.read_text() == "1"
    assert list_of(home).read_text().splitlines()[-1].split()[1] == "told"


def test_list_that_others_can_write_is_not_believed(workspace, home, outside, foreign):
    session = opened(workspace, home)
    session.trust()
    session.close()
    list_of(home).chmod(0o666)

    session = opened(workspace, home)
    try:
        assert session.plan("before 1").kept
    finally:
        session.close()


def test_unfinished_session_of_a_foreign_store_is_left_alone(workspace, home, outside):
    def die():
        session = Session.attach(settings_for(workspace.root, home), kernel="theirs")
        session.begin_turn(TurnStart(code="theirs", number=1))
        os._exit(KILLED)

    run_forked(die)
    store = stores_below(home)[0]
    (theirs,) = (path.name for path in (store / "sessions").iterdir())
    os.utime(store / "format", (1e9, 1e9))

    with pytest.raises(RewindRefused) as refused:
        opened(workspace, home)
    with attached(workspace, home) as book:
        assert book.session.id != theirs
    assert refused.value.reason is RefusalReason.UNTRUSTED_STORE


def test_store_that_lacks_its_version_line_is_not_taken_for_a_new_one(workspace, home, outside, foreign):
    (foreign / "format").unlink()

    with attached(workspace, home) as book, pytest.raises((RewindRefused, StoreError)):
        book.session.plan_restore([str(outside)], "start")


def test_command_line_says_what_a_variable_was_only_from_the_log_and_where_to_recover(
    workspace, home, foreign, monkeypatch, capsys
):
    monkeypatch.chdir(workspace.root)
    for words, status, said in (
        (["get", "x", "--from", "1"], 2, "x was not bound just after [1]"),
        (["recover"], 2, "Variables are recovered into a kernel, and there is none here. Nothing changed."),
        (["trust"], 0, "believes it from now on"),
        (["trust", "--yes"], 0, "This store is believed from now on."),
    ):
        with pytest.raises(SystemExit) as ended:
            main(words)
        shown = "".join(capsys.readouterr())
        assert (int(ended.value.code or 0), said in shown) == (status, True), shown
    assert list_of(home).read_text().splitlines()[-1].split()[1] == "told"
