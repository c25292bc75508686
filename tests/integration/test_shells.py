"""A terminal with its line editor, and batch runs of notebooks: the shells that have no person, or no kernel."""

from __future__ import annotations

import os
import re
import signal
import sys

import nbformat
import pexpect
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_notebook

from tests.builders import TestWorkspace

pytestmark = pytest.mark.kernel

ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|[@-Z\\-_])")


class Terminal:
    """IPython in a pseudo terminal, with prompt_toolkit."""

    def __init__(self, workspace: TestWorkspace) -> None:
        self.child = pexpect.spawn(
            sys.executable,
            ["-m", "IPython", "--no-banner", "--no-confirm-exit", "--colors=nocolor"],
            cwd=str(workspace.root),
            env={**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"},
            encoding="utf-8",
            dimensions=(50, 200),
            timeout=30,
        )
        self.child.expect_exact("In [1]:")
        self.number = 0

    def run(self, line: str) -> str:
        """Type *line*, and another that prints a mark; return what is shown until the mark."""
        self.number += 1
        self.child.send(f"{line}\rprint('ma' 'rk-{self.number}.')\r")
        self.child.expect_exact(f"mark-{self.number}.")
        return ESCAPES.sub("", self.child.before)


@pytest.fixture
def terminal(workspace, home):
    found = Terminal(workspace)
    yield found
    found.child.sendeof()
    found.child.close(force=True)


def test_a_terminal_with_its_line_editor_goes_back(terminal, workspace):
    terminal.run("%load_ext nbrewind")
    terminal.run("open('a', 'w').write('1')")
    terminal.run("%rewind name good")
    terminal.run("open('a', 'w').write('2'); open('b', 'w').write('2')")

    shown = terminal.run("%rewind to good\r%rewind confirm\r%rewind undo\r%rewind redo")
    assert shown.index("Nothing has changed yet") < shown.index("%rewind redo goes forward again"), shown
    assert workspace.read("a") == b"1" and not workspace.exists("b")
    assert "Traceback" not in terminal.run("%rewind nonsense")


def test_a_stop_in_a_terminal_is_the_cells(terminal, workspace):
    terminal.run("%load_ext nbrewind")
    terminal.run("open('a', 'w').write('1')")
    terminal.child.send("open('a', 'w').write('2'); import time; print('asle' + 'ep', flush=True); time.sleep(60)\r")
    terminal.child.expect("asleep")
    terminal.child.kill(signal.SIGINT)
    terminal.child.expect("KeyboardInterrupt")

    assert "interrupted" in terminal.run("%rewind list --all")
    terminal.run("%rewind back 1 --yes")
    assert workspace.read("a") == b"1"


def execute(workspace: TestWorkspace, *cells: str) -> nbformat.NotebookNode:
    notebook = new_notebook(cells=[new_code_cell(cell) for cell in cells])
    client = NotebookClient(
        notebook, timeout=60, kernel_name="python3", resources={"metadata": {"path": workspace.root}}
    )
    return client.execute()


def text_of(notebook: nbformat.NotebookNode) -> str:
    return "\n".join(
        output.get("text") or output.get("data", {}).get("text/plain", "")
        for cell in notebook.cells
        for output in cell.outputs
    )


def test_a_batch_run_goes_back_when_it_says_yes(workspace, home):
    done = execute(
        workspace,
        "%load_ext nbrewind",
        "open('a', 'w').write('1')",
        "open('a', 'w').write('2')",
        "%rewind to 2 --yes",
        "print('read', open('a').read())",
    )

    assert "read 1" in text_of(done)


def test_a_batch_run_asks_nobody(workspace, home):
    with pytest.raises(CellExecutionError, match="nobody can be asked here"):
        execute(workspace, "%load_ext nbrewind", "open('a', 'w').write('1')", "%rewind to start")

    assert workspace.read("a") == b"1"


def test_a_notebook_runs_twice_over_a_rewind_cell(workspace, home):
    cells = [
        "%load_ext nbrewind",
        "n = open('n', 'a').write('x')",
        "m = open('n', 'a').write('y')",
        "%rewind to 2 --yes",
        "print('read', open('n').read())",
    ]

    assert "read x" in text_of(execute(workspace, *cells))
    assert "read xx" in text_of(execute(workspace, *cells))
