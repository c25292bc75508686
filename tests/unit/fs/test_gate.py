from __future__ import annotations

import os
from pathlib import Path

import pytest

from nbrewind import fs
from tests.faults import Counter, ErrorAt, TornAt, calls_of, installed, open_descriptors


def _everything(folder: Path) -> None:
    os.chdir(folder)
    fs.make_directories("a/b")
    fs.write_new("new", b"1", sync=True)
    fs.replace("file", b"2")
    fs.symlink("file", "link")
    fs.link("file", "second")
    fs.chmod("file", 0o640)
    fs.utime_ns("file", 1)
    fs.rename("second", "third")
    fs.rename_noreplace("third", "fourth")
    fs.rename_exchange("fourth", "new")
    fs.unlink("link")
    fs.rmdir("a/b")
    fd = fs.create_file("big", 0o600)
    fs.allocate(fd, 4096)
    fs.write(fd, b"3")
    fs.pwrite(fd, b"4", 10)
    fs.truncate(fd, 11)
    fs.chmod(fd, 0o600)
    fs.utime_ns(fd, 2)
    fs.chown(fd, -1, -1)
    fs.set_attribute(fd, "user.nbrewind", b"1")
    copy = fs.create_file("copy", 0o600)
    fs.copy_bytes(fd, copy, 11)
    fs.sync_data(copy)
    fs.sync_filesystem(copy)
    fs.mutating_child("git gc", lambda: None)
    lock = fs.FileLock("lock")
    assert lock.acquire()
    lock.release()


def test_every_kind_of_change_passes_the_gate(tmp_path: Path) -> None:
    calls = {call.name for call in calls_of(lambda: _everything(tmp_path))}

    assert calls == {
        *("mkdir", "create", "write", "fsync", "rename", "symlink", "link", "chmod", "utime", "noreplace", "exchange"),
        *(
            "chown",
            "setxattr",
            "unlink",
            "rmdir",
            "allocate",
            "truncate",
            "copy",
            "fdatasync",
            "syncfs",
            "child",
            "lock",
            "unlock",
        ),
    }


def test_the_probe_learns_paths_of_descriptors_and_sizes_of_writes(tmp_path: Path) -> None:
    counter = Counter()

    with installed(counter):
        fs.write_new(tmp_path / "x", b"12345")

    (write,) = [call for call in counter.calls if call.name == "write"]
    assert (write.target, write.size) == (str(tmp_path / "x"), 5)


def test_the_probe_learns_the_directory_of_a_relative_name(tmp_path: Path) -> None:
    counter = Counter()
    directory = os.open(tmp_path, os.O_RDONLY)

    with installed(counter):
        fs.make_directory("x", dir_fd=directory)

    os.close(directory)
    assert counter.calls[0].target == str(tmp_path / "x")


def test_a_torn_write_leaves_a_part_and_an_intermediate_answer_goes_on(tmp_path: Path) -> None:
    class Observed(TornAt):
        def torn(self, call: str, target: str) -> None:
            assert Path(target).read_bytes() == b"12345"

    with installed(Observed(0)):
        fs.write_new(tmp_path / "x", b"1234567890")

    assert (tmp_path / "x").read_bytes() == b"1234567890"


@pytest.mark.parametrize("late", [False, True], ids=["instead of the effect", "after the effect"])
def test_no_error_at_any_call_leaks_a_descriptor(tmp_path: Path, late: bool) -> None:
    points = len(calls_of(lambda: _make(tmp_path / "dry")))
    before = open_descriptors()

    for point in range(points):
        with installed(ErrorAt(point, late=late)), pytest.raises(OSError):
            _make(tmp_path / f"{late}-{point}")

    assert open_descriptors() == before


def _make(folder: Path) -> None:
    """Everything that opens a descriptor by itself."""
    folder.mkdir()
    fs.write_new(folder / "new", b"1", sync=True)
    fs.replace(folder / "file", b"2")
    fs.AppendFile(folder / "log").close()
    lock = fs.FileLock(folder / "lock")
    try:
        lock.acquire()
        lock.write_holder("me")
    finally:
        lock.release()
    root = fs.Root(folder)
    try:
        os.close(root.open("below", os.O_WRONLY | os.O_CREAT, 0o600))
        root.make_parents("p/q/r")
    finally:
        root.close()
    fs.exchange_supported(folder)


def test_large_writes_that_the_system_splits_are_written_whole(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.set_blocking(reader, True)
    data = bytes(range(256)) * 4096
    pid = os.fork()
    if not pid:
        os.close(reader)
        fs.write(writer, data)
        os._exit(0)
    os.close(writer)

    with os.fdopen(reader, "rb") as pipe:
        received = pipe.read()

    os.waitpid(pid, 0)
    assert received == data
