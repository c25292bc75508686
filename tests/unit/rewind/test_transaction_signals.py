from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbrewind.errors import RewindRolledBack
from nbrewind.rewind.critical import critical
from tests.crash.scene import Scene
from tests.faults import Counter, counted, installed


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path)
    yield scene
    scene.close()


def test_interrupt_waits_for_the_end_of_the_section() -> None:
    reached = []

    with pytest.raises(KeyboardInterrupt):
        with critical():
            os.kill(os.getpid(), signal.SIGINT)
            reached.append("inside")
        reached.append("after")

    assert reached == ["inside"]


def test_handlers_of_others_run_after_it_and_are_back_in_place() -> None:
    seen: list[int] = []
    former = signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
    try:
        handler = signal.getsignal(signal.SIGUSR1)
        with critical():
            os.kill(os.getpid(), signal.SIGUSR1)
            os.kill(os.getpid(), signal.SIGUSR1)
            assert seen == []
        assert seen == [signal.SIGUSR1]
        assert signal.getsignal(signal.SIGUSR1) is handler
    finally:
        signal.signal(signal.SIGUSR1, former)


def test_every_signal_that_came_is_delivered_though_one_raises() -> None:
    seen: list[int] = []
    former = signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
    try:
        with pytest.raises(KeyboardInterrupt), critical():
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGUSR1)
        assert seen == [signal.SIGUSR1]
    finally:
        signal.signal(signal.SIGUSR1, former)


def test_error_inside_comes_out_and_handlers_are_back() -> None:
    before = signal.getsignal(signal.SIGINT)

    with pytest.raises(ValueError, match="inside"), critical():
        raise ValueError("inside")

    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_are_left_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    inside: list[object] = []

    def enter() -> None:
        with critical():
            inside.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()

    assert inside == [before]


def test_interrupt_at_any_change_of_the_disk_is_before_or_after(scene: Scene) -> None:
    class Interrupting(Counter):
        point, sent = 0, False

        def before(self, call: str, target: str, size: int) -> int | None:
            if self.events >= self.point and not self.sent:
                self.sent = True
                os.kill(os.getpid(), signal.SIGINT)
            return super().before(call, target, size)

    scene.lay({"a": b"1"})
    steps = scene.steps({"a": b"1"}, {"a": b"2"})
    events = counted(lambda: scene.run(steps)).events
    outcomes = set()
    # The run above was a fork's: its log and its files are not ours to go on from.
    scene.close()
    for point in range(0, events, 3):
        scene = Scene(scene.base.parent / f"scene-{point}")
        scene.lay({"a": b"1"})
        probe = Interrupting()
        probe.point = point
        with pytest.raises((KeyboardInterrupt, RewindRolledBack)), installed(probe):
            scene.run(scene.steps({"a": b"1"}, {"a": b"2"}))
        assert not scene.litter()
        rewound = scene.rewound() == 1
        assert scene.path("a").read_bytes() == (b"2" if rewound else b"1")
        outcomes.add(rewound)
        scene.close()
    assert outcomes == {True, False}
