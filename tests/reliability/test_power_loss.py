"""A power cut at any instant: what was acknowledged is there, and everything else is before or after.

The disks are made from one recorded run (see `disk`): all that was flushed, and any part of the rest.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from nbrewind.errors import RewindError
from tests.crash.cases import CASES, Stage
from tests.crash.test_mutants import without_flush
from tests.reliability.disk import Cut, Recorder, Trace, recorded
from tests.reliability.effort import SEED, amount

_STATES = amount(40, 4000)


def traced(stage: Stage) -> Trace:
    """Return what the rewind of *stage* does; its end is marked."""

    def play(recorder: Recorder) -> None:
        stage.play()
        recorder.mark("done")

    stage.set()
    return recorded(play, [stage.folder])


def outcome(stage: Stage, trace: Trace, cut: Cut) -> str:
    """Return what recovery makes of the disk after *cut*."""
    trace.lay(cut)
    ended = stage.check()
    assert ended == "after" or not trace.marks(cut)
    return ended


def outcomes(stage: Stage, trace: Trace, count: int) -> Counter[str]:
    """Cut the power so many times; return how often it was before and after."""
    found: Counter[str] = Counter()
    for cut in islice(trace.cuts(SEED), count):
        try:
            found[outcome(stage, trace, cut)] += 1
        except BaseException as error:
            error.add_note(trace.story(cut))
            raise
    return found


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("undo", [False, True], ids=["rewind", "undo"])
def test_rewind_is_before_or_after_a_power_cut_and_done_when_it_said_so(ground: Path, name: str, undo: bool) -> None:
    if undo and name in ("outside", "database"):
        pytest.skip("undo of these is a rewind like the others")
    stage = Stage(ground, CASES[name], undo=undo)

    found = outcomes(stage, traced(stage), _STATES)

    assert found["before"] > _STATES // 10
    assert found["after"] > _STATES // 10


# Not the intent's own bytes: what is lost of them is in the copy that its archive holds (test_damaged_intent.py).
@pytest.mark.parametrize("part", ["/incoming/", "/objects/pack", "/intents", "/work/.nbrewind-op-", "/work", "/log"])
def test_missing_flush_is_found_by_a_power_cut(ground: Path, monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    stage = Stage(ground, CASES["contents"])
    without_flush(part)(monkeypatch)
    trace = traced(stage)
    monkeypatch.undo()

    with pytest.raises((AssertionError, OSError, RewindError)):
        for cut in islice(trace.cuts(SEED), 3000):
            outcome(stage, trace, cut)
