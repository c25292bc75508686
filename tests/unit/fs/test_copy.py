from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from nbrewind import fs


def _copied(source: Path, target: Path, length: int) -> int:
    with source.open("rb") as file:
        fd = fs.create_file(target, 0o600)
        try:
            return fs.copy_bytes(file.fileno(), fd, length)
        finally:
            os.close(fd)


@pytest.fixture(params=["kernel", "by hand"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "by hand":

        def refuse(*_: object, **__: object) -> int:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

        monkeypatch.setattr(os, "copy_file_range", refuse)
    return str(request.param)


@pytest.mark.parametrize("size", [0, 1, 4096, 3_000_001])
def test_every_byte_is_copied(tmp_path: Path, size: int) -> None:
    data = os.urandom(size)
    (tmp_path / "a").write_bytes(data)

    assert _copied(tmp_path / "a", tmp_path / "b", size) == size

    assert (tmp_path / "b").read_bytes() == data


def test_holes_stay_holes_at_the_start_in_the_middle_and_at_the_end(tmp_path: Path) -> None:
    size = 1 << 28
    with (tmp_path / "a").open("wb") as file:
        file.truncate(size)
        os.pwrite(file.fileno(), b"x" * 10, 1 << 20)
        os.pwrite(file.fileno(), b"y" * 10, 1 << 24)

    assert _copied(tmp_path / "a", tmp_path / "b", size) == size

    copy = (tmp_path / "b").stat()
    assert (copy.st_size, copy.st_blocks * 512 < 1 << 20) == (size, True)
    with (tmp_path / "b").open("rb") as file:
        assert os.pread(file.fileno(), 12, (1 << 20) - 1) == b"\0" + b"x" * 10 + b"\0"
        assert os.pread(file.fileno(), 10, 1 << 24) == b"y" * 10


def test_a_source_that_is_shorter_than_thought_says_so(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")

    assert _copied(tmp_path / "a", tmp_path / "b", 100) == 5

    assert (tmp_path / "b").read_bytes() == b"12345"


def test_only_the_beginning_that_was_asked_for_is_copied(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")

    assert _copied(tmp_path / "a", tmp_path / "b", 3) == 3

    assert (tmp_path / "b").read_bytes() == b"123"


def test_the_position_in_the_source_stays(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    with (tmp_path / "a").open("rb", buffering=0) as file:
        file.seek(2)
        fd = fs.create_file(tmp_path / "b", 0o600)

        fs.copy_bytes(file.fileno(), fd, 5)

        os.close(fd)
        assert file.tell() == 2
