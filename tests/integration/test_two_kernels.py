"""Two kernels in one workspace at once, with maintenance in between: no point is lost and nobody waits for anybody."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from nbrewind.session.session import Session
from tests.builders import TestKernel, TestWorkspace
from tests.sessions import settings_for
from tests.stores import fsck, stores_below

pytestmark = pytest.mark.kernel

TURNS = 100


def both(kernels: list[TestKernel], codes: list[str]) -> tuple[list[str], float]:
    """Run one cell in each kernel at once; return the statuses and the seconds until the slower one replied."""
    start = time.perf_counter()
    for kernel, code in zip(kernels, codes, strict=True):
        kernel.client.execute(code)
    statuses = [kernel.client.get_shell_msg(timeout=60)["content"]["status"] for kernel in kernels]
    return statuses, time.perf_counter() - start


@pytest.mark.slow
def test_b73_two_kernels_with_a_hundred_turns_each_lose_no_point(workspace: TestWorkspace, home: Path) -> None:
    workspace.write({f"data/{number}": str(number) * 100 for number in range(50)})
    kernels = [TestKernel(workspace.root, home), TestKernel(workspace.root, home)]
    slowest = 0.0
    try:
        for kernel in kernels:
            kernel.start()
            kernel.load()
        for number in range(1, TURNS + 1):
            codes = [f"_ = open('{name}.txt','w').write('{number}')" for name in ("first", "second")]
            if number % 10 == 0:
                # Queued before the first one's cell, so that it runs while the second one's turn is captured.
                kernels[0].client.execute("%rewind gc", silent=True)
            statuses, seconds = both(kernels, codes)
            if number % 10 == 0:
                statuses.append(kernels[0].client.get_shell_msg(timeout=60)["content"]["status"])
            slowest = max(slowest, seconds)
            assert set(statuses) == {"ok"}
        assert slowest < 4

        assert kernels[0].run("%rewind to 50 --yes").status == "ok"
        assert (workspace.read("first.txt"), workspace.read("second.txt")) == (b"50", b"100")
        assert kernels[1].run("%rewind to 30 --yes").status == "ok"
        assert (workspace.read("first.txt"), workspace.read("second.txt")) == (b"50", b"30")
    finally:
        for kernel in kernels:
            kernel.stop()

    (store,) = stores_below(home)
    assert fsck(store) == ""
    assert points_per_session(workspace, home, store) == [TURNS, TURNS]


def points_per_session(workspace: TestWorkspace, home: Path, store: Path) -> list[int]:
    """Return how many turns with files each session holds, after reading every object of every point."""
    counts = []
    for folder in (store / "sessions").iterdir():
        session = Session.open(settings_for(workspace.root, home), folder.name)  # type: ignore[arg-type]  # a NewType
        try:
            assert session.verify() == ()
            numbers = [point.number for point in session.points() if point.number is not None and point.has_files]
        finally:
            session.close()
        counts.append(len(set(numbers)))
    return counts
