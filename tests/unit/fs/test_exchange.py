from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nbrewind import fs
from nbrewind.fs import exchange, native
from tests.faults import KILLED, ErrorAt, KillAt, installed, run_forked, sweep_points


@pytest.fixture(params=["kernel", "fallback", "no links"])
def every_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The kernel's call, then file systems without it, then those that have no hard links either."""
    if request.param != "kernel":
        _without_flags(monkeypatch)
    if request.param == "no links":
        monkeypatch.setattr(exchange, "link", _failing(errno.EPERM))
    return request.param


def _failing(number: int) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


def _without_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "renameat2", _failing(errno.EINVAL))
    monkeypatch.setattr(exchange, "_supported", {})


def _put(path: Path, what: str) -> None:
    if what == "directory":
        path.mkdir()
        (path / "inside").write_text(path.name)
    elif what == "link":
        path.symlink_to(f"target of {path.name}")
    else:
        path.write_text(path.name)


def _seen(path: Path) -> str:
    if path.is_symlink():
        return f"link {path.readlink()}"
    return f"directory {(path / 'inside').read_text()}" if path.is_dir() else f"file {path.read_text()}"


KINDS = ["file", "directory", "link"]


@pytest.mark.parametrize("second", KINDS)
@pytest.mark.parametrize("first", KINDS)
def test_any_two_kinds_change_places(tmp_path: Path, every_way: str, first: str, second: str) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    _put(a, first)
    _put(b, second)
    before = _seen(a), _seen(b)

    fs.rename_exchange(a, b)

    assert (_seen(b), _seen(a)) == before
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a", "b"]


def test_an_exchange_with_nothing_changes_nothing(tmp_path: Path, every_way: str) -> None:
    (tmp_path / "a").write_text("a")

    with pytest.raises(FileNotFoundError):
        fs.rename_exchange(tmp_path / "a", tmp_path / "absent")
    with pytest.raises(FileNotFoundError):
        fs.rename_exchange(tmp_path / "absent", tmp_path / "a")

    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]


def test_names_are_taken_below_directory_descriptors(tmp_path: Path, every_way: str) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (tmp_path / "one/a").write_text("1")
    (tmp_path / "two/b").write_text("2")
    one, two = os.open(tmp_path / "one", os.O_RDONLY), os.open(tmp_path / "two", os.O_RDONLY)

    fs.rename_exchange("a", "b", a_dir_fd=one, b_dir_fd=two)
    fs.rename_noreplace("a", "c", src_dir_fd=one, dst_dir_fd=two)

    os.close(one)
    os.close(two)
    assert [(tmp_path / name).read_text() for name in ("two/b", "two/c")] == ["1", "2"]
    assert not list((tmp_path / "one").iterdir())


@pytest.mark.parametrize("kind", KINDS)
def test_a_name_that_is_free_is_taken(tmp_path: Path, every_way: str, kind: str) -> None:
    _put(tmp_path / "a", kind)
    before = _seen(tmp_path / "a")

    fs.rename_noreplace(tmp_path / "a", tmp_path / "b")

    assert _seen(tmp_path / "b") == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["b"]


@pytest.mark.parametrize("there", KINDS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_name_that_is_taken_is_never_replaced(tmp_path: Path, every_way: str, kind: str, there: str) -> None:
    _put(tmp_path / "a", kind)
    _put(tmp_path / "b", there)
    before = _seen(tmp_path / "a"), _seen(tmp_path / "b")

    with pytest.raises(FileExistsError):
        fs.rename_noreplace(tmp_path / "a", tmp_path / "b")

    assert (_seen(tmp_path / "a"), _seen(tmp_path / "b")) == before


@pytest.mark.parametrize("kind", ["directory", "file"])
def test_a_fallback_that_fails_before_its_last_step_puts_back_what_it_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    _without_flags(monkeypatch)
    for point in range(4):
        folder = tmp_path / str(point)
        folder.mkdir()
        _put(folder / "a", kind)
        _put(folder / "b", "file")
        with installed(ErrorAt(point, errno.EIO)), pytest.raises(OSError):
            fs.rename_exchange(folder / "a", folder / "b")
        seen = {entry.name: _seen(entry) for entry in folder.iterdir()}
        if point < 3:
            assert seen == {"a": f"{kind} a", "b": "file b"}
        else:
            # What was at `a` is kept under the third name.
            assert sorted(seen.values()) == sorted([f"{kind} a", "file b"])


def test_a_kill_inside_the_fallback_loses_no_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _without_flags(monkeypatch)

    def scenario(folder: Path) -> Callable[[], None]:
        folder.mkdir()
        (folder / "a").write_text("a")
        (folder / "b").write_text("b")
        return lambda: fs.rename_exchange(folder / "a", folder / "b")

    for point in sweep_points(scenario(tmp_path / "dry")):
        folder = tmp_path / str(point)
        assert run_forked(scenario(folder), KillAt(point)) == KILLED
        assert {entry.read_text() for entry in folder.iterdir()} == {"a", "b"}
        assert (folder / "a").exists()


def test_support_is_tried_once_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "_supported", {})

    assert fs.exchange_supported(tmp_path)

    assert not list(tmp_path.iterdir())
    _without_flags(monkeypatch)
    assert not fs.exchange_supported(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_save_that_races_with_an_exchange_is_never_lost(tmp_path: Path) -> None:
    """A user's editor replaces the file all the time; whatever we take out is either ours or a save, and is kept."""
    target, ours = tmp_path / "file", tmp_path / "ours"
    target.write_text("save 0")
    pid = os.fork()
    if not pid:
        for number in range(1, 400):
            (tmp_path / "editor.tmp").write_text(f"save {number}")
            (tmp_path / "editor.tmp").replace(target)
        os._exit(0)
    taken = []

    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        ours.write_text("ours")
        fs.rename_exchange(ours, target)
        taken.append(ours.read_text())

    last = [text for text in (*taken, target.read_text()) if text.startswith("save")]
    assert "save 399" in last
    assert all(text == "ours" or text.startswith("save") for text in taken)
