"""Real kernels, killed by SIGKILL in the middle of a cell and of a rewind: before or after, and nothing between."""

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
_FILES = 30
_CELL = """
import pathlib
for number in range(FILES):
    pathlib.Path(f"file-{number}").write_text("in the cell " * 2000)
pathlib.Path("gone").unlink()
pathlib.Path("new").write_text("new")
"""


def state(text: str, *, gone: bool) -> dict[str, str]:
    """Return what stands where the files hold *text*."""
    found = {f"file-{number}": text for number in range(_FILES)}
    return found | ({"gone": "here"} if not gone else {"new": "new"})


BEFORE, AFTER = state("at first", gone=False), state("in the cell " * 2000, gone=True)


def standing(workspace: TestWorkspace) -> dict[str, str]:
    """Return the files that stand now; temporary files of ours count."""
    return {path.name: path.read_text() for path in workspace.root.iterdir()}


def killed(kernel: TestKernel, code: str, delay: float) -> None:
    """Run *code* and kill the kernel after *delay* seconds."""
    kernel.client.execute(code)
    time.sleep(delay)
    os.kill(kernel.pid, signal.SIGKILL)
    while kernel.alive():
        time.sleep(0.005)


def lay(kernel: TestKernel, workspace: TestWorkspace) -> None:
    """Bring the workspace to how it was before the cell, in a turn of its own."""
    code = f"""
import pathlib
for number in range({_FILES}):
    pathlib.Path(f"file-{{number}}").write_text("at first")
pathlib.Path("gone").write_text("here")
pathlib.Path("new").unlink(missing_ok=True)
"""
    assert kernel.run(code).status == "ok"
    assert standing(workspace) == BEFORE


@pytest.mark.parametrize("round_", range(_KILLS))
def test_cell_that_a_kill_interrupted_can_be_taken_back(
    kernel: TestKernel, workspace: TestWorkspace, home: Path, round_: int
) -> None:
    lay(kernel, workspace)
    chance = random.Random(SEED + round_)
    killed(kernel, _CELL.replace("FILES", str(_FILES)), chance.uniform(0.0, 0.03 if round_ else 0.2))
    kernel.restart()
    # The cell's own writes stop anywhere; taken back, all is as before it. It is a turn only if it had begun.
    listed = kernel.run("%rewind list").text
    assert "not protected" not in kernel.run("%rewind status").text
    if standing(workspace) != BEFORE:
        assert "[2]" in listed, listed
        run = kernel.run("%rewind before 2 --yes")
        assert run.status == "ok", run.text
    assert standing(workspace) == BEFORE
    assert "damaged" not in kernel.run("%rewind verify").text


@pytest.mark.parametrize("round_", range(_KILLS))
def test_rewind_that_a_kill_interrupted_is_before_or_after(
    kernel: TestKernel, workspace: TestWorkspace, home: Path, round_: int
) -> None:
    lay(kernel, workspace)
    assert kernel.run(_CELL.replace("FILES", str(_FILES))).status == "ok"
    assert standing(workspace) == AFTER
    chance = random.Random(SEED + round_)
    killed(kernel, "%rewind before 2 --yes", chance.uniform(0.0, 0.25))
    kernel.restart()
    kernel.run("%rewind list")
    found = standing(workspace)
    assert found in (BEFORE, AFTER), sorted(found)
    run = kernel.run("%rewind before 2 --yes" if found == AFTER else "%rewind undo --yes")
    assert run.status == "ok", run.text
    assert standing(workspace) == (BEFORE if found == AFTER else AFTER)
    assert not list(home.rglob("*.intent"))
