"""Reading: packs of others, deltas, loose objects, damage, and repacks under our feet."""

from __future__ import annotations

import hashlib
import os
import random
import resource
import threading
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbrewind.errors import DamagedObject, MissingObject, StoreError
from nbrewind.model import EntryKind, FileState, ObjectId
from nbrewind.store.shadow import ShadowRepository
from nbrewind.store.shadow.checks import check_packs
from nbrewind.store.shadow.entries import applied, entry_header
from tests.unit.store.shadow.shadows import assert_sound, files_of, git, pack_names, stored_turn

NOTHING = ObjectId("0" * 40)


def table(rows: int, seed: int) -> bytes:
    chosen = random.Random(seed)
    lines = [b"%d,%d" % (number, number * number) for number in range(rows)]
    for _ in range(5):
        lines[chosen.randrange(rows)] = b"changed,%d" % chosen.randrange(10**9)
    return b"\n".join(lines)


def versions(repository: ShadowRepository, count: int = 12) -> dict[ObjectId, dict[bytes, bytes]]:
    """Store turns whose files differ little, so that git makes deltas of them."""
    turns = {}
    for number in range(count):
        files = {b"table.csv": table(2000, number), b"code.py": b"x = %d\n" % number * 50}
        turns[stored_turn(repository, files, str(number))] = files
    return turns


def deltas(repository: ShadowRepository) -> int:
    """Return how many objects of the only pack are deltas, as git sees it."""
    (name,) = [name for name in pack_names(repository) if name.endswith(".idx")]
    lines = git(repository, "verify-pack", "-v", f"{repository.packs.path}/{name}").decode().splitlines()
    return sum(len(line.split()) == 7 for line in lines)


@pytest.mark.parametrize("option", ["--delta-base-offset", "--no-delta-base-offset"])
def test_repacked_deltas_are_read_in_process(repository: ShadowRepository, option: str) -> None:
    turns = versions(repository)
    git(repository, "-c", f"repack.useDeltaBaseOffset={'no' not in option}", "repack", "-adfq", "--depth=50")
    assert deltas(repository) > 5

    for reader in (repository, ShadowRepository.open(repository.path)):
        for commit, files in turns.items():
            assert files_of(reader, commit) == files
    assert len(repository.packs.packs()) == 1
    assert check_packs(repository) == ()


def test_repack_by_another_process_is_survived_while_packs_are_open(repository: ShadowRepository) -> None:
    turns = versions(repository, 6)
    for commit, files in turns.items():
        assert files_of(repository, commit) == files
    for _ in range(3):
        git(repository, "repack", "-adfq")
        for commit, files in turns.items():
            assert files_of(repository, commit) == files
        stored_turn(repository, {b"new": os.urandom(100)}, "new")


def test_readers_in_threads_survive_repacks(repository: ShadowRepository) -> None:
    turns = versions(repository, 6)
    stop = threading.Event()
    failures: list[BaseException] = []

    def read() -> None:
        try:
            while not stop.is_set():
                for commit, files in turns.items():
                    assert files_of(repository, commit) == files
        except BaseException as problem:  # noqa: BLE001 - shown by the assertion below
            failures.append(problem)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for depth in (10, 50, 1, 20, 30):
        git(repository, "repack", "-adfq", f"--depth={depth}")
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []


def test_object_in_a_pack_made_by_another_process_is_found(repository: ShadowRepository) -> None:
    other = ShadowRepository.open(repository.path)
    with pytest.raises(MissingObject):
        repository.read(NOTHING)
    commit = stored_turn(other, {b"a": b"1"})

    assert repository.contains(commit)
    assert files_of(repository, commit) == {b"a": b"1"}


def test_object_whose_pack_went_is_missing_and_stored_again(repository: ShadowRepository) -> None:
    commit = stored_turn(repository, {b"a": b"1"})
    assert repository.contains(commit)
    for name in pack_names(repository):
        os.unlink(f"{repository.packs.path}/{name}")

    assert not repository.contains(commit)
    with pytest.raises(MissingObject, match=commit):
        repository.read(commit)
    assert stored_turn(repository, {b"a": b"1"}) == commit
    assert files_of(repository, commit) == {b"a": b"1"}


def test_directory_that_did_not_change_is_not_listed_again_and_one_that_did_is(repository: ShadowRepository) -> None:
    other = ShadowRepository.open(repository.path)
    stored_turn(other, {b"a": b"1"}, "1")
    os.utime(repository.packs.path, (1000, 1000))
    first = other.refs()["refs/nbrewind/points/1"]
    assert repository.contains(first)
    listed = repository.packs.packs()
    repository.packs.refresh()
    assert repository.packs.packs() == listed

    second = stored_turn(other, {b"a": b"2"}, "2")
    assert repository.contains(second)
    for pack in listed:
        os.unlink(pack.path + ".idx")
    assert not repository.contains(first)


def test_two_changes_within_one_timestamp_are_both_seen(repository: ShadowRepository) -> None:
    other = ShadowRepository.open(repository.path)
    first = stored_turn(other, {b"a": b"1"}, "1")
    stamp = os.stat(repository.packs.path).st_mtime_ns
    assert repository.contains(first)
    second = stored_turn(other, {b"a": b"2"}, "2")
    os.utime(repository.packs.path, ns=(stamp, stamp))
    assert repository.contains(second)


def test_forget_drops_what_was_known(repository: ShadowRepository) -> None:
    commit = stored_turn(repository, {b"a": b"1"})
    repository.forget()
    assert repository.packs.packs() == ()
    assert repository.contains(commit)


def test_loose_objects_are_read(repository: ShadowRepository) -> None:
    oid = ObjectId(git(repository, "hash-object", "-w", "--stdin", data=b"loose" * 5000).decode().strip())
    assert repository.contains(oid)
    assert repository.read(oid) == b"loose" * 5000
    assert repository.kind(oid) == "blob"


@pytest.mark.parametrize("data", [b"", b"garbage", b"\x78\x01garbage"])
def test_broken_loose_object_is_damaged(repository: ShadowRepository, data: bytes) -> None:
    os.mkdir(f"{repository.objects}/00")
    Path(f"{repository.objects}/00/{'0' * 38}").write_bytes(data)
    with pytest.raises(DamagedObject):
        repository.read(NOTHING)


def flip(path: str, at: int) -> None:
    data = bytearray(Path(path).read_bytes())
    data[at] ^= 0x10
    Path(path).write_bytes(data)


def test_flipped_bit_anywhere_in_a_pack_never_gives_wrong_bytes(repository: ShadowRepository) -> None:
    files = {b"a": b"some text, some text, some text", b"b": os.urandom(40)}
    commit = stored_turn(repository, files)
    pack = next(f"{repository.packs.path}/{name}" for name in pack_names(repository) if name.endswith(".pack"))
    size = os.stat(pack).st_size
    for at in range(12, size - 20):
        flip(pack, at)
        reader = ShadowRepository.open(repository.path)
        try:
            assert files_of(reader, commit) == files
        except (DamagedObject, MissingObject):
            assert check_packs(reader) != ()
        flip(pack, at)
    assert files_of(ShadowRepository.open(repository.path), commit) == files


def test_flipped_bit_anywhere_in_an_index_is_named_and_hides_nothing(repository: ShadowRepository) -> None:
    files = {b"%d" % number: b"%d" % number * 10 for number in range(20)}
    commit = stored_turn(repository, files)
    index = next(f"{repository.packs.path}/{name}" for name in pack_names(repository) if name.endswith(".idx"))
    for at in range(8, os.stat(index).st_size - 40, 3):
        flip(index, at)
        reader = ShadowRepository.open(repository.path)
        assert files_of(reader, commit) == files
        assert check_packs(reader, objects=False) != ()
        flip(index, at)


def test_index_that_points_at_another_object_never_gives_its_bytes(repository: ShadowRepository) -> None:
    with repository.writer() as writer:
        oids = [writer.blob(b"one"), writer.blob(b"two")]
        writer.finish()
    path = Path(repository.packs.packs()[0].path + ".idx")
    data = path.read_bytes()
    offsets = len(data) - 40 - 8
    body = data[:offsets] + data[offsets + 4 : offsets + 8] + data[offsets : offsets + 4] + data[-40:-20]
    path.write_bytes(body + hashlib.sha1(body, usedforsecurity=False).digest())
    reader = ShadowRepository.open(repository.path)
    for oid in oids:
        with pytest.raises(DamagedObject):
            reader.read(oid)


def test_damaged_object_is_stored_again_by_the_next_writer(repository: ShadowRepository) -> None:
    files = {b"a": os.urandom(100)}
    commit = stored_turn(repository, files)
    blob = repository.tree(repository.commit_tree(commit))[0].oid
    pack = repository.packs.packs()[0]
    flip(pack.path + ".pack", (pack.index.find(bytes.fromhex(blob)) or 0) + 20)
    with pytest.raises(DamagedObject):
        repository.read(blob)
    assert not repository.packs.holds(bytes.fromhex(blob))

    stored_turn(repository, files, "2")

    assert repository.read(blob) == files[b"a"]
    with repository.writer() as writer:
        writer.blob(files[b"a"])
        assert writer.pending == 0
    assert ShadowRepository.open(repository.path).read(blob) == files[b"a"]


@pytest.mark.parametrize("damage", ["empty", "short", "magic", "fan-out"])
def test_broken_index_hides_no_pack(repository: ShadowRepository, damage: str) -> None:
    first = stored_turn(repository, {b"a": b"1"}, "1")
    second = stored_turn(repository, {b"a": b"2"}, "2")
    pack = next(pack for pack in repository.packs.packs() if pack.index.find(bytes.fromhex(first)) is not None)
    path = Path(pack.path + ".idx")
    data = bytearray(path.read_bytes())
    if damage == "fan-out":
        data[8] = 0xFF
    path.write_bytes({"empty": b"", "short": data[:1000], "magic": b"x" + data[1:], "fan-out": bytes(data)}[damage])

    reader = ShadowRepository.open(repository.path)
    assert files_of(reader, second) == {b"a": b"2"}
    assert files_of(reader, first) == {b"a": b"1"}
    assert any(pack.stem in line for line in check_packs(reader))


def test_index_without_its_pack_promises_nothing_when_read(repository: ShadowRepository) -> None:
    commit = stored_turn(repository, {b"a": b"1"})
    os.unlink(repository.packs.packs()[0].path + ".pack")
    with pytest.raises(MissingObject):
        ShadowRepository.open(repository.path).read(commit)


def test_thousands_of_objects_are_found_by_bisection(repository: ShadowRepository) -> None:
    with repository.writer() as writer:
        oids = [writer.blob(b"%d" % number) for number in range(5000)]
        writer.finish()
    reader = ShadowRepository.open(repository.path)
    assert all(reader.contains(oid) for oid in oids)
    assert not reader.contains(NOTHING)
    assert not reader.contains(ObjectId("f" * 40))
    assert [reader.read(oid) for oid in oids[::97]] == [b"%d" % number for number in range(0, 5000, 97)]
    with reader.writer() as writer:
        writer.blob(b"4999")
        assert writer.pending == 0
    assert_sound(repository)


def test_too_many_open_files_are_not_taken_for_a_missing_object(repository: ShadowRepository) -> None:
    commit = stored_turn(repository, {b"a": b"1"})
    reader = ShadowRepository.open(repository.path)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
    try:
        with pytest.raises(StoreError) as known:
            repository.read(commit)
        with pytest.raises(StoreError) as unknown:
            reader.read(commit)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert not isinstance(known.value, MissingObject | DamagedObject)
    assert not isinstance(unknown.value, MissingObject | DamagedObject)
    assert files_of(reader, commit) == files_of(repository, commit) == {b"a": b"1"}


def test_opening_without_creating_needs_a_repository(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        ShadowRepository.open(str(tmp_path / "none"), create=False)
    assert list(tmp_path.iterdir()) == []


def test_opening_twice_changes_nothing(repository: ShadowRepository) -> None:
    before = {name: os.stat(f"{repository.path}/{name}").st_mtime_ns for name in os.listdir(repository.path)}
    ShadowRepository.open(repository.path)
    assert before == {name: os.stat(f"{repository.path}/{name}").st_mtime_ns for name in os.listdir(repository.path)}


def test_content_of_state_without_bytes_is_missing_and_says_why(repository: ShadowRepository) -> None:
    for state in (FileState(EntryKind.FILE, missing="too large"), FileState(EntryKind.DIRECTORY)):
        with pytest.raises(MissingObject, match=r"too large|directory"):
            list(repository.content(state))


def test_content_of_another_size_is_damaged(repository: ShadowRepository) -> None:
    with repository.writer() as writer:
        oid = writer.blob(b"123")
        writer.finish()
    assert list(repository.content(FileState(EntryKind.FILE, oid, 3))) == [b"123"]
    assert list(repository.content(FileState(EntryKind.SYMLINK, oid, 0))) == [b"123"]
    with pytest.raises(DamagedObject):
        repository.verify_content(FileState(EntryKind.FILE, oid, 4))


def test_tree_and_commit_readers_refuse_other_kinds(repository: ShadowRepository) -> None:
    commit = stored_turn(repository, {b"a": b"1"})
    with pytest.raises(DamagedObject):
        repository.tree(commit)
    with pytest.raises(DamagedObject):
        repository.commit_tree(repository.commit_tree(commit))


@given(st.sampled_from([1, 2, 3]), st.integers(min_value=0, max_value=1 << 40))
def test_entry_header_says_kind_and_size(kind: int, size: int) -> None:
    header = entry_header(kind, size)
    value, shift = header[0] & 15, 4
    for byte in header[1:]:
        value |= (byte & 0x7F) << shift
        shift += 7
    assert ((header[0] >> 4) & 7, value) == (kind, size)
    assert [byte & 0x80 for byte in header] == [0x80] * (len(header) - 1) + [0]


@pytest.mark.parametrize(
    ("base", "delta"),
    [(b"abc", b""), (b"abc", b"\x03\x05\x90"), (b"abc", b"\x04\x03\x90\x03"), (b"abc", b"\x03\x03\x05ab")],
)
def test_delta_that_does_not_fit_is_damaged(base: bytes, delta: bytes) -> None:
    with pytest.raises(DamagedObject):
        applied(base, delta)


def test_chain_of_deltas_without_end_is_damaged(repository: ShadowRepository, tmp_path: Path) -> None:
    # A reference delta that names itself: only a hostile store holds such a thing.
    commit = stored_turn(repository, {b"a": b"1"})
    pack = repository.packs.packs()[0]
    offset = pack.index.find(bytes.fromhex(commit)) or 0
    data = bytearray(Path(pack.path + ".pack").read_bytes())
    entry = bytes([7 << 4 | 4]) + bytes.fromhex(commit) + zlib.compress(b"\x01\x01\x01x")
    data[offset : offset + len(entry)] = entry
    Path(pack.path + ".pack").write_bytes(data)
    with pytest.raises(DamagedObject):
        ShadowRepository.open(repository.path).read(commit)


def test_an_index_without_its_pack_promises_nothing(tmp_path: Path) -> None:
    repository = ShadowRepository.open(str(tmp_path / "shadow"))
    with repository.writer() as writer:
        oid = writer.blob(b"content")
        writer.finish()
    repository.close()
    (pack,) = (tmp_path / "shadow" / "objects" / "pack").glob("*.pack")
    pack.unlink()

    again = ShadowRepository.open(str(tmp_path / "shadow"))
    assert not again.contains(oid)
    with again.writer() as writer:
        assert writer.blob(b"content") == oid
        writer.finish()
    assert again.read(oid) == b"content"
    again.close()
