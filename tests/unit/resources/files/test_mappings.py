from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbrewind.resources.files import mappings
from nbrewind.resources.files.mappings import Mapping, shared_mappings


@pytest.fixture
def mapped(tmp_path: Path) -> Iterator[set[Mapping]]:
    """Hold mappings of every kind, and give those that are shared and writable."""
    names = ("plain", "new\nline \\012 é", "gone", "x" * 255)
    held = []
    for name in names:
        (tmp_path / name).write_bytes(b"x" * 5000)
        with open(tmp_path / name, "r+b") as file:
            held.append(mmap.mmap(file.fileno(), 5000))
            held.append(mmap.mmap(file.fileno(), 5000, access=mmap.ACCESS_COPY))
            held.append(mmap.mmap(file.fileno(), 5000, access=mmap.ACCESS_READ))
    inodes = {name: (tmp_path / name).stat().st_ino for name in names}
    (tmp_path / "gone").unlink()
    yield {Mapping(f"{tmp_path}/{name}{' (deleted)' * (name == 'gone')}", inode) for name, inode in inodes.items()}
    for each in held:
        each.close()


def test_shared_writable_mappings_are_told_by_name_and_inode(mapped: set[Mapping], tmp_path: Path) -> None:
    assert {one for one in shared_mappings("/proc/self") if one.path.startswith(str(tmp_path))} == mapped


def test_a_kernel_that_cannot_be_asked_is_read_instead(
    mapped: set[Mapping], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mappings, "_PROCMAP_QUERY", 0)
    fd = os.open("/proc/self/maps", os.O_RDONLY)
    try:
        with pytest.raises(OSError):
            list(mappings._asked(fd))
    finally:
        os.close(fd)

    # The table's own escape of a new line cannot be told from a name that holds the escape.
    wanted = {Mapping(one.path.replace("\\012", "\n"), one.inode) for one in mapped}
    assert {one for one in shared_mappings("/proc/self") if one.path.startswith(str(tmp_path))} == wanted


def test_a_process_that_is_gone_has_no_mappings() -> None:
    assert shared_mappings("/proc/0") == []
