"""Rot in the intent of a rewind that died: its copy in the archive decides as the intent would have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nbrewind import fs
from nbrewind.errors import RewindRefused
from nbrewind.resources.archive import Archive
from tests.crash.cases import CASES, Case, Stage, look
from tests.crash.scene import Scene, closing
from tests.faults import KILLED, KillAt, counted, run_forked
from tests.reliability.effort import LONG

Damage = Callable[[bytes], bytes]
_APPENDING = ("write", "fdatasync")
_ONLY_NEW = Case(before={}, after={"back": b"back" * 300, "d/too": b"too"})


def died(stage: Stage, *, committed: bool) -> Path:
    """Kill the rewind of *stage* with all moves made, before or after its commit point; return its intent."""
    stage.set()
    calls = counted(stage.play).calls
    written, flushed = (call.event for call in calls if call.target.endswith("/log") and call.name in _APPENDING)
    stage.set()
    assert run_forked(stage.play, KillAt(flushed + 1 if committed else written)) == KILLED
    (intent,) = stage.folder.glob("store/sessions/*/intents/*.intent")
    return intent


def flipped(bit: int) -> Damage:
    """Return what turns over one bit."""

    def damage(data: bytes) -> bytes:
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        return bytes(changed)

    return damage


@pytest.mark.parametrize("committed", [False, True], ids=["before the commit point", "after it"])
@pytest.mark.parametrize("name", ["contents", "in place", "outside", "secrets"])
def test_intent_with_a_wrong_bit_is_carried_out_by_its_copy(ground: Path, name: str, committed: bool) -> None:
    stage = Stage(ground, CASES[name])
    intent = died(stage, committed=committed)
    template, whole = stage.save(), intent.read_bytes()
    bits = range(0, len(whole) * 8, 7 if LONG else len(whole) * 8 // 5)
    others: list[Damage] = [lambda data: b"", lambda data: data[: len(data) // 2], lambda data: bytes(len(data))]
    for damage in (*map(flipped, bits), *others):
        stage.set(template)
        intent.write_bytes(damage(whole))

        assert stage.check() == ("after" if committed else "before")


def test_intent_of_a_rewind_that_takes_nothing_away_has_a_copy_too(ground: Path) -> None:
    stage = Stage(ground, _ONLY_NEW)
    intent = died(stage, committed=False)

    intent.write_bytes(flipped(900)(intent.read_bytes()))

    assert stage.check() == "before"


def test_recovery_by_the_copy_killed_anywhere_is_recovered_by_the_next(ground: Path) -> None:
    stage = Stage(ground, CASES["contents"])
    intent = died(stage, committed=False)
    intent.write_bytes(flipped(900)(intent.read_bytes()))
    template = stage.save()
    for point in range(0, counted(stage.recover).events, 1 if LONG else 9):
        stage.set(template)
        assert run_forked(stage.recover, KillAt(point)) == KILLED
        assert stage.check() == "before"


def test_intent_that_is_damaged_with_its_copy_stops_moves_and_keeps_both_sides(
    ground: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Archive, "keep_intent", lambda self, text: None)
    stage = Stage(ground, CASES["contents"])
    intent = died(stage, committed=False)
    intent.write_bytes(flipped(900)(intent.read_bytes()))
    with closing(stage.scene()) as scene:
        standing = look(scene)
        (note,) = scene.recover()
        assert str(intent) in note.reason
        with pytest.raises(RewindRefused, match="damaged") as refused:
            scene.run(stage.steps)
        assert str(intent.parent) in refused.value.hint
        assert look(scene) == standing
        assert all(scene.can_read(data) for data in stage.contents)

        # The way out that the hint names: both sides' bytes are kept, and moves run again.
        fs.unlink(intent)
        assert scene.recover() == ()
        assert _can_move(scene)


def _can_move(scene: Scene) -> bool:
    scene.count += 1  # ids are never used twice
    scene.put("another", b"another")
    scene.run(scene.steps({"another": b"another"}, {"another": b"changed"}))
    return scene.path("another").read_bytes() == b"changed"
