"""An error at any change of the disk, once or from then on: refused or put back with nothing changed, or done."""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Callable, Collection
from itertools import product
from pathlib import Path

import pytest

from nbrewind.errors import InconsistentState, RewindRefused, RewindRolledBack
from tests.crash.cases import CASES, Stage, look
from tests.crash.scene import Scene, looks
from tests.faults import ALLOCATING, ErrorAt, counted, installed, open_descriptors, run_forked

DONE, REFUSED, ROLLED_BACK, INCONSISTENT, LEAKED, NOT_HIT = 0, 3, 4, 5, 9, 10
_STATUS = {RewindRefused: REFUSED, RewindRolledBack: ROLLED_BACK, InconsistentState: INCONSISTENT}

NEEDING_ROOM = ALLOCATING - {"fsync", "fdatasync"}


def outcome(stage: Stage, probe: ErrorAt) -> Callable[[], None]:
    """Return a function for a forked child: it runs the rewind under *probe* and exits with the outcome."""

    def run() -> None:
        scene = stage.scene()
        before = open_descriptors()
        status = DONE
        try:
            with installed(probe):
                run_transaction(scene, stage)
        except (RewindRefused, RewindRolledBack, InconsistentState) as error:
            status = _STATUS[type(error)]
        scene.repository.close()
        if not open_descriptors().keys() <= before.keys():
            status = LEAKED
        os._exit(status if probe.hit else NOT_HIT)

    return run


def run_transaction(scene: Scene, stage: Stage) -> None:
    """Run the rewind of *stage*."""
    scene.run(stage.steps)


def failed_everywhere(
    stage: Stage,
    number: int,
    *,
    forever: bool = False,
    late: bool = False,
    calls: Collection[str] | None = None,
    every: int = 1,
) -> Counter[int]:
    """Fail each change of the disk in turn; return how often each outcome came."""
    outcomes: Counter[int] = Counter()
    stage.set()
    scene = stage.scene()
    counter = counted(lambda: scene.run(stage.steps))
    scene.close()
    for point in range(0, sum(calls is None or call.name in calls for call in counter.calls), every):
        stage.set()
        probe = ErrorAt(point, number, forever=forever, late=late, calls=calls)
        status = run_forked(outcome(stage, probe))
        if late and status == NOT_HIT:
            continue  # one of those calls that fail anyway, and are followed by another way
        with stage.explained(probe, lambda: stage.scene().run(stage.steps)):
            assert status in (DONE, REFUSED, ROLLED_BACK, INCONSISTENT)
            if status in (REFUSED, ROLLED_BACK):
                check_untouched(stage)
            ended = stage.check()
            assert status not in (REFUSED, ROLLED_BACK) or ended == "before"
            assert status != DONE or ended == "after"
            outcomes[status] += 1
    return outcomes


def check_untouched(stage: Stage) -> None:
    """Check that all is as before, already without any recovery."""
    scene = stage.scene()
    assert look(scene) == stage.before
    assert not [path for path in (*looks(scene.work), *looks(scene.outside)) if ".nbrewind-" in path]
    scene.close()


@pytest.mark.parametrize(("name", "number"), [*product(CASES, [errno.ENOSPC, errno.EIO]), ("folders", errno.EACCES)])
def test_one_error_anywhere_changes_nothing_or_only_delays_cleaning_up(ground: Path, name: str, number: int) -> None:
    outcomes = failed_everywhere(Stage(ground, CASES[name]), number)

    assert outcomes[REFUSED] > 5
    assert outcomes[ROLLED_BACK] > 2
    # Only the flush of the commit frame, which nobody can know the result of.
    assert outcomes[INCONSISTENT] <= 1


@pytest.mark.parametrize("name", [name for name in CASES if name != "in place"])
def test_disk_that_stays_full_is_refused_or_put_back(ground: Path, name: str) -> None:
    outcomes = failed_everywhere(Stage(ground, CASES[name]), errno.ENOSPC, forever=True, calls=NEEDING_ROOM)

    # Putting back is made of renames and removals, which need no room.
    assert outcomes[INCONSISTENT] == 0
    assert outcomes[REFUSED] > 5


@pytest.mark.parametrize(("name", "number"), [*product(CASES, [errno.EIO]), ("folders", errno.EACCES)])
def test_disk_that_fails_from_then_on_loses_nothing(ground: Path, name: str, number: int) -> None:
    failed_everywhere(Stage(ground, CASES[name]), number, forever=True, every=2)


@pytest.mark.parametrize("name", CASES)
def test_error_that_comes_after_the_effect_is_an_error(ground: Path, name: str) -> None:
    failed_everywhere(Stage(ground, CASES[name]), errno.EIO, late=True)
