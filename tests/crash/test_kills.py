"""A death at any instant of a rewind, an undo or a recovery: the next attach finds before or after, and every byte."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from nbrewind import fs
from tests.crash.cases import CASES, Case, Stage
from tests.faults import KILLED, KillAt, TornAt, counted, run_forked

_RESTORE = Case(before={"d/one": b"now" * 500, "two": b"2"}, after={"d/one": b"then" * 400, "two": b"2"})


def probes(play: Callable[[], object], *, every: int = 1) -> Iterator[fs.Probe]:
    """Yield a kill before and after each change that *play* makes, and one inside of each write."""
    counter = counted(play)
    for point in range(0, counter.events, every):
        yield KillAt(point)
    for point in range(sum(call.name == "write" for call in counter.calls)):
        yield TornAt(point)


def killed_everywhere(
    stage: Stage, play: Callable[[], object], start: Path | None = None, *, every: int = 1, explain: bool = True
) -> Counter[str]:
    """Kill *play*, begun from *start*, at each point; return how often recovery came to each of the two states."""
    outcomes: Counter[str] = Counter()
    stage.set(start)
    for probe in list(probes(play, every=every)):  # the list first: finding the points plays it too
        stage.set(start)
        assert run_forked(play, probe) == KILLED
        with stage.explained(probe, play, start) if explain else nullcontext():
            outcomes[stage.check()] += 1
    return outcomes


@pytest.mark.parametrize("name", CASES)
def test_rewind_killed_anywhere_is_before_or_after(ground: Path, name: str) -> None:
    stage = Stage(ground, CASES[name])

    outcomes = killed_everywhere(stage, stage.play)

    assert outcomes["before"] > 20
    assert outcomes["after"] > 5


@pytest.mark.parametrize("name", ["contents", "folders", "in place"])
def test_undo_killed_anywhere_is_before_or_after(ground: Path, name: str) -> None:
    stage = Stage(ground, CASES[name], undo=True)

    outcomes = killed_everywhere(stage, stage.play, every=2)

    assert outcomes["before"] > 20
    assert outcomes["after"] > 5


def test_restore_of_one_file_killed_anywhere_is_before_or_after(ground: Path) -> None:
    stage = Stage(ground, _RESTORE)

    outcomes = killed_everywhere(stage, stage.play)

    assert outcomes["before"] > 20
    assert outcomes["after"] > 5


@pytest.mark.parametrize("name", CASES)
def test_recovery_killed_anywhere_is_recovered_by_the_next(ground: Path, name: str) -> None:
    stage = Stage(ground, CASES[name])
    stage.set()
    calls = counted(stage.play).calls
    staged = max(at for at, call in enumerate(calls) if call.name in ("fsync", "allocate") and _is_ours(call.target))
    committed = max(at for at, call in enumerate(calls) if call.target.endswith("/log"))
    first = min(at for at, call in enumerate(calls) if _is_ours(call.target))
    # In the middle of staging, in the middle of applying, all applied, and the frame just written.
    points = ((first + staged) // 2, (staged + committed) // 2, committed - 2, committed)
    outcomes: Counter[str] = Counter()
    for point in points:
        stage.set()
        assert run_forked(stage.play, KillAt(calls[point].event + 1)) == KILLED
        outcomes += killed_everywhere(stage, stage.recover, stage.save(), every=2)

    assert outcomes["before"] > 10
    assert outcomes["after"] > 5


def _is_ours(target: str) -> bool:
    return "/work/" in target or "/outside/" in target
