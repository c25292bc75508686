"""A death at any instant of a turn, and of the attach after it: all of before comes back, and nothing is left."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

import pytest

from nbrewind import fs
from nbrewind.capture.images import BeforeImages, Image, described
from nbrewind.capture.journal import TurnJournal
from nbrewind.resources.files import snapshot
from nbrewind.resources.files.mounts import Mount
from nbrewind.session.capturing import Capturing
from nbrewind.session.keeping import Keeping
from tests.crash.test_mutants import Patch, without_flush
from tests.crash.turns import BEGINS, NOTHING, OVER, TurnStage
from tests.faults import KILLED, Call, KillAt, TornAt, counted, run_forked
from tests.reliability.effort import LONG

_NOW_AND_THEN = 1 << 62
"""So much slack, in ns, that no file is ever old enough to be known by its times."""


def points(calls: list[Call], begin: int) -> list[fs.Probe]:
    """Return kills before and after each call from the *begin*-th on, and inside of each write."""
    kills: list[fs.Probe] = [KillAt(point) for point in range(calls[begin].event, calls[-1].event + 2)]
    earlier = sum(call.name == "write" for call in calls[:begin])
    torn: list[fs.Probe] = [TornAt(point) for point in range(earlier, sum(call.name == "write" for call in calls))]
    return kills + torn


def at(calls: list[Call], name: str, part: str, *, last: bool = False) -> int:
    """Return the place of the first (or last) call *name* whose target has *part* in it."""
    found = [place for place, call in enumerate(calls) if call.name == name and part in call.target]
    return found[-1 if last else 0]


def killed(stage: TurnStage, probes: Iterable[fs.Probe], *, again: fs.Probe | None = None) -> Counter[str]:
    """Kill the turn of *stage* at each of *probes*, and return how often it was found in which state.

    With *again* the turn is killed there, and each of *probes* kills the attach after it.
    """
    outcomes: Counter[str] = Counter()
    for probe in probes:
        stage.set()
        assert run_forked(stage.play, again or probe) == KILLED
        # Not begun from a copy of what the first death left: copies are files that somebody wrote after the turn.
        assert again is None or run_forked(stage.next_kernel, probe) == KILLED
        with stage.explained(again, probe):
            outcomes[stage.check()] += 1
    return outcomes


def calls_of(stage: TurnStage) -> list[Call]:
    """Return what the turn of *stage* does to the disk, its attach included."""
    stage.set()
    return counted(stage.play).calls


@pytest.fixture(autouse=True)
def _files_of_just_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no file known by its times: whether they are must not depend on the machine."""
    monkeypatch.setattr(Mount, "slack_ns", _NOW_AND_THEN)


@pytest.fixture(autouse=True)
def _commits_of_another_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have each process make commits of its own: in the second in which one died, the next would make the same."""
    monkeypatch.setattr(snapshot, "time", SimpleNamespace(time=lambda: 1e9 + os.getpid()))


@pytest.fixture(params=[0, _NOW_AND_THEN], ids=["old files", "files of just now"])
def slack(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Have all files known by their times, or none."""
    monkeypatch.setattr(Mount, "slack_ns", property(lambda self: request.param))
    return int(request.param)


@pytest.mark.parametrize("variables", [True, False], ids=["with variables", "without"])
def test_turn_killed_anywhere_is_taken_back_to_the_byte(ground: Path, slack: int, variables: bool) -> None:
    stage = TurnStage(ground, variables=variables)
    calls = calls_of(stage)
    found = points(calls, at(calls, "user", BEGINS))

    # The four of them take turns: together each sixth point, and all of them at length.
    start = 6 * bool(slack) + 12 * variables
    outcomes = killed(stage, found if LONG else [found[0], *found[start::24]])

    assert outcomes.keys() == {NOTHING, "interrupted", "ok"}, outcomes


@pytest.mark.parametrize(
    "death",
    [
        "in the middle of the cell",
        "at the last row",
        "objects written, not logged",
        "logged in half",
        "logged, journal still there",
    ],
)
def test_attach_after_a_death_killed_anywhere_is_made_up_for_by_the_next(ground: Path, death: str) -> None:
    stage = TurnStage(ground)
    calls = calls_of(stage)
    begin, over = at(calls, "user", BEGINS), at(calls, "user", OVER)
    logged = at(calls, "write", "/log", last=True)
    torn = sum(call.name == "write" for call in calls[:logged])
    where: dict[str, fs.Probe] = {
        "in the middle of the cell": KillAt((calls[begin].event + calls[over].event) // 2),
        "at the last row": KillAt(calls[at(calls, "rename", "/turn-")].event),
        "objects written, not logged": KillAt(calls[logged].event),
        "logged in half": TornAt(torn),
        "logged, journal still there": KillAt(calls[logged + 1].event + 1),
    }
    probe = where[death]
    stage.set()
    assert run_forked(stage.play, probe) == KILLED
    found = points(counted(stage.next_kernel).calls, 0)

    outcomes = killed(stage, found if LONG else found[list(where).index(death) :: 17], again=probe)

    assert outcomes.keys() == {"interrupted" if death == "in the middle of the cell" else "ok"}, outcomes


# -- the sweep can fail ------------------------------------------------------------------------------------------------


def no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TurnJournal, "touch", lambda self, touched: None)


def no_images(monkeypatch: pytest.MonkeyPatch) -> None:
    keep = BeforeImages.keep

    def described_only(self: BeforeImages, path: str, found: object, place: object) -> Image:
        image = keep(self, path, found, place)  # type: ignore[arg-type]  # passed on
        return Image(described(found)) if image.path else image  # type: ignore[arg-type]  # as above

    monkeypatch.setattr(BeforeImages, "keep", described_only)


def journal_removed_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Keeping._log_span

    def early(self: Capturing, span: object, started: object, deadline: object) -> object:
        recorder = self._parts.recorder
        if recorder is not None:
            recorder.saved(span)  # type: ignore[arg-type]  # passed on
        return real(self, span, started, deadline)  # type: ignore[arg-type]  # as above

    monkeypatch.setattr(Keeping, "_log_span", early)


def journal_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Capturing, "_let_go", lambda self, span: None)


@pytest.mark.parametrize(
    ("mutant", "part"),
    [
        (no_rows, "the cell"),
        (no_images, "the cell"),
        (journal_removed_too_early, "saving"),
        (journal_stays, "saving"),
    ],
)
def test_broken_turn_is_found_by_the_kills(
    ground: Path, monkeypatch: pytest.MonkeyPatch, mutant: Patch, part: str
) -> None:
    stage = TurnStage(ground)
    mutant(monkeypatch)
    calls = calls_of(stage)
    over = at(calls, "user", OVER)
    found = points(calls, (at(calls, "user", BEGINS) + over) // 2 if part == "the cell" else over - 30)

    with pytest.raises(AssertionError):
        killed(stage, found[::5])


def order_is_kept(calls: list[Call]) -> bool:
    """Return whether a turn's objects are durable before its frame, and that before its journal and its copies go."""
    calls = calls[at(calls, "user", BEGINS) :]

    def place(name: str, part: str) -> int:
        return next((number for number, call in enumerate(calls) if call.name == name and part in call.target), -1)

    milestones = [
        place("rename", "/turn-"),
        place("fsync", "/incoming/"),
        place("rename", "/objects/pack/"),
        place("fsync", "/objects/pack"),
        place("write", "/log"),
        place("fdatasync", "/log"),
        place("unlink", "/turn-"),
        place("unlink", "/images/"),
    ]
    return -1 not in milestones and milestones == sorted(milestones)


def test_turn_is_durable_before_what_relies_on_it(ground: Path) -> None:
    assert order_is_kept(calls_of(TurnStage(ground)))


@pytest.mark.parametrize("part", ["/incoming/", "/objects/pack", "/log"])
def test_missing_flush_of_a_turn_is_found_by_the_order(
    ground: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    stage = TurnStage(ground)
    without_flush(part)(monkeypatch)

    assert not order_is_kept(calls_of(stage))
