from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nbrewind import fs
from tests.faults import KILLED, ErrorAt, KillAt, installed, open_descriptors, run_forked, sweep_points


def _free(path: Path) -> bool:
    other = fs.FileLock(path)
    try:
        return other.acquire()
    finally:
        other.release()


def test_one_holder_excludes_all_others_even_in_the_same_process(tmp_path: Path) -> None:
    lock = fs.FileLock(tmp_path / "lock")
    assert lock.acquire()

    assert not _free(tmp_path / "lock")

    lock.release()
    assert _free(tmp_path / "lock")


def test_shared_holders_exclude_only_exclusive_ones(tmp_path: Path) -> None:
    first, second = fs.FileLock(tmp_path / "lock"), fs.FileLock(tmp_path / "lock")

    assert first.acquire(exclusive=False)
    assert second.acquire(exclusive=False)

    assert not _free(tmp_path / "lock")
    first.release()
    second.release()
    assert _free(tmp_path / "lock")


def test_the_holder_is_named_while_the_lock_is_held(tmp_path: Path) -> None:
    lock = fs.FileLock(tmp_path / "lock")
    assert fs.lock_is_held(tmp_path / "lock") is None
    lock.acquire()
    lock.write_holder("a rather long name of a kernel")
    lock.write_holder("kernel 1")

    assert fs.lock_is_held(tmp_path / "lock") == "kernel 1"
    assert fs.FileLock(tmp_path / "lock").read_holder() == "kernel 1"

    lock.release()
    assert fs.lock_is_held(tmp_path / "lock") is None
    assert lock.read_holder() == "kernel 1"


def test_looking_creates_nothing(tmp_path: Path) -> None:
    assert fs.lock_is_held(tmp_path / "lock") is None
    assert fs.FileLock(tmp_path / "lock").read_holder() == ""

    assert not list(tmp_path.iterdir())


def test_a_kill_at_any_call_frees_the_lock(tmp_path: Path) -> None:
    def scenario(path: Path) -> Callable[[], None]:
        def hold() -> None:
            lock = fs.FileLock(path)
            assert lock.acquire()
            lock.write_holder("the dead one")
            lock.release()

        return hold

    for point in sweep_points(scenario(tmp_path / "dry")):
        path = tmp_path / str(point)
        assert run_forked(scenario(path), KillAt(point)) == KILLED
        assert fs.lock_is_held(path) is None
        assert _free(path)


def test_an_error_at_any_call_of_taking_it_leaves_it_free(tmp_path: Path) -> None:
    before = open_descriptors()
    for point in range(2):
        lock = fs.FileLock(tmp_path / str(point))
        with installed(ErrorAt(point, 5)), pytest.raises(OSError):
            lock.acquire()
        assert not lock.held
        assert _free(tmp_path / str(point))
    assert open_descriptors() == before


def test_a_forked_child_neither_keeps_nor_frees_the_lock(tmp_path: Path) -> None:
    """The child sleeps on while its parent, which took the lock, is killed."""
    path = tmp_path / "lock"
    reader, writer = os.pipe()
    parent = os.fork()
    if not parent:
        os.close(reader)
        lock = fs.FileLock(path)
        lock.acquire()
        child = os.fork()
        if not child:
            lock.release()  # has nothing to give back
            os.write(writer, b"%d\n" % os.getpid())
            signal.pause()
            os._exit(0)
        os.waitpid(child, 0)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        child = int(pipe.readline())

    try:
        assert fs.lock_is_held(path) is not None
        os.kill(parent, signal.SIGKILL)
        os.waitpid(parent, 0)
        assert _free(path)
    finally:
        os.kill(child, signal.SIGKILL)


def test_a_started_program_does_not_inherit_the_lock(tmp_path: Path) -> None:
    lock = fs.FileLock(tmp_path / "lock")
    lock.acquire()
    program = [sys.executable, "-S", "-c", "print(flush=True); input()"]
    child = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, close_fds=False)
    assert child.stdout is not None
    child.stdout.readline()  # it runs, so the system is done with the descriptors that are closed on exec

    lock._close()  # as the kernel does when we die: without an explicit unlock

    free = _free(tmp_path / "lock")
    child.communicate(b"\n")
    assert free


def test_a_lock_whose_file_was_removed_no_longer_stands(tmp_path: Path) -> None:
    lock = fs.FileLock(tmp_path / "lock")
    lock.acquire()
    assert lock.stands()

    (tmp_path / "lock").unlink()

    assert not lock.stands()
    assert _free(tmp_path / "lock")
    lock.release()


def test_a_file_that_is_replaced_while_it_is_being_locked_is_not_taken_for_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"

    class Replace:
        done = False

        def before(self, call: str, target: str, size: int) -> int | None:
            if call == "lock" and not self.done:
                self.done = True
                path.unlink()
                path.write_text("")
            return None

        def torn(self, call: str, target: str) -> None: ...

        def after(self, call: str, target: str) -> None: ...

    lock = fs.FileLock(path)
    with installed(Replace()):
        assert lock.acquire()

    assert lock.stands()
    assert not _free(path)
    lock.release()


def test_taking_it_twice_by_one_object_is_a_mistake_of_ours(tmp_path: Path) -> None:
    lock = fs.FileLock(tmp_path / "lock")
    lock.acquire()

    with pytest.raises(RuntimeError, match="BUG"):
        lock.acquire()

    lock.release()
    lock.release()
    with pytest.raises(RuntimeError, match="BUG"):
        lock.write_holder("nobody")
