from __future__ import annotations

import mmap
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nbrewind.resources.files import processes
from nbrewind.resources.files.processes import children, writable_files
from nbrewind.resources.files.sqlite import database_of, group, is_sqlite
from tests.builders import wait_until


def test_open_append_and_mapped_files_are_told_apart(tmp_path: Path) -> None:
    for name in ("read", "write", "append", "both", "mapped", "private", "deleted", "new\nline"):
        (tmp_path / name).write_bytes(b"x" * 4096)
    read = open(tmp_path / "read")
    write = open(tmp_path / "write", "r+")
    append = open(tmp_path / "append", "a")
    both = [open(tmp_path / "both", "a"), open(tmp_path / "both", "r+")]
    shared, odd = (open(tmp_path / name, "r+b") for name in ("mapped", "new\nline"))
    private = open(tmp_path / "private", "rb")
    maps = [mmap.mmap(shared.fileno(), 4096), mmap.mmap(odd.fileno(), 4096)]
    copy = mmap.mmap(private.fileno(), 4096, access=mmap.ACCESS_COPY)
    deleted = open(tmp_path / "deleted", "r+")
    os.remove(tmp_path / "deleted")
    for file in (shared, private, odd):
        file.close()
    try:
        found = writable_files(below=str(tmp_path))
    finally:
        for thing in (read, write, append, *both, *maps, copy, deleted):
            thing.close()

    assert found == {
        f"{tmp_path}/write": "open",
        f"{tmp_path}/append": "append",
        f"{tmp_path}/both": "append",
        f"{tmp_path}/mapped": "mapped",
        f"{tmp_path}/new\nline": "mapped",
    }
    assert writable_files(below=str(tmp_path)) == {}


def test_a_file_replaced_under_an_open_handle_is_not_told_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("1")
    with open(tmp_path / "f", "r+"):
        os.rename(tmp_path / "f", tmp_path / "old")
        (tmp_path / "f").write_text("2")

        assert writable_files(below=str(tmp_path)) == {f"{tmp_path}/old": "open"}


def test_pipes_sockets_devices_and_directories_are_no_files(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    null, folder = os.open("/dev/null", os.O_RDWR), os.open(tmp_path, os.O_RDONLY)
    try:
        found = writable_files()
    finally:
        for fd in (reader, writer, null, folder):
            os.close(fd)

    assert [path for path in found if not os.path.isfile(path)] == []


def test_another_process_can_be_asked_about_and_one_that_is_gone_has_nothing(tmp_path: Path) -> None:
    program = f"import time; file = open({str(tmp_path / 'theirs')!r}, 'w'); print('.', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-S", "-c", program], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()

        assert writable_files(child.pid, below=str(tmp_path)) == {f"{tmp_path}/theirs": "open"}
        child.kill()
    assert writable_files(child.pid) == {}


@pytest.mark.parametrize("by_task", [True, False])
def test_children_and_their_children_are_found_and_the_dead_are_not(
    by_task: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not by_task:
        monkeypatch.setattr(processes.os.path, "exists", lambda path: False)
    program = (
        "import subprocess, sys; inner = subprocess.Popen([sys.executable, '-S', '-c', 'input()'], stdin=0); "
        "print(inner.pid, flush=True); inner.wait()"
    )
    before = set(children())
    dead = subprocess.Popen(["true"])
    with subprocess.Popen(
        [sys.executable, "-S", "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        inner = int(child.stdout.readline())
        assert wait_until(lambda: Path(f"/proc/{dead.pid}/stat").read_text().split(") ")[1][0] == "Z")

        found = set(children()) - before

        child.communicate(b"\n")
    dead.wait()
    assert found == {child.pid, inner}
    assert set(children()) == before


def test_asking_is_cheap() -> None:
    started = time.process_time()
    for _ in range(20):
        writable_files()
        children()

    assert time.process_time() - started < 0.5


@pytest.mark.parametrize(
    ("path", "present", "expected"),
    [
        ("a.db", {"a.db"}, ()),
        ("a.db", {"a.db", "a.db-wal", "b"}, ("a.db", "a.db-wal")),
        ("a.db-wal", {"a.db", "a.db-wal", "a.db-shm"}, ("a.db", "a.db-wal", "a.db-shm")),
        ("d/a.db-journal", {"d/a.db", "d/a.db-journal"}, ("d/a.db", "d/a.db-journal")),
        ("a.db-wal", {"a.db-wal"}, ()),
        ("-wal", {"-wal", ""}, ()),
    ],
)
def test_a_database_is_one_with_its_companions(path: str, present: set[str], expected: tuple[str, ...]) -> None:
    assert group(path, present) == expected


def test_databases_are_told_by_their_beginning(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(b"SQLite format 3\0" + b"\0" * 84)
    (tmp_path / "b.db").write_text("SQLite, they say")

    assert is_sqlite(f"{tmp_path}/a.db")
    assert not is_sqlite(f"{tmp_path}/b.db")
    assert not is_sqlite(f"{tmp_path}/nothing")
    assert database_of("x/a.db-journal") == "x/a.db"
