from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nbrewind.errors import InconsistentState
from nbrewind.model import Note
from nbrewind.resources import RewindContext
from nbrewind.rewind.intent import Intent, pending_intents, write_intent
from nbrewind.rewind.recovery import recover_session
from tests.crash.scene import Scene
from tests.faults import KILLED, ErrorAt, KillAt, installed, run_forked


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path)
    yield scene
    scene.close()


class Recovery:
    """A recoverer that notes how it was called."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, bool]] = []

    def __call__(self, intent: str, committed: bool, context: RewindContext) -> tuple[Note, ...]:
        self.calls.append((intent, committed))
        return ()


def left_behind(scene: Scene, *, committed: bool) -> None:
    operation = scene.operation()
    write_intent(
        scene.paths, Intent(operation=operation.id, seq=operation.seq, resources=(("a", "first"), ("b", "second")))
    )
    if committed:
        scene.log.append(operation)


@pytest.mark.parametrize("committed", [True, False])
def test_log_alone_says_whether_to_finish_or_to_put_back(scene: Scene, committed: bool) -> None:
    left_behind(scene, committed=committed)
    recovery = Recovery()

    notes = recover_session(scene.paths, scene.log, scene.repository, {"a": recovery, "b": recovery})

    order = ["first", "second"] if committed else ["second", "first"]
    assert recovery.calls == [(part, committed) for part in order]
    assert notes[0].reason.endswith("finished" if committed else "put back")
    assert pending_intents(scene.paths) == ()


def test_frame_of_which_only_the_head_can_be_read_counts(scene: Scene) -> None:
    left_behind(scene, committed=True)
    scene.log.append(scene.operation())
    scene.close()
    log = Path(scene.paths.log)
    data = bytearray(log.read_bytes())
    at = data.index(b"\x28\xb5\x2f\xfd", data.index(b"op-0-0"))
    data[at + 12] ^= 0x10
    log.write_bytes(data)
    scene.open()
    assert [one.id for one in scene.log.damaged] == ["op-0-0"]
    recovery = Recovery()

    recover_session(scene.paths, scene.log, scene.repository, {"a": recovery, "b": recovery})

    assert [committed for _, committed in recovery.calls] == [True, True]


def test_frame_that_nobody_can_name_is_not_guessed(scene: Scene) -> None:
    left_behind(scene, committed=True)
    scene.log.append(scene.operation())
    scene.close()
    log = Path(scene.paths.log)
    data = bytearray(log.read_bytes())
    data[data.index(b"op-0-0")] ^= 0x10
    log.write_bytes(data)
    scene.open()
    assert [one.id for one in scene.log.damaged] == [""]
    recovery = Recovery()

    notes = recover_session(scene.paths, scene.log, scene.repository, {"a": recovery, "b": recovery})

    assert recovery.calls == []
    assert len(pending_intents(scene.paths)) == 1
    assert "damaged" in notes[0].reason


def test_log_is_flushed_before_it_decides(scene: Scene) -> None:
    left_behind(scene, committed=True)
    recovery = Recovery()

    with installed(ErrorAt(0, 5, calls={"fdatasync"})), pytest.raises(InconsistentState):
        recover_session(scene.paths, scene.log, scene.repository, {"a": recovery, "b": recovery})

    assert recovery.calls == []


def test_resource_that_nobody_knows_keeps_its_intent(scene: Scene) -> None:
    left_behind(scene, committed=False)
    recovery = Recovery()

    notes = recover_session(scene.paths, scene.log, scene.repository, {"a": recovery})

    assert recovery.calls == []
    assert "b" in notes[0].reason
    assert len(pending_intents(scene.paths)) == 1


def test_nothing_left_is_nothing_done(scene: Scene) -> None:
    assert recover_session(scene.paths, scene.log, scene.repository, {}) == ()


def test_edit_made_after_a_death_stays_and_is_told(scene: Scene) -> None:
    scene.lay({"a": b"1", "b": b"1"})
    steps = scene.steps({"a": b"1", "b": b"1"}, {"a": b"2", "b": b"2"})
    scene.close()
    killed = False
    for point in range(200):
        if scene.path("a").read_bytes() == b"2":
            break
        killed = run_forked(lambda: Scene(scene.base).run(steps), KillAt(point)) == KILLED
        if scene.path("a").read_bytes() != b"2":
            scene.open()
            scene.recover()
            scene.close()
    assert killed
    scene.path("a").write_bytes(b"edited after the death")
    scene.open()

    notes = scene.recover()

    assert scene.path("a").read_bytes() == b"edited after the death"
    assert scene.path("b").read_bytes() == b"1"
    assert [note.subject for note in notes][1:] == ["a"]
    assert scene.can_read(b"1")
    assert not scene.litter()
