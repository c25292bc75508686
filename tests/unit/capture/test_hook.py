from __future__ import annotations

import importlib.util
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbrewind.capture import hook
from nbrewind.capture.events import FILE_EVENTS

Event = tuple[str, tuple[Any, ...]]


@pytest.fixture
def seen() -> Iterator[list[Event]]:
    events: list[Event] = []
    hook.install(lambda event, args: events.append((event, args)), FILE_EVENTS)
    yield events
    hook.uninstall()


def test_writing_open_is_reported_before_its_effect(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    found: list[str] = []

    def listener(event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            found.append(path.read_text())

    hook.install(listener, FILE_EVENTS)
    path.write_text("new")
    hook.uninstall()

    assert found == ["old"]


def test_reading_open_and_other_events_are_not_reported(tmp_path: Path, seen: list[Event]) -> None:
    (tmp_path / "r").touch()
    seen.clear()

    (tmp_path / "r").read_bytes()
    id(seen)
    os.listdir(tmp_path)

    assert seen == []


def test_installing_twice_reports_once(tmp_path: Path, seen: list[Event]) -> None:
    hook.install(lambda event, args: seen.append((event, args)), FILE_EVENTS)

    (tmp_path / "d").mkdir()

    assert [event for event, _ in seen] == ["os.mkdir"]


def test_uninstalled_hook_reports_nothing_and_can_come_back(tmp_path: Path, seen: list[Event]) -> None:
    hook.uninstall()
    hook.uninstall()
    (tmp_path / "a").mkdir()
    assert seen == []
    assert not hook.installed()

    hook.install(lambda event, args: seen.append((event, args)), FILE_EVENTS)
    (tmp_path / "b").mkdir()

    assert len(seen) == 1


def test_a_second_copy_of_the_module_uses_the_same_trampoline(tmp_path: Path, seen: list[Event]) -> None:
    added: list[object] = []
    spec = importlib.util.spec_from_file_location("second_copy_of_hook", hook.__file__)
    assert spec is not None and spec.loader is not None
    second = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(second)
    original, sys.addaudithook = sys.addaudithook, added.append  # type: ignore[assignment] # counted, not added
    try:
        second.install(lambda event, args: seen.append((event, args)), FILE_EVENTS)
    finally:
        sys.addaudithook = original

    (tmp_path / "d").mkdir()
    second.uninstall()

    assert added == []
    assert len(seen) == 1
    assert not hook.installed()


@pytest.mark.parametrize("error", [KeyError("x"), RecursionError("deep"), MemoryError()])
def test_failure_of_the_listener_never_reaches_the_call(tmp_path: Path, error: Exception) -> None:
    def listener(event: str, args: tuple[Any, ...]) -> None:
        raise error

    hook.install(listener, FILE_EVENTS)
    try:
        (tmp_path / "a.txt").write_text("x")
        failures = hook.take_failures()
    finally:
        hook.uninstall()

    assert (tmp_path / "a.txt").read_text() == "x"
    assert len(failures) == 1 and type(error).__name__ in failures[0]


def test_interrupt_inside_the_hook_reaches_the_user(tmp_path: Path) -> None:
    def listener(event: str, args: tuple[Any, ...]) -> None:
        raise KeyboardInterrupt

    hook.install(listener, FILE_EVENTS)
    try:
        with pytest.raises(KeyboardInterrupt):
            (tmp_path / "d").mkdir()
    finally:
        hook.uninstall()

    assert not (tmp_path / "d").exists()


def test_hook_disables_itself_after_many_failures_and_says_so(tmp_path: Path) -> None:
    calls: list[str] = []

    def listener(event: str, args: tuple[Any, ...]) -> None:
        calls.append(event)
        raise ValueError("broken")

    hook.install(listener, FILE_EVENTS)
    try:
        for number in range(hook.MAX_FAILURES + 5):
            (tmp_path / str(number)).mkdir()
        assert len(calls) == hook.MAX_FAILURES
        assert not hook.installed()
        assert any("disabled" in text for text in hook.take_failures())

        hook.rearm()
        (tmp_path / "again").mkdir()
        assert len(calls) == hook.MAX_FAILURES + 1
    finally:
        hook.uninstall()


def test_file_work_inside_the_listener_is_not_reported(tmp_path: Path) -> None:
    calls: list[str] = []

    def listener(event: str, args: tuple[Any, ...]) -> None:
        calls.append(event)
        (tmp_path / "inner").write_text("x")

    hook.install(listener, FILE_EVENTS)
    (tmp_path / "outer").write_text("x")
    hook.uninstall()

    assert calls == ["open"]


def test_suspension_is_of_one_thread(tmp_path: Path, seen: list[Event]) -> None:
    with hook.suspended():
        (tmp_path / "own").mkdir()
        thread = threading.Thread(target=(tmp_path / "users").mkdir)
        thread.start()
        thread.join()

    assert [os.fsdecode(args[0]) for _, args in seen] == [str(tmp_path / "users")]


def test_forked_child_is_detached_and_parent_is_not(tmp_path: Path, seen: list[Event]) -> None:
    child = os.fork()
    if child == 0:
        os.mkdir(tmp_path / "child")
        os._exit(len(seen) + 10 * hook.installed())
    _, status = os.waitpid(child, 0)
    (tmp_path / "parent").mkdir()

    assert os.waitstatus_to_exitcode(status) == 0
    assert len(seen) == 1


def test_exhausted_stack_fails_no_call_that_had_room_for_the_hook(tmp_path: Path) -> None:
    def listener(event: str, args: tuple[Any, ...]) -> None:
        deep(60)

    def deep(levels: int) -> None:
        if levels:
            deep(levels - 1)

    def write_near_the_limit() -> None:
        try:
            write_near_the_limit()
        except RecursionError:
            if not path.exists():
                path.touch()
            raise

    path = tmp_path / "deep"
    hook.install(listener, FILE_EVENTS)
    try:
        with pytest.raises(RecursionError):
            write_near_the_limit()
        failures = hook.take_failures()
    finally:
        hook.uninstall()

    assert path.exists()
    assert failures


@pytest.mark.writes_outside("the guard cannot read such events either")
def test_strange_arguments_of_an_audit_event_are_harmless(seen: list[Event]) -> None:
    sys.audit("open")
    sys.audit("open", None, None, None)
    sys.audit("os.rename", 1)

    assert len(seen) == 1
