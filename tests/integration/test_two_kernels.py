"""Two kernels in one workspace at once, with maintenance in between: no point is lost and nobody waits for anybody."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from nbrewind.session.session import Session
from tests.builders import TestKernel, TestWorkspace
from tests.sessions import settings_for
from tests.stores import fsck, stores_below

pytestmark = pytest.mark.kernel

TURNS = 100


def work(kernel: TestKernel, name: str, slowest: list[float], failures: list[str], maintain: bool) -> None:
    """Run 100 cells that each write one file, with maintenance every ten cells in one of the kernels."""
    for number in range(1, TURNS + 1):
        start = time.perf_counter()
        run = kernel.run(f"_ = open('{name}.txt','w').write('{number}')")
        slowest.append(time.perf_counter() - start)
        if run.status != "ok":
            failures.append(f"{name} {number}: {run}")
        if maintain and number % 10 == 0:
            run = kernel.run("%rewind gc", silent=True)
            if run.status != "ok":
                failures.append(f"{name} gc {number}: {run}")


@pytest.mark.slow
def test_b73_two_kernels_with_a_hundred_turns_each_lose_no_point(workspace: TestWorkspace, home: Path) -> None:
    workspace.write({f"data/{number}": str(number) * 100 for number in range(50)})
    kernels = [TestKernel(workspace.root, home), TestKernel(workspace.root, home)]
    slowest: list[float] = []
    failures: list[str] = []
    try:
        for kernel in kernels:
            kernel.start()
            kernel.load()
        threads = [
            threading.Thread(target=work, args=(kernel, name, slowest, failures, name == "first"))
            for kernel, name in zip(kernels, ("first", "second"), strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert max(slowest) < 4

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
