from __future__ import annotations

import _posixsubprocess
import builtins
import io
import multiprocessing.process
import os
import pathlib
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbrewind.capture import hook, wraps
from nbrewind.capture.events import FILE_EVENTS, touches

PLACES: list[tuple[Any, str]] = [
    (builtins, "open"),
    (io, "open"),
    (os, "open"),
    (os, "rename"),
    (os, "remove"),
    (os, "mkfifo"),
    (os, "mknod"),
    (pathlib.Path, "open"),
    (pathlib.Path, "write_text"),
    (pathlib.Path, "unlink"),
    (shutil, "rmtree"),
    (threading.Thread, "start"),
    (multiprocessing.process.BaseProcess, "start"),
    (_posixsubprocess, "fork_exec"),
]


@pytest.fixture(autouse=True)
def taken_away() -> Iterator[None]:
    yield
    wraps.uninstall()
    hook.uninstall()


def originals() -> list[Any]:
    return [vars(owner)[name] for owner, name in PLACES]


def support_sets() -> list[set[Any]]:
    return [set(getattr(os, name)) for name in ("supports_dir_fd", "supports_fd", "supports_follow_symlinks")]


def test_uninstall_puts_the_original_objects_back() -> None:
    before, sets = originals(), support_sets()

    wraps.install()
    wraps.install()
    assert os.open is not before[2]
    wraps.uninstall()
    wraps.uninstall()

    assert all(now is then for now, then in zip(originals(), before, strict=True))
    assert support_sets() == sets


def test_wrapped_open_still_supports_directory_descriptors() -> None:
    wraps.install()

    assert os.open in os.supports_dir_fd
    assert os.mkfifo in os.supports_dir_fd


def test_a_wrap_around_ours_survives_uninstall_and_works(tmp_path: Path) -> None:
    plain = os.open
    wraps.install()
    ours = os.open
    calls: list[Any] = []

    def theirs(*args: Any, **named: Any) -> int:
        calls.append(args)
        return ours(*args, **named)

    os.open = theirs
    try:
        wraps.uninstall()
        os.close(os.open(tmp_path / "a", os.O_CREAT | os.O_WRONLY))
        assert os.open is theirs
        assert len(calls) == 1
    finally:
        os.open = ours
        wraps.uninstall()

    assert os.open is plain


def test_open_with_a_directory_descriptor_is_resolved_there(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    found: list[str] = []
    hook.install(lambda event, args: found.extend(touch.path for touch in touches(event, args)), FILE_EVENTS)
    wraps.install()
    directory = os.open(tmp_path / "d", os.O_RDONLY)
    try:
        os.close(os.open("inner", os.O_CREAT | os.O_WRONLY, dir_fd=directory))
        os.close(os.open("outer", os.O_CREAT | os.O_WRONLY))
    finally:
        os.close(directory)

    assert found == [os.path.realpath(tmp_path / "d" / "inner"), os.path.realpath("outer")]


def test_errors_of_wrapped_calls_are_the_users(tmp_path: Path) -> None:
    wraps.install()

    with pytest.raises(FileNotFoundError):
        os.open(tmp_path / "none" / "x", os.O_CREAT | os.O_WRONLY)
    with pytest.raises(TypeError):
        os.open()  # type: ignore[call-overload]
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileExistsError):
        os.mkfifo(tmp_path / "pipe")


def test_fifos_and_nodes_are_reported(tmp_path: Path) -> None:
    found: list[str] = []
    hook.install(lambda event, args: found.extend(touch.path for touch in touches(event, args)), FILE_EVENTS)
    wraps.install()

    os.mkfifo(tmp_path / "pipe", 0o600)
    os.mknod(str(tmp_path / "node"))

    assert found == [os.path.realpath(tmp_path / "pipe"), os.path.realpath(tmp_path / "node")]
