from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from nbrewind import fs
from tests.faults import KILLED, ErrorAt, KillAt, TornAt, calls_of, installed, run_forked, sweep_points

RECORD = b"0123456789"


def _adding(path: Path) -> Callable[[], None]:
    def scenario() -> None:
        with fs.AppendFile(path) as file:
            file.append(RECORD)
            file.append(RECORD)
            file.sync()

    return scenario


def test_records_follow_each_other_and_offsets_say_where(tmp_path: Path) -> None:
    with fs.AppendFile(tmp_path / "log") as file:
        assert [file.append(RECORD), file.append(b"x"), file.size, file.created] == [0, 10, 11, True]
    with fs.AppendFile(tmp_path / "log") as file:
        assert [file.append(b"y"), file.created] == [11, False]
        assert file.read() == RECORD + b"xy"


def test_a_kill_at_any_call_leaves_a_beginning(tmp_path: Path) -> None:
    whole = RECORD * 2

    for point in sweep_points(_adding(tmp_path / "dry")):
        path = tmp_path / str(point)
        assert run_forked(_adding(path), KillAt(point)) == KILLED
        assert whole.startswith(path.read_bytes() if path.exists() else b"")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
def test_a_torn_write_is_cut_back(tmp_path: Path, number: int) -> None:
    with fs.AppendFile(tmp_path / "log") as file:
        file.append(RECORD)
        with installed(TornAt(0, number=number)), pytest.raises(OSError):
            file.append(RECORD)

        assert file.read() == RECORD
        assert not file.broken
        assert file.append(b"next") == 10


def test_an_error_after_the_last_byte_is_cut_back_too(tmp_path: Path) -> None:
    with fs.AppendFile(tmp_path / "log") as file:
        with installed(ErrorAt(0, late=True)), pytest.raises(OSError):
            file.append(RECORD)

        assert (file.read(), file.size) == (b"", 0)


def test_an_interrupt_is_cut_back(tmp_path: Path) -> None:
    class Interrupt(TornAt):
        def torn(self, call: str, target: str) -> None:
            raise KeyboardInterrupt

    with fs.AppendFile(tmp_path / "log") as file:
        with installed(Interrupt(0)), pytest.raises(KeyboardInterrupt):
            file.append(RECORD)

        assert file.read() == b""
        assert file.append(RECORD) == 0


def test_when_cutting_back_fails_nothing_more_is_taken(tmp_path: Path) -> None:
    with fs.AppendFile(tmp_path / "log") as file:
        with installed(ErrorAt(0, errno.EIO, forever=True)), pytest.raises(OSError):
            file.append(RECORD)

        assert file.broken
        for act in (lambda: file.append(RECORD), file.sync, lambda: file.cut(0), lambda: file.reserve(1)):
            with pytest.raises(OSError):
                act()


def test_after_a_failed_flush_nothing_more_is_taken_and_nothing_is_cut(tmp_path: Path) -> None:
    with fs.AppendFile(tmp_path / "log") as file:
        file.append(RECORD)
        with installed(ErrorAt(0, errno.EIO)), pytest.raises(OSError):
            file.sync()

        with pytest.raises(OSError):
            file.append(RECORD)
        with pytest.raises(OSError):
            file.sync()
    assert (tmp_path / "log").read_bytes() == RECORD


def test_a_closed_file_takes_nothing(tmp_path: Path) -> None:
    file = fs.AppendFile(tmp_path / "log")
    file.close()
    file.close()

    with pytest.raises(OSError):
        file.append(RECORD)


def test_reserving_room_does_not_make_the_file_longer(tmp_path: Path) -> None:
    with fs.AppendFile(tmp_path / "log") as file:
        file.append(RECORD)
        file.reserve(100_000)

        assert file.append(RECORD) == 10
        assert file.read() == RECORD * 2


def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "log").symlink_to("elsewhere")
    with pytest.raises(OSError):
        fs.AppendFile(tmp_path / "log")
    assert not (tmp_path / "elsewhere").exists()

    (tmp_path / "elsewhere").write_text("")
    with pytest.raises(OSError):
        fs.AppendFile(tmp_path / "log")


def test_every_append_is_one_call(tmp_path: Path) -> None:
    fs.AppendFile(tmp_path / "log").close()

    assert [call.name for call in calls_of(_adding(tmp_path / "log"))] == ["write", "write", "fdatasync"]
