"""Faults of comparable tools that have to do with names, links, modes and special files."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbrewind.errors import RewindError
from tests.builders import Symlink, TestWorkspace
from tests.outsider import Outsider
from tests.sessions import Book, attached

pytestmark = pytest.mark.usefixtures("sound_stores")


def test_b18_links_of_all_kinds_come_back_as_links(book: Book, workspace: TestWorkspace) -> None:
    with book.turn():
        workspace.write({"d/f": "1", "file": Symlink("d/f"), "folder": Symlink("d"), "loop": Symlink("loop")})
        workspace.write({"dangling": Symlink(b"nowhere\xff"), "absolute": Symlink("/etc/hostname")})
    whole = workspace.tree()
    with book.turn():
        for name in ("file", "folder", "loop", "dangling", "absolute"):
            os.remove(workspace.path(name))
        workspace.write({"folder/now": "a folder", "file": "now a file"})

    book.to(1)

    assert workspace.tree() == whole


def test_b22_a_fifo_and_a_socket_are_listed_and_left_alone(book: Book, workspace: TestWorkspace) -> None:
    os.mkfifo(workspace.path("pipe"))
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(workspace.root)
        server.bind("sock")
        with book.turn():
            workspace.write({"n": "1"})
        start = time.perf_counter()
        with book.turn():
            workspace.write({"n": "2"})
        book.head()
        elapsed = time.perf_counter() - start
        before = workspace.tree()
        not_covered = [note.subject for note in book.session.status().not_covered]

        book.to(1)

    assert elapsed < 2
    assert workspace.read("n") == b"1"
    assert {name: workspace.tree()[name] for name in (b"pipe", b"sock")} == {
        name: before[name] for name in (b"pipe", b"sock")
    }
    assert {"pipe", "sock"} <= set(not_covered)


@pytest.mark.parametrize(
    "name", ["*", "[a]", ":(top)x", "?", "-rf", "a\nb", " lead", "trail ", "\\", "~", "$HOME", "%s"]
)
def test_b63_a_name_that_looks_like_a_pattern_is_only_itself(name: str, book: Book, workspace: TestWorkspace) -> None:
    others = {"star": "s", "astar": "s", "a": "s", "x": "s"}
    with book.turn():
        workspace.write({name: "1", **others})
    with book.turn():
        workspace.write({name: "2", **dict.fromkeys(others, "t")})

    # As in a shell, a bare ~ is the home.
    book.session.restore(["./~" if name == "~" else name], "1")

    assert workspace.read(name) == b"1"
    assert [workspace.read(other) for other in others] == [b"t"] * 4


def test_b62_a_leading_space_does_not_slip_past_the_size_cap(workspace: TestWorkspace, home: Path) -> None:
    with attached(workspace, home, max_file_size=2048) as book:
        with book.turn():
            workspace.write({" big.bin": b"x" * 4096, "small": "1"})
        point = book.point(1)
        with book.turn():
            workspace.write({" big.bin": b"y" * 4096, "small": "2"})
        plan = book.session.plan("1")
        book.session.rewind(plan)

    assert " big.bin" in [note.subject for note in point.reasons]
    assert " big.bin" in [note.subject for note in plan.lost]
    assert workspace.read("small") == b"1"
    assert workspace.read(" big.bin") == b"y" * 4096


def test_b64_a_rename_of_case_only_comes_back(book: Book, workspace: TestWorkspace) -> None:
    with book.turn():
        workspace.write({"Foo": "1", "Dir/f": "1"})
    with book.turn():
        os.rename(workspace.path("Foo"), workspace.path("foo"))
        os.rename(workspace.path("Dir"), workspace.path("dir"))

    book.to(1)

    assert sorted(workspace.tree()) == [b"Dir", b"Dir/f", b"Foo"]


@pytest.fixture
def folding(tmp_path: Path) -> Iterator[TestWorkspace]:
    """Yield a workspace in which `Foo` and `foo` are one name; skip where this machine cannot make one."""
    image, place = tmp_path / "image", tmp_path / "folding"
    place.mkdir()
    image.write_bytes(b"")
    os.truncate(image, 32 << 20)
    for command in (
        ["mkfs.ext4", "-q", "-O", "casefold", "-E", "encoding=utf8", str(image)],
        ["mount", "-o", "loop", str(image), str(place)],
    ):
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
        except (OSError, subprocess.CalledProcessError) as error:
            why = (getattr(error, "stderr", "") or str(error)).strip().split("\n")[0]
            pytest.skip(f"no case-insensitive file system here: {' '.join(command[:2])}: {why}")
    try:
        root = place / "work"
        root.mkdir()
        subprocess.run(["chattr", "+F", str(root)], check=True)
        yield TestWorkspace(root)
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_b64_a_rename_of_case_only_comes_back_where_case_does_not_count(folding: TestWorkspace, home: Path) -> None:
    with attached(folding, home) as book:
        with book.turn():
            folding.write({"Foo": "1", "Dir/f": "1"})
        with book.turn():
            os.rename(folding.path("Foo"), folding.path("foo"))
            os.rename(folding.path("Dir"), folding.path("dir"))

        book.to(1)
        assert sorted(folding.tree()) == [b"Dir", b"Dir/f", b"Foo"]
        book.session.undo()
        assert sorted(folding.tree()) == [b"dir", b"dir/f", b"foo"]


def test_names_that_are_not_utf_8_and_twins_in_unicode_come_back(book: Book, workspace: TestWorkspace) -> None:
    names = [
        "caf\u00e9".encode(),
        "cafe\u0301".encode(),
        b"latin\xe9",
        "\u202eevil".encode(),
        b"\xff\xfe",
        b"new\nline",
    ]
    with book.turn():
        workspace.write({name: name for name in names})
    with book.turn():
        for name in names:
            os.remove(os.path.join(os.fsencode(workspace.root), name))

    book.to(1)

    assert sorted(workspace.tree()) == sorted(names)
    assert all(workspace.read(name) == name for name in names)


def test_b65_a_parent_that_became_a_symlink_leads_no_restore_outside(
    book: Book, workspace: TestWorkspace, tmp_path: Path, outsider: Outsider
) -> None:
    outside = TestWorkspace(tmp_path / "outside")
    outside.write({"f": "theirs", "only": "theirs"})
    with book.turn():
        workspace.write({"d/f": "1"})
    with book.turn():
        workspace.write({"d/f": "2"})
    outsider.rename(workspace.path("d"), workspace.path("moved"))
    outsider.symlink(str(outside.root), workspace.path("d"))
    before = outside.tree()

    with contextlib.suppress(RewindError):
        book.to(1)

    assert outside.tree() == before


def test_b67_b68_modes_come_back_exactly(book: Book, workspace: TestWorkspace) -> None:
    modes = {"script": 0o755, "secret": 0o600, "private": 0o700, "frozen": 0o444, "group": 0o664}
    with book.turn():
        for name, mode in modes.items():
            workspace.write({name: name}, mode=mode)
        workspace.write({"closed/f": "1"})
        os.chmod(workspace.path("closed"), 0o750)
    with book.turn():
        for name in modes:
            os.chmod(workspace.path(name), 0o640)
        os.chmod(workspace.path("closed"), 0o755)
        os.remove(workspace.path("frozen"))
    assert book.point(2).changed + book.point(2).removed >= len(modes)

    book.to(1)

    assert {name: stat.S_IMODE(os.stat(workspace.path(name)).st_mode) for name in modes} == modes
    assert stat.S_IMODE(os.stat(workspace.path("closed")).st_mode) == 0o750


def test_b67_an_unchanged_executable_is_not_a_change(book: Book, workspace: TestWorkspace) -> None:
    workspace.write({"run.sh": "echo"}, mode=0o755)
    with book.turn():
        pass

    assert not book.point(1).changed_something
    assert book.session.plan("start").steps == ()


def test_b68_empty_folders_come_and_go_exactly(book: Book, workspace: TestWorkspace) -> None:
    with book.turn():
        workspace.write({"empty": None, "deep/er/empty": None, "full/f": "1"})
    whole = workspace.tree()
    with book.turn():
        os.rmdir(workspace.path("empty"))
        os.removedirs(workspace.path("deep/er/empty"))
        os.remove(workspace.path("full/f"))
        workspace.write({"new/empty": None})

    book.to(1)

    assert workspace.tree() == whole


def test_b68_hard_links_and_times_come_back(book: Book, workspace: TestWorkspace) -> None:
    with book.turn():
        workspace.write({"a": "1", "t": "1"})
        os.link(workspace.path("a"), workspace.path("b"))
        os.utime(workspace.path("t"), ns=(10**18, 10**18 + 123))
    with book.turn():
        with open(workspace.path("a"), "r+") as file:
            file.write("2")
        workspace.write({"t": "2"})

    book.to(1)

    assert (workspace.read("a"), workspace.read("b")) == (b"1", b"1")
    assert os.stat(workspace.path("a")).st_ino == os.stat(workspace.path("b")).st_ino
    assert os.stat(workspace.path("t")).st_mtime_ns == 10**18 + 123


def test_b70_random_bytes_round_trip_through_journal_and_shadow(
    book: Book, workspace: TestWorkspace, tmp_path: Path
) -> None:
    inside, outside = os.urandom(300_000), os.urandom(300_000)
    workspace.write({"inside": inside})
    beside = TestWorkspace(tmp_path / "beside")
    beside.write({"outside": outside})
    with book.turn():
        pass
    with book.turn():
        workspace.write({"inside": "text"})
        beside.write({"outside": "text"})

    book.to(1)

    assert workspace.read("inside") == inside
    assert beside.read("outside") == outside
