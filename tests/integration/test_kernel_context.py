"""Options that are context variables, right after a rewind: in a kernel, in a terminal, in a script, in "Run All"."""

import re
import subprocess
import sys

import pytest

from tests.integration.test_kernel_threads import Subshell
from tests.integration.test_shells import Terminal

pytestmark = pytest.mark.kernel

FIRST = (
    "import numpy as np, decimal; np.seterr(divide='raise'); np.set_printoptions(precision=3);"
    " decimal.getcontext().prec = 9; x = 1"
)
SECOND = (
    "np.seterr(divide='ignore'); np.set_printoptions(precision=5, threshold=7);"
    " decimal.getcontext().prec = 4; decimal.getcontext().traps[decimal.Inexact] = True; x = 2"
)
LOOK = (
    "(np.geterr()['divide'], np.get_printoptions()['precision'], np.get_printoptions()['threshold'],"
    " decimal.getcontext().prec, decimal.getcontext().traps[decimal.Inexact], x)"
)
WAS, IS = ("raise", 3, 1000, 9, False, 1), ("ignore", 5, 7, 4, True, 2)
SESSION = "__import__('nbrewind').current()"


def seen(kernel):
    """Return the options as a cell sees them."""
    return eval(kernel.run(f"print(repr({LOOK}))").text)


def test_in_a_kernel(kernel):
    kernel.run(FIRST)
    kernel.run(SECOND)
    assert seen(kernel) == IS

    kernel.run("%rewind to 1 --yes")
    assert seen(kernel) == WAS
    kernel.run(SECOND)
    kernel.run("%rewind before 3 --yes")
    assert seen(kernel) == WAS


def test_by_undo_and_redo(kernel):
    kernel.run(FIRST)
    kernel.run(SECOND)
    kernel.run("%rewind to 1 --yes")
    kernel.run("%rewind undo")
    kernel.run("%rewind redo")
    kernel.run("%rewind undo")

    assert seen(kernel) == IS


def test_by_a_move_that_another_thread_asks_for(kernel):
    kernel.run(FIRST)
    kernel.run(SECOND)

    assert Subshell(kernel).run("%rewind to 1 --yes")["status"] == "ok"

    assert seen(kernel) == WAS


def test_by_an_atomic_cell_that_fails(kernel):
    kernel.run(FIRST)

    kernel.run(f"%%atomic\n{SECOND}\n1/0")
    assert seen(kernel) == WAS
    kernel.run(f"%%atomic\nimport asyncio; await asyncio.sleep(0)\n{SECOND}\n1/0")
    assert seen(kernel) == WAS


def test_in_run_all(kernel):
    kernel.run("0")
    for code in (FIRST, SECOND, "%rewind to 2 --yes"):
        kernel.client.execute(code)

    assert seen(kernel) == WAS


def test_in_a_cell_that_awaits_after_it(kernel):
    kernel.run(FIRST)
    kernel.run(SECOND)
    kernel.run("%rewind to 1 --yes")

    assert eval(kernel.run(f"import asyncio; await asyncio.sleep(0.01); print(repr({LOOK}))").text) == WAS


def test_nothing_counts_as_changed_where_nothing_did(kernel):
    kernel.run(FIRST)
    kernel.run("x = 5")
    kernel.run("1")
    kernel.value(f"{SESSION}.settle()")

    assert kernel.value(f"[o.kind.value for o in {SESSION}.operations]") == ["attach", "turn", "turn", "turn"]
    assert kernel.value(f"len(set(o.checkpoint.variables for o in {SESSION}.operations[-2:]))") == 1


SCRIPT = f"""
%load_ext nbrewind
{FIRST}
%rewind name first
{SECOND}
%rewind name second
%rewind to first --yes
print("seen", {LOOK})
%rewind undo
print("seen", {LOOK})
"""


def test_in_a_script_for_ipython(workspace, home):
    workspace.write({"run.ipy": SCRIPT})

    done = subprocess.run(
        [sys.executable, "-m", "IPython", "--no-banner", "run.ipy"],
        cwd=workspace.root, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip

    said = [line for line in done.stdout.splitlines() if line.startswith("seen")]
    assert said == [f"seen {WAS}", f"seen {IS}"], done


def test_in_a_terminal(workspace, home):
    terminal = Terminal(workspace)
    try:
        terminal.run("%load_ext nbrewind")
        terminal.run(FIRST)
        terminal.run("%rewind name first")
        terminal.run(SECOND)
        terminal.run("%rewind name second")
        terminal.run("%rewind to first --yes")
        shown = terminal.run(f"print('se' 'en', {LOOK})")
        assert re.sub(r"\s+", " ", shown).count(f"seen {WAS}") == 1, shown
        terminal.run("%rewind to second --yes")
        shown = terminal.run(f"print('se' 'en', {LOOK})")
        assert re.sub(r"\s+", " ", shown).count(f"seen {IS}") == 1, shown
    finally:
        terminal.child.sendeof()
        terminal.child.close(force=True)
