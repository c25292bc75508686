from __future__ import annotations

import errno
import os
import shutil
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbrewind import fs
from nbrewind.fs import beneath
from tests.faults import ErrorAt, calls_of, installed


@pytest.fixture(params=["openat2", "by component"])
def root(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[fs.Root]:
    monkeypatch.setattr(beneath, "_openat2_works", lambda: request.param == "openat2")
    outside = tmp_path / "outside"
    inside = tmp_path / "root"
    (inside / "deep/er").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret").write_text("outside")
    (inside / "deep/er/file").write_text("inside")
    (inside / "absolute").symlink_to(outside)
    (inside / "relative").symlink_to("../outside")
    (inside / "deep/up").symlink_to("..")
    (inside / "deep/loop").symlink_to("loop")
    (inside / "to-file").symlink_to("deep/er/file")
    with fs.Root(inside) as opened:
        yield opened


HOSTILE = [
    "../outside/secret",
    "deep/../../outside/secret",
    "deep/../deep/er/file",
    "/etc/passwd",
    "//etc/passwd",
    "absolute/secret",
    "relative/secret",
    "deep/up/deep/er/file",
    "deep/loop/x",
    "to-file",
    "..",
    "deep/..",
    "./deep/er/file",
    "deep//er/file",
    "deep/er/",
    "deep/er/file\0",
    "deep\0/../../outside/secret",
    ".",
]


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_RDWR | os.O_CREAT, os.O_WRONLY | os.O_TRUNC])
def test_hostile_names_open_nothing(root: fs.Root, tmp_path: Path, name: str, flags: int) -> None:
    with pytest.raises(fs.OutsideRoot):
        root.open(name, flags, 0o600)

    assert (tmp_path / "outside/secret").read_text() == "outside"
    assert (tmp_path / "root/deep/er/file").read_text() == "inside"
    assert [entry.name for entry in (tmp_path / "outside").iterdir()] == ["secret"]


@pytest.mark.parametrize("name", [name for name in HOSTILE if name != "to-file"])
def test_hostile_names_have_no_parent(root: fs.Root, tmp_path: Path, name: str) -> None:
    with pytest.raises(fs.OutsideRoot), root.parent(name):
        pass
    with pytest.raises(fs.OutsideRoot):
        root.make_parents(f"{name}/x/y")
    assert [entry.name for entry in (tmp_path / "outside").iterdir()] == ["secret"]


def test_a_plain_name_opens(root: fs.Root) -> None:
    fd = root.open("deep/er/file", os.O_RDONLY)

    data = os.read(fd, 100)

    assert not os.get_inheritable(fd)
    os.close(fd)
    assert data == b"inside"


def test_the_last_component_may_be_a_link_where_only_its_name_is_used(root: fs.Root, tmp_path: Path) -> None:
    with root.parent("to-file") as (fd, name):
        fs.unlink(name, dir_fd=fd)

    assert not (tmp_path / "root/to-file").is_symlink()
    assert (tmp_path / "root/deep/er/file").exists()


def test_a_link_itself_can_be_looked_at(root: fs.Root) -> None:
    assert stat.S_ISLNK(root.lstat("to-file").st_mode)
    assert stat.S_ISDIR(root.lstat("").st_mode)


def test_missing_and_wrong_kinds_keep_their_ordinary_errors(root: fs.Root) -> None:
    with pytest.raises(FileNotFoundError):
        root.open("deep/absent/file", os.O_RDONLY)
    with pytest.raises(NotADirectoryError):
        root.open("deep/er/file/below", os.O_RDONLY)
    with pytest.raises(FileExistsError):
        root.open("deep/er/file", os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)


def test_the_root_itself_can_be_opened_but_has_no_parent(root: fs.Root) -> None:
    fd = root.open("", os.O_RDONLY | os.O_DIRECTORY)

    assert "deep" in os.listdir(fd)

    os.close(fd)
    with pytest.raises(fs.OutsideRoot), root.parent(""):
        pass


def test_names_that_are_not_utf8_open(root: fs.Root, tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9")
    (tmp_path / "root" / name).write_text("x")

    os.close(root.open(name, os.O_RDONLY))


def test_missing_parents_are_made_and_named(root: fs.Root, tmp_path: Path) -> None:
    assert root.make_parents("deep/new/and/newer/file") == ["deep/new", "deep/new/and", "deep/new/and/newer"]
    assert root.make_parents("deep/new/and/newer/file") == []
    assert root.make_parents("file") == []

    assert (tmp_path / "root/deep/new/and/newer").is_dir()


def test_parents_through_a_file_are_refused_and_nothing_is_left(root: fs.Root, tmp_path: Path) -> None:
    with pytest.raises(NotADirectoryError):
        root.make_parents("deep/er/file/new/x")

    assert sorted(entry.name for entry in (tmp_path / "root/deep/er").iterdir()) == ["file"]


def test_parents_that_fail_halfway_are_removed_again(root: fs.Root, tmp_path: Path) -> None:
    for point in range(len(calls_of(lambda: root.make_parents("p/q/r/s")))):
        shutil.rmtree(tmp_path / "root/p", ignore_errors=True)
        with installed(ErrorAt(point, errno.ENOSPC)), pytest.raises(OSError):
            root.make_parents("p/q/r/s")
        assert not (tmp_path / "root/p").exists()


def test_a_root_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)

    with pytest.raises(OSError):
        fs.Root(tmp_path / "link")


@pytest.mark.writes_outside("the guard would follow names that are swapped under it")
def test_a_component_that_is_swapped_all_the_time_never_leads_outside(root: fs.Root, tmp_path: Path) -> None:
    victim, link = tmp_path / "root/victim", tmp_path / "root/link"
    victim.mkdir()
    link.symlink_to("../outside")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            fs.rename_exchange(victim, link)

    swapper = threading.Thread(target=swap)
    swapper.start()
    written = refused = 0
    try:
        while written < 200 or refused < 200:
            try:
                with root.parent("victim/file") as (fd, name):
                    os.close(fs.create_file(name, 0o600, dir_fd=fd))
                    fs.unlink(name, dir_fd=fd)
                written += 1
            except fs.OutsideRoot:
                refused += 1
    finally:
        stop.set()
        swapper.join()
    assert [entry.name for entry in (tmp_path / "outside").iterdir()] == ["secret"]


def test_the_fallback_is_chosen_where_the_kernel_or_a_filter_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (errno.ENOSYS, errno.EPERM):

        def refuse(*_: object, number: int = number) -> int:
            raise OSError(number, os.strerror(number))

        beneath._openat2_works.cache_clear()
        monkeypatch.setattr(beneath.native, "openat2", refuse)
        assert not beneath._openat2_works()
    beneath._openat2_works.cache_clear()
