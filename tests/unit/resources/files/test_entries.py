from __future__ import annotations

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nbrewind import fs
from nbrewind.model import EntryKind, Note
from nbrewind.resources.files import intake
from tests.builders import Symlink
from tests.unit.resources.files.lab import Lab, unprivileged


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


ODD_NAMES: list[bytes] = [
    "caf\u00e9.csv".encode(),
    "cafe\u0301.csv".encode(),
    "\U0001f4c8.csv".encode(),
    b"latin\xe9.csv",
    b"\xff\xfe",
    b"*",
    b"[a]",
    b":(top)x",
    b" leading",
    b"trailing ",
    b"new\nline",
    b"tab\tname",
    b'quo"te',
    b"back\\slash",
    b"-rf",
    b"~",
    b"...",
    b"Foo",
    b"foo",
    b"a" * 255,
    b".gitignore",
    b".gitattributes",
    b".gitmodules-not",
    b"meta",
    b"d",
    b"c",
    b"x",
    b"range",
    b"\x01\x7f",
]


def test_odd_names_are_kept_byte_for_byte_as_files_and_as_folders(lab: Lab) -> None:
    for name in ODD_NAMES:
        lab.write({b"files/" + name: name, b"folders/" + name + b"/" + name: name})

    snapshot = lab.snap()

    assert snapshot.address is not None
    assert snapshot.address.tree == lab.write_tree()
    walked = {os.fsencode(path) for path, _ in lab.tree().walk()}
    assert walked == set(lab.tree_on_disk())
    for name in ODD_NAMES:
        state = lab.kept(os.fsdecode(b"files/" + name))
        assert b"".join(lab.repository.content(state)) == name
        assert lab.tracker.state(os.fsdecode(b"folders/" + name)) == lab.tree().lookup(os.fsdecode(b"folders/" + name))
    lab.fsck()
    lab.restart(snapshot.address)
    assert lab.snap().address is None
    for name in ODD_NAMES:
        os.remove(lab.path(b"files/" + name))
    assert len(lab.snap().changes) == len(ODD_NAMES)


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o700, 0o755, 0o444, 0o555, 0o000, 0o4755, 0o2644])
def test_modes_of_files_are_kept_exactly(lab: Lab, mode: int) -> None:
    lab.write({"f": "1"})
    os.chmod(lab.path("f"), mode)

    address = lab.snap().address

    assert lab.kept("f").mode == mode
    assert address is not None
    assert address.tree == lab.write_tree()


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o1777, 0o2775, 0o555])
def test_modes_of_directories_are_kept_exactly_empty_or_not(lab: Lab, mode: int) -> None:
    lab.write({"d/x": "1", "e": None})
    os.chmod(lab.path("d"), mode)
    os.chmod(lab.path("e"), mode)
    lab.snap()

    assert (lab.kept("d").mode, lab.kept("e").mode) == (mode, mode)
    os.chmod(lab.path("e"), 0o750)
    snapshot = lab.snap()
    assert [(row.path, row.before and row.before.mode, row.after and row.after.mode) for row in snapshot.changes] == [
        ("e", mode, 0o750)
    ]


def test_a_mode_change_alone_is_a_change(lab: Lab) -> None:
    lab.write({"run.sh": "echo"})
    lab.snap()
    os.chmod(lab.path("run.sh"), 0o600)

    (row,) = lab.snap().changes

    assert row.before is not None
    assert row.after is not None
    assert (row.before.mode, row.after.mode) == (0o644, 0o600)
    assert row.before.object == row.after.object


def test_mtimes_are_kept_to_the_nanosecond(lab: Lab) -> None:
    lab.write({"f": "1", "link": Symlink("f")})
    os.utime(lab.path("f"), ns=(0, 1_234_567_890_123_456_789))
    os.utime(lab.path("link"), ns=(0, 987_654_321), follow_symlinks=False)
    lab.snap()

    assert lab.kept("f").mtime_ns == 1_234_567_890_123_456_789
    assert lab.kept("link").mtime_ns == 987_654_321


def test_empty_directories_come_and_go_as_changes(lab: Lab) -> None:
    lab.write({"d/e/f": None})
    lab.snap()
    os.rmdir(lab.path("d/e/f"))
    lab.write({"g": None})

    assert lab.changes() == {"d/e/f": ("<directory>", ""), "g": ("", "<directory>")}
    assert lab.tree().directories == ("d", "d/e", "g")


def test_files_of_nested_repositories_are_kept_and_no_gitlink_ever(lab: Lab) -> None:
    lab.write({"outer.txt": "o", "with/inner.txt": "i", "with/sub/lib.c": "l", "without/x": "x", "bare/y": "y"})
    lab.git("init", "-q", ".")
    for name in ("with", "without"):
        lab.git("init", "-q", name)
    lab.git("-C", "with", "add", "inner.txt")
    lab.git("-C", "with", "commit", "-q", "-m", "one")
    lab.write({"worktree/z": "z", "worktree/.git": "gitdir: ../with/.git/worktrees/none\n"})
    before = {name: content for name, content in lab.tree_on_disk().items() if b".git" in name}

    snapshot = lab.snap()

    assert lab.files() == {
        "bare": "<directory>",
        "bare/y": "y",
        "outer.txt": "o",
        "with": "<directory>",
        "with/inner.txt": "i",
        "with/sub": "<directory>",
        "with/sub/lib.c": "l",
        "without": "<directory>",
        "without/x": "x",
        "worktree": "<directory>",
        "worktree/z": "z",
    }
    assert snapshot.address is not None
    modes = {entry.mode for entry in lab.repository.tree(snapshot.address.tree)}
    assert modes <= {0o40000, 0o100644}
    assert {name: content for name, content in lab.tree_on_disk().items() if b".git" in name} == before
    scan = lab.tracker.last_scan
    assert scan is not None
    assert {note.subject for note in scan.excluded} == {".git", "with/.git", "without/.git", "worktree/.git"}
    lab.fsck()


def test_ignores_and_attributes_of_the_user_decide_nothing(lab: Lab) -> None:
    lab.write(
        {
            ".gitignore": "*.csv\ndata/\n",
            ".gitattributes": "*.bin filter=lfs\n* text=auto eol=crlf working-tree-encoding=UTF-16 ident\n",
            "a.csv": "1",
            "data/x": "2",
            "b.bin": b"\0\1\r\n\n",
            "crlf.txt": "a\r\nb\nc\r\n$Id$\n",
        }
    )
    lab.snap()

    assert lab.files().keys() == {".gitattributes", ".gitignore", "a.csv", "b.bin", "crlf.txt", "data", "data/x"}
    assert b"".join(lab.repository.content(lab.kept("crlf.txt"))) == b"a\r\nb\nc\r\n$Id$\n"
    assert b"".join(lab.repository.content(lab.kept("b.bin"))) == b"\0\1\r\n\n"


def test_fifos_and_sockets_are_listed_and_never_opened(lab: Lab) -> None:
    lab.write({"n": "1"})
    os.mkfifo(lab.path("pipe"))
    with socket.socket(socket.AF_UNIX) as listener:
        os.chdir(lab.root)
        listener.bind("sock")
        started = time.monotonic()
        lab.snap()
        lab.write({"n": "2"})
        changes = lab.changes()

    assert time.monotonic() - started < 2
    assert changes == {"n": ("1", "2")}
    assert lab.files() == {"n": "2", "pipe": "<special>", "sock": "<special>"}
    os.remove(lab.path("pipe"))
    assert lab.changes() == {"pipe": ("<special>", "")}


def test_a_fifo_that_takes_the_place_of_a_file_between_scan_and_reading_blocks_nothing(lab: Lab) -> None:
    lab.write({"f": "1"})
    lab.snap()
    lab.write({"f": "2"})
    snapshot = during_reading(lab, lambda: (os.remove(lab.path("f")), os.mkfifo(lab.path("f"))))

    assert snapshot.changes == ()
    assert snapshot.skipped == (Note("f", "changed while it was read"),)
    assert lab.changes() == {"f": ("1", "<special>")}


def during_reading(lab: Lab, act: Callable[[], object]) -> Any:
    """Take a snapshot of a scan after which *act* happened, and adopt it."""
    time.sleep(0.025)
    scan = lab.tracker.scan()
    act()
    with lab.repository.writer() as writer:
        snapshot = lab.tracker.snapshot(writer, scan, operation_id="op-during")  # type: ignore[arg-type]  # a plain id
        writer.finish()
    lab.tracker.adopt(snapshot)
    return snapshot


def test_a_file_that_vanishes_between_scan_and_reading_keeps_its_entry_until_the_next_scan(lab: Lab) -> None:
    lab.write({"f": "1"})
    lab.snap()
    lab.write({"f": "2", "new": "n"})

    snapshot = during_reading(lab, lambda: (os.remove(lab.path("f")), os.remove(lab.path("new"))))

    assert snapshot.changes == ()
    assert {note.subject for note in snapshot.skipped} == {"f", "new"}
    assert lab.files() == {"f": "1"}
    assert lab.changes() == {"f": ("1", "")}
    lab.fsck()


def test_a_folder_swapped_for_a_symlink_between_scan_and_reading_leads_nowhere(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x").write_text("not ours")
    lab.write({"d/x": "1"})
    lab.snap()
    lab.write({"d/x": "22"})

    def swap() -> None:
        shutil.rmtree(lab.path("d"))
        os.symlink(tmp_path / "outside", lab.path("d"))

    assert during_reading(lab, swap).changes == ()
    assert lab.files() == {"d": "<directory>", "d/x": "1"}
    assert lab.changes() == {"d": ("<directory>", f"-> {tmp_path}/outside"), "d/x": ("1", "")}


def test_a_file_that_changes_between_scan_and_reading_is_kept_as_it_was_read(lab: Lab) -> None:
    lab.write({"f": "1"})
    lab.snap()
    lab.write({"f": "2"})

    snapshot = during_reading(lab, lambda: lab.write({"f": "333"}))

    assert [lab.short(row.after) for row in snapshot.changes] == ["333"]
    time.sleep(0.025)
    assert lab.snap().changes == ()


def test_a_file_that_changes_with_every_look_is_named_unstable(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.write({"f": "1"})
    lab.snap()
    lab.write({"f": "22"})
    real, looks = os.fstat, iter(range(100))

    def restless(fd: int) -> os.stat_result:
        os.utime(lab.path("f"), ns=(0, 10**18 + next(looks)))
        return real(fd)

    monkeypatch.setattr(intake.os, "fstat", restless)
    snapshot = lab.snap()
    monkeypatch.undo()

    assert snapshot.skipped == (Note("f", "unstable"),)
    assert [(lab.short(row.before), lab.short(row.after)) for row in snapshot.changes] == [("1", "<unstable>")]
    assert lab.files() == {"f": "<unstable>"}
    # Now it holds still, and was so all the time: more is known, nothing changed.
    os.utime(lab.path("f"), ns=(0, 10**18 + 50))
    lab.snap()
    assert lab.files() == {"f": "22"}


def test_files_appended_to_while_they_are_read_are_kept_in_some_state_that_they_had(lab: Lab) -> None:
    lab.write({"log": ""})
    stop = threading.Event()

    def append() -> None:
        with open(lab.path("log"), "a") as file:
            while not stop.is_set():
                file.write("line\n")
                file.flush()

    thread = threading.Thread(target=append)
    thread.start()
    try:
        for _ in range(10):
            lab.snap(age=False)
            assert lab.files()["log"].replace("line\n", "") in ("", "<unstable>")
    finally:
        stop.set()
        thread.join()


def test_symlinks_are_kept_as_they_are_dangling_looping_and_to_directories(lab: Lab) -> None:
    lab.write(
        {
            "d/x": "1",
            "to-dir": Symlink("d"),
            "dangling": Symlink("no/where"),
            "loop": Symlink("loop"),
            "a": Symlink("b"),
            "b": Symlink("a"),
            "odd": Symlink(b"lat\xe9in\n"),
            "out": Symlink("/etc/hostname"),
            "up": Symlink(".."),
        }
    )

    address = lab.snap().address

    assert address is not None
    assert address.tree == lab.write_tree()
    assert lab.files()["to-dir"] == "-> d"
    assert "to-dir/x" not in lab.files()
    assert b"".join(lab.repository.content(lab.kept("odd"))) == b"lat\xe9in\n"
    assert lab.kept("loop").kind is EntryKind.SYMLINK


def test_an_unreadable_file_is_carried_forward_with_its_new_mode_and_named(lab: Lab) -> None:
    lab.write({"f": "1", "other": "o", "never": "n"})
    os.chmod(lab.path("never"), 0)

    def story() -> list[Any]:
        first = lab.snap()
        os.chmod(lab.path("f"), 0)
        lab.write({"other": "oo"})
        second = lab.snap()
        third = lab.snap()
        return [first.skipped, second, third, lab.tree().lookup("f"), lab.files()]

    skipped, second, third, state, files = unprivileged(story)

    assert skipped == (Note("never", "unreadable"),)
    assert second.skipped == (Note("f", "unreadable"),)
    assert {row.path: (row.before.object == row.after.object, row.after.mode) for row in second.changes} == {
        "f": (True, 0),
        "other": (False, 0o644),
    }
    assert (third.changes, third.skipped, third.address) == ((), (), None)
    assert (state.mode, state.missing) == (0, "")
    assert files == {"f": "1", "never": "<unreadable>", "other": "oo"}


def test_a_file_that_changed_and_cannot_be_read_is_neither_deleted_nor_passed_off_as_the_old_one(lab: Lab) -> None:
    lab.write({"f": "1"})

    def story() -> list[Any]:
        lab.snap()
        lab.write({"f": "22"})
        os.chmod(lab.path("f"), 0)
        hidden = lab.changes()
        os.chmod(lab.path("f"), 0o644)
        return [hidden, lab.changes(), lab.files()]

    hidden, shown, files = unprivileged(story)

    assert hidden == {"f": ("1", "<unreadable>")}
    assert shown == {"f": ("<unreadable>", "22")}
    assert files == {"f": "22"}


@pytest.mark.parametrize("mode", [0o000, 0o300, 0o400])
def test_an_unreadable_directory_is_carried_forward_with_all_it_holds(lab: Lab, mode: int) -> None:
    lab.write({"d/x": "1", "d/sub/y": "2", "o": "1"})

    def story() -> list[Any]:
        lab.snap()
        lab.write({"o": "2"})
        os.chmod(lab.path("d"), mode)
        hidden = lab.snap()
        files, seen = lab.files(), lab.kept("d").mode
        quiet = lab.snap()
        os.chmod(lab.path("d"), 0o755)
        back = lab.changes()
        return [hidden, files, seen, quiet, back, lab.files()]

    hidden, files, seen, quiet, back, after = unprivileged(story)

    assert {row.path for row in hidden.changes} == {"d", "o"}
    assert any("d" in note.subject.split("/")[0] for note in hidden.skipped)
    assert files == {"d": "<directory>", "d/x": "1", "d/sub": "<directory>", "d/sub/y": "2", "o": "2"}
    assert seen == mode
    assert quiet.changes == ()
    assert back.keys() == {"d"}
    assert after == files


def test_what_an_unreadable_directory_holds_is_not_taken_for_new_when_it_opens(lab: Lab) -> None:
    lab.write({"d/x": "1", "d/sub/y": "2"})
    os.chmod(lab.path("d"), 0)

    def story() -> list[Any]:
        first = lab.snap()
        before = lab.tracker.address
        os.chmod(lab.path("d"), 0o755)
        opened = lab.changes()
        assert before is not None
        lab.write({"d/z": "new"})
        return [first.skipped, opened, lab.files(), lab.changes(), lab.tree(before).covers("d/x")]

    skipped, opened, files, later, covered = unprivileged(story)

    assert skipped == (Note("d", "unreadable"),)
    assert opened.keys() == {"d"}
    assert files == {"d": "<directory>", "d/x": "1", "d/sub": "<directory>", "d/sub/y": "2"}
    assert later == {"d/z": ("", "new")}
    assert not covered


def test_reading_goes_on_after_a_file_that_gives_an_error(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.write({"bad": "1", "good": "2"})
    real = fs.Root.open

    def failing(self: fs.Root, rel: str, flags: int, mode: int = 0) -> int:
        if rel == "bad":
            raise OSError(5, "Input/output error")
        return real(self, rel, flags, mode)

    monkeypatch.setattr(fs.Root, "open", failing)
    assert lab.snap().skipped == (Note("bad", "unreadable (Input/output error)"),)
    assert lab.files() == {"bad": "<unreadable (Input/output error)>", "good": "2"}
    monkeypatch.undo()

    assert lab.changes() == {}
    assert lab.files() == {"bad": "1", "good": "2"}


def test_sparse_files_are_kept_at_their_size(lab: Lab) -> None:
    with open(lab.path("sparse"), "wb") as file:
        file.truncate(64 << 20)
    lab.snap()

    assert lab.kept("sparse").size == 64 << 20
    assert sum(os.stat(os.path.join(top, name)).st_blocks * 512
               for top, _, names in os.walk(lab.repository.path) for name in names) < 1 << 20  # fmt: skip


def test_a_snapshot_of_twenty_thousand_files_in_one_folder_is_exact(lab: Lab) -> None:
    os.mkdir(lab.path("imgs"))
    # In a child: the guard of the tests looks at every file that this process makes.
    program = "for number in range(20_000): open(f'{number}.txt', 'w').close()"
    subprocess.run([sys.executable, "-S", "-c", program], cwd=lab.path("imgs"), check=True)
    lab.snap()
    lab.write({"imgs/7.txt": "y"})

    assert lab.changes() == {"imgs/7.txt": ("", "y")}
    started = time.process_time()
    assert not lab.tracker.changed(lab.tracker.scan())
    assert time.process_time() - started < 0.3


def test_a_tree_too_deep_for_one_path_is_named_and_the_rest_is_kept(lab: Lab) -> None:
    lab.write({"a": "1"})
    where = os.open(lab.path("."), os.O_RDONLY)
    for _ in range(20):
        os.mkdir("n" * 250, dir_fd=where)
        below = os.open("n" * 250, os.O_RDONLY, dir_fd=where)
        os.close(where)
        where = below
    os.close(where)

    snapshot = lab.snap()

    assert lab.files()["a"] == "1"
    assert any("name too long" in note.reason.lower() for note in snapshot.skipped)


def test_the_scan_is_killed_by_nothing_that_happens_in_the_workspace(lab: Lab) -> None:
    stop = threading.Event()

    def churn() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            try:
                lab.write({f"d{number % 7}/e/f{number % 3}": str(number)})
                shutil.rmtree(lab.path(f"d{(number + 3) % 7}"), ignore_errors=True)
                os.replace(lab.path(f"d{number % 7}/e"), lab.path(f"d{number % 7}/g"))
            except OSError:
                pass

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for _ in range(40):
            lab.snap(age=False)
    finally:
        stop.set()
        thread.join()
    # Whatever the snapshots in between saw, one of a quiet folder is exact.
    lab.snap()
    lab.snap()
    assert lab.tracker.address is not None
    assert lab.tracker.address.tree == lab.write_tree()
    assert {os.fsencode(path) for path, _ in lab.tree().walk()} == set(lab.tree_on_disk())
    lab.fsck()


def test_no_descriptor_is_left_open(lab: Lab) -> None:
    lab.write({"a": "1", "d/b": "2", "l": Symlink("a")})
    lab.snap()
    before = len(os.listdir("/proc/self/fd"))
    for number in range(5):
        lab.write({"a": str(number), "d/b": str(number)})
        lab.snap(age=False)

    assert len(os.listdir("/proc/self/fd")) <= before + 8


def test_modes_of_the_process_and_signals_are_left_alone(lab: Lab) -> None:
    mask = os.umask(0o022)
    handler = signal.getsignal(signal.SIGINT)
    lab.snap()

    assert os.umask(mask) == 0o022
    assert signal.getsignal(signal.SIGINT) is handler
    assert stat.S_IMODE(os.stat(lab.root).st_mode) == 0o755
