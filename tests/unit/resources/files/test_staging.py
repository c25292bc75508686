from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbrewind.errors import DamagedObject, RefusalReason, RewindRefused
from nbrewind.model import FileStep
from nbrewind.resources.files.moves import Entry, Move, MoveKind
from nbrewind.resources.files.places import Places
from nbrewind.resources.files.staging import Staging
from tests.crash.scene import MTIME, Content, Folder, Scene, Symlink, looks
from tests.faults import Counter, installed


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path)
    yield scene
    scene.close()


@pytest.fixture
def places(scene: Scene) -> Iterator[Places]:
    with Places(str(scene.work)) as places:
        yield places


def creation(scene: Scene, content: Content, path: str = "x", **more: object) -> Move:
    after = scene.state(content)
    return Move(kind=MoveKind.CREATE, path=path, after=after, temp=".t", **more)  # type: ignore[arg-type]  # by name


def test_staged_file_is_complete_beside_its_place(scene: Scene, places: Places) -> None:
    scene.lay({"d": Folder()})

    Staging(places, scene.repository, 1).build(creation(scene, (b"data", 0o4750), "d/x"))

    status = scene.path("d/.t").stat()
    assert scene.path("d/.t").read_bytes() == b"data"
    assert (status.st_mode & 0o7777, status.st_mtime_ns) == (0o4750, MTIME)
    assert not scene.path("d/x").exists()


def test_nobody_else_can_read_a_file_that_is_not_complete(scene: Scene, places: Places) -> None:
    modes: list[int] = []

    class Modes(Counter):
        def after(self, call: str, target: str) -> None:
            if target.endswith("/.t"):
                modes.append(scene.path(".t").stat().st_mode & 0o777)

    before = os.umask(0)
    try:
        with installed(Modes()):
            Staging(places, scene.repository, 1).build(creation(scene, (b"data", 0o666)))
    finally:
        os.umask(before)

    assert modes[:2] == [0o600, 0o600]
    assert modes[-1] == 0o666


def test_staging_never_writes_through_what_stands_at_its_name(scene: Scene, places: Places) -> None:
    scene.lay({"victim": b"1", ".t": Symlink("victim")})

    with pytest.raises(FileExistsError):
        Staging(places, scene.repository, 1).build(creation(scene, b"2"))

    assert scene.path("victim").read_bytes() == b"1"


def test_staged_directory_has_its_contents_and_modes(scene: Scene, places: Places) -> None:
    closed, file = scene.state(Folder(0o500)), scene.state((b"1", 0o444))
    assert closed is not None
    assert file is not None
    move = creation(scene, Folder(0o750), built=(Entry("e", closed), Entry("e/f", file)))

    Staging(places, scene.repository, 3).build(move)

    found = {path: row[1] for path, row in looks(scene.work).items()}
    assert found == {".t": 0o750, ".t/e": 0o500, ".t/e/f": 0o444}
    scene.path(".t/e").chmod(0o700)


def test_few_files_are_flushed_each_and_many_at_once(scene: Scene, places: Places) -> None:
    few, many = Counter(), Counter()
    with installed(few):
        staging = Staging(places, scene.repository, 50)
        staging.build(creation(scene, b"1"))
        staging.flush()
    scene.path(".t").unlink()
    with installed(many):
        staging = Staging(places, scene.repository, 51)
        staging.build(creation(scene, b"1"))
        staging.flush()

    def of(counter: Counter, name: str) -> int:
        return sum(call.name == name and "/work" in call.target for call in counter.calls)

    assert (of(few, "fsync"), of(few, "syncfs")) == (1, 0)
    assert (of(many, "fsync"), of(many, "syncfs")) == (0, 1)


def test_content_of_another_length_is_damage(scene: Scene, places: Places) -> None:
    move = creation(scene, b"four")
    assert move.after is not None
    wrong = Move(kind=move.kind, path=move.path, temp=".t", after=_longer(move))

    with pytest.raises(DamagedObject):
        Staging(places, scene.repository, 1).build(wrong)


def _longer(move: Move) -> object:
    from dataclasses import replace

    assert move.after is not None
    return replace(move.after, size=5)


def test_full_disk_is_met_before_anything_is_touched(scene: Scene) -> None:
    scene.lay({"a": b"1", "b": b"1"})
    huge = scene.state(b"2")
    assert huge is not None
    from dataclasses import replace

    steps = (
        FileStep("a", scene.state(b"1"), scene.state(b"2")),
        FileStep("b", scene.state(b"1"), replace(huge, size=1 << 60)),
    )
    before = looks(scene.work, times=True)

    with pytest.raises(RewindRefused, match="no space") as refused:
        scene.run(steps)

    assert refused.value.reason is RefusalReason.DISK_FULL
    assert looks(scene.work, times=True) == before
