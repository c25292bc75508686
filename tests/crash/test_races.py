"""Somebody saves, edits, removes or makes a file while a rewind runs: theirs wins or is kept, and never lost."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from nbrewind import fs
from nbrewind.errors import RewindError, RewindRefused, RewindRolledBack
from nbrewind.model import FileStep
from nbrewind.resources import RewindContext
from nbrewind.resources.archive import Archive
from tests.crash.cases import CASES, Stage
from tests.crash.scene import Scene, looks
from tests.faults import counted, installed

_USERS = b"what somebody else wrote"
_RACES, _SECONDS = 2000, 8.0


@dataclass
class Meanwhile:
    """Lets somebody else act right before the *point*-th change of the disk, or before the first *call* on *name*."""

    act: Callable[[], object]
    point: int = -1
    call: str = ""
    name: str = ""
    seen: int = 0
    done: bool = False

    def before(self, call: str, target: str, size: int) -> int | None:
        if not self.done and (self.seen == self.point or (call == self.call and os.path.basename(target) == self.name)):
            self.done = True
            self.act()
        self.seen += 1
        return None

    def torn(self, call: str, target: str) -> None:
        pass

    def after(self, call: str, target: str) -> None:
        pass


def save(path: Path, data: bytes = _USERS) -> None:
    """Save as editors do."""
    temporary = path.with_name(path.name + "~")
    temporary.write_bytes(data)
    temporary.rename(path)


def edit(path: Path) -> None:
    """Write into the file that stands there."""
    path.write_bytes(_USERS)


def run(stage: Stage, scene: Scene) -> str:
    """Run the rewind of *stage* and return its outcome."""
    try:
        scene.run(stage.steps)
    except RewindRefused:
        return "refused"
    except RewindRolledBack:
        return "rolled back"
    return "done"


@pytest.mark.parametrize("name", ["a", "made", "gone", "mode"])
@pytest.mark.parametrize("act", [save, edit])
def test_what_somebody_writes_at_any_moment_is_there_or_kept(
    ground: Path, name: str, act: Callable[[Path], None]
) -> None:
    stage = Stage(ground, CASES["contents"])
    outcomes: Counter[str] = Counter()
    stage.set()
    scene = stage.scene()
    calls = len(counted(lambda: scene.run(stage.steps)).calls)
    scene.close()
    for point in range(calls):
        stage.set()
        with closing(stage.scene()) as scene:
            path = scene.path(name)
            probe = Meanwhile(lambda path=path: act(path), point)  # type: ignore[misc]  # binds this round's path
            with installed(probe):
                outcome = run(stage, scene)
            outcomes[outcome] += 1
            there = path.exists() and path.read_bytes() == _USERS
            assert there or scene.can_read(_USERS), (point, outcome)
            assert not scene.litter()
            if outcome != "done":
                untouched = {key: row for key, row in stage.before[0].items() if key != name}
                found = looks(scene.work, times=True)
                assert {key: row for key, row in found.items() if key != name} == untouched
    assert outcomes["done"] > 5
    # Only where the mode alone changes, other bytes are no hindrance.
    assert outcomes["refused"] + outcomes["rolled back"] > 10 or (act, name) == (edit, "mode")


def test_save_just_before_the_exchange_goes_back_to_its_place(ground: Path) -> None:
    stage = Stage(ground, CASES["contents"])
    stage.set()
    with closing(stage.scene()) as scene:
        with installed(Meanwhile(lambda: save(scene.path("a")), call="exchange", name="a")):
            outcome = run(stage, scene)

        assert outcome == "rolled back"
        assert scene.path("a").read_bytes() == _USERS
        assert scene.rewound() == 0
        assert not scene.litter()


def test_save_of_the_same_length_is_seen(ground: Path) -> None:
    stage = Stage(ground, CASES["contents"])
    stage.set()
    with closing(stage.scene()) as scene:
        users = scene.path("a").read_bytes().swapcase()
        with installed(Meanwhile(lambda: save(scene.path("a"), users), call="exchange", name="a")):
            outcome = run(stage, scene)

        assert outcome == "rolled back"
        assert scene.path("a").read_bytes() == users


def test_file_made_just_before_ours_stays(ground: Path) -> None:
    stage = Stage(ground, CASES["contents"])
    stage.set()
    with closing(stage.scene()) as scene:
        with installed(Meanwhile(lambda: save(scene.path("gone")), call="noreplace", name="gone")):
            outcome = run(stage, scene)

        assert outcome == "rolled back"
        assert scene.path("gone").read_bytes() == _USERS


def test_permissions_changed_after_the_preview_refuse(ground: Path) -> None:
    stage = Stage(ground, CASES["contents"])
    stage.set()
    with closing(stage.scene()) as scene:
        act = lambda: scene.path("a").chmod(0o640)  # noqa: E731 - one act for one probe
        with installed(Meanwhile(act, call="create", name=".nbrewind-op-0-0-1")):
            outcome = run(stage, scene)

        assert outcome == "refused"
        assert scene.path("a").stat().st_mode & 0o777 == 0o640


def test_write_through_an_old_handle_is_kept_as_a_conflict_copy(ground: Path) -> None:
    stage = Stage(ground, CASES["contents"])
    stage.set()
    with closing(stage.scene()) as scene, scene.path("a").open("r+b") as handle:

        def write() -> None:
            handle.write(_USERS)
            handle.truncate()
            handle.flush()

        # After all was inspected, right before the commit point.
        with installed(Meanwhile(write, call="write", name="log")):
            transaction = scene.transaction()
            transaction.run(scene.plan(stage.steps), scene.operation())

        assert scene.can_read(_USERS)
        assert [note.subject for note in transaction.notes] == ["a"]
        assert scene.repository.refs("refs/nbrewind/conflicts/")


def test_bytes_appended_while_a_log_goes_back_stay_behind_it(ground: Path) -> None:
    stage = Stage(ground, CASES["in place"])
    for call, name in (("allocate", "h1"), ("write", "log")):
        stage.set()
        with closing(stage.scene()) as scene, scene.path("log").open("ab", buffering=0) as handle:
            append = partial(handle.write, b"appended\n")
            with installed(Meanwhile(append, call=call, name=name)):
                outcome = run(stage, scene)

            assert scene.path("log").read_bytes().endswith(b"appended\n"), (call, outcome)


def test_directory_filled_before_it_is_replaced_comes_back(ground: Path) -> None:
    stage = Stage(ground, CASES["folders"])
    stage.set()
    with closing(stage.scene()) as scene:
        act = lambda: save(scene.path("out/theirs"))  # noqa: E731 - one act for one probe
        with installed(Meanwhile(act, call="exchange", name="out")):
            outcome = run(stage, scene)

        assert outcome == "rolled back"
        assert scene.path("out/theirs").read_bytes() == _USERS
        assert scene.path("out/y").read_bytes() == b"2"


def test_no_save_of_many_is_lost(ground: Path) -> None:
    scene = Scene(ground / "scene")
    commands, orders = os.pipe()
    reports, done = os.pipe()
    path = scene.path("f")
    if not (saver := os.fork()):
        os.close(orders)
        os.close(reports)
        _save_on_order(path, commands, done)
    os.close(commands)
    os.close(done)
    outcomes: Counter[str] = Counter()
    end = time.monotonic() + _SECONDS
    for number in range(_RACES):
        if time.monotonic() > end:
            break
        before, after = b"before %d" % number, b"after %d" % number
        scene.put("f", before)
        steps = scene.steps({"f": before}, {"f": after})
        outcomes[_resource_alone(scene, steps, lambda number=number: os.write(orders, b"%8d" % number))] += 1
        assert os.read(reports, 1) == b"."
        users = b"saved %d" % number
        assert path.read_bytes() == users or scene.can_read(users), (number, outcomes)
    os.close(orders)
    assert os.waitpid(saver, 0)[1] == 0
    scene.close()
    assert outcomes["done"] > 20
    assert outcomes["rolled back"] > 20
    assert not scene.litter()


def _save_on_order(path: Path, commands: int, done: int) -> None:
    """Be the other process: save once for each order, after a random while."""
    with suppress(BaseException):
        while order := os.read(commands, 8):
            wake = time.perf_counter() + random.random() * 0.003
            while time.perf_counter() < wake:
                pass
            save(path, b"saved %d" % int(order))
            os.write(done, b".")
        os._exit(0)
    os._exit(1)


def _resource_alone(scene: Scene, steps: tuple[FileStep, ...], race: Callable[[], object]) -> str:
    """Take the files resource through its calls without log and intent, which only make the race rarer.

    *race* sends the other process off when all that takes long is done.
    """
    resource = scene.resource()
    archive = Archive(scene.repository, scene.operation().id, "archive")
    context = RewindContext(scene.operation().id, scene.repository, archive)
    try:
        resource.prepare(scene.plan(steps), context)
        archive.finish()
        race()
        try:
            resource.stage()
            resource.apply()
        except RewindRefused:
            resource.rollback()
            return "rolled back"
        resource.finish()
    finally:
        archive.abort()
        resource.close()
    return "done"


def test_directory_that_is_swapped_for_a_link_all_the_time_leads_nowhere(ground: Path) -> None:
    scene = Scene(ground / "scene")
    scene.lay({"d/x": b"0"})
    scene.put(str(scene.outside / "x"), b"theirs")
    os.symlink(scene.outside, scene.path("e"))
    before = looks(scene.outside, times=True)
    ending = os.pipe()
    if not (swapper := os.fork()):
        os.close(ending[1])
        _swap_until_the_end(str(scene.path("d")), str(scene.path("e")), ending[0])
    os.close(ending[0])
    outcomes: Counter[str] = Counter()
    end = time.monotonic() + _SECONDS / 4
    number = 0
    while time.monotonic() < end or not (outcomes["done"] and outcomes["refused"]):
        now, then = b"%d" % number, b"%d" % (number + 1)
        outcome = _resource_alone_or_not(scene, scene.steps({"d/x": now}, {"d/x": then}))
        number += outcome == "done"
        outcomes[outcome] += 1
    os.close(ending[1])
    assert os.waitpid(swapper, 0)[1] == 0
    scene.close()

    real = next(path for path in (scene.path("d"), scene.path("e")) if not path.is_symlink())
    assert looks(scene.outside, times=True) == before
    assert os.listdir(real) == ["x"]
    assert (real / "x").read_bytes() == b"%d" % number
    assert outcomes["done"] > 0
    assert outcomes["refused"] > 0


def _swap_until_the_end(one: str, other: str, ending: int) -> None:
    with suppress(BaseException):
        os.set_blocking(ending, False)
        while True:
            fs.rename_exchange(one, other)
            time.sleep(random.random() * 0.002)
            with suppress(BlockingIOError):
                if not os.read(ending, 1):
                    os._exit(0)
    os._exit(1)


def _resource_alone_or_not(scene: Scene, steps: tuple[FileStep, ...]) -> str:
    """Run without log and intent; a path that leads elsewhere for a moment is tried again until it leads back."""
    resource = scene.resource()
    archive = Archive(scene.repository, scene.operation().id, "archive")
    try:
        try:
            resource.prepare(scene.plan(steps), RewindContext(scene.operation().id, scene.repository, archive))
            archive.finish()
        except RewindRefused:
            return "refused"
        outcome = "done"
        try:
            resource.stage()
            resource.apply()
        except RewindRefused:
            outcome = "rolled back"
        act = resource.finish if outcome == "done" else resource.rollback
        for _ in range(1000):
            try:
                act()
            except (OSError, RewindError):
                time.sleep(0.001)
            else:
                return outcome
        raise AssertionError("neither forward nor back")
    finally:
        archive.abort()
        resource.close()
