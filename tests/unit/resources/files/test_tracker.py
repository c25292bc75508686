from __future__ import annotations

import mmap
import os
import shutil
import time
from pathlib import Path

import pytest

from nbrewind.errors import StoreError
from nbrewind.model import Claim, EntryKind, FileState, Note, ObjectId, OperationId, Witness
from nbrewind.resources.files.scan import signature
from nbrewind.resources.files.side import EXTRA
from nbrewind.resources.files.tree import diff
from nbrewind.store.shadow.chunks import LARGE
from nbrewind.store.shadow.repository import ShadowRepository
from tests.builders import Symlink
from tests.unit.resources.files.lab import Lab


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def test_the_first_snapshot_holds_everything_and_changes_nothing(lab: Lab) -> None:
    lab.write({"a.txt": "1", "sub/b.txt": "2", "sub/deep/c": "3", "link": Symlink("a.txt"), "empty/in": None})

    snapshot = lab.snap()

    assert snapshot.changes == ()
    assert snapshot.address is not None
    assert snapshot.address.tree == lab.write_tree()
    assert lab.files() == {
        "a.txt": "1",
        "empty": "<directory>",
        "empty/in": "<directory>",
        "link": "-> a.txt",
        "sub": "<directory>",
        "sub/b.txt": "2",
        "sub/deep": "<directory>",
        "sub/deep/c": "3",
    }
    lab.fsck()


def test_an_empty_workspace_has_the_empty_tree(lab: Lab) -> None:
    assert lab.snap().address is not None
    assert lab.tracker.address is not None
    assert lab.tracker.address.tree == lab.write_tree()
    assert lab.files() == {}


def test_nothing_changed_means_no_new_address_and_a_quick_no(lab: Lab) -> None:
    lab.write({"a.txt": "1", "sub/b.txt": "2"})
    first = lab.snap()

    scan = lab.tracker.scan()

    assert not lab.tracker.changed(scan)
    assert lab.snap().address is None
    assert lab.tracker.address == first.address


def test_every_kind_of_change_is_one_row_with_both_states(lab: Lab) -> None:
    lab.write({"gone": "1", "changed": "1", "same": "s", "mode": "m", "d/x": "1", "link": Symlink("same")})
    lab.snap()
    os.remove(lab.path("gone"))
    lab.write({"changed": "22", "new/deep": "n"})
    os.chmod(lab.path("mode"), 0o755)
    shutil.rmtree(lab.path("d"))
    os.remove(lab.path("link"))
    os.symlink("nowhere", lab.path("link"))

    snapshot = lab.snap()

    assert {row.path: (lab.short(row.before), lab.short(row.after)) for row in snapshot.changes} == {
        "changed": ("1", "22"),
        "d": ("<directory>", ""),
        "d/x": ("1", ""),
        "gone": ("1", ""),
        "link": ("-> same", "-> nowhere"),
        "mode": ("m", "m"),
        "new": ("", "<directory>"),
        "new/deep": ("", "n"),
    }
    assert [row.path for row in snapshot.changes] == sorted(row.path for row in snapshot.changes)
    assert {(row.claim, row.witnesses) for row in snapshot.changes} == {(Claim.UNCLAIMED, (Witness.SCAN,))}
    assert snapshot.address is not None
    assert snapshot.address.tree == lab.write_tree()
    lab.fsck()


def test_a_file_becomes_a_directory_and_a_directory_a_file(lab: Lab) -> None:
    lab.write({"out": "f", "d/x": "1", "d/e/y": "2"})
    lab.snap()
    os.remove(lab.path("out"))
    shutil.rmtree(lab.path("d"))
    lab.write({"out/y": "2", "d": "now a file"})

    assert lab.changes() == {
        "d": ("<directory>", "now a file"),
        "d/e": ("<directory>", ""),
        "d/e/y": ("2", ""),
        "d/x": ("1", ""),
        "out": ("f", "<directory>"),
        "out/y": ("", "2"),
    }


def test_a_directory_becomes_a_symlink_and_is_not_followed(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.csv").write_text("not ours")
    lab.write({"data/x": "1"})
    lab.snap()
    shutil.rmtree(lab.path("data"))
    os.symlink(tmp_path / "outside", lab.path("data"))

    assert lab.changes() == {"data": ("<directory>", f"-> {tmp_path}/outside"), "data/x": ("1", "")}


def test_a_case_only_rename_is_a_removal_and_a_creation(lab: Lab) -> None:
    lab.write({"Data.csv": "1"})
    lab.snap()
    os.rename(lab.path("Data.csv"), lab.path("data.csv"))

    assert lab.changes() == {"Data.csv": ("1", ""), "data.csv": ("", "1")}


def test_files_of_a_renamed_folder_are_not_read_again(lab: Lab) -> None:
    lab.write({f"old/{number}": str(number) for number in range(5)})
    lab.snap()
    time.sleep(0.025)
    lab.snap()
    os.rename(lab.path("old"), lab.path("new"))
    kept = [lab.kept(f"old/{number}").object for number in range(5)]
    scan = lab.tracker.scan()
    # A writer that trusts nothing stores every blob that it is given.
    with lab.repository.writer(trust=False) as writer:
        lab.tracker.snapshot(writer, scan, operation_id=OperationId("x"))
        read = [oid for oid in kept if oid is not None and bytes.fromhex(oid) in writer._stream.entries]

    assert read == []
    assert lab.changes() == {
        **{f"old/{number}": (str(number), "") for number in range(5)},
        **{f"new/{number}": ("", str(number)) for number in range(5)},
        "old": ("<directory>", ""),
        "new": ("", "<directory>"),
    }


def test_a_same_size_rewrite_right_after_a_snapshot_is_seen_although_its_times_were_put_back(lab: Lab) -> None:
    for attempt in range(30):
        lab.write({"f": f"a{attempt:03}"})
        before = os.stat(lab.path("f"))
        lab.snap(age=False)
        lab.write({"f": f"b{attempt:03}"})
        os.utime(lab.path("f"), ns=(before.st_atime_ns, before.st_mtime_ns))

        assert lab.changes(age=False) == {"f": (f"a{attempt:03}", f"b{attempt:03}")}


def test_a_name_written_just_before_a_snapshot_is_looked_at_again_and_is_no_change(lab: Lab) -> None:
    lab.write({"f": "1"})
    lab.snap(age=False)
    seen = signature(os.lstat(lab.path("f")))

    assert lab.tracker.held("f", seen) is None
    assert lab.tracker.changed(lab.tracker.scan())

    time.sleep(0.025)
    assert lab.snap().changes == ()
    held = lab.tracker.held("f", seen)
    assert held is not None
    assert lab.short(held) == "1"
    assert not lab.tracker.changed(lab.tracker.scan())


def test_held_is_only_what_the_stat_proves(lab: Lab) -> None:
    lab.write({"f": "1", ".env": "KEY=1", "big": "x" * 100, "d/in": "1"})
    lab.restart(secrets=(".env",), max_file_size=50)
    lab.snap()

    assert lab.tracker.held("f", signature(os.lstat(lab.path("f")))) == lab.kept("f")
    assert lab.tracker.held("d", signature(os.lstat(lab.path("d")))) == lab.kept("d")
    assert lab.tracker.held("nowhere", signature(os.lstat(lab.path("f")))) is None
    assert lab.tracker.held(".env", signature(os.lstat(lab.path(".env")))) is None
    assert lab.tracker.held("big", signature(os.lstat(lab.path("big")))) is None
    os.utime(lab.path("f"))
    assert lab.tracker.held("f", signature(os.lstat(lab.path("f")))) is None
    assert lab.tracker.state("f") == lab.kept("f")


def test_a_dirty_page_of_a_mapping_is_seen_when_forced(lab: Lab) -> None:
    lab.write({"m.bin": b"\0" * 4096})
    with open(lab.path("m.bin"), "r+b") as file, mmap.mmap(file.fileno(), 4096) as mapped:
        mapped[0] = 1
        lab.snap()
        before = signature(os.lstat(lab.path("m.bin")))
        mapped[1] = 2
        assert signature(os.lstat(lab.path("m.bin"))) == before

        snapshot = lab.snap(force=frozenset({"m.bin"}))

    assert [row.path for row in snapshot.changes] == ["m.bin"]
    assert lab.short(snapshot.changes[0].after)[:2] == "\1\2"


def test_forcing_what_did_not_change_is_no_change(lab: Lab) -> None:
    lab.write({"m.bin": "x", "d/y": "y"})
    lab.snap()

    snapshot = lab.snap(force=frozenset({"m.bin", "nowhere", "d", "gone/away"}))

    assert (snapshot.address, snapshot.changes) == (None, ())


def test_a_touch_is_no_change_but_the_new_time_is_kept(lab: Lab) -> None:
    lab.write({"f": "1"})
    first = lab.snap()
    os.utime(lab.path("f"), ns=(10**18, 10**18 + 5))

    second = lab.snap()

    assert second.changes == ()
    assert second.address is not None
    assert first.address is not None
    assert second.address.tree == first.address.tree
    assert lab.kept("f").mtime_ns == 10**18 + 5
    assert list(diff(lab.tree(first.address), lab.tree())) == []


def test_a_failed_snapshot_leaves_the_tracker_as_it_was(lab: Lab) -> None:
    lab.write({"f": "1"})
    lab.snap()
    before = (lab.tracker.address, lab.tracker.state("f"))
    lab.write({"f": "2", "g": "3"})
    scan = lab.tracker.scan()
    with lab.repository.writer() as writer:
        lab.tracker.snapshot(writer, scan, operation_id=OperationId("lost"))

    assert (lab.tracker.address, lab.tracker.state("f")) == before
    assert lab.changes() == {"f": ("1", "2"), "g": ("", "3")}
    lab.fsck()


def test_a_writer_that_breaks_raises_and_changes_no_belief(lab: Lab) -> None:
    lab.write({"f": "1"})
    lab.snap()
    lab.write({"f": "2"})
    scan = lab.tracker.scan()
    writer = lab.repository.writer()
    writer._state = "broken"

    with pytest.raises(StoreError):
        lab.tracker.snapshot(writer, scan, operation_id=OperationId("lost"))

    assert lab.changes() == {"f": ("1", "2")}


def test_a_snapshot_on_other_ground_is_not_adopted(lab: Lab) -> None:
    lab.write({"f": "1"})
    scan = lab.tracker.scan()
    with lab.repository.writer() as writer:
        stale = lab.tracker.snapshot(writer, scan, operation_id=OperationId("stale"))
    lab.snap()

    with pytest.raises(RuntimeError):
        lab.tracker.adopt(stale)


def test_without_trust_a_snapshot_relies_only_on_the_last_commit(lab: Lab) -> None:
    lab.write({f"d{number}/f": str(number) for number in range(4)})
    lab.snap(trust=False)
    lab.write({"d1/f": "new", "d9/g": "1"})

    lab.snap(trust=False)

    assert lab.files()["d1/f"] == "new"
    assert lab.tracker.address is not None
    assert lab.tracker.address.tree == lab.write_tree()
    lab.fsck()


def test_an_attached_tracker_finds_what_changed_meanwhile_and_nothing_else(lab: Lab) -> None:
    lab.write({"same": "1", "racy": "aaaa", "gone": "g", "d/x": "1", "e/in": None, "link": Symlink("x")})
    os.chmod(lab.path("same"), 0o600)
    first = lab.snap()
    stamps = os.stat(lab.path("racy"))
    lab.write({"racy": "bbbb"})
    os.utime(lab.path("racy"), ns=(stamps.st_atime_ns, stamps.st_mtime_ns))
    os.remove(lab.path("gone"))

    lab.restart(first.address)

    assert lab.tracker.state("same") == FileState(
        EntryKind.FILE, lab.kept("same").object, 1, 0o600, os.stat(lab.path("same")).st_mtime_ns
    )
    assert lab.changes() == {"racy": ("aaaa", "bbbb"), "gone": ("g", "")}
    lab.restart(lab.tracker.address)
    assert lab.snap().address is None


def test_attaching_to_an_unchanged_workspace_stores_nothing(lab: Lab) -> None:
    lab.write({"big": os.urandom(LARGE + 10), "small": "1", "d/x": "2"})
    lab.restart(lab.snap().address)

    scan = lab.tracker.scan()
    with lab.repository.writer() as writer:
        snapshot = lab.tracker.snapshot(writer, scan, operation_id=OperationId("x"))
        assert writer.pending == 0

    assert snapshot.address is None


def test_a_checkpoint_that_cannot_be_read_is_not_loaded(lab: Lab, tmp_path: Path) -> None:
    lab.write({"f": "1"})
    address = lab.snap().address
    assert address is not None
    empty = ShadowRepository.open(str(tmp_path / "other"))
    lab.repository, before = empty, lab.repository
    lab.restart()

    with pytest.raises(StoreError):
        lab.tracker.load(address)

    assert lab.tracker.address is None
    lab.repository = before


def test_files_that_are_too_large_are_named_and_never_lost_from_sight(lab: Lab) -> None:
    lab.restart(max_file_size=10)
    lab.write({" big.bin": "x" * 11, "ok": "x" * 10})

    assert lab.snap().skipped == (Note(" big.bin", "too large"),)
    assert lab.snap().skipped == ()
    assert lab.tracker.missing == (Note(" big.bin", "too large"),)
    lab.write({" big.bin": "y" * 12})
    assert lab.changes() == {" big.bin": ("<too large>", "<too large>")}
    lab.write({" big.bin": "small"})
    assert lab.changes() == {" big.bin": ("<too large>", "small")}
    lab.write({" big.bin": "x" * 20})
    assert lab.changes() == {" big.bin": ("small", "<too large>")}
    os.remove(lab.path(" big.bin"))
    assert lab.changes() == {" big.bin": ("<too large>", "")}


def test_bytes_of_secrets_never_get_into_the_repository(lab: Lab) -> None:
    lab.restart(secrets=(".env", "*.pem"))
    lab.write({".env": "KEY=abc123SECRET", "k/my.pem": "abc123SECRET", "id_mapping.csv": "fine"})

    snapshot = lab.snap()
    os.rename(lab.path("k"), lab.path("kk"))
    lab.snap()

    assert set(snapshot.skipped) == {Note(".env", "secret"), Note("k/my.pem", "secret")}
    assert lab.files()[".env"] == "<secret>"
    assert lab.kept(".env").size == len("KEY=abc123SECRET")
    for folder, _, names in os.walk(lab.repository.path):
        for name in names:
            assert b"abc123SECRET" not in Path(folder, name).read_bytes()


def test_a_file_that_is_renamed_to_a_secret_name_is_not_kept_under_it(lab: Lab) -> None:
    lab.restart(secrets=(".env",))
    lab.write({"d/.env": "A", "plain": "B"})
    lab.snap()
    os.rename(lab.path("plain"), lab.path(".env"))

    assert lab.changes() == {"plain": ("B", ""), ".env": ("", "<secret>")}


def test_a_large_file_is_kept_in_chunks_and_a_small_change_of_it_stores_little(lab: Lab) -> None:
    data = bytearray(os.urandom(LARGE + 5))
    lab.write({"d/big.bin": bytes(data)})
    lab.snap()
    data[0] ^= 1
    lab.write({"d/big.bin": bytes(data)})
    before = _size_of(lab.repository.path)

    lab.snap()

    assert lab.kept("d/big.bin").chunked
    assert b"".join(lab.repository.content(lab.kept("d/big.bin"))) == data
    assert _size_of(lab.repository.path) - before < 5 << 20
    lab.fsck()
    lab.write({"d/big.bin": "small now"})
    assert lab.snap().address is not None
    assert not lab.kept("d/big.bin").chunked
    os.rename(lab.path("d"), lab.path("e"))
    lab.snap()
    lab.fsck()


def test_a_renamed_folder_takes_the_chunks_of_its_large_files_along(lab: Lab) -> None:
    lab.write({"d/big.bin": os.urandom(LARGE)})
    lab.snap()
    os.rename(lab.path("d"), lab.path("e"))
    lab.snap()

    folder = lab.tree().folder("e")

    assert folder is not None
    assert list(folder.chunks) == ["big.bin"]
    lab.repository.verify_content(lab.kept("e/big.bin"))


def _size_of(folder: str) -> int:
    return sum(os.path.getsize(os.path.join(top, name)) for top, _, names in os.walk(folder) for name in names)


def test_extra_objects_and_trailers_are_held_by_the_commit_of_their_own_operation(lab: Lab) -> None:
    lab.write({"f": "1"})
    lab.snap()
    scan = lab.tracker.scan()
    with lab.repository.writer() as writer:
        blob = writer.blob(b"outside image")
        tree = writer.tree(())
        snapshot = lab.tracker.snapshot(
            writer,
            scan,
            operation_id=OperationId("op-x"),
            label="open('f')\nsecond line",
            extra={"image-0": blob},
            extra_trees={"chunks-0": tree},
            trailers={"Session": "s-1", "Parent": "op-w"},
        )
        writer.finish()
    lab.tracker.adopt(snapshot)

    assert snapshot.changes == ()
    assert snapshot.address is not None
    extra = lab.tree().top(EXTRA)
    assert extra is not None
    assert {entry.name: entry.oid for entry in lab.repository.tree(extra)} == {b"image-0": blob, b"chunks-0": tree}
    message = lab.repository.read(snapshot.address.commit).partition(b"\n\n")[2].decode()
    assert message == (
        "nbrewind:op-x:open('f') second line\n\n"
        f"Session: s-1\nParent: op-w\nSide: {snapshot.address.side}\n"
    )  # fmt: skip
    assert lab.snap().address is None
    lab.write({"f": "2"})
    lab.snap()
    assert lab.tree().top(EXTRA) is None
    lab.fsck()


def test_ctimes_tell_when_each_change_was_made_at_the_latest(lab: Lab) -> None:
    lab.write({"changed": "1", "gone": "1", "d/gone": "1", "mode/x": "1"})
    lab.snap()
    start = time.time_ns() - 20_000_000
    lab.write({"changed": "2", "new": "n", "newdir/x": "y"})
    os.remove(lab.path("gone"))
    shutil.rmtree(lab.path("d"))
    os.chmod(lab.path("mode"), 0o700)
    end = time.time_ns() + 1

    snapshot = lab.snap()

    assert snapshot.ctimes.keys() == {row.path for row in snapshot.changes}
    assert [path for path, ctime in snapshot.ctimes.items() if not start <= ctime <= end] == []


def test_the_journal_tells_what_stood_where_the_first_copy_was_not_made_yet(lab: Lab) -> None:
    lab.write({"a": "old a", "b": "old b", "c": "old c"})
    lab.restart(first_copy=0)
    first = lab.snap()
    with lab.repository.writer() as writer:
        image = FileState(EntryKind.FILE, writer.blob(b"old a"), 5)
        writer.finish()
    lab.write({"a": "new a", "b": "new b", "d": "new d"})
    os.remove(lab.path("c"))

    snapshot = lab.snap(before_images={"a": image, "d": None})

    assert first.skipped == (Note("3 files", "not copied yet"),)
    assert {row.path: (lab.short(row.before), lab.short(row.after)) for row in snapshot.changes} == {
        "a": ("old a", "new a"),
        "b": ("<not copied yet>", "new b"),
        "c": ("<not copied yet>", ""),
        "d": ("", "new d"),
    }


def test_the_first_copy_takes_small_files_first_and_keeps_to_its_budget(lab: Lab) -> None:
    lab.write({"large": "x" * 60, "small": "y" * 10, "middle": "z" * 30})
    lab.restart(first_copy=45)

    lab.snap()

    assert lab.files() == {"large": "<not copied yet>", "middle": "z" * 30, "small": "y" * 10}
    assert not lab.tracker.changed(lab.tracker.scan())
    assert lab.tracker.held("large", signature(os.lstat(lab.path("large")))) is None


def test_a_first_copy_that_ran_out_of_time_goes_on_without_any_change_being_claimed(lab: Lab) -> None:
    lab.write({"a": "1", "b": "22", "c": "333"})
    first = lab.snap(deadline=time.monotonic() - 1)
    os.remove(lab.path("c"))

    assert lab.files() == {name: "<not copied yet>" for name in "abc"}
    assert lab.tracker.changed(lab.tracker.scan())
    assert lab.changes() == {"c": ("<not copied yet>", "")}
    assert lab.files() == {"a": "1", "b": "22"}
    assert first.address is not None
    assert [path for path, *_ in diff(lab.tree(first.address), lab.tree())] == ["a", "b", "c"]


def test_hard_links_are_recorded_with_whether_all_names_are_here(lab: Lab, tmp_path: Path) -> None:
    lab.write({"h1": "A", "d/x": "B", "single": "C"})
    os.link(lab.path("h1"), lab.path("d/h2"))
    os.link(lab.path("d/x"), tmp_path / "elsewhere")
    lab.snap()

    assert lab.tree().link_group("h1") == (("d/h2", "h1"), True)
    assert lab.tree().link_group("d/h2") == (("d/h2", "h1"), True)
    assert lab.tree().link_group("d/x") == (("d/x",), False)
    assert lab.tree().link_group("single") is None

    with open(lab.path("h1"), "r+") as file:
        file.write("Z")
    snapshot = lab.snap()

    assert {row.path for row in snapshot.changes} == {"h1", "d/h2"}
    assert snapshot.links == (("d/h2", "h1"),)
    os.remove(lab.path("d/h2"))
    lab.snap()
    assert lab.tree().link_group("h1") is None


def test_a_database_and_its_journal_are_read_in_one_state(lab: Lab) -> None:
    lab.write({"app.db": "db-1", "app.db-wal": "wal-1", "app.db-shm": "shared"})
    lab.snap()

    assert lab.files() == {"app.db": "db-1", "app.db-wal": "wal-1"}
    lab.write({"app.db-wal": "wal-2"})
    assert lab.changes() == {"app.db-wal": ("wal-1", "wal-2")}


def test_focus_takes_what_stood_in_a_folder_for_old_and_what_came_later_for_new(lab: Lab) -> None:
    lab.write({"nb.csv": "n", "data/a": "1", "data/b": "2", "data/c": "3", "other/x": "x"})
    lab.restart(home=str(lab.root))
    first = lab.snap()
    assert lab.files() == {"nb.csv": "n"}

    assert lab.coverage.focus("data")
    lab.write({"data/a": "new", "data/made": "m"})
    os.remove(lab.path("data/b"))

    assert lab.changes() == {
        "data/a": ("<not copied yet>", "new"),
        "data/b": ("<not copied yet>", ""),
        "data/made": ("", "m"),
    }
    assert lab.files() == {"nb.csv": "n", "data": "<directory>", "data/a": "new", "data/c": "3", "data/made": "m"}
    assert first.address is not None
    assert list(diff(lab.tree(first.address), lab.tree())) == []
    lab.write({"data/c": "4"})
    assert lab.changes() == {"data/c": ("3", "4")}
    lab.fsck()


def test_a_workspace_over_budget_is_covered_by_focus_and_nothing_is_taken_for_deleted(lab: Lab) -> None:
    lab.write({"nb.py": "1", "kept/x": "2"})
    lab.restart(max_workspace_files=20)
    first = lab.snap()
    lab.write({f"flood/{number}": "x" for number in range(30)})
    lab.write({"kept/x": "3", "kept/y": "4"})

    assert lab.changes() == {"kept/x": ("2", "3"), "kept/y": ("", "4")}
    assert lab.coverage.focused
    assert "more than 20 files" in lab.coverage.focus_reason
    assert first.address is not None
    assert [path for path, *_ in diff(lab.tree(first.address), lab.tree())] == ["kept/x", "kept/y"]


def test_a_wider_or_narrower_range_after_attaching_is_no_change_of_files(lab: Lab) -> None:
    lab.write({"a.csv": "1", "b.log": "2", "logs/c.log": "3", "logs/d": "4"})
    lab.restart(exclude=("*.log",))
    first = lab.snap()

    lab.restart(first.address, exclude=())
    wider = lab.snap()
    lab.write({"e.log": "new"})
    assert lab.changes() == {"e.log": ("", "new")}
    lab.restart(lab.tracker.address, exclude=("logs/",))
    narrower = lab.snap()

    assert (wider.changes, narrower.changes) == ((), ())
    assert lab.files().keys() == {"a.csv", "b.log", "e.log"}
    assert wider.address is not None
    assert first.address is not None
    assert narrower.address is not None
    assert list(diff(lab.tree(first.address), lab.tree(wider.address))) == []
    assert [path for path, *_ in diff(lab.tree(wider.address), lab.tree(narrower.address))] == ["e.log"]
    everything = [path for path, *_ in diff(lab.tree(first.address), lab.tree(wider.address), everything=True)]
    assert everything == ["b.log", "logs/c.log"]


def test_the_store_in_the_workspace_never_appears(tmp_path: Path) -> None:
    lab = Lab(tmp_path, store_dir=f"{os.path.realpath(tmp_path)}/work/deep/store")
    lab.write({"a": "1", "deep/b": "2"})
    lab.snap()
    lab.write({"a": "2"})

    assert lab.changes() == {"a": ("1", "2")}
    assert lab.files().keys() == {"a", "deep", "deep/b"}


def test_a_workspace_that_vanished_has_lost_everything_and_comes_back(lab: Lab) -> None:
    lab.write({"a": "1", "d/b": "2"})
    lab.snap()
    os.rename(lab.root, f"{lab.root}-away")

    assert lab.changes() == {"a": ("1", ""), "d": ("<directory>", ""), "d/b": ("2", "")}
    os.rename(f"{lab.root}-away", lab.root)
    assert lab.changes() == {"a": ("", "1"), "d": ("", "<directory>"), "d/b": ("", "2")}


def test_many_names_in_one_folder_are_kept_in_parts_and_one_change_writes_few_of_them(lab: Lab) -> None:
    lab.write({f"imgs/{number}.txt": "x" for number in range(1500)})
    first = lab.snap()
    lab.write({"imgs/7.txt": "y"})
    lab.snap()
    assert first.address is not None
    before, after = lab.tree(first.address).folder("imgs"), lab.tree().folder("imgs")

    assert before is not None
    assert after is not None
    assert before.parts is not None
    assert after.parts is not None
    assert [part for part in before.parts if before.parts[part] != after.parts[part]] != []
    assert sum(before.parts[part] != after.parts[part] for part in before.parts) == 1
    assert len(lab.files()) == 1501
    assert lab.tracker.address is not None
    assert lab.tracker.address.tree == lab.write_tree()
    for number in range(700):
        os.remove(lab.path(f"imgs/{number}.txt"))
    lab.snap()
    small = lab.tree().folder("imgs")
    assert small is not None
    assert small.parts is None
    assert len(lab.files()) == 801
    lab.fsck()


def test_an_object_id_is_what_git_calls_the_file(lab: Lab) -> None:
    lab.write({"f": "hello\n"})
    lab.snap()

    assert lab.kept("f").object == ObjectId("ce013625030ba8dba906f756967f9e9ca394464a")
