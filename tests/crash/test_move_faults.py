"""A death or an error at any change of the disk while a kernel takes a turn back, files and variables at once."""

from __future__ import annotations

import errno
from collections import Counter
from pathlib import Path

import pytest

from tests.crash.moves import DONE, INCONSISTENT, NOT_HIT, MoveStage
from tests.crash.test_errors import NEEDING_ROOM
from tests.crash.test_turn_kills import at, points
from tests.crash.turns import BEGINS
from tests.faults import KILLED, Call, ErrorAt, KillAt, counted, run_forked
from tests.reliability.effort import LONG


def calls_of(stage: MoveStage) -> tuple[list[Call], int]:
    """Return what attaching and moving does to the disk, and where the move begins."""
    stage.set()
    calls = counted(stage.play).calls
    return calls, at(calls, "user", BEGINS) + 1


def test_move_of_files_and_variables_killed_anywhere_is_before_or_after(ground: Path) -> None:
    stage = MoveStage(ground)
    calls, begin = calls_of(stage)
    found = points(calls, begin)
    committed = [KillAt(calls[at(calls, "fdatasync", "/log", last=True)].event + 1)]
    outcomes: Counter[str] = Counter()
    for probe in found if LONG else [*committed, *found[::24]]:
        stage.set()
        assert run_forked(stage.play, probe) == KILLED
        with stage.explained(probe):
            outcomes[stage.check()] += 1

    assert outcomes.keys() == {"before", "after"}


@pytest.mark.parametrize("name", ["ENOSPC", "EIO", "EACCES"])
def test_one_error_in_a_move_leaves_files_and_variables_as_they_were_or_as_wanted(ground: Path, name: str) -> None:
    stage = MoveStage(ground)
    calls, begin = calls_of(stage)
    flush = at(calls, "fdatasync", "/log", last=True) - begin
    # The three of them take turns: together each sixth call, and all of them at length.
    start = 6 * ["ENOSPC", "EIO", "EACCES"].index(name)
    outcomes: Counter[str] = Counter()
    for point in range(len(calls) - begin) if LONG else [flush, *range(start, len(calls) - begin, 18)]:
        stage.set()
        probe = ErrorAt(point, getattr(errno, name))
        with stage.explained(probe, calls[begin + point]):
            outcome = stage.failed(probe)
            # Only the flush of the frame, which nobody can know the result of: the next kernel finds out.
            assert (outcome == INCONSISTENT) is (point == flush)
            assert outcome != INCONSISTENT or stage.check() in ("before", "after")
        outcomes[outcome] += 1

    assert outcomes.keys() - {NOT_HIT} == {DONE, "refused", "rolled-back", INCONSISTENT}


def test_disk_that_stays_full_in_a_move_leaves_files_and_variables_as_they_were(ground: Path) -> None:
    stage = MoveStage(ground)
    calls, begin = calls_of(stage)
    room = sum(call.name in NEEDING_ROOM for call in calls[begin:])
    outcomes: Counter[str] = Counter()
    for point in range(0, room, 1 if LONG else 12):
        stage.set()
        probe = ErrorAt(point, errno.ENOSPC, forever=True, calls=NEEDING_ROOM)
        with stage.explained(probe):
            outcomes[stage.failed(probe)] += 1

    assert INCONSISTENT not in outcomes
    assert outcomes["refused"] > 3


@pytest.mark.parametrize("call", ["unlink", "rmdir"])
def test_what_a_failed_cleaning_up_left_goes_before_the_next_move_is_planned(ground: Path, call: str) -> None:
    stage = MoveStage(ground)
    calls, _ = calls_of(stage)
    place = at(calls, call, "/work/", last=True)
    earlier = sum(one.name == call for one in calls[:place])
    attaching = sum(one.name == call for one in calls[: at(calls, "user", BEGINS)])
    stage.set()

    assert stage.failed(ErrorAt(earlier - attaching, errno.EIO, calls=(call,))) == DONE
