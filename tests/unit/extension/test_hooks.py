import asyncio
import atexit
import threading

import pytest
from IPython.core.interactiveshell import InteractiveShell

from nbrewind.extension.history import ShellState
from nbrewind.extension.hooks import CellHooks, outcome
from nbrewind.model import TurnStatus


class Log:
    """Takes what the hooks tell, in place of a session."""

    def __init__(self):
        self.rows = []
        self.fail = None

    def begin_turn(self, start, *, wait=True):
        self.rows.append(("begin", start.code, start.number, start.only_if_effect))
        if self.fail and wait:
            raise self.fail

    def end_turn(self, end):
        self.rows.append(("end", end.status.value))

    def touch(self):
        self.touched = True

    def join_turn(self):
        self.joined = True

    def begin(self, number):
        pass

    def end(self, error=None):
        return "[]"


@pytest.fixture
def shell():
    shell = InteractiveShell()
    yield shell
    shell.atexit_operations()
    atexit.unregister(shell.atexit_operations)


@pytest.fixture
def log(shell):
    log = Log()
    shell.hooks_under_test = hooks = CellHooks(shell, log, ShellState(shell), log)
    hooks.install()
    yield log
    hooks.uninstall()


def run(shell, cell, **more):
    return shell.run_cell(cell, **({"store_history": True} | more))


def test_each_cell_is_one_turn_with_its_number(shell, log):
    run(shell, "1")
    run(shell, "1/0")

    assert log.rows == [("begin", "1", 1, False), ("end", "ok"), ("begin", "1/0", 2, False), ("end", "error")]


def test_blank_cells_and_own_magics_are_passed_over(shell, log):
    run(shell, "")
    run(shell, "  \n")
    run(shell, "%load_ext nbrewind_is_not_this")
    log.rows.clear()
    run(shell, "%rewind status")

    assert log.rows == []


def test_nested_and_blank_cells_inside_do_not_end_the_outer_turn(shell, log):
    run(shell, "ip = get_ipython(); ip.run_cell('2'); ip.run_cell(''); ip.run_cell('3', store_history=True)")

    assert [row[0] for row in log.rows] == ["begin", "end"]


def test_post_without_pre_is_passed_over(shell, log):
    result = run(shell, "1")
    log.rows.clear()

    shell.events.trigger("post_run_cell", result)

    assert log.rows == []


def test_cell_of_another_thread_joins(shell, log):
    inside = threading.Thread(target=lambda: shell.events.trigger("pre_run_cell", Info("other")))
    shell.events.trigger("pre_run_cell", Info("main"))
    inside.start()
    inside.join()

    assert [row[1] for row in log.rows] == ["main"] and log.joined


class Info:
    store_history, silent, cell_id, transformed_cell = True, False, None, None

    def __init__(self, raw_cell):
        self.raw_cell = raw_cell


def test_cell_whose_end_never_came_does_not_swallow_the_next(shell, log, monkeypatch):
    request = {"header": {"msg_id": "one"}}
    monkeypatch.setattr(type(shell), "get_parent", lambda self: request, raising=False)
    shell.events.trigger("pre_run_cell", Info("lost"))
    request = {"header": {"msg_id": "two"}}

    run(shell, "2")

    assert [row[1] for row in log.rows if row[0] == "begin"] == ["lost", "2"]


def test_fault_of_ours_never_reaches_the_cell(shell, log, capsys):
    log.fail = RuntimeError("ours")

    result = run(shell, "print('fine')")

    assert result.success and capsys.readouterr().out == "fine\n"


def test_stop_during_the_barrier_is_the_cells_and_its_turn_is_open(shell, log, capsys):
    log.fail = KeyboardInterrupt()

    result = run(shell, "import time\nfor _ in range(200): time.sleep(0.02)")

    assert isinstance(result.error_in_exec, KeyboardInterrupt)
    assert [row[0] for row in log.rows] == ["begin", "begin", "end"] and log.rows[-1] == ("end", "interrupted")


def test_cell_without_history_says_so(shell, log):
    run(shell, "1", store_history=False)

    assert log.rows[0] == ("begin", "1", None, True)


def test_uninstalled_hooks_hear_nothing(shell, log):
    shell.hooks_under_test.uninstall()
    shell.hooks_under_test.uninstall()
    run(shell, "1")

    assert log.rows == []


class Result:
    error_before_exec = None

    def __init__(self, error):
        self.error_in_exec = error


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (None, TurnStatus.OK),
        (ValueError("x"), TurnStatus.ERROR),
        (KeyboardInterrupt(), TurnStatus.INTERRUPTED),
        (asyncio.CancelledError(), TurnStatus.INTERRUPTED),
        (SystemExit(1), TurnStatus.ERROR),
    ],
)
def test_how_a_cell_ended(error, status):
    assert outcome(Result(error))[0] is status


def test_error_that_cannot_say_what_it_is_is_named_by_its_type():
    class Hostile(Exception):
        def __str__(self):
            raise RuntimeError

    assert outcome(Result(Hostile())) == (TurnStatus.ERROR, "Hostile: ")
