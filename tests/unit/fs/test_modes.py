from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbrewind import fs


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o777], ids=lambda mask: f"umask {mask:03o}")
def any_umask(request: pytest.FixtureRequest) -> Iterator[int]:
    previous = os.umask(request.param)
    yield request.param
    os.umask(previous)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o444, 0o755])
def test_files_get_exactly_the_mode_asked_for(tmp_path: Path, any_umask: int, mode: int) -> None:
    fs.write_new(tmp_path / "new", b"", mode=mode)
    fs.replace(tmp_path / "replaced", b"", mode=mode)
    fs.AppendFile(tmp_path / "appended", mode).close()
    os.close(fs.create_file(tmp_path / "created", mode))

    assert {_mode(tmp_path / name) for name in ("new", "replaced", "appended", "created")} == {mode}


def test_directories_get_exactly_the_mode_asked_for(tmp_path: Path, any_umask: int) -> None:
    fs.make_directories(tmp_path / "a/b")
    fs.make_directory(tmp_path / "c", 0o755)

    assert (_mode(tmp_path / "a"), _mode(tmp_path / "a/b"), _mode(tmp_path / "c")) == (0o700, 0o700, 0o755)


def test_a_lock_is_private(tmp_path: Path, any_umask: int) -> None:
    lock = fs.FileLock(tmp_path / "lock")

    assert lock.acquire()

    lock.release()
    assert _mode(tmp_path / "lock") == 0o600


def test_an_existing_directory_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine").chmod(0o750)

    created = fs.make_directory(tmp_path / "mine", 0o700)

    assert not created
    assert _mode(tmp_path / "mine") == 0o750


def test_a_file_in_the_place_of_a_directory_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")

    with pytest.raises(FileExistsError):
        fs.make_directory(tmp_path / "taken")
    with pytest.raises(OSError):
        fs.make_directories(tmp_path / "taken/below")


def test_a_mode_never_reaches_what_a_symbolic_link_leads_to(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("")
    (tmp_path / "target").chmod(0o640)
    (tmp_path / "link").symlink_to("target")

    with pytest.raises(OSError):
        fs.chmod(tmp_path / "link", 0o777)

    assert _mode(tmp_path / "target") == 0o640


def test_a_mode_can_be_set_on_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo", 0o000)

    fs.chmod(tmp_path / "fifo", 0o640)

    assert _mode(tmp_path / "fifo") == 0o640


def test_a_time_set_on_a_link_is_the_link_s_own_and_keeps_the_time_of_access(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("")
    (tmp_path / "link").symlink_to("target")
    os.utime(tmp_path / "link", ns=(11, 22), follow_symlinks=False)
    target_time = (tmp_path / "target").stat().st_mtime_ns

    fs.utime_ns(tmp_path / "link", 33)

    link = (tmp_path / "link").lstat()
    assert (link.st_atime_ns, link.st_mtime_ns) == (11, 33)
    assert (tmp_path / "target").stat().st_mtime_ns == target_time
