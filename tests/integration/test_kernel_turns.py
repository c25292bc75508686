"""Cells in a real kernel: what they do to files goes back, forward, and back again, with In, Out and the numbers."""

import pytest

pytestmark = pytest.mark.kernel


def shell_state(kernel):
    return kernel.value(
        "(lambda ip: (ip.execution_count, sorted(ip.user_ns['Out']), list(ip.user_ns['In'])))(get_ipython())"
    )


def test_overwrite_shell_deletion_and_rename_go_back_forward_and_back_again(kernel, workspace):
    workspace.write({"data/sales.csv": b"a,b\n1,2\n", "raw/x.bin": b"\0" * 5000, "old.txt": "old"})
    start = workspace.tree()
    assert kernel.run("rows = open('data/sales.csv').read()").status == "ok"
    kernel.run("open('data/sales.csv', 'w').write('broken'); open('made.txt', 'w').write('m')")
    kernel.run("!rm -rf raw")
    kernel.run("import os\nos.rename('old.txt', 'new.txt')")
    end = workspace.tree()
    assert end != start

    run = kernel.run("%rewind to 1 --yes")

    assert run.status == "ok" and "Back to just after [1]" in run.text, run
    assert workspace.tree() == start
    run = kernel.run("%rewind undo")
    assert run.status == "ok", run
    assert workspace.tree() == end
    run = kernel.run("%rewind redo")
    assert run.status == "ok", run
    assert workspace.tree() == start


def test_in_out_and_numbers_follow(kernel):
    for cell in ("10", "20", "30"):
        kernel.run(cell)

    kernel.run("%rewind to 2 --yes")

    assert shell_state(kernel) == (3, [1, 2], ["", "10", "20"])
    assert kernel.value("(_, __, ___)") == (20, 10, "")
    assert kernel.value("[name in globals() for name in ('_3', '_i3', '_i4')]") == [False, False, False]
    run = kernel.run("'next'")
    assert "not unique" not in run.text
    assert shell_state(kernel) == (4, [1, 2, 3], ["", "10", "20", "'next'"])


def test_the_rewind_cell_keeps_its_own_number(kernel):
    for cell in ("1", "2", "3"):
        kernel.run(cell)

    kernel.client.execute("%rewind to 1 --yes")
    reply = kernel.client.get_shell_msg(timeout=30)

    assert reply["content"]["execution_count"] == 4
    kernel.client.execute("4")
    assert kernel.client.get_shell_msg(timeout=30)["content"]["execution_count"] == 2


def test_undo_brings_the_same_out_objects_back(kernel):
    kernel.run("[1]")
    kernel.run("[2]")
    kernel.run("ids = [id(value) for value in Out.values()]", silent=True)
    kernel.run("%rewind to 1 --yes")
    assert kernel.value("sorted(Out)") == [1]

    kernel.run("%rewind undo")

    assert kernel.value("sorted(Out)") == [1, 2]
    assert kernel.value("[id(value) for value in Out.values()] == ids") is True
    assert shell_state(kernel)[0] == 3


def test_history_database_keeps_both_lines_of_one_number(kernel):
    for cell in ("a = 1", "b = 2", "c = 3"):
        kernel.run(cell)
    kernel.run("%rewind to 1 --yes")
    kernel.run("b = 'again'")

    run = kernel.run("%history -g b =")

    assert "b = 2" in run.text and "b = 'again'" in run.text
    assert "not unique" not in run.text


def test_queued_cells_go_on_from_the_rewound_state(kernel, workspace):
    workspace.write({"n.txt": "0"})
    cells = [
        "open('n.txt').read()",
        "open('n.txt', 'w').write('1')",
        "%rewind to 1 --yes",
        "print(open('n.txt').read())",
    ]

    for cell in cells:
        kernel.client.execute(cell)
    replies = [kernel.client.get_shell_msg(timeout=60)["content"] for _ in cells]

    assert [reply["status"] for reply in replies] == ["ok"] * 4
    assert [reply["execution_count"] for reply in replies] == [1, 2, 3, 2]
    assert workspace.read("n.txt") == b"0"


def test_a_refusal_stops_the_queue(kernel, workspace):
    cells = ["1", "%rewind to 12 --yes", "open('after.txt', 'w').write('x')"]

    for cell in cells:
        kernel.client.execute(cell)
    replies = [kernel.client.get_shell_msg(timeout=60)["content"]["status"] for _ in cells]

    assert replies == ["ok", "error", "aborted"]
    assert not workspace.exists("after.txt")


def test_rewind_inside_a_cell_with_other_code_is_refused(kernel, workspace):
    workspace.write({"a.txt": "0"})
    kernel.run("1")
    kernel.run("open('a.txt', 'w').write('1')")

    run = kernel.run("x = 1\n%rewind to 1 --yes")

    assert run.status == "error" and "nothing changed" in run.error, run
    assert workspace.read("a.txt") == b"1"
    run = kernel.run("import nbrewind; nbrewind.current().undo()")
    assert run.status == "error" and "nothing changed" in run.error, run


def points(kernel):
    return kernel.value(
        "[(p.kind.value, p.number, p.status.value, p.line.value) for p in __import__('nbrewind').current().points()]"
    )


def test_how_a_cell_ended_is_its_status(kernel):
    kernel.run("1/0")
    kernel.run("def (:")
    kernel.run("%no_such_magic")
    kernel.run("import asyncio; await asyncio.sleep(0.01)")
    kernel.run("")
    kernel.run("raise SystemExit")

    assert [(number, status) for kind, number, status, _ in points(kernel) if kind == "turn"] == [
        (1, "error"),
        (2, "error"),
        (3, "error"),
        (4, "ok"),
        (5, "error"),
    ]


@pytest.mark.parametrize(
    "code",
    [
        "import time\nfor n in range(200):\n    open(f'o{n}', 'w').close(); time.sleep(0.02)",
        "import asyncio\nfor n in range(200):\n    open(f'o{n}', 'w').close(); await asyncio.sleep(0.02)",
    ],
    ids=["plain", "async"],
)
def test_interrupted_cell_is_a_turn_and_goes_back(kernel, workspace, code):
    kernel.run("1")
    kernel.interrupt_after(0.8, code)
    assert points(kernel)[-1][:3] == ("turn", 2, "interrupted")
    assert any(name.startswith(b"o") for name in workspace.tree())

    kernel.run("%rewind to 1 --yes")

    assert workspace.tree() == {}


def test_nested_cells_join_the_outer_turn(kernel, workspace):
    kernel.run("x = 0")
    kernel.run(
        'get_ipython().run_cell(\'\'); get_ipython().run_cell(\'open("nest", "w").write("1")\', store_history=True)'
    )

    assert [row[0] for row in points(kernel)] == ["attach", "turn", "turn"]
    kernel.run("%rewind to 1 --yes")
    assert not workspace.exists("nest")


def test_cell_without_history_is_a_turn_only_if_it_did_something(kernel, workspace):
    kernel.run("1 + 1", store_history=False)
    assert [row[0] for row in points(kernel)] == ["attach"]

    kernel.run("open('f', 'w').write('1')", store_history=False)

    assert [row[:2] for row in points(kernel)] == [("attach", None), ("turn", None)]


def test_cells_of_own_magics_are_no_turns(kernel):
    kernel.run("%rewind")
    kernel.run("%rewind status\n# and\n%rewind name here")

    assert [row[0] for row in points(kernel)] == ["attach", "name"]


def test_outputs_are_in_the_log(kernel):
    kernel.run("print('seen'); 6 * 7")

    outputs = kernel.value("__import__('nbrewind').current().points()[-1].operation.turn.outputs")

    assert "seen" in outputs and "42" in outputs


def test_names_left_as_they_are_are_told(kernel):
    kernel.run("a = 1")
    kernel.run("b = 2\nimport json")

    run = kernel.run("%rewind to 1 --yes")

    assert "b" in run.text and "json" in run.text


def test_frozen_session_holds_every_cell_but_status_and_unfreeze(kernel, workspace):
    kernel.run(
        "import nbrewind; from nbrewind.model import Note\n"
        "nbrewind.current()._health.frozen = Note('session', 'putting back failed.')",
        silent=True,
    )

    run = kernel.run("open('a', 'w').write('1')")

    assert run.status == "error" and "Cells are held" in run.error and not workspace.exists("a")
    assert kernel.run("%rewind to start --yes").status == "error"
    assert kernel.run("%rewind status").status == "ok"
    assert kernel.run("%rewind unfreeze").status == "ok"
    assert kernel.run("open('a', 'w').write('1')").status == "ok"


def test_paused_session_still_goes_back(kernel, workspace):
    kernel.run("open('a', 'w').write('1')")
    kernel.run("%rewind pause")
    kernel.run("open('a', 'w').write('2')")
    assert kernel.run("x = 1\n%rewind undo").status == "error"

    run = kernel.run("%rewind to 1 --yes --overwrite")

    assert run.status == "ok" and workspace.read("a") in (b"1", b"2"), run
    assert [row[:2] for row in points(kernel) if row[0] == "turn"] == [("turn", 1)]
    kernel.run("%rewind on")
    kernel.run("open('a', 'w').write('3')")
    assert [row[0] for row in points(kernel)].count("turn") == 2
