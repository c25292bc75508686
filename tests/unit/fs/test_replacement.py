from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from nbrewind import fs
from tests.faults import KILLED, Counter, ErrorAt, KillAt, TornAt, calls_of, installed, run_forked, sweep_points

OLD, NEW = b"old" * 1000, b"new" * 1000


def _folder(tmp_path: Path, name: object) -> Path:
    folder = tmp_path / str(name)
    folder.mkdir()
    (folder / "file").write_bytes(OLD)
    return folder


def _replacing(folder: Path) -> Callable[[], None]:
    return lambda: fs.replace(folder / "file", NEW)


def test_bytes_are_flushed_before_their_name_and_the_name_after(tmp_path: Path) -> None:
    counter = Counter()

    with installed(counter):
        fs.replace(tmp_path / "file", NEW)

    names = [call.name for call in counter.calls]
    assert names == ["create", "write", "fsync", "rename", "fsync"]
    assert counter.calls[-1].target == str(tmp_path)


def test_a_kill_at_any_call_leaves_the_old_or_the_new_bytes(tmp_path: Path) -> None:
    left = set()

    for point in sweep_points(_replacing(_folder(tmp_path, "dry"))):
        folder = _folder(tmp_path, point)
        assert run_forked(_replacing(folder), KillAt(point)) == KILLED
        left.add((folder / "file").read_bytes())
        fs.sweep_temporaries(folder)
        assert [entry.name for entry in folder.iterdir()] == ["file"]

    assert left == {OLD, NEW}


def test_a_kill_inside_the_write_leaves_the_old_bytes(tmp_path: Path) -> None:
    folder = _folder(tmp_path, "torn")

    assert run_forked(_replacing(folder), TornAt(0)) == KILLED

    assert (folder / "file").read_bytes() == OLD


@pytest.mark.parametrize("late", [False, True], ids=["instead", "after"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_an_error_at_any_call_leaves_whole_bytes_and_no_litter(tmp_path: Path, number: int, late: bool) -> None:
    points = len(calls_of(_replacing(_folder(tmp_path, "dry"))))

    for point in range(points):
        folder = _folder(tmp_path, point)
        with installed(ErrorAt(point, number, late=late)), pytest.raises(OSError):
            fs.replace(folder / "file", NEW)
        assert (folder / "file").read_bytes() in (OLD, NEW)
        litter = [entry.name for entry in folder.iterdir() if entry.name != "file"]
        # Where the very creation reports an error after its effect, nothing says that there is a file to remove.
        assert not litter or (late and point == 0)


def test_a_new_file_that_fails_is_gone(tmp_path: Path) -> None:
    with installed(TornAt(0, number=errno.ENOSPC)), pytest.raises(OSError):
        fs.write_new(tmp_path / "new", NEW)

    assert not (tmp_path / "new").exists()


def test_a_new_file_never_replaces_one_nor_follows_a_link(tmp_path: Path) -> None:
    (tmp_path / "taken").write_bytes(OLD)
    (tmp_path / "link").symlink_to("elsewhere")

    for name in ("taken", "link"):
        with pytest.raises(FileExistsError):
            fs.write_new(tmp_path / name, NEW)

    assert (tmp_path / "taken").read_bytes() == OLD
    assert not (tmp_path / "elsewhere").exists()


def test_a_replacement_puts_a_file_in_the_place_of_a_link(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(OLD)
    (tmp_path / "link").symlink_to("target")

    fs.replace(tmp_path / "link", NEW)

    assert not (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == OLD


def test_a_sweep_removes_only_temporary_files_of_ours(tmp_path: Path) -> None:
    for name in (fs.temporary_name(), ".nbrewind-op-1", "x.tmp", ".nbrewind-0123.tmp"):
        (tmp_path / name).write_text("")

    assert fs.sweep_temporaries(tmp_path) == 1

    assert {entry.name for entry in tmp_path.iterdir()} == {".nbrewind-op-1", "x.tmp", ".nbrewind-0123.tmp"}
