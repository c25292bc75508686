"""The sweeps can fail: with one protection taken out of the protocol, each of these finds it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from nbrewind import fs
from nbrewind.fs import descriptors
from nbrewind.resources.archive import Archive
from nbrewind.resources.files.carrying import Carrying
from nbrewind.resources.files.inspection import Inspection
from nbrewind.resources.files.leftovers import Leftovers
from nbrewind.resources.files.restore import FilesResource
from nbrewind.resources.files.rollback import Rollback
from nbrewind.rewind import recovery, transaction
from tests.crash import test_races
from tests.crash.cases import CASES, Stage
from tests.crash.test_kills import killed_everywhere
from tests.faults import Call, counted

Patch = Callable[[pytest.MonkeyPatch], None]


def calls_of(stage: Stage) -> list[Call]:
    """Return what the rewind of *stage* does to the disk."""
    stage.set()
    with closing(stage.scene()) as scene:
        return counted(lambda: scene.run(stage.steps)).calls


def order_is_kept(calls: Sequence[Call]) -> bool:
    """Return whether everything is durable before what relies on it: what no kill shows, but a power cut does."""

    def places(name: str, part: str) -> list[int]:
        return [at for at, call in enumerate(calls) if call.name == name and re.search(part, call.target)] or [-1]

    temporary, work, intents = r"/\.nbrewind-op-[^/]*$", "/work$", "/intents$"
    moves = sorted(places("exchange", "/work/") + places("noreplace", "/work/"))
    milestones = (
        places("fsync", "/incoming/")[-1],
        places("rename", "/objects/pack/")[0],
        places("fsync", "/objects/pack$")[-1],
        places("fsync", "/intents/")[0],
        places("rename", "/intents/")[0],
        places("fsync", intents)[0],
        places("create", temporary)[0],
        places("fsync", temporary)[-1],
        moves[0],
        moves[-1],
        places("fsync", work)[0],
        places("write", "/session-1/log$")[0],
        places("fdatasync", "/session-1/log$")[0],
        places("unlink", temporary)[0],
        places("fsync", work)[-1],
        places("unlink", "/intents/")[0],
        places("fsync", intents)[-1],
    )
    each_is_flushed = len(places("create", temporary)) == len(places("fsync", temporary))
    return each_is_flushed and -1 not in milestones and list(milestones) == sorted(set(milestones))


def without_flush(part: str) -> Patch:
    """Return a mutant that leaves out the flushes of targets that contain *part*."""

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        real = descriptors.mutate

        def mutate(call: str, target: object, function: object, *args: object, **kwargs: object) -> object:
            name = os.readlink(f"/proc/self/fd/{target}") if isinstance(target, int) else str(target)
            if call in ("fsync", "fdatasync") and part in name:
                return None
            return real(call, target, function, *args, **kwargs)  # type: ignore[arg-type]  # passed on

        monkeypatch.setattr(descriptors, "mutate", mutate)

    return patch


def test_everything_is_durable_before_what_relies_on_it(ground: Path) -> None:
    assert order_is_kept(calls_of(Stage(ground, CASES["contents"])))


@pytest.mark.parametrize(
    "part", ["/incoming/", "/objects/pack", "/intents/.nbrewind-", "/intents", "/work/.nbrewind-op-", "/work", "/log"]
)
def test_missing_flush_is_found_by_the_order(ground: Path, monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    stage = Stage(ground, CASES["contents"])
    without_flush(part)(monkeypatch)

    assert not order_is_kept(calls_of(stage))


def no_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Archive, "finish", lambda self: None)


def commit_before_apply(monkeypatch: pytest.MonkeyPatch) -> None:
    apply, finish = FilesResource.apply, FilesResource.finish

    def late(self: FilesResource) -> object:
        apply(self)
        return finish(self)

    monkeypatch.setattr(FilesResource, "apply", lambda self: None)
    monkeypatch.setattr(FilesResource, "finish", late)


def no_intent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction, "write_intent", lambda paths, intent: None)


def intent_removed_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    finish = FilesResource.finish

    def late(self: FilesResource) -> object:
        operation = self._ready().operation
        folder = Path(self._inspection.repository.path).parent / "sessions" / "session-1" / "intents"
        fs.unlink(folder / f"{operation}.intent")
        return finish(self)

    monkeypatch.setattr(FilesResource, "finish", late)


def no_way_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Rollback, "run", lambda self: ())


def always_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "_is_committed", lambda log, intent: True)


@pytest.mark.parametrize(
    "mutant", [no_archive, commit_before_apply, no_intent, intent_removed_too_early, no_way_back, always_committed]
)
def test_broken_protocol_is_found_by_the_kills(ground: Path, monkeypatch: pytest.MonkeyPatch, mutant: Patch) -> None:
    stage = Stage(ground, CASES["contents"])
    mutant(monkeypatch)

    with pytest.raises(AssertionError):
        killed_everywhere(stage, stage.play, explain=False)


def no_second_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Carrying, "_look_again", lambda self, move: None)


def no_inspection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Carrying, "_look_at_what_came_out", lambda self, move: None)


def replacing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fs, "rename_noreplace", fs.rename)


def no_conflict_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Leftovers, "_keep", lambda self, unknown: [])


def sizes_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Inspection, "same_bytes", lambda self, fd, state: os.fstat(fd).st_size == state.size)


@pytest.mark.parametrize(
    ("mutant", "race"),
    [
        (no_second_look, test_races.test_permissions_changed_after_the_preview_refuse),
        (no_inspection, test_races.test_save_just_before_the_exchange_goes_back_to_its_place),
        (sizes_are_enough, test_races.test_save_of_the_same_length_is_seen),
        (replacing, test_races.test_file_made_just_before_ours_stays),
        (no_conflict_copies, test_races.test_write_through_an_old_handle_is_kept_as_a_conflict_copy),
    ],
)
def test_missing_look_is_found_by_a_race(
    ground: Path, monkeypatch: pytest.MonkeyPatch, mutant: Patch, race: Callable[[Path], None]
) -> None:
    mutant(monkeypatch)

    with pytest.raises(AssertionError):
        race(ground)
