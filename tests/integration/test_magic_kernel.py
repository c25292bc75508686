"""`%rewind` in real kernels: what a front end sees, what stops a queue, and what "Run All" may do twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.builders import TestKernel, TestWorkspace

pytestmark = pytest.mark.kernel

WRITE = "open('a','w').write('{}')"


def run_cell(kernel: TestKernel, code: str, cell_id: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Run *code* as the notebook cell *cell_id*; return the reply and the messages that show something."""
    message = kernel.client.session.msg(
        "execute_request",
        {"code": code, "silent": False, "store_history": True, "allow_stdin": True, "stop_on_error": True,
         "user_expressions": {}},
        metadata={"cellId": cell_id},
    )  # fmt: skip
    kernel.client.shell_channel.send(message)
    shown: list[dict[str, Any]] = []
    while True:
        found = kernel.client.get_iopub_msg(timeout=30)
        if found["parent_header"].get("msg_id") != message["header"]["msg_id"]:
            continue
        if found["msg_type"] == "status" and found["content"]["execution_state"] == "idle":
            break
        shown.append(found)
    while True:
        reply = kernel.client.get_shell_msg(timeout=30)
        if reply["parent_header"].get("msg_id") == message["header"]["msg_id"]:
            return reply["content"], shown


def text_of(shown: list[dict[str, Any]]) -> str:
    texts = [found["content"].get("text") or found["content"].get("data", {}).get("text/plain", "") for found in shown]
    return "\n".join(texts)


def test_a_page_is_html_and_text_and_code_of_a_cell_is_escaped_in_it(kernel, workspace):
    attack = "open('a','w').write('<script>alert(1)</script><img src=x onerror=alert(2)>')"
    kernel.run(attack)

    _, shown = run_cell(kernel, "%rewind show 1", "c1")

    (data,) = [found["content"]["data"] for found in shown if found["msg_type"] == "display_data"]
    assert attack in data["text/plain"]
    assert "<script" not in data["text/html"]
    assert "<img" not in data["text/html"]
    assert "&lt;script&gt;" in data["text/html"]


def test_a_refusal_is_one_line_and_stops_the_cells_queued_behind_it(kernel, workspace):
    kernel.run(WRITE.format(1))
    client = kernel.client
    first = client.execute("%rewind to 12 --yes")
    second = client.execute(WRITE.format("after"))
    replies = {}
    while len(replies) < 2:
        found = client.get_shell_msg(timeout=30)
        replies[found["parent_header"]["msg_id"]] = found["content"]

    assert replies[first]["status"] == "error"
    assert replies[first]["ename"] == "UsageError"
    assert replies[second]["status"] in ("aborted", "error")
    assert workspace.read("a") == b"1"


def test_the_line_of_a_refusal_has_no_traceback(kernel, workspace):
    kernel.run(WRITE.format(1))

    text = kernel.run("%rewind to 12 --yes").text

    assert text.strip() == "UsageError: No cell [12]; the newest is [1]. Nothing changed."


def test_two_steps_with_a_token(kernel, workspace):
    kernel.run(WRITE.format(1))
    kernel.run(WRITE.format(2))

    text = kernel.run("%rewind to 1").text
    assert workspace.read("a") == b"2"
    token = text.split("%rewind confirm ")[1].split(" ")[0]
    assert kernel.run(f"%rewind confirm {token}").status == "ok"

    assert workspace.read("a") == b"1"


def test_yes_in_a_silent_request_prints_what_it_did(kernel, workspace):
    kernel.run(WRITE.format(1))
    kernel.run("x = 1; " + WRITE.format(2))

    text = kernel.run("%rewind to 1 --yes", silent=True).text

    assert "Back to just after [1]: 1 file, x." in text
    assert "x  was 1" in text


@pytest.fixture
def batch(workspace: TestWorkspace, home: Path) -> Iterator[TestKernel]:
    kernel = TestKernel(workspace.root, home, headless=True)
    kernel.start()
    kernel.load()
    yield kernel
    kernel.stop()


def test_headless_without_yes_is_an_error_that_says_so(batch, workspace):
    batch.run(WRITE.format(1))
    batch.run(WRITE.format(2))

    ran = batch.run("%rewind to 1")

    assert ran.status == "error"
    assert "nobody can be asked here. Add --yes" in ran.text
    assert workspace.read("a") == b"2"
    assert batch.run("%rewind to 1 --yes").status == "ok"
    assert workspace.read("a") == b"1"


def test_run_all_over_a_notebook_with_a_rewind_cell_is_safe(kernel, workspace):
    cells = [("c1", WRITE.format(1)), ("c2", WRITE.format(2)), ("c3", "%rewind to 1 --yes"), ("c4", WRITE.format(4))]
    for cell_id, code in cells:
        assert run_cell(kernel, code, cell_id)[0]["status"] == "ok"

    for cell_id, code in cells[:2]:
        run_cell(kernel, code, cell_id)
    assert workspace.read("a") == b"2"
    reply, shown = run_cell(kernel, "%rewind to 1 --yes", "c3")

    assert reply["status"] == "ok"
    assert "This cell did that already at" in text_of(shown)
    assert workspace.read("a") == b"2"


def test_run_all_after_a_restart_is_safe_too_and_again_does_it(kernel, workspace):
    run_cell(kernel, WRITE.format(1), "c1")
    run_cell(kernel, WRITE.format(2), "c2")
    run_cell(kernel, "%rewind to 1 --yes", "c3")
    kernel.restart()
    run_cell(kernel, WRITE.format(1), "c1")
    run_cell(kernel, WRITE.format(2), "c2")

    _, shown = run_cell(kernel, "%rewind to 1 --yes", "c3")
    assert "This cell did that already at" in text_of(shown)
    assert workspace.read("a") == b"2"

    run_cell(kernel, "%rewind to 1 --yes --again", "c3")
    assert workspace.read("a") == b"1"


def test_the_same_words_in_another_cell_are_another_wish(kernel, workspace):
    run_cell(kernel, WRITE.format(1), "c1")
    run_cell(kernel, WRITE.format(2), "c2")
    run_cell(kernel, "%rewind to 1 --yes", "c3")
    run_cell(kernel, WRITE.format(3), "c4")

    run_cell(kernel, "%rewind to 1 --yes", "c5")

    assert workspace.read("a") == b"1"


def test_a_rewind_inside_a_cell_with_other_code_is_refused(kernel, workspace):
    kernel.run(WRITE.format(1))
    kernel.run(WRITE.format(2))

    ran = kernel.run("x = 1\n%rewind to 1 --yes")

    assert ran.status == "error"
    assert "Not rewound, nothing changed" in ran.text
    assert workspace.read("a") == b"2"


def test_json_in_a_cell_is_json(kernel, workspace):
    kernel.run(WRITE.format(1))

    assert json.loads(kernel.run("%rewind --json").text)["points"]


def test_undo_straight_after_a_bad_cell_offers_back_and_back_does_it(kernel, workspace):
    kernel.run(WRITE.format(1))
    kernel.run("import os; os.remove('a')")

    assert "back 1" in kernel.run("%rewind undo").text
    kernel.run("%rewind back --yes")

    assert workspace.read("a") == b"1"
