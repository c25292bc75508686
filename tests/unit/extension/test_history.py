import atexit

import pytest
from IPython.core.interactiveshell import InteractiveShell

from nbrewind.extension.history import ShellState
from nbrewind.model import OperationId
from nbrewind.session.shell import ShellMove


class Bench:
    """A real shell whose cells go through `note_input`, as the hooks do it."""

    def __init__(self):
        self.shell = InteractiveShell()
        self.state = ShellState(self.shell)
        self.shell.events.register("pre_run_cell", self.note)

    def note(self, info):
        if info.store_history:
            self.state.note_input(self.shell.execution_count - 1)

    def run(self, *cells):
        for cell in cells:
            assert self.shell.run_cell(cell, store_history=True).success, cell

    def move(self, name, next_number, undone=None, cut_from=None, inputs=()):
        self.state.follow(
            ShellMove(
                operation=OperationId(name),
                undone=OperationId(undone) if undone else None,
                next_number=next_number,
                cut_from=next_number if cut_from is None else cut_from,
                inputs=inputs,
            )
        )

    @property
    def ns(self):
        return self.shell.user_ns


@pytest.fixture
def bench(capsys):
    bench = Bench()
    yield bench
    bench.shell.atexit_operations()
    atexit.unregister(bench.shell.atexit_operations)


def test_in_out_underscores_and_counter_go_back(bench):
    bench.run("10", "20", "30")

    bench.move("r", 3)

    ns = bench.ns
    assert (ns["_"], ns["__"], ns["___"]) == (20, 10, "")
    assert ns["Out"] == {1: 10, 2: 20}
    assert ns["In"] == ["", "10", "20"] and ns["In"] is ns["_ih"]
    assert (ns["_i"], ns["_ii"], ns["_iii"]) == ("10", "", "")
    assert bench.shell.execution_count == 3
    assert not {"_3", "_i3"} & set(ns)
    assert not {"_3", "_i3"} & set(bench.shell.user_ns_hidden)


def test_next_cell_shows_no_message_and_takes_the_number(bench, capsys):
    bench.run("10", "20", "30")
    bench.move("r", 2)

    bench.run("40")
    bench.shell.history_manager.writeout_cache()

    assert "not unique" not in capsys.readouterr().out
    assert bench.ns["Out"] == {1: 10, 2: 40}
    assert (bench.ns["_"], bench.ns["__"]) == (40, 10)


def test_undo_brings_the_same_objects_back(bench):
    bench.run("[1]", "[2]", "[3]")
    objects = dict(bench.ns["Out"])
    bench.move("r", 2)

    bench.move("u", 4, undone="r")

    assert bench.ns["In"] == ["", "[1]", "[2]", "[3]"]
    assert all(bench.ns["Out"][number] is value for number, value in objects.items())
    assert bench.ns["_3"] is objects[3] and bench.ns["_"] is objects[3] and bench.ns["_i3"] == "[3]"
    assert bench.shell.execution_count == 4


def test_redo_takes_them_away_again(bench):
    bench.run("1", "2", "3")
    bench.move("r", 2)
    bench.move("u", 4, undone="r")

    bench.move("d", 2, undone="u")

    assert bench.ns["Out"] == {1: 1} and bench.shell.execution_count == 2
    bench.move("u2", 4, undone="d")
    assert bench.ns["Out"] == {1: 1, 2: 2, 3: 3}


def test_two_rewinds_are_undone_one_by_one(bench):
    bench.run("1", "2", "3")
    bench.move("r1", 3)
    bench.move("r2", 2)

    bench.move("u2", 3, undone="r2")
    assert bench.ns["Out"] == {1: 1, 2: 2}
    bench.move("u1", 4, undone="r1")
    assert bench.ns["Out"] == {1: 1, 2: 2, 3: 3}


def test_discarded_objects_are_let_go_when_the_undo_expires(bench):
    import weakref

    class Thing:
        pass

    bench.ns["make"] = Thing
    bench.run("1", "make()")
    gone = weakref.ref(bench.ns["_2"])
    bench.move("r", 2)
    bench.shell.displayhook.exec_result = bench.shell.last_execution_result = None
    assert gone() is not None

    bench.state.expire()

    assert gone() is None


def test_names_that_the_person_bound_stay(bench):
    bench.run("1", "_ = 'mine'; _7 = 'also mine'", "5")

    bench.move("r", 2)

    assert bench.ns["_"] == "mine" and bench.ns["_7"] == "also mine"


def test_in_is_not_indexed_by_number(bench):
    bench.run("1")
    bench.shell.execution_count += 2  # `exit` and a pasted cell keep no input
    bench.run("4", "5")

    bench.move("r", 5)

    assert bench.ns["In"] == ["", "1", "4"] and bench.ns["Out"] == {1: 1, 4: 4}


def test_line_of_an_earlier_kernel_is_filled_in(bench):
    bench.run("'new kernel'")

    bench.move("r", 4, cut_from=1, inputs=((1, "a"), (3, "c")))

    assert bench.ns["In"] == ["", "a", "", "c"] and bench.ns["Out"] == {}
    assert bench.ns["_i3"] == "c" and bench.shell.execution_count == 4
    bench.move("u", 2, undone="r", cut_from=1)
    assert bench.ns["In"] == ["", "'new kernel'"] and bench.ns["_1"] == "new kernel"


def test_inside_a_cell_the_move_waits_for_its_end(bench):
    bench.run("1", "2")
    bench.state.enter("")
    bench.move("r", 2)
    assert bench.shell.execution_count == 3

    bench.state.leave()

    assert bench.shell.execution_count == 2


def test_shell_without_history_keeps_working(bench):
    bench.shell.history_manager.enabled = False
    bench.run("1", "2")
    bench.move("r", 2)
    assert bench.ns["Out"] == {1: 1}
