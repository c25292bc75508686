"""Deaths of writers: at every call, in the middle of a write, by another process; and what the next open finds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from nbrewind.errors import MissingObject
from nbrewind.model import ObjectId
from nbrewind.store.shadow import ShadowRepository, TreeEntry
from nbrewind.store.shadow.maintenance import count_objects
from tests.faults import KILLED, KillAt, TornAt, calls_of, run_forked, sweep_points, write_points
from tests.unit.store.shadow.shadows import assert_sound, files_of, pack_names, stored_turn

OLD = {b"old": b"old", b"same": b"same" * 1000}
NEW = {b"new": b"new", b"same": b"same" * 1000, b"large": os.urandom(1_500_000), b"more": os.urandom(300_000)}


def turn(path: str, trust: bool) -> None:
    """Open and store one turn, as a kernel does that is killed somewhere in it."""
    repository = ShadowRepository.open(path)
    stored_turn(repository, NEW, "new", trust=trust)


@pytest.mark.parametrize("trust", [True, False])
def test_killed_writer_leaves_a_valid_repository_at_every_call(tmp_path: Path, trust: bool) -> None:
    def prepared(name: str) -> tuple[str, ObjectId]:
        repository = ShadowRepository.open(str(tmp_path / name))
        return repository.path, stored_turn(repository, OLD, "old")

    points = sweep_points(partial(turn, prepared("counted")[0], trust))
    assert len(points) > 25
    for point in points:
        path, old = prepared(f"{point}")
        assert run_forked(partial(turn, path, trust), KillAt(point)) == KILLED
        repository = ShadowRepository.open(path)
        assert os.listdir(repository.incoming) == [], point
        assert files_of(repository, old) == OLD
        for oid in repository.refs().values():
            files_of(repository, oid)
        if point % 6 == 0:
            assert_sound(repository)
        new = stored_turn(repository, NEW, "new")
        assert files_of(ShadowRepository.open(path), new) == NEW
        assert_sound(repository)


def test_writer_killed_in_the_middle_of_a_write_leaves_a_valid_repository(tmp_path: Path) -> None:
    def prepared(name: str) -> tuple[str, ObjectId]:
        repository = ShadowRepository.open(str(tmp_path / name))
        return repository.path, stored_turn(repository, OLD, "old")

    for point in write_points(partial(turn, prepared("counted")[0], True)):
        for part in (0.01, 0.99):
            path, old = prepared(f"{point}-{part}")
            assert run_forked(partial(turn, path, True), TornAt(point, part)) == KILLED
            repository = ShadowRepository.open(path)
            assert os.listdir(repository.incoming) == []
            assert files_of(repository, old) == OLD
            new = stored_turn(repository, NEW, "new")
            assert files_of(repository, new) == NEW
            assert_sound(repository)


def test_killed_opening_is_finished_by_the_next(tmp_path: Path) -> None:
    def opening(path: Path) -> None:
        ShadowRepository.open(str(path))

    for point in sweep_points(partial(opening, tmp_path / "counted")):
        path = tmp_path / f"{point}"
        assert run_forked(partial(opening, path), KillAt(point)) == KILLED
        repository = ShadowRepository.open(str(path))
        assert files_of(repository, stored_turn(repository, NEW)) == NEW
        assert_sound(repository)


def test_a_turn_costs_few_calls(tmp_path: Path) -> None:
    repository = ShadowRepository.open(str(tmp_path / "shadow"))

    def small() -> None:
        with repository.writer() as writer:
            blob = writer.blob(b"x")
            writer.commit(writer.tree([TreeEntry(0o100644, b"a", blob)]), "m", 0)
            writer.finish()

    names = [call.name for call in calls_of(small)]
    assert names == ["create", "write", "fsync", "create", "write", "fsync", "rename", "rename", "fsync"]


WRITER = """
import os, sys
from nbrewind.store.shadow import ShadowRepository
repository = ShadowRepository.open(sys.argv[1])
with repository.writer() as writer:
    writer.blob(os.urandom(3_000_000))
    print("writing", flush=True)
    sys.stdin.readline()
    oid = writer.blob(b"finished")
    writer.finish()
print(oid, flush=True)
"""


def start(path: str) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    return process


def test_living_writer_of_another_process_is_never_swept(tmp_path: Path) -> None:
    repository = ShadowRepository.open(str(tmp_path / "shadow"))
    with start(repository.path) as process:
        (name,) = os.listdir(repository.incoming)
        # Neither for its age, nor where its process cannot be seen (another container).
        os.utime(f"{repository.incoming}/{name}", (time.time() - 10_000,) * 2)
        foreign = f"4194304-{name.split('-', 1)[1]}"
        os.link(f"{repository.incoming}/{name}", f"{repository.incoming}/{foreign}")
        ShadowRepository.open(repository.path)
        assert set(os.listdir(repository.incoming)) == {name, foreign}
        output, _ = process.communicate("\n")
    assert repository.read(ObjectId(output.strip())) == b"finished"


def test_writer_that_was_killed_is_swept_at_the_next_open(tmp_path: Path) -> None:
    repository = ShadowRepository.open(str(tmp_path / "shadow"))
    with start(repository.path) as process:
        assert count_objects(repository).unfinished == 1
        process.send_signal(signal.SIGKILL)
        process.wait()
    ShadowRepository.open(repository.path)
    assert os.listdir(repository.incoming) == []
    assert pack_names(repository) == set()


def test_two_processes_that_make_the_repository_at_once_both_can_use_it(tmp_path: Path) -> None:
    for number in range(3):
        path = str(tmp_path / f"{number}")
        with start(path) as first, start(path) as second:
            oids = [process.communicate("\n")[0].strip() for process in (first, second)]
        repository = ShadowRepository.open(path)
        assert [repository.read(ObjectId(oid)) for oid in oids] == [b"finished"] * 2
        assert_sound(repository)


def test_object_of_a_killed_writer_is_not_there(tmp_path: Path) -> None:
    repository = ShadowRepository.open(str(tmp_path / "shadow"))
    with repository.writer() as writer:
        oid = writer.blob(b"never finished")
    with pytest.raises(MissingObject):
        repository.read(oid)
