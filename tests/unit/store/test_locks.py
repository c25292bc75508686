from __future__ import annotations

import errno
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from nbrewind.errors import RefusalReason, RewindRefused, SessionLocked, StoreError
from nbrewind.store.layout import SessionPaths, StorePaths, new_session_id, open_store
from nbrewind.store.locks import GcLock, SessionLock, is_held
from tests.faults import KILLED, ErrorAt, KillAt, installed, run_forked, sweep_points


@pytest.fixture
def store(tmp_path: Path) -> StorePaths:
    return open_store(str(tmp_path / "store"))


@pytest.fixture
def session(store: StorePaths) -> SessionPaths:
    return store.session(new_session_id())


def test_a_held_session_refuses_and_names_the_holder(session: SessionPaths) -> None:
    lock = SessionLock(session)
    lock.acquire("kernel 4242 of analysis.ipynb")

    with pytest.raises(SessionLocked, match=r"kernel 4242 of analysis\.ipynb"):
        SessionLock(session).acquire("another")

    assert is_held(session) == "kernel 4242 of analysis.ipynb"
    lock.release()
    assert is_held(session) is None
    SessionLock(session).acquire("another")


def test_looking_at_a_session_that_is_not_there_creates_nothing(session: SessionPaths) -> None:
    assert is_held(session) is None

    assert not Path(session.root).exists()


def test_the_lock_ends_with_a_kill_at_any_call(store: StorePaths) -> None:
    def scenario(paths: SessionPaths) -> Callable[[], object]:
        return lambda: SessionLock(paths).acquire("the dead one")

    for point in sweep_points(scenario(store.session(new_session_id()))):
        paths = store.session(new_session_id())
        assert run_forked(scenario(paths), KillAt(point)) == KILLED
        assert is_held(paths) is None
        lock = SessionLock(paths)
        lock.acquire("the living one")
        lock.release()


def test_an_error_at_any_call_leaves_the_session_free(store: StorePaths) -> None:
    for point in range(5):
        paths = store.session(new_session_id())
        lock = SessionLock(paths)
        with installed(ErrorAt(point, errno.EIO)), pytest.raises(StoreError):
            lock.acquire("me")
        assert not lock.held
        SessionLock(paths).acquire("me")


def test_a_full_disk_costs_the_holder_s_name_and_not_the_session(session: SessionPaths) -> None:
    SessionLock(session).acquire("an earlier one")
    os.rename(session.lock, session.lock + "-gone")
    open(session.lock, "w").close()

    with installed(ErrorAt(0, errno.ENOSPC, calls={"write"})):
        SessionLock(session).acquire("me")

    assert is_held(session) == "another kernel"


def test_those_who_look_never_make_the_one_who_takes_it_fail(session: SessionPaths) -> None:
    SessionLock(session).acquire("first")
    os.remove(session.lock)
    open(session.lock, "w").close()
    pids = []
    for _ in range(2):
        pid = os.fork()
        if not pid:
            while True:
                is_held(session)
        pids.append(pid)

    try:
        for _ in range(100):
            lock = SessionLock(session)
            lock.acquire("me")
            lock.release()
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def test_a_session_whose_folder_was_removed_no_longer_stands(session: SessionPaths) -> None:
    lock = SessionLock(session)
    lock.acquire("me")
    assert lock.stands()

    os.rename(session.root, session.root + "-moved")

    assert not lock.stands()
    lock.release()


def test_many_may_rely_on_objects_at_once_and_nobody_drops_any_then(store: StorePaths) -> None:
    with GcLock(store).try_shared() as first, GcLock(store).try_shared() as second:
        assert first and second
        with pytest.raises(RewindRefused) as refusal, GcLock(store).exclusive(0.05):
            pytest.fail("the block must not run")

    assert refusal.value.reason is RefusalReason.BUSY


def test_while_objects_are_dropped_nobody_relies_on_any_and_nobody_waits(store: StorePaths) -> None:
    with GcLock(store).exclusive():
        with GcLock(store).try_shared() as trusted:
            assert not trusted

    with GcLock(store).try_shared() as trusted:
        assert trusted


def test_dropping_waits_for_those_who_rely(store: StorePaths) -> None:
    relying, enough = threading.Event(), threading.Event()

    def rely() -> None:
        with GcLock(store).try_shared():
            relying.set()
            enough.wait()

    thread = threading.Thread(target=rely)
    thread.start()
    relying.wait()
    threading.Timer(0.05, enough.set).start()

    with GcLock(store).exclusive(10):
        assert enough.is_set()
    thread.join()


def test_an_error_in_the_block_frees_the_lock(store: StorePaths) -> None:
    with pytest.raises(KeyError), GcLock(store).try_shared():
        raise KeyError
    with pytest.raises(KeyError), GcLock(store).exclusive():
        raise KeyError

    with GcLock(store).exclusive():
        pass


def test_where_the_lock_cannot_be_taken_nothing_is_relied_on(store: StorePaths) -> None:
    with installed(ErrorAt(0, errno.EROFS, forever=True)), GcLock(store).try_shared() as trusted:
        assert not trusted


def test_the_generation_rises_and_is_seen_by_all(store: StorePaths) -> None:
    assert GcLock(store).generation() == 0

    with GcLock(store).exclusive():
        assert GcLock(store).raise_generation() == 1
        assert GcLock(store).raise_generation() == 2

    assert GcLock(store).generation() == 2


@pytest.mark.parametrize("text", ["", "x", "1x", "-5", "\0"])
def test_a_damaged_generation_is_never_taken_for_an_old_one(store: StorePaths, text: str) -> None:
    Path(store.generation).write_text(text)

    assert GcLock(store).generation() == -1
    raised = GcLock(store).raise_generation()
    assert raised > 2
    assert GcLock(store).generation() == raised


def test_a_generation_that_cannot_be_raised_is_an_error(store: StorePaths) -> None:
    with installed(ErrorAt(0)), pytest.raises(StoreError):
        GcLock(store).raise_generation()
