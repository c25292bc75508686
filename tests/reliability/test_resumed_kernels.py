"""Real kernels with variables, killed in a cell and in a rewind; the next kernel resumes before or after, whole."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

from tests.builders import TestKernel, TestWorkspace
from tests.reliability.effort import SEED, amount

pytestmark = pytest.mark.kernel
_KILLS = amount(2, 25)
_FILES = 12

_START = """
import numpy as np, collections, random, os
class Node:
    def __init__(self, value): self.value = value; self.peer = None
rows = [[n] for n in range(2000)]; alias = rows[7]
frame = np.arange(400_000.); view = frame[100:200]
a, b = Node(1), Node(2); a.peer, b.peer = b, a
def make():
    count = 0
    def step():
        nonlocal count
        count += 1
        return count
    return step
step = make(); step()
os.environ['STAGE'] = 'one'; random.seed(4)
for number in range(FILES): open(f'file-{number}', 'w').write('one')
"""
_CHANGE = """
rows.append('new'); alias.append(1); frame[150] = -1; a.value = 5; b.peer = None; step(); del Node.__init__
os.environ['STAGE'] = 'two'; random.seed(5); fresh = {'k': alias}
for number in range(FILES): open(f'file-{number}', 'w').write('two' * 3000)
"""
_SEEN = (
    "(len(rows), alias is rows[7], list(alias), float(frame.sum()), bool(view.base is frame), float(view[50]),"
    " a.value, a.peer is b, b.peer is a, type(a) is Node, '__init__' in vars(Node), step.__closure__[0].cell_contents,"
    " os.environ.get('STAGE'), random.getstate()[1][:3], 'fresh' in globals() and fresh['k'] is alias)"
)
_SHELL = "(get_ipython().execution_count, In[1:], sorted(Out))"


def cells(text: str) -> str:
    """Return the code of a cell."""
    return text.replace("FILES", str(_FILES)).strip()


def variables(kernel: TestKernel) -> object:
    """Return what variables and process state are, as far as a person would look."""
    return kernel.value(_SEEN)


def files(workspace: TestWorkspace) -> dict[str, str]:
    """Return the files that stand."""
    return {path.name: path.read_text() for path in workspace.root.iterdir()}


def killed(kernel: TestKernel, code: str, delay: float) -> None:
    """Run *code*, once the cell before it is saved, and kill the kernel after *delay* seconds."""
    assert kernel.value("__import__('nbrewind').current().settle()")
    kernel.client.execute(code)
    time.sleep(delay)
    os.kill(kernel.pid, signal.SIGKILL)
    while kernel.alive():
        time.sleep(0.005)


def resumed(kernel: TestKernel) -> None:
    """Start the next kernel and recover in it."""
    kernel.restart()
    run = kernel.run("%rewind recover --yes")
    assert run.status == "ok", run
    assert "lost" not in run.text, run


@pytest.mark.parametrize("round_", range(_KILLS))
def test_a_kill_in_a_cell_resumes_before_or_after_it(
    kernel: TestKernel, workspace: TestWorkspace, home: Path, round_: int
) -> None:
    assert kernel.run(cells(_START)).status == "ok"
    before, shown = variables(kernel), kernel.value(_SHELL)
    stood = files(workspace)
    chance = random.Random(SEED + round_)
    killed(kernel, cells(_CHANGE), chance.choice((chance.uniform(0, 0.03), chance.uniform(0, 0.3))))
    resumed(kernel)
    if variables(kernel) == before:
        assert kernel.value(_SHELL) == shown
        if files(workspace) != stood:
            assert kernel.run("%rewind to 1 --yes").status == "ok"
        assert (files(workspace), variables(kernel)) == (stood, before)
        assert kernel.run(cells(_CHANGE)).status == "ok"
    after = variables(kernel)
    assert after != before and kernel.value("step()") == 3
    assert kernel.run("%rewind to 1 --yes").status == "ok"
    assert (files(workspace), variables(kernel)) == (stood, before)


@pytest.mark.parametrize("round_", range(_KILLS))
def test_a_kill_in_a_rewind_resumes_before_or_after_it(
    kernel: TestKernel, workspace: TestWorkspace, home: Path, round_: int
) -> None:
    assert kernel.run(cells(_START)).status == "ok"
    before = (files(workspace), variables(kernel), kernel.value(_SHELL))
    assert kernel.run(cells(_CHANGE)).status == "ok"
    after = (files(workspace), variables(kernel), kernel.value(_SHELL))
    chance = random.Random(SEED + round_)
    killed(kernel, "%rewind to 1 --yes", chance.uniform(0.0, 0.2))
    resumed(kernel)
    assert (files(workspace), variables(kernel), kernel.value(_SHELL)) in (before, after)
    # It goes on from there as if nothing had been.
    assert kernel.run("rows.append(0); open('file-0', 'w').write('three')").status == "ok"
    assert kernel.run("%rewind to 1 --yes").status == "ok"
    assert (files(workspace), variables(kernel), kernel.value(_SHELL)) == before
    assert "damaged" not in kernel.run("%rewind verify").text
