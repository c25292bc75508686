"""What another thread that settles, as a sidebar's does, may take of a turn."""

import threading

import pytest

from nbrewind.session.session import Session
from nbrewind.session.turns import TurnEnd, TurnStart
from tests.crash.turns import Namespace
from tests.sessions import settings_for

_A_WHILE = 0.5


@pytest.fixture
def kernel():
    return Namespace({"table": [1, 2, 3]})


@pytest.fixture
def session(workspace, home, kernel):
    made = Session.attach(settings_for(workspace.root, home), kernel="test", namespace=kernel)
    yield made
    made.close()


def run(session, code, act):
    session.begin_turn(TurnStart(code=code, transformed=code, number=len(session.operations)))
    act()
    session.end_turn(TurnEnd())


def test_a_thread_that_settles_in_the_middle_of_a_turns_end_does_not_take_the_turn(session, kernel, monkeypatch):
    threads = []
    end = session._parts.recorder.end

    def ended(outcome):
        end(outcome)
        threads.append(threading.Thread(target=session.settle))
        threads[-1].start()
        # Without waiting for the end it is through by then.
        threads[-1].join(_A_WHILE)

    monkeypatch.setattr(session._parts.recorder, "end", ended)
    run(session, "table.clear()", kernel.names["table"].clear)
    threads[0].join()
    session.settle()

    turn = session.operations[-1]
    assert turn.turn is not None and turn.turn.reasons == ()
    assert [change.name for change in turn.variables] == ["table"]
    assert turn.checkpoint.variables is not None


def test_a_plan_looks_at_variables_anew_whatever_was_found_before(session, kernel):
    run(session, "pass", lambda: None)
    session.settle()
    with session._mutex:
        session._parts.variables.examine(of_turn=True, everything=True)
    kernel.names["table"].clear()

    plan = session.plan(session.operations[-1].id)
    assert [change.name for change in plan.variables] == ["table"]
