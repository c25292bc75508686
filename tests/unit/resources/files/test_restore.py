from __future__ import annotations

import errno
import os
import sqlite3
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbrewind.errors import RefusalReason, RewindRefused
from nbrewind.model import EntryKind, FileState, FileStep
from tests.crash.scene import MTIME, Content, Folder, Scene, Symlink, looks
from tests.faults import Counter, installed
from tests.sessions import without_override


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path)
    yield scene
    scene.close()


def rewind(scene: Scene, before: dict[str, Content], after: dict[str, Content]) -> None:
    scene.lay(before)
    scene.run(scene.steps(before, after))
    got = looks(scene.work)
    scene_after = Scene.__new__(Scene)
    scene_after.work = scene.base / "expected"
    scene_after.work.mkdir()
    scene_after.lay(after)
    assert got == looks(scene_after.work)
    assert not scene.litter()
    assert scene.rewound() == 1


def test_contents_kinds_and_modes_are_what_was_wanted(scene: Scene) -> None:
    before: dict[str, Content] = {
        "a": b"new",
        "made": b"made",
        "mode": (b"same", 0o600),
        "link": Symlink("a"),
        "d": Folder(),
        "d/x": b"1",
        "text": b"was a link",
    }
    after: dict[str, Content] = {
        "a": b"old",
        "gone": b"back",
        "mode": (b"same", 0o755),
        "link": Symlink("b"),
        "e": Folder(0o700),
        "e/f": Folder(),
        "e/f/y": (b"2", 0o444),
        "text": Symlink("nowhere"),
    }

    rewind(scene, before, after)


def test_file_and_directory_change_places(scene: Scene) -> None:
    before: dict[str, Content] = {"out": Folder(), "out/y": b"2", "out/z": Folder(), "d": b"now a file"}
    after: dict[str, Content] = {"out": b"f", "d": Folder(), "d/x": b"1", "d/s": Symlink("x")}

    rewind(scene, before, after)


def test_missing_parents_that_the_plan_does_not_name_are_made(scene: Scene) -> None:
    scene.lay({})
    scene.run((FileStep("p/q/r", None, scene.state(b"1")),))

    assert scene.path("p/q/r").read_bytes() == b"1"
    assert not scene.litter()


def test_equal_bytes_keep_their_file(scene: Scene) -> None:
    scene.lay({"a": b"1", "b": (b"2", 0o600)})
    inodes = {name: scene.path(name).stat().st_ino for name in "ab"}
    steps = (
        FileStep("a", scene.state(b"1"), scene.state(b"1", mtime_ns=5)),
        FileStep("b", scene.state((b"2", 0o600)), scene.state((b"2", 0o755))),
    )

    scene.run(steps)

    assert {name: scene.path(name).stat().st_ino for name in "ab"} == inodes
    assert [scene.path(name).stat().st_mtime_ns for name in "ab"] == [MTIME, MTIME]
    assert scene.path("b").stat().st_mode & 0o777 == 0o755


def test_restored_file_has_its_old_time(scene: Scene) -> None:
    scene.lay({"a": b"1"})
    scene.run((FileStep("a", scene.state(b"1"), scene.state(b"2", mtime_ns=1_234_567_890_123_456_789)),))

    assert scene.path("a").stat().st_mtime_ns == 1_234_567_890_123_456_789


def test_directory_that_holds_something_of_others_stays(scene: Scene) -> None:
    scene.lay({"d/mine": b"1", "d/other": b"2"})
    steps = (
        FileStep("d", scene.state(Folder()), None),
        FileStep("d/mine", scene.state(b"1"), None),
    )

    notes = scene.run(steps)

    assert looks(scene.work).keys() == {"d", "d/other"}
    assert [note.subject for note in notes] == ["d"]


def test_directory_of_others_is_not_replaced_by_a_file(scene: Scene) -> None:
    scene.lay({"d/mine": b"1", "d/other": b"2"})
    before = looks(scene.work, times=True)
    steps = (
        FileStep("d", scene.state(Folder()), scene.state(b"file")),
        FileStep("d/mine", scene.state(b"1"), None),
    )

    with pytest.raises(RewindRefused, match="d/other") as refused:
        scene.run(steps)

    assert refused.value.reason is RefusalReason.CONFLICT
    assert looks(scene.work, times=True) == before


@pytest.mark.parametrize("changed", [b"edited", None])
def test_plan_of_another_state_is_refused(scene: Scene, changed: bytes | None) -> None:
    scene.lay({"a": b"1", "b": b"1"})
    steps = scene.steps({"a": b"1", "b": b"1"}, {"a": b"2", "b": b"2"})
    scene.path("b").unlink()
    scene.put("b", changed)
    before = looks(scene.work, times=True)

    with pytest.raises(RewindRefused, match=r"^b ") as refused:
        scene.run(steps)

    assert refused.value.reason is RefusalReason.STALE_PLAN
    assert looks(scene.work, times=True) == before
    assert not scene.litter()


def test_missing_object_refuses_before_anything_is_touched(scene: Scene) -> None:
    scene.lay({"a": b"1", "b": b"1"})
    lost = FileState(EntryKind.FILE, "1" * 40, 3)  # type: ignore[arg-type]  # an id by its form
    steps = (*scene.steps({"a": b"1"}, {"a": b"2"}), FileStep("b", scene.state(b"1"), lost))
    before = looks(scene.work, times=True)

    with pytest.raises(RewindRefused, match=r"^b: ") as refused:
        scene.run(steps)

    assert refused.value.reason is RefusalReason.DAMAGED
    assert looks(scene.work, times=True) == before


def test_file_open_for_append_is_rewritten_in_place(scene: Scene) -> None:
    scene.lay({"log": b"line 1\nline 2\n"})
    scene.writable = {str(scene.path("log")): "append"}
    inode = scene.path("log").stat().st_ino
    with scene.path("log").open("ab") as file:
        scene.run((FileStep("log", scene.state(b"line 1\nline 2\n"), scene.state(b"line 1\n")),))
        file.write(b"line 3\n")

    assert scene.path("log").read_bytes() == b"line 1\nline 3\n"
    assert scene.path("log").stat().st_ino == inode


def test_mapped_file_shows_the_old_bytes_through_its_mapping(scene: Scene) -> None:
    import mmap

    scene.lay({"m": b"new!" * 2048})
    scene.writable = {str(scene.path("m")): "mapped"}
    with scene.path("m").open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        scene.run((FileStep("m", scene.state(b"new!" * 2048), scene.state(b"old." * 4096)),))
        assert mapped[:] == b"old." * 2048
    assert scene.path("m").read_bytes() == b"old." * 4096


def test_mapped_file_never_gets_shorter(scene: Scene) -> None:
    scene.lay({"m": b"x" * 9000})
    scene.writable = {str(scene.path("m")): "mapped"}
    inode = scene.path("m").stat().st_ino

    notes = scene.run((FileStep("m", scene.state(b"x" * 9000), scene.state(b"y")),))

    assert scene.path("m").stat().st_ino != inode
    assert notes[0].reason.startswith("still mapped")


def test_hard_links_that_go_back_together_stay_one_file(scene: Scene) -> None:
    scene.lay({"h1": b"B"})
    os.link(scene.path("h1"), scene.path("h2"))
    steps = scene.steps({"h1": b"B", "h2": b"B"}, {"h1": b"A", "h2": b"A"})

    scene.run(steps)

    assert scene.path("h1").read_bytes() == scene.path("h2").read_bytes() == b"A"
    assert scene.path("h1").samefile(scene.path("h2"))


def test_hard_link_outside_the_plan_keeps_its_bytes_and_is_named(scene: Scene) -> None:
    scene.lay({"h1": b"B"})
    os.link(scene.path("h1"), scene.path("h2"))

    notes = scene.run(scene.steps({"h1": b"B"}, {"h1": b"A"}))

    assert (scene.path("h1").read_bytes(), scene.path("h2").read_bytes()) == (b"A", b"B")
    assert notes[0].reason.startswith("link split")


def test_hard_links_come_back_as_one_file(scene: Scene) -> None:
    scene.lay({"h3": b"x"})
    names = ("h1", "h2", "s/h4", "s/t/h5")
    scene.linked = lambda path: names if path != "h3" else ()
    scene.run(scene.steps({"h3": b"x"}, {"h3": b"x", "h1": b"A", "h2": b"A", "s/h4": b"A", "s/t/h5": b"A"}))

    assert {scene.path(name).stat().st_ino for name in names} == {scene.path("h1").stat().st_ino}
    assert scene.path("h1").stat().st_nlink == 4


def test_database_moves_as_a_whole_to_new_inodes(scene: Scene) -> None:
    path = scene.path("app.db")
    con = sqlite3.connect(path)
    con.execute("pragma journal_mode=wal")
    con.execute("create table t(x)")
    con.executemany("insert into t values(?)", [(i,) for i in range(100)])
    con.commit()
    then = {name: scene.path(name).read_bytes() for name in ("app.db", "app.db-wal")}
    con.execute("drop table t")
    con.commit()
    now = {name: scene.path(name).read_bytes() for name in ("app.db", "app.db-wal")}
    assert then["app.db"] == now["app.db"]
    scene.writable = {str(path) + "-shm": "mapped", str(path): "open"}
    modes = scene.path("app.db-wal").stat().st_mode & 0o777
    inode = path.stat().st_ino
    step = FileStep("app.db-wal", scene.state((now["app.db-wal"], modes)), scene.state((then["app.db-wal"], modes)))

    notes = scene.run((step,))

    fresh = sqlite3.connect(path, timeout=1)
    assert fresh.execute("select count(*) from t").fetchone() == (100,)
    assert fresh.execute("pragma integrity_check").fetchone() == ("ok",)
    assert path.stat().st_ino != inode
    assert any("connect again" in note.reason for note in notes)
    con.close()
    assert fresh.execute("select count(*) from t").fetchone() == (100,)
    fresh.close()


def test_outside_directory_gets_its_name_back(scene: Scene) -> None:
    old, new = scene.outside / "old", scene.outside / "new"
    new.mkdir()
    scene.put(str(new / "f"), b"changed")
    directory = FileState(EntryKind.DIRECTORY, mode=0o755)
    steps = (
        FileStep(str(new / "f"), scene.state(b"changed"), scene.state(b"before")),
        FileStep(str(old), None, directory, moved_to=str(new)),
    )

    scene.run(steps)

    assert looks(scene.outside).keys() == {"old", "old/f"}
    assert (old / "f").read_bytes() == b"before"
    change = scene.log.operations[-1].changes[-1]
    assert (change.path, change.moved_to, change.after) == (str(new), str(old), None)


def test_paths_outside_are_refused_where_they_are_not_trusted(scene: Scene) -> None:
    from nbrewind.resources.files.restore import FilesResource
    from nbrewind.rewind.transaction import RewindTransaction

    path = scene.outside / "f"
    scene.put(str(path), b"1")
    resource = FilesResource(str(scene.work), scene.repository, outside=False)
    transaction = RewindTransaction(scene.log, [resource], scene.context())

    with pytest.raises(RewindRefused) as refused:
        transaction.run(scene.plan(scene.steps({str(path): b"1"}, {str(path): b"2"})), scene.operation())

    assert refused.value.reason is RefusalReason.OUTSIDE_WORKSPACE


def test_parent_that_became_a_link_leads_nowhere(scene: Scene) -> None:
    scene.lay({"d/x": b"1"})
    steps = scene.steps({"d/x": b"1"}, {"d/x": b"2"})
    scene.path("d").rename(scene.outside / "d")
    scene.path("d").symlink_to(scene.outside / "d")

    with pytest.raises(RewindRefused) as refused:
        scene.run(steps)

    assert refused.value.reason is RefusalReason.OUTSIDE_WORKSPACE
    assert (scene.outside / "d" / "x").read_bytes() == b"1"


def test_directory_that_becomes_writable_takes_its_files_back(scene: Scene) -> None:
    scene.lay({"d": Folder(0o755), "d/x": b"1"})
    scene.path("d").chmod(0o500)
    steps = (
        FileStep("d", scene.state(Folder(0o500)), scene.state(Folder(0o755))),
        FileStep("d/x", scene.state(b"1"), scene.state(b"2")),
    )
    with without_override():
        scene.run(steps)

    assert scene.path("d/x").read_bytes() == b"2"
    assert scene.path("d").stat().st_mode & 0o777 == 0o755


def test_directory_that_becomes_unwritable_does_so_last(scene: Scene) -> None:
    scene.lay({"d": Folder(0o755), "d/x": b"1"})
    steps = (
        FileStep("d", scene.state(Folder(0o755)), scene.state(Folder(0o500))),
        FileStep("d/x", scene.state(b"1"), scene.state(b"2")),
    )
    with without_override():
        scene.run(steps)

    assert scene.path("d/x").read_bytes() == b"2"
    assert not scene.litter()
    assert scene.path("d").stat().st_mode & 0o777 == 0o500
    scene.path("d").chmod(0o755)


def test_unwritable_directory_refuses_and_changes_nothing(scene: Scene) -> None:
    scene.lay({"a": b"2", "d/b": b"2"})
    steps = scene.steps({"a": b"2", "d/b": b"2"}, {"a": b"1", "d/b": b"1"})
    scene.path("d").chmod(0o555)
    before = looks(scene.work, times=True)

    with without_override(), pytest.raises(RewindRefused, match=r"^d/b: ") as caught:
        scene.run(steps)

    assert caught.value.reason is RefusalReason.READ_ONLY
    assert looks(scene.work, times=True) == before
    scene.path("d").chmod(0o755)


def test_new_directory_and_all_in_it_are_one_step_for_the_eye(scene: Scene) -> None:
    before: dict[str, Content] = {}
    after: dict[str, Content] = {"ds": Folder(), "ds/k=a": Folder(), "ds/k=a/p": b"1", "ds/k=b": Folder(0o700)}

    rewind(scene, before, after)


def test_large_file_comes_back_with_its_holes(scene: Scene) -> None:
    big = bytearray(24 << 20)
    big[:4] = b"head"
    big[-4:] = b"tail"
    scene.lay({"big": b"small"})
    scene.run((FileStep("big", scene.state(b"small"), scene.state(bytes(big))),))

    assert scene.path("big").read_bytes() == big
    assert scene.path("big").stat().st_blocks * 512 <= 9 << 20


def test_strange_names_are_names(scene: Scene) -> None:
    names = ["*star", "[a]", ":(top)x", "café.csv", "cafe\u0301.csv", os.fsdecode(b"latin\xe9.csv"), "-rf", " "]
    before: dict[str, Content] = dict.fromkeys(names, b"1")
    after: dict[str, Content] = dict.fromkeys(names, b"2")

    rewind(scene, before, after)


def test_owner_group_and_attributes_of_a_replaced_file_stay_and_all_mode_bits_are_exact(scene: Scene) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    scene.lay({"x": (b"now", 0o644), "y": (b"now", 0o600)})
    steps = scene.steps({"x": b"now", "y": (b"now", 0o600)}, {"x": (b"then", 0o6755), "y": (b"then", 0o1640)})
    os.chown(scene.path("x"), 1234, 2345)
    os.setxattr(scene.path("x"), "user.comment", b"mine")

    scene.run(steps)

    status = scene.path("x").stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (1234, 2345, 0o6755)
    assert os.getxattr(scene.path("x"), "user.comment") == b"mine"
    assert scene.path("y").stat().st_mode & 0o7777 == 0o1640


def test_an_access_list_stays_and_the_mode_is_the_one_wanted(scene: Scene) -> None:
    acl = struct.pack("<I", 2) + b"".join(
        struct.pack("<HHI", tag, permissions, who)
        for tag, permissions, who in (
            (1, 6, 0xFFFFFFFF),
            (2, 4, 1234),
            (4, 4, 0xFFFFFFFF),
            (16, 4, 0xFFFFFFFF),
            (32, 0, 0xFFFFFFFF),
        )
    )
    scene.lay({"x": (b"now", 0o640)})
    steps = scene.steps({"x": (b"now", 0o640)}, {"x": (b"then", 0o660)})
    try:
        os.setxattr(scene.path("x"), "system.posix_acl_access", acl)
    except OSError:
        pytest.skip("no access lists here")

    scene.run(steps)

    assert scene.path("x").stat().st_mode & 0o7777 == 0o660
    kept = os.getxattr(scene.path("x"), "system.posix_acl_access")
    assert struct.pack("<HHI", 2, 4, 1234) in kept


class _Denied(Counter):
    """Refuses to change owners and attributes, as for people who are not root."""

    def before(self, call: str, target: str, size: int) -> int | None:
        if call in ("chown", "setxattr"):
            raise PermissionError(errno.EPERM, "denied", target)
        return super().before(call, target, size)


def test_what_cannot_be_kept_of_a_replaced_file_is_named(scene: Scene) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    scene.lay({"x": b"now"})
    steps = scene.steps({"x": b"now"}, {"x": b"then"})
    os.chown(scene.path("x"), 1234, 2345)
    os.setxattr(scene.path("x"), "user.comment", b"mine")

    with installed(_Denied()):
        notes = scene.run(steps)

    assert scene.path("x").read_bytes() == b"then"
    assert [note.reason for note in notes if note.subject == "x"] == [
        "its owner (user 1234) could not be kept",
        "its group (2345) could not be kept",
        "extended attributes could not be kept: user.comment",
    ]
