from __future__ import annotations

import os
from pathlib import Path

import pytest

from nbrewind.errors import DamagedObject, StoreError
from nbrewind.model import EntryKind, FilesAddress, FileState, ObjectId
from nbrewind.resources.files.range import Range
from nbrewind.resources.files.side import meta_bytes, range_bytes, read_links, read_meta, read_range
from nbrewind.resources.files.tree import SnapshotTree, agree, diff
from nbrewind.store.shadow.objects import TreeEntry
from tests.builders import Symlink
from tests.unit.resources.files.lab import Lab

OID = ObjectId("ce013625030ba8dba906f756967f9e9ca394464a")
FILE = FileState(EntryKind.FILE, OID, 6, 0o644, 5)
UNKEPT = FileState(EntryKind.FILE, None, 6, 0o644, 5, missing="x")


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def test_lookup_finds_every_kind_and_nothing_else(lab: Lab) -> None:
    lab.write({"d/e/f": "1", "link": Symlink("d"), "empty": None})
    lab.snap()
    tree = lab.tree()

    found = {
        name: tree.lookup(name) for name in ("d", "d/e", "d/e/f", "link", "empty", "no", "d/no", "d/e/f/x", "link/e")
    }

    assert {name: state.kind for name, state in found.items() if state} == {
        "d": EntryKind.DIRECTORY,
        "d/e": EntryKind.DIRECTORY,
        "d/e/f": EntryKind.FILE,
        "link": EntryKind.SYMLINK,
        "empty": EntryKind.DIRECTORY,
    }
    top = tree.lookup("")
    assert top is not None
    assert top.kind is EntryKind.DIRECTORY


def test_walk_goes_through_each_folder_before_the_next_name(lab: Lab) -> None:
    lab.write({"b/x": "1", "a/y": "2", "a/b/z": "3", "c": "4"})
    lab.snap()

    assert [path for path, _ in lab.tree().walk()] == ["a", "a/b", "a/b/z", "a/y", "b", "b/x", "c"]
    assert [path for path, _ in lab.tree().walk("a")] == ["a", "a/b", "a/b/z", "a/y"]
    assert [path for path, _ in lab.tree().walk("c")] == ["c"]
    assert list(lab.tree().walk("nowhere")) == []


def test_diff_tells_both_states_and_skips_what_is_stored_once(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.write({"same/deep/x": "1", "d/changed": "1", "d/gone": "2", "mode": "m", "e/f": "x"})
    first = lab.snap().address
    lab.write({"d/changed": "11", "new/n": "n", "e/only": None})
    os.remove(lab.path("d/gone"))
    os.chmod(lab.path("mode"), 0o600)
    second = lab.snap().address
    assert first is not None
    assert second is not None
    old, new = lab.tree(first), lab.tree(second)

    rows = {path: (lab.short(before), lab.short(after)) for path, before, after in diff(old, new)}

    assert rows == {
        "d/changed": ("1", "11"),
        "d/gone": ("2", ""),
        "e/only": ("", "<directory>"),
        "mode": ("m", "m"),
        "new": ("", "<directory>"),
        "new/n": ("", "n"),
    }
    assert {path: states[::-1] for path, *states in diff(new, old)} == {
        path: states for path, *states in diff(old, new)
    }
    assert "same" not in old._folders
    assert "same/deep" not in new._folders
    assert list(diff(old, old)) == []


def test_diff_of_a_file_and_a_directory_of_one_name_tells_what_the_directory_held(lab: Lab) -> None:
    lab.write({"p": "file"})
    first = lab.snap().address
    os.remove(lab.path("p"))
    lab.write({"p/x": "1"})
    second = lab.snap().address
    assert first is not None
    assert second is not None

    rows = [(path, lab.short(a), lab.short(b)) for path, a, b in diff(lab.tree(first), lab.tree(second))]

    assert rows == [("p", "file", "<directory>"), ("p/x", "", "1")]


def test_a_tree_tells_what_it_covered(lab: Lab) -> None:
    lab.write({"a": "1", "d/b": "2"})
    lab.restart(exclude=("*.log",))
    lab.snap()
    tree = lab.tree()

    assert tree.covers("d/new")
    assert tree.covers("no/such/folder/x")
    assert tree.covers("a/below/a/file")
    assert not tree.covers("d/x.log")
    assert not tree.covers("venv", is_dir=True)
    assert tree.covers("venv")
    assert tree.range == lab.coverage.range


def test_a_checkpoint_whose_objects_are_gone_or_do_not_fit_is_an_error_not_an_empty_tree(lab: Lab) -> None:
    lab.write({"a": "1", "d/x": "2"})
    address = lab.snap().address
    assert address is not None
    gone = FilesAddress(address.commit, ObjectId("0" * 40), address.side)
    with lab.repository.writer() as writer:
        empty = writer.tree(())
        meta_only = writer.tree([TreeEntry(0o100644, b"meta", writer.blob(b"{}\n"))])
        wrong = writer.tree([TreeEntry(0o100644, b"meta", writer.blob(b"no JSON"))])
        writer.finish()

    with pytest.raises(StoreError):
        SnapshotTree(lab.repository, gone).lookup("a")
    with pytest.raises(DamagedObject):
        SnapshotTree(lab.repository, FilesAddress(address.commit, empty, address.side)).lookup("a")
    with pytest.raises(DamagedObject):
        SnapshotTree(lab.repository, FilesAddress(address.commit, address.tree, empty)).lookup("a")
    with pytest.raises(DamagedObject):
        SnapshotTree(lab.repository, FilesAddress(address.commit, address.tree, wrong)).lookup("a")
    with pytest.raises(DamagedObject):
        _ = SnapshotTree(lab.repository, FilesAddress(address.commit, address.tree, meta_only)).range


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (None, None, True),
        (FILE, None, False),
        (FILE, FileState(EntryKind.FILE, OID, 6, 0o644, 99), True),
        (FILE, FileState(EntryKind.FILE, OID, 6, 0o600, 5), False),
        (UNKEPT, FileState(EntryKind.FILE, None, 6, 0o644, 5, missing="x"), True),
        (UNKEPT, FileState(EntryKind.FILE, None, 6, 0o644, 6, missing="x"), False),
        (FILE, UNKEPT, False),
        (FileState(EntryKind.SYMLINK, OID, 6, 0o777), FileState(EntryKind.SYMLINK, OID, 6, 0o755), True),
        (FileState(EntryKind.DIRECTORY, mode=0o700), FileState(EntryKind.DIRECTORY, mode=0o755), False),
        (FileState(EntryKind.SPECIAL, mode=0o644), FileState(EntryKind.SPECIAL, mode=0o644), True),
        (FileState(EntryKind.SPECIAL, mode=0o644), FILE, False),
    ],
)  # fmt: skip
def test_states_agree_as_far_as_anybody_can_know(first: FileState, second: FileState, expected: bool) -> None:
    assert agree(first, second) is expected
    assert agree(second, first) is expected


def test_a_manifest_reads_back_as_it_was_written() -> None:
    states = {
        "caf\u00e9": FILE,
        'lat\udce9\n"\\': FileState(EntryKind.SYMLINK, OID, 3, 0o777, 10**19),
        "big": FileState(EntryKind.FILE, OID, 1 << 40, 0o600, -5, chunked=True),
        "d": FileState(EntryKind.DIRECTORY, mode=0o1777),
        "closed": FileState(EntryKind.DIRECTORY, mode=0, missing="unreadable"),
        "pipe": FileState(EntryKind.SPECIAL, mode=0o644),
        "secret": FileState(EntryKind.FILE, None, 7, 0o600, 5, missing="secret"),
    }
    objects = {name: state.object for name, state in states.items() if state.object is not None}

    data = meta_bytes(states.items())

    assert read_meta(data, objects) == states
    assert data.isascii()
    assert meta_bytes(reversed(states.items())) == data


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"\xff",
        b'{"a":1}',
        b'{"a":["f",420,0]}',
        b'{"a":["?",420,0,1]}',
        b'{"a":["f",420,0,1]}',
        b'{"a":["d","x",0,1]}',
    ],
)
def test_a_manifest_that_makes_no_sense_is_damage(data: bytes) -> None:
    with pytest.raises(DamagedObject):
        read_meta(data, {})


@pytest.mark.parametrize("data", [b"", b"1", b'[["x"]]', b"[1]", b"[[]]"])
def test_link_groups_that_make_no_sense_are_damage(data: bytes) -> None:
    with pytest.raises(DamagedObject):
        read_links(data)


def test_a_range_reads_back_as_it_was_written_and_later_fields_are_passed_over() -> None:
    range_ = Range(exclude=("*.log", "caf\u00e9"), only=("data",), protect=("venv/x",), store="s", focus=("", "d"))

    assert read_range(range_bytes(range_)) == range_
    assert read_range(b'{"exclude": ["a"], "from-the-future": 1}') == Range(exclude=("a",))
    for data in (b"", b"[]", b"1"):
        with pytest.raises(DamagedObject):
            read_range(data)
