"""Front ends over comms, in real kernels: what they see, what they move, and what they are refused."""

import contextlib
import hashlib
import json
import subprocess
import sys

import pytest

from tests.front_end import FrontEnd, Refused

pytestmark = pytest.mark.kernel

SESSION = "__import__('nbrewind').current()"


@pytest.fixture
def front_ends(kernel):
    with contextlib.ExitStack() as ends:

        def make(name="", **more):
            made = FrontEnd(kernel, name, **more)
            ends.callback(made.close)
            return made

        yield make


@pytest.fixture(params=[False, True], ids=["main", "subshell"])
def front_end(request, front_ends):
    return front_ends("first", subshell=request.param)


def numbers(board):
    return [row["number"] for row in board["rows"] if row["kind"] == "turn"]


def row(board, number):
    rows = [
        *board["rows"],
        *(inside for found in board["rows"] if found["kind"] == "folded" for inside in found["rows"]),
    ]
    return next(found for found in rows if found["number"] == number)


def saved(number):
    return lambda board: board["status"]["text"] == f"⟲ [{number}] saved"


def write(name, text):
    return f"open({name!r}, 'w').write({text!r})"


# -- what is seen and moved ------------------------------------------------------------------------------------------


def test_hello_board_preview_confirm_undo_and_redo(kernel, workspace, front_end):
    workspace.write({"a.csv": "x\n1\n2\n"})
    told = front_end.hello()
    assert told["version"] == 1 and told["patch"] is None and told["board"]["keep"] == 0

    kernel.run("x = 1; open('b.txt', 'w').write('b')")
    kernel.run(write("a.csv", "x"))
    board = front_end.board_where(saved(2))
    assert numbers(board) == [2, 1]
    assert row(board, 1)["what"] == "+b.txt, x" and row(board, 2)["is_now"]

    preview = front_end.ask("preview", target=row(board, 1)["id"])
    assert preview["sentence"] == "Back to just after [1]. [1] stays; [2] is taken back."
    assert preview["button"] == "Go back to [1]" and not preview["careful"]
    assert [item["text"] for item in preview["groups"]["files"]] == ["0 → 2 rows"]
    assert workspace.read("a.csv") == b"x"

    result = front_end.ask("confirm", token=preview["token"])
    assert result["sentence"].startswith("Back to just after [1]: 1 file") and result["files"] == ["a.csv"]
    assert workspace.read("a.csv") == b"x\n1\n2\n"
    assert numbers(front_end.board) == [1] and front_end.board["undo"]
    assert kernel.value("get_ipython().execution_count") == 2

    assert front_end.ask("undo")["operation"]
    assert workspace.read("a.csv") == b"x"
    assert front_end.ask("redo")["operation"]
    assert workspace.read("a.csv") == b"x\n1\n2\n"


def test_a_token_serves_once_and_only_for_what_was_previewed(kernel, workspace, front_ends):
    front_end = front_ends()
    front_end.hello()
    kernel.run(write("a", "1"))
    kernel.run(write("a", "2"))
    first = row(front_end.board_where(saved(2)), 1)["id"]
    preview = front_end.ask("preview", target=first)
    front_end.ask("confirm", token=preview["token"])

    assert front_end.refusal("confirm", token=preview["token"])["reason"] == "expired"

    front_end.ask("undo")
    preview = front_end.ask("preview", target=first)
    workspace.write({"a": "somebody else"})
    error = front_end.refusal("confirm", token=preview["token"])
    assert (error["reason"], error["hint"]) == ("stale-plan", "Look at a new preview.")
    assert workspace.read("a") == b"somebody else"


def test_two_front_ends_and_a_console_see_one_timeline(kernel, workspace, front_ends):
    first, second = front_ends("first"), front_ends("second", subshell=True)
    first.hello()
    second.hello()
    first.run(write("a", "1"), "cell-a")
    kernel.run(write("a", "2"))
    assert numbers(first.board_where(saved(2))) == numbers(second.board_where(saved(2))) == [2, 1]

    preview = first.ask("preview", target=row(first.board, 1)["id"])
    first.ask("confirm", token=preview["token"])

    assert numbers(second.board_where(lambda board: board["undo"])) == [1]
    assert second.push("files") == {"paths": ["a"]}
    assert not [push for push in first.pushes if push["push"] == "files"]
    assert "[1]" in kernel.run("%rewind").text
    kernel.run("%rewind undo")
    assert numbers(first.board_where(lambda board: board["redo"])) == [2, 1]
    assert first.board["revision"] == second.board_where(lambda board: board["redo"])["revision"]


def test_a_page_that_comes_again_takes_the_place_of_its_old_self(kernel, front_ends):
    old, new = front_ends("page"), front_ends("page")
    old.hello()
    kernel.run(write("a", "1"))
    old.board_where(saved(1))

    told = new.hello()

    assert numbers(told["board"]) == [1]
    assert old.until(lambda: old.closed)
    assert kernel.value(f"len({SESSION}.front_end.__self__._clients)") == 1


def test_the_board_is_polled_by_its_revision(kernel, front_end):
    front_end.hello()
    kernel.run(write("a", "1"))
    board = front_end.board_where(saved(1))

    assert front_end.ask("board", revision=board["revision"]) == {"unchanged": True}
    assert numbers(front_end.ask("board", revision="other")) == [1]


def test_names_restores_looks_and_history(kernel, workspace, front_end):
    front_end.hello()
    kernel.run("x = 1\n" + write("a.txt", "one\n"))
    front_end.ask("name", text="clean <b>")
    kernel.run("x = 2\n" + write("a.txt", "two\n"))
    board = front_end.board_where(saved(2))
    point = row(board, 1)["id"]
    assert row(board, 1)["names"] == ["clean <b>"]

    assert any("-one" in part.get("text", "") for part in front_end.ask("diff", point=point, path="a.txt")["parts"])
    assert front_end.ask("show", point=point)["data"]["point"]["number"] == 1
    assert len(front_end.ask("history", path="a.txt")["data"]["history"]) == 2
    assert front_end.ask("status")["data"]["status"]["state"] == "saved"

    preview = front_end.ask("preview_restore", **{"from": point, "paths": ["a.txt"], "as": "old.txt"})
    assert preview["kind"] == "restore" and preview["button"] == "Restore a.txt"
    front_end.ask("confirm", token=preview["token"])
    assert (workspace.read("a.txt"), workspace.read("old.txt")) == (b"two\n", b"one\n")
    preview = front_end.ask("preview_restore", **{"from": point, "names": ["x"]})
    front_end.ask("confirm", token=preview["token"])
    assert kernel.value("x") == 1


def test_pausing_shows_on_every_board(kernel, front_ends):
    first, second = front_ends(), front_ends()
    first.hello()
    second.hello()

    assert first.ask("pause")["text"].startswith("Paused")
    assert second.board_where(lambda board: board["state"] == "paused")
    first.ask("on")
    assert second.board_where(lambda board: board["state"] == "on")


def test_what_a_failed_cell_did_and_a_mass_deletion_are_offered_back(kernel, workspace, front_end):
    workspace.write({f"raw/{number}": "x" for number in range(12)})
    front_end.hello()
    kernel.run("import shutil; shutil.rmtree('raw')")
    offer = front_end.board_where(lambda board: board["offers"])["offers"][0]
    assert (offer["kind"], offer["text"]) == ("take-back", "[1] deleted 12 files.")
    preview = front_end.ask("preview", target=offer["target"])
    assert preview["groups"]["files"][0]["children"] == 12
    front_end.ask("confirm", token=preview["token"])
    assert workspace.exists("raw/11")

    kernel.run(write("a", "1") + "; 1 / 0")
    offer = front_end.board_where(lambda board: board["offers"])["offers"][0]
    assert offer["text"] == "[1] failed after it had changed 1 file." and offer["action"] == "Take back what [1] did"


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code", ["import time; time.sleep(4)", "import asyncio; await asyncio.sleep(4)"], ids=["sync", "async"]
)
def test_a_move_is_refused_while_a_cell_runs(kernel, workspace, front_ends, code):
    front_end = front_ends(subshell=True)
    front_end.hello()
    kernel.run(write("a", "1"))
    kernel.run(write("a", "2"))
    point = row(front_end.board_where(saved(2)), 1)["id"]
    preview = front_end.ask("preview", target=point)
    other = front_ends()
    other.start(code)
    assert front_end.board_where(lambda board: board["busy"])["busy"]["text"] == "[3] is running"

    refusals = [
        front_end.refusal("preview", target=point),
        front_end.refusal("confirm", token=preview["token"]),
        front_end.refusal("undo"),
        front_end.refusal("pause"),
    ]

    assert {error["reason"] for error in refusals} == {"busy"}
    assert "[3] is" in refusals[0]["message"]
    assert front_end.ask("outputs", cells=["none"]) == {"cells": {}}
    assert workspace.read("a") == b"2"
    front_end.board_where(lambda board: saved(3)(board) and not board["busy"])
    # It was refused and not used up: when the cell is through, the plan is an old one.
    assert front_end.refusal("confirm", token=preview["token"])["reason"] == "stale-plan"


def test_a_move_is_refused_in_the_middle_of_an_async_cell_on_the_main_thread(kernel, workspace, front_ends):
    front_end = front_ends()
    front_end.hello()
    kernel.run(write("a", "1"))
    kernel.run(write("a", "2"))
    point = row(front_end.board_where(saved(2)), 1)["id"]
    other = front_ends()
    other.start("import asyncio; await asyncio.sleep(4)")
    front_end.board_where(lambda board: board["busy"])

    error = front_end.refusal("preview", target=point)

    assert error["reason"] == "busy" and "[3]" in error["message"]


STOPS = """
def stopping():
    # Names of its own: the rewind takes those of the cells away.
    import os, signal
    from nbrewind.store.oplog import OperationLog
    whole = OperationLog.append
    def append(log, operation, **more):
        if operation.kind == "rewind":
            os.kill(os.getpid(), signal.SIGINT)
        return whole(log, operation, **more)
    OperationLog.append = append
stopping()
"""


def test_a_stop_in_the_middle_of_a_move_comes_too_late(kernel, workspace, front_end):
    front_end.hello()
    kernel.run(write("a", "1"))
    kernel.run(write("a", "2"))
    point = row(front_end.board_where(saved(2)), 1)["id"]
    kernel.run(STOPS, silent=True)
    preview = front_end.ask("preview", target=point)

    result = front_end.ask("confirm", token=preview["token"])

    assert result["operation"] and workspace.read("a") == b"1"
    assert kernel.value("get_ipython().execution_count") == 2
    assert kernel.run(write("a", "3")).status == "ok"
    assert numbers(front_end.board_where(saved(2))) == [2, 1]


def test_a_stop_before_a_move_changes_nothing(kernel, workspace, front_end):
    front_end.hello()
    kernel.run(write("a", "1"))
    kernel.run(write("a", "2"))
    point = row(front_end.board_where(saved(2)), 1)["id"]
    stop = f"session = {SESSION}\ndef rewind(plan):\n    raise KeyboardInterrupt\nsession.rewind = rewind"
    kernel.run(stop, silent=True)
    preview = front_end.ask("preview", target=point)

    error = front_end.refusal("confirm", token=preview["token"])

    assert (error["code"], error["message"]) == ("interrupted", "Stopped. Nothing changed.")
    assert workspace.read("a") == b"2"


HOSTILE = [
    None,
    7,
    "text",
    [],
    {},
    {"id": "h"},
    {"verb": "board"},
    {"id": 1, "verb": "board"},
    {"id": "x" * 81, "verb": "board"},
    {"id": "h", "verb": "explode"},
    {"id": "h", "verb": ["board"]},
    {"id": "h", "verb": "preview"},
    {"id": "h", "verb": "preview", "target": 3},
    {"id": "h", "verb": "preview", "target": "../../etc/passwd"},
    {"id": "h", "verb": "preview", "target": "no-such-point"},
    {"id": "h", "verb": "preview", "target": "before:no-such-point"},
    {"id": "h", "verb": "preview", "target": "x", "only": ["everything"]},
    {"id": "h", "verb": "preview", "target": "x", "code": "import os"},
    {"id": "h", "verb": "confirm", "token": "00000000"},
    {"id": "h", "verb": "confirm", "token": "", "force": True},
    {"id": "h", "verb": "confirm", "token": "a", "document": {"path": "/etc/passwd"}},
    {"id": "h", "verb": "show", "point": "x\0y"},
    {"id": "h", "verb": "name", "text": "y" * 100_000},
    {"id": "h", "verb": "outputs", "cells": ["c"] * 5001},
    {"id": "h", "verb": "preview_restore", "from": "no-such-point", "paths": ["a"]},
    {"id": "h", "verb": "history"},
    {"id": "h", "verb": "board", "session": "../../x"},
    {"id": "h", "verb": "board", "session": "no-such-session"},
    {"id": "h", "verb": "undo"},
    {"id": "h", "verb": "redo"},
    {"id": "h", "verb": "preview_recover"},
]


def test_hostile_messages_get_one_clear_error_each_and_change_nothing(kernel, workspace, front_end):
    front_end.hello()
    kernel.run(write("a", "1"))
    board = front_end.board_where(saved(1))
    before = len(front_end.seen)

    for message in HOSTILE:
        front_end.send_raw(message)
    told = front_end.ask("board", revision=board["revision"])

    assert told.get("unchanged") or told["rows"] == board["rows"], (told["rows"], board["rows"])
    replies = [found for found in front_end.seen[before:] if "reply" in found][:-1]
    assert len(replies) == len(HOSTILE)
    for message, reply in zip(HOSTILE, replies, strict=True):
        assert not reply["ok"], (message, reply)
        assert reply["error"]["message"] and len(reply["error"]["message"]) < 300, reply
        assert reply["error"]["code"] != "internal", (message, reply)
    assert workspace.tree().keys() == {b"a"}


@pytest.mark.parametrize("path", ["/etc/x", "../x", "sub/../../x", "~/x"])
def test_a_copy_goes_nowhere_outside_the_workspace(kernel, workspace, front_ends, path):
    front_end = front_ends()
    front_end.hello()
    kernel.run(write("a", "1"))
    point = row(front_end.board_where(saved(1)), 1)["id"]

    error = front_end.refusal("preview_restore", **{"from": point, "paths": ["a"], "as": path})

    assert error["reason"] == "outside-workspace"


def test_a_path_that_the_point_does_not_know_is_refused(kernel, front_ends):
    front_end = front_ends()
    front_end.hello()
    kernel.run(write("a", "1"))
    point = row(front_end.board_where(saved(1)), 1)["id"]

    for path in ("/etc/passwd", "../../etc/passwd"):
        error = front_end.refusal("preview_restore", **{"from": point, "paths": [path]})
        assert "Nothing changed" in error["message"] or "nothing changed" in error["message"]


def test_a_hello_that_is_none_closes_the_comm(kernel, front_ends):
    front_end = front_ends()
    front_end._send("comm_open", {"target_name": "nbrewind", "data": {"client": 5}})

    assert front_end.until(lambda: front_end.closed)
    assert not front_end.replies["hello"]["ok"]


# -- coming and going --------------------------------------------------------------------------------------------------


def test_loading_greets_and_unloading_says_goodbye(kernel, front_ends):
    front_end = front_ends()
    front_end.hello()

    kernel.run("%unload_ext nbrewind")
    assert "switched off" in front_end.push("bye")["text"]
    assert front_end.until(lambda: front_end.closed)

    stranger = front_ends()
    stranger._send("comm_open", {"target_name": "nbrewind", "data": {"client": "s", "version": 1}})
    assert stranger.until(lambda: stranger.closed)
    kernel.run("%load_ext nbrewind")
    assert stranger.until(lambda: stranger.greetings) == [{"version": 1}]
    late = front_ends()
    assert late.hello()["board"]["rows"]


def test_a_restart_keeps_the_points_and_offers_the_variables(kernel, front_ends):
    first = front_ends()
    first.hello()
    kernel.run("x = 41")
    first.board_where(saved(1))
    kernel.shut_down()
    kernel.start()
    kernel.load()

    second = front_ends()
    board = second.hello()["board"]

    assert numbers(board) == [1]
    offer = next(found for found in board["offers"] if found["kind"] == "recover")
    assert offer["action"] == "Recover" and offer["text"].startswith("Your variables from ")
    preview = second.ask("preview_recover", target=offer["target"])
    assert preview["button"] == "Recover" and preview["groups"]["variables"][0]["name"] == "x"
    second.ask("confirm", token=preview["token"])
    assert kernel.value("x") == 41
    assert not second.board["offers"]


def test_the_points_of_other_sessions_can_be_looked_at(kernel, workspace, home, front_ends):
    from tests.builders import TestKernel

    kernel.run(write("a", "1"))
    other = TestKernel(workspace.root, home)
    other.start()
    try:
        other.load()
        front_end = FrontEnd(other)
        front_end.hello()
        rows = front_end.ask("sessions")["sessions"]
        stranger = next(found for found in rows if not found["is_this"])
        board = front_end.ask("board", session=stranger["id"])
        front_end.close()
    finally:
        other.stop()
    assert len(rows) == 2 and stranger["held"]
    assert numbers(board) == [1] and board["state"] == "read-only"


def test_without_a_front_end_nothing_is_served(kernel):
    kernel.run(write("a", "1"))

    assert kernel.value(f"{SESSION}.is_watched") is False
    assert kernel.value("'nbrewind.ui.comm.server' in __import__('sys').modules") is False


def test_a_runner_without_a_front_end_runs_a_notebook_that_loads_it(tmp_path):
    cells = [cell("a", "%load_ext nbrewind"), cell("b", "open('x', 'w').write('1')")]
    kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = {"cells": cells, "metadata": {"kernelspec": kernelspec}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "n.ipynb").write_text(json.dumps(notebook))
    run = "import nbclient, nbformat; nbclient.execute(nbformat.read('n.ipynb', 4))"

    done = subprocess.run([sys.executable, "-c", run], cwd=tmp_path, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "x").read_text() == "1"


# -- the document ------------------------------------------------------------------------------------------------------


def cell(name, source):
    return {"cell_type": "code", "id": name, "metadata": {}, "source": source, "outputs": [], "execution_count": None}


def save(workspace, cells):
    document = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    workspace.write({"book.ipynb": document})
    return hashlib.sha256(document.encode()).hexdigest()


@pytest.fixture
def book(kernel, workspace, front_ends):
    """Return a front end that has `book.ipynb` open, with the cells a, b and c as they ran."""
    save(workspace, [cell("a", "1"), cell("b", "2"), cell("c", "3")])
    kernel.stop()
    kernel.environment["JPY_SESSION_NAME"] = workspace.path("book.ipynb")
    kernel.start()
    kernel.load()
    front_end = front_ends("page", subshell=True)
    front_end.hello(path="book.ipynb")
    return front_end


def patched(patch):
    return {found["id"]: (found["execution_count"], len(found["outputs"] or ())) for found in patch["cells"]}


def test_outputs_go_back_with_the_cells_and_come_again(kernel, book):
    book.run("'one'", "a")
    book.run("'two'", "b")
    book.run("print('again')\n'three'", "a")
    book.board_where(saved(3))

    preview = book.ask("preview", target=row(book.board, 1)["id"])
    assert preview["counts"]["outputs"] == 2
    patch = book.ask("confirm", token=preview["token"])["patch"]

    assert patched(patch) == {"a": (1, 1), "b": (None, 0)} and not patch["texts"]
    shown = next(found for found in patch["cells"] if found["id"] == "a")["outputs"][0]
    assert shown["data"]["text/plain"] == "'one'"
    assert book.ask("ack", patch=patch["id"], agreed=True) == {"pending": None}
    patch = book.ask("undo")["patch"]
    assert patched(patch) == {"a": (3, 2), "b": (2, 1)}
    assert book.board["pending"] == patch["id"]


def test_a_patch_is_pending_until_it_is_acknowledged_also_after_a_restart(kernel, book, front_ends):
    book.run("'one'", "a")
    book.run("'two'", "b")
    book.board_where(saved(2))
    book.close()
    kernel.run("%rewind to 1 --yes")

    other = front_ends("other")
    patch = other.hello(path="book.ipynb")["patch"]
    assert patched(patch) == {"b": (None, 0)} and other.board["pending"] == patch["id"]
    assert other.ask("ack", patch=patch["id"], agreed=False) == {"pending": patch["id"]}
    kernel.shut_down()
    kernel.start()
    kernel.load()
    again = front_ends("page")
    told = again.hello(path="book.ipynb")
    assert told["patch"]["id"] == patch["id"] and patched(told["patch"]) == {"b": (None, 0)}
    assert again.ask("ack", patch=patch["id"], agreed=True) == {"pending": None}
    assert again.hello(path="book.ipynb")["patch"] is None


def test_a_magic_pushes_the_patch_to_the_page(kernel, book):
    book.run("'one'", "a")
    book.run("'two'", "b")
    book.run("%rewind to 1 --yes", "c")

    assert patched(book.push("patch")) == {"b": (None, 0)}


def test_the_vote_of_a_front_end_counts(kernel, book, workspace):
    book.run(write("x", "1"), "a")
    book.run(write("x", "2"), "b")
    book.board_where(saved(2))
    preview = book.ask("preview", target=row(book.board, 1)["id"])
    there = save(workspace, [cell("a", "edited"), cell("b", "2"), cell("c", "3")])

    vote = {"path": "book.ipynb", "hash": "0" * 64, "saved": True}
    error = book.refusal("confirm", token=preview["token"], document=vote)
    assert error["reason"] == "stale-plan" and "book.ipynb" in error["message"]
    assert workspace.read("x") == b"2"
    result = book.ask("confirm", token=preview["token"], document={**vote, "hash": there})
    assert result["operation"] and workspace.read("x") == b"1"
    assert json.loads(workspace.read("book.ipynb"))["cells"][0]["source"] == "edited"


def test_texts_and_deleted_cells_come_back_only_where_that_is_ticked(kernel, book, workspace):
    book.run("'one'", "a")
    book.run("'two'", "b")
    book.board_where(saved(2))
    save(workspace, [cell("a", "changed"), cell("c", "3")])
    target = row(book.board, 1)["id"]

    plain = book.ask("preview", target=target)
    assert (plain["counts"]["cells"], plain["only"]) == (2, ["files", "variables", "outputs"])
    ticked = book.ask("preview", target=target, only=["files", "variables", "outputs", "cells"])
    assert ticked["token"] != plain["token"]
    patch = book.ask("confirm", token=ticked["token"])["patch"]

    assert patch["texts"]
    changed = {found["id"]: found["source"] for found in patch["cells"]}
    assert changed["a"] == "'one'"
    inserted = patch["insert"][0]
    assert (inserted["cell"]["id"], inserted["cell"]["source"], inserted["after"]) == ("b", "2", "a")
    book.ask("undo")
    plain = book.ask("preview", target=target)
    patch = book.ask("confirm", token=plain["token"])["patch"]
    assert not patch["insert"] or patch["texts"]


def test_outputs_of_a_deleted_cell_are_given_by_the_log(kernel, book, workspace):
    book.run("print('seen once')", "gone")
    book.run("'two'", "b")
    book.board_where(saved(2))
    save(workspace, [cell("b", "'two'")])

    told = book.ask("outputs", cells=["gone", "b", "never"])["cells"]

    assert told.keys() == {"gone", "b"}
    assert told["gone"]["outputs"][0]["text"] == "seen once\n" and told["gone"]["execution_count"] == 1


def test_a_progress_bar_ends_as_it_looked(kernel, book):
    lines = (
        "from IPython.display import clear_output, display",
        "handle = display('0 %', display_id=True)",
        "handle.update('100 %')",
        "print('10', end='\\r'); print('99')",
        "print('away'); clear_output(wait=True); print('left')",
    )
    book.run("\n".join(lines[:4]), "a")
    book.run("\n".join((lines[0], lines[4])), "b")
    book.board_where(saved(2))

    told = book.ask("outputs", cells=["a", "b"])["cells"]

    assert [output.get("text") or output["data"]["text/plain"] for output in told["a"]["outputs"]] == [
        "'100 %'",
        "99\n",
    ]
    assert [output["text"] for output in told["b"]["outputs"]] == ["left\n"]


def test_a_notebook_that_is_renamed_is_followed(kernel, book, workspace):
    workspace.write({"sub/new.ipynb": workspace.read("book.ipynb")})

    book.ask("path", path="sub/new.ipynb")

    assert kernel.value(f"{SESSION}.notebook") == workspace.path("sub/new.ipynb")
    book.ask("path", path="../../etc/x.ipynb")
    assert kernel.value(f"{SESSION}.notebook") == workspace.path("sub/new.ipynb")


def test_a_preview_says_that_outputs_stay_only_where_nobody_brings_them_back(kernel, book):
    book.run("'one'", "a")
    book.run("'two'", "b")
    book.board_where(saved(2))
    assert "stay visible" not in kernel.run("%rewind to 1").text

    kernel.run("%unload_ext nbrewind")
    kernel.run("%load_ext nbrewind")

    assert "stay visible here" in kernel.run("%rewind to 1").text


SLOW = """
def slowly():
    import time
    from nbrewind.store.shadow.repository import ShadowRepository
    whole = ShadowRepository.verify_content
    def verify(repository, state):
        time.sleep(0.1)
        return whole(repository, state)
    ShadowRepository.verify_content = verify
slowly()
"""


def test_a_long_move_tells_how_far_it_is_and_can_be_stopped_before_anything_moves(kernel, workspace, front_ends):
    front_end = front_ends(subshell=True)
    workspace.write({f"data/{number}": "1" for number in range(60)})
    front_end.hello()
    kernel.run("1")
    kernel.run("for number in range(60): open(f'data/{number}', 'w').write('2')")
    point = row(front_end.board_where(saved(2)), 1)["id"]
    kernel.run(SLOW, silent=True)
    before = workspace.tree()
    preview = front_end.ask("preview", target=point)

    move = front_end.send("confirm", token=preview["token"])
    told = front_end.push("progress")
    assert (told["of"], told["cancel"]) == (move, True) and 0 < told["done"] < told["total"]
    assert front_end.ask("cancel", of=move)["cancelled"]

    with pytest.raises(Refused, match=r"interrupted.*Nothing changed"):
        front_end.reply(move)
    assert workspace.tree() == before
    assert front_end.ask("cancel", of=move)["cancelled"] is False
    assert kernel.run(write("a", "1")).status == "ok"
