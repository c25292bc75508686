"""The event table: real calls of this Python, and what the recorder kept before each took effect."""

from __future__ import annotations

import asyncio
import codecs
import dbm.dumb
import gzip
import io
import mmap
import os
import pathlib
import shutil
import socket
import sqlite3
import tempfile
import threading
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nbrewind.capture.span import SpanRecord, Touched
from nbrewind.model import EntryKind
from tests.unit.capture.conftest import Rig

prebound_open = open


def image(touched: Touched) -> bytes:
    return Path(touched.image).read_bytes()


def run(rig: Rig, call: Callable[[Path], object]) -> SpanRecord:
    """Run *call* as a turn in the folder outside of the workspace, with `old` and `dir/inner` in it."""
    (rig.out / "old").write_bytes(b"old bytes")
    (rig.out / "dir").mkdir()
    (rig.out / "dir" / "inner").write_bytes(b"inner bytes")
    rig.begin()
    os.chdir(rig.out)
    call(rig.out)
    return rig.finish()


def descriptor(path: Path, flags: int) -> int:
    return os.open(path, flags)


def write_by_descriptor(out: Path) -> None:
    number = descriptor(out / "old", os.O_WRONLY)
    os.write(number, b"XX")
    os.close(number)


def reopen_descriptor(out: Path) -> None:
    with open(descriptor(out / "old", os.O_RDWR), "w") as file:
        file.write("new")


def truncate_descriptor(out: Path) -> None:
    number = descriptor(out / "old", os.O_RDWR)
    os.truncate(number, 1)
    os.close(number)


def store_through_a_map(out: Path) -> None:
    with open(out / "old", "r+b") as file, mmap.mmap(file.fileno(), 0) as view:
        view[0:1] = b"X"


def in_directory(out: Path, call: Callable[[int], None]) -> None:
    number = os.open(out, os.O_RDONLY)
    try:
        call(number)
    finally:
        os.close(number)


def opener(out: Path) -> None:
    with open("old", "w", opener=lambda name, flags: os.open(out / name, flags)) as file:
        file.write("x")


CHANGES: dict[str, Callable[[Path], object]] = {
    "open w": lambda out: open(out / "old", "w").close(),
    "open a": lambda out: open(out / "old", "a").close(),
    "open r+": lambda out: open(out / "old", "r+b").close(),
    "open relative": lambda out: open("old", "w").close(),
    "open bytes name": lambda out: open(os.fsencode(out / "old"), "w").close(),
    "io.open": lambda out: io.open(out / "old", "w").close(),  # noqa: UP020
    "FileIO": lambda out: io.FileIO(str(out / "old"), "w").close(),
    "codecs.open": lambda out: codecs.open(str(out / "old"), "w", "utf-8").close(),
    "prebound open": lambda out: prebound_open(out / "old", "w").close(),
    "opener": opener,
    "Path.write_text": lambda out: (out / "old").write_text("x"),
    "Path.open": lambda out: (out / "old").open("w").close(),
    "os.open": write_by_descriptor,
    "os.open dir_fd": lambda out: in_directory(out, lambda fd: os.close(os.open("old", os.O_WRONLY, dir_fd=fd))),
    "open of a descriptor": reopen_descriptor,
    "os.truncate": lambda out: os.truncate(out / "old", 2),
    "os.ftruncate": truncate_descriptor,
    "os.remove": lambda out: os.remove(out / "old"),
    "os.unlink dir_fd": lambda out: in_directory(out, lambda fd: os.unlink("old", dir_fd=fd)),
    "Path.unlink": lambda out: (out / "old").unlink(),
    "os.rename": lambda out: os.rename("old", "elsewhere"),
    "os.rename dir_fd": lambda out: in_directory(out, lambda fd: os.rename("old", "new", src_dir_fd=fd, dst_dir_fd=fd)),
    "os.replace": lambda out: os.replace(out / "dir" / "inner", out / "old"),
    "Path.rename": lambda out: (out / "old").rename(out / "elsewhere"),
    "shutil.move": lambda out: shutil.move(out / "old", out / "elsewhere"),
    "shutil.copyfile": lambda out: shutil.copyfile(out / "dir" / "inner", out / "old"),
    "os.chmod": lambda out: os.chmod(out / "old", 0o600),
    "os.utime": lambda out: os.utime(out / "old", (1, 1)),
    "Path.touch": lambda out: (out / "old").touch(),
    "mmap": store_through_a_map,
    "gzip": lambda out: gzip.open(out / "old", "w").close(),
    "zipfile": lambda out: zipfile.ZipFile(out / "old", "w").close(),
    "sqlite3.connect": lambda out: sqlite3.connect(out / "old").close(),
    "sqlite3.connect uri": lambda out: sqlite3.connect(f"file:{out}/old?mode=rw", uri=True).close(),
    "thread": lambda out: joined(threading.Thread(target=lambda: (out / "old").write_text("x"))),
    "to_thread": lambda out: asyncio.run(asyncio.to_thread((out / "old").write_text, "x")),
    "pool": lambda out: ThreadPoolExecutor(1).submit((out / "old").write_text, "x").result(),
}


def joined(thread: threading.Thread) -> None:
    thread.start()
    thread.join()


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_bytes_are_kept_before_the_call_changes_them(rig: Rig, name: str) -> None:
    record = run(rig, CHANGES[name])

    touched = record.touches[str(rig.out / "old")]
    assert touched.before is not None
    assert image(touched) == b"old bytes"
    assert record.hook_errors == ()


CREATIONS: dict[str, Callable[[Path], object]] = {
    "open w": lambda out: open(out / "new", "w").close(),
    "open x": lambda out: open(out / "new", "x").close(),
    "open a": lambda out: open(out / "new", "a").close(),
    "os.open O_EXCL": lambda out: os.close(os.open(out / "new", os.O_CREAT | os.O_EXCL | os.O_RDWR)),
    "os.open O_RDONLY O_CREAT": lambda out: os.close(os.open(out / "new", os.O_CREAT | os.O_RDONLY)),
    "Path.touch": lambda out: (out / "new").touch(),
    "os.mkdir": lambda out: os.mkdir(out / "new"),
    "Path.mkdir": lambda out: (out / "new").mkdir(),
    "os.symlink": lambda out: os.symlink("old", out / "new"),
    "os.symlink dir_fd": lambda out: in_directory(out, lambda fd: os.symlink("old", "new", dir_fd=fd)),
    "os.link": lambda out: os.link(out / "old", out / "new"),
    "os.rename": lambda out: os.rename(out / "old", out / "new"),
    "os.mkfifo": lambda out: os.mkfifo(out / "new"),
    "os.mknod": lambda out: os.mknod(out / "new"),
    "shutil.copy2": lambda out: shutil.copy2(out / "old", out / "new"),
    "shutil.copytree": lambda out: shutil.copytree(out / "dir", out / "new"),
    "through a dangling link": lambda out: (os.symlink("new", out / "link"), open(out / "link", "w").close()),
    "sqlite3.connect": lambda out: sqlite3.connect(out / "new").close(),
}


@pytest.mark.parametrize("name", CREATIONS)
def test_absence_is_noted_before_the_call_creates(rig: Rig, name: str) -> None:
    record = run(rig, CREATIONS[name])

    assert record.touches[str(rig.out / "new")].before is None
    assert record.hook_errors == ()


NOTHING: dict[str, Callable[[Path], object]] = {
    "reading": lambda out: (out / "old").read_bytes(),
    "reading through a map": lambda out: read_map(out),
    "private map": lambda out: private_map(out),
    "open r+ of nothing": lambda out: failing(FileNotFoundError, lambda: open(out / "none", "r+")),
    "open w in no folder": lambda out: failing(FileNotFoundError, lambda: open(out / "none" / "x", "w")),
    "open w of a folder": lambda out: failing(IsADirectoryError, lambda: open(out / "dir", "w")),
    "open x of a file": lambda out: failing(FileExistsError, lambda: open(out / "old", "x")),
    "remove of nothing": lambda out: failing(FileNotFoundError, lambda: os.remove(out / "none")),
    "rename of nothing": lambda out: failing(FileNotFoundError, lambda: os.rename(out / "none", out / "old")),
    "mkdir of a folder": lambda out: failing(FileExistsError, lambda: os.mkdir(out / "dir")),
    "NUL in the name": lambda out: failing(ValueError, lambda: open("a\0b", "w")),
    "link loop": lambda out: (os.symlink("loop", out / "loop"), failing(OSError, lambda: open(out / "loop", "w"))),
    "closed descriptor": lambda out: failing(OSError, lambda: os.truncate(999, 0)),
    "/dev/null": lambda out: open("/dev/null", "w").close(),
    "pipe": lambda out: pipe(),
    "unnamed temporary file": lambda out: tempfile.TemporaryFile(dir=out).close(),
    "memory database": lambda out: sqlite3.connect(":memory:").close(),
    "read-only database": lambda out: sqlite3.connect(f"file:{out}/old?mode=ro", uri=True).close(),
    "socket": lambda out: bound_socket(),
}


def read_map(out: Path) -> None:
    with open(out / "old", "rb") as file:
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ).close()


def private_map(out: Path) -> None:
    with open(out / "old", "rb") as file:
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY).close()


def bound_socket() -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sock")


def failing(error: type[BaseException], call: Callable[[], object]) -> None:
    with pytest.raises(error):
        call()


def pipe() -> None:
    reading, writing = os.pipe()
    with open(reading, "rb"), open(writing, "wb") as file:
        file.write(b"x")


@pytest.mark.parametrize("name", NOTHING)
def test_calls_without_an_effect_on_files_are_not_noted(rig: Rig, name: str) -> None:
    record = run(rig, NOTHING[name])

    assert set(record.touches) <= {str(rig.out / "loop")}
    assert record.skipped == () and record.hook_errors == ()


def test_a_fifo_is_never_opened(rig: Rig) -> None:
    os.mkfifo(rig.out / "pipe")
    rig.begin()
    number = os.open(rig.out / "pipe", os.O_RDWR)
    os.close(number)
    os.rename(rig.out / "pipe", rig.out / "moved")
    os.remove(rig.out / "moved")
    record = rig.finish()

    before = record.touches[str(rig.out / "pipe")].before
    assert before is not None and before.kind is EntryKind.SPECIAL


def test_a_link_is_followed_by_open_and_not_by_remove(rig: Rig) -> None:
    (rig.out / "real").write_bytes(b"real")
    os.symlink("real", rig.out / "link")
    rig.begin()
    (rig.out / "link").write_text("changed")
    (rig.out / "link").unlink()
    record = rig.finish()

    assert image(record.touches[str(rig.out / "real")]) == b"real"
    link = record.touches[str(rig.out / "link")]
    assert link.link == "real" and link.before is not None and link.before.kind is EntryKind.SYMLINK


def test_names_that_are_not_text_survive_the_journal(rig: Rig) -> None:
    name = os.fsencode(rig.out) + b"/latin\xe9.csv"
    with open(name, "wb") as file:
        file.write(b"1")
    rig.begin()
    os.remove(name)
    record = rig.finish()

    assert [os.fsencode(path) for path in record.touches] == [name]


def test_relative_names_in_a_deleted_folder_are_noted_and_never_raise(rig: Rig, tmp_path: Path) -> None:
    (rig.out / "gone").mkdir()
    rig.begin()
    os.chdir(rig.out / "gone")
    os.rmdir(rig.out / "gone")
    with pytest.raises(FileNotFoundError):
        open("x", "w")
    os.chdir(tmp_path)
    record = rig.finish()

    assert [note.reason for note in record.skipped] == ["the working directory was deleted"]
    assert record.hook_errors == ()


def test_relative_names_mean_the_folder_of_their_moment(rig: Rig) -> None:
    (rig.out / "a").mkdir()
    (rig.out / "b").mkdir()
    rig.begin()
    for folder in ("a", "b"):
        os.chdir(rig.out / folder)
        open("x", "w").close()
    record = rig.finish()

    assert set(record.touches) == {str(rig.out / "a" / "x"), str(rig.out / "b" / "x")}


def test_removed_tree_is_kept_entry_by_entry(rig: Rig) -> None:
    (rig.out / "tree" / "empty").mkdir(parents=True)
    (rig.out / "tree" / "sub").mkdir()
    (rig.out / "tree" / "sub" / "f").write_bytes(b"f")
    rig.begin()
    shutil.rmtree(rig.out / "tree")
    record = rig.finish()

    names = {os.path.relpath(path, rig.out) for path in record.touches}
    assert names == {"tree", "tree/empty", "tree/sub", "tree/sub/f"}
    assert image(record.touches[str(rig.out / "tree" / "sub" / "f")]) == b"f"


def test_dbm_in_python_is_seen(rig: Rig) -> None:
    rig.begin()
    with dbm.dumb.open(str(rig.out / "base"), "c") as base:
        base["k"] = "v"
    record = rig.finish()

    assert str(rig.out / "base.dat") in record.touches


def test_pathlib_prebound_before_the_recorder_is_seen(rig: Rig) -> None:
    write = pathlib.Path.write_text
    rig.begin()
    write(rig.out / "p", "x")
    record = rig.finish()

    assert record.touches[str(rig.out / "p")].before is None
