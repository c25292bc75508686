"""Large files: chunks, pointers, holes, and chunks that are there already."""

from __future__ import annotations

import errno
import os
import resource
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from nbrewind.errors import DamagedObject, StoreError
from nbrewind.model import ObjectId
from nbrewind.store.shadow import CHUNK, LARGE, ZEROS, ShadowRepository, TreeEntry, chunks
from nbrewind.store.shadow.chunks import Pointer, decoded, encoded, packed_text, unpacked_text
from tests.unit.store.shadow.shadows import assert_sound, git, pack_names, state_of, stored_file, whole

MIB = 1 << 20


def store_size(repository: ShadowRepository) -> int:
    return sum(os.stat(f"{repository.packs.path}/{name}").st_size for name in pack_names(repository))


def rows(size: int) -> bytes:
    text = b"".join(b"%d,%d,some text\n" % (number, number * number) for number in range(200_000))
    return (text * (size // len(text) + 1))[:size]


@pytest.mark.parametrize("size", [LARGE - 1, LARGE, LARGE + 1, 3 * CHUNK, 3 * CHUNK + 5])
def test_file_comes_back(repository: ShadowRepository, tmp_path: Path, size: int) -> None:
    data = os.urandom(CHUNK + 7) + rows(size - CHUNK - 7)
    path = tmp_path / "file"
    path.write_bytes(data)

    stored = stored_file(repository, path)

    assert (stored.size, stored.chunked) == (size, size >= LARGE)
    assert whole(ShadowRepository.open(repository.path), stored) == data
    assert all(len(piece) <= LARGE for piece in repository.content(state_of(stored)))
    assert_sound(repository)


def test_pointer_says_what_it_is_to_a_person(repository: ShadowRepository, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(rows(9 * MIB))
    stored = stored_file(repository, path)

    lines = git(repository, "cat-file", "blob", stored.oid).decode().splitlines()
    assert lines[:3] == ["nbrewind-chunks 1", f"size {9 * MIB}", f"tree {stored.chunk_tree}"]
    assert [line.split()[2] for line in lines[3:]] == [str(4 * MIB), str(4 * MIB), str(MIB)]
    names = git(repository, "ls-tree", "--name-only", str(stored.chunk_tree)).decode().split()
    assert names == ["000000", "000001", "000002"]


def test_append_stores_only_the_last_chunk(repository: ShadowRepository, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(os.urandom(20 * MIB))
    first = stored_file(repository, path)
    before = store_size(repository)
    with path.open("ab") as file:
        file.write(b"one more row\n")

    second = stored_file(repository, path, previous=state_of(first))

    assert store_size(repository) - before < 10_000
    assert whole(repository, second) == path.read_bytes()
    assert second.oid != first.oid


def test_untrusting_writer_relies_on_the_chunks_of_the_previous_state_only(
    repository: ShadowRepository, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.write_bytes(os.urandom(20 * MIB))
    first = stored_file(repository, path)
    before = store_size(repository)

    stored_file(repository, path, previous=state_of(first), trust=False)
    assert store_size(repository) - before < 10_000
    stored_file(repository, path, trust=False)
    assert store_size(repository) - before > 20 * MIB


def test_chunk_of_the_previous_state_that_is_gone_is_stored_again(repository: ShadowRepository, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(os.urandom(9 * MIB))
    first = stored_file(repository, path)
    pointer = repository.read(first.oid)
    for name in pack_names(repository):
        os.unlink(f"{repository.packs.path}/{name}")
    with repository.writer() as writer:
        assert writer.blob(pointer) == first.oid
        writer.finish()

    again = stored_file(repository, path, previous=state_of(first))
    assert again == first
    assert whole(repository, again) == path.read_bytes()


def test_equal_chunks_of_one_file_are_stored_once(repository: ShadowRepository, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(os.urandom(CHUNK) * 5)
    stored_file(repository, path)
    assert store_size(repository) < 1.1 * CHUNK


def test_sparse_file_costs_nothing_and_its_holes_can_be_seen(repository: ShadowRepository, tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.write(b"head")
        file.truncate(1 << 30)
        file.seek(512 * MIB)
        file.write(b"middle")
    before = resource.getrusage(resource.RUSAGE_SELF)
    stored = stored_file(repository, path)
    after = resource.getrusage(resource.RUSAGE_SELF)

    assert store_size(repository) < 100_000
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.5
    pieces = list(repository.content(state_of(stored)))
    assert sum(piece is ZEROS for piece in pieces) == 254
    assert pieces[0][:4] == b"head"
    assert pieces[128][:6] == b"middle"
    assert sum(map(len, pieces)) == 1 << 30


def test_written_zeros_equal_a_hole(repository: ShadowRepository, tmp_path: Path) -> None:
    (tmp_path / "zeros").write_bytes(bytes(LARGE))
    with (tmp_path / "hole").open("wb") as file:
        file.truncate(LARGE)
    assert stored_file(repository, tmp_path / "zeros") == stored_file(repository, tmp_path / "hole")


def test_file_system_that_knows_no_holes_is_read_as_it_is(
    repository: ShadowRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(fd: int, at: int, how: int) -> int:
        raise OSError(errno.EINVAL, "Invalid argument")

    path = tmp_path / "file"
    path.write_bytes(bytes(CHUNK) + os.urandom(CHUNK + 1))
    monkeypatch.setattr(os, "lseek", refuse)
    assert whole(repository, stored_file(repository, path)) == path.read_bytes()


def test_descriptor_position_does_not_matter(repository: ShadowRepository, tmp_path: Path) -> None:
    for size in (100, 9 * MIB):
        path = tmp_path / f"{size}"
        path.write_bytes(os.urandom(size))
        fd = os.open(path, os.O_RDONLY)
        os.lseek(fd, 50, os.SEEK_SET)
        with repository.writer() as writer:
            stored = writer.file(fd, size)
            writer.finish()
        os.close(fd)
        assert whole(repository, stored) == path.read_bytes()


def test_large_file_is_never_in_memory(repository: ShadowRepository, tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("wb") as file:
        for _ in range(16):
            file.write(os.urandom(8 * MIB))
    tracemalloc.start()
    try:
        stored = stored_file(repository, path)
        repository.verify_content(state_of(stored))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40 * MIB


def test_large_file_survives_repacking_by_git(repository: ShadowRepository, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(os.urandom(5 * MIB) + rows(7 * MIB))
    fd = os.open(path, os.O_RDONLY)
    with repository.writer() as writer:
        stored = writer.file(fd, 12 * MIB)
        tree = writer.tree(
            [TreeEntry(0o100644, b"file", stored.oid), TreeEntry(0o40000, b"c", ObjectId(str(stored.chunk_tree)))]
        )
        commit = writer.commit(tree, "m", 0)
        writer.finish()
    os.close(fd)
    repository.set_ref("refs/nbrewind/points/1", commit)
    git(repository, "repack", "-adfq")
    assert whole(repository, stored) == path.read_bytes()
    assert_sound(repository)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"nbrewind-chunks 1\nsize 5\ntree x\n",
        b"nbrewind-chunks 2\nsize 0\ntree x\n",
        b"nbrewind-chunks 1\nsize x\ntree x\n",
        b"nbrewind-chunks 1\nsize 5\ntree x\nonly two\n",
        b"nbrewind-chunks 1\nsize -5\ntree x\nd " + b"0" * 40 + b" -5\n",
        b"nbrewind-chunks 1\nsize 99999999\ntree x\nd " + b"0" * 40 + b" 99999999\n",
        "nbrewind-chunks 1\nsize ü".encode(),
    ],
)
def test_broken_pointer_is_damaged(data: bytes) -> None:
    with pytest.raises(DamagedObject):
        Pointer.from_bytes(data)


def test_state_that_names_another_size_than_the_pointer_is_damaged(
    repository: ShadowRepository, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.write_bytes(rows(9 * MIB))
    state = state_of(stored_file(repository, path))
    with pytest.raises(DamagedObject):
        repository.verify_content(replace(state, size=1))


@pytest.mark.parametrize("blob", [b"", b"\x02data", b"\x01data", b"\x00dat", b"\x01\x28\xb5\x2f\xfd"])
def test_broken_chunk_is_damaged(blob: bytes) -> None:
    with pytest.raises(DamagedObject):
        decoded(blob, 4)


def test_chunk_that_claims_more_than_a_chunk_is_not_inflated() -> None:
    bomb, _ = packed_text(bytes(64 * MIB))
    with pytest.raises(DamagedObject):
        decoded(b"\1" + bomb, CHUNK)


def test_chunk_is_raw_where_zstd_gains_nothing() -> None:
    data = os.urandom(10_000)
    assert encoded(data) == (b"\0" + data, False)
    assert encoded(bytes(10_000))[0][:1] == b"\1"


@pytest.mark.parametrize("data", [b"", b"x", b"text " * 3000, b"\x28\xb5\x2f\xfd no frame"])
def test_text_comes_back(repository: ShadowRepository, data: bytes) -> None:
    with repository.writer() as writer:
        oid = writer.zblob(data)
        writer.finish()
    assert repository.read_text(oid) == data


def test_text_is_small_in_the_pack(repository: ShadowRepository) -> None:
    with repository.writer() as writer:
        writer.zblob(b"print('hello')\n" * 10_000)
        writer.finish()
    assert store_size(repository) < 3000


def test_without_zstandard_everything_is_stored_and_what_was_compressed_says_so(
    repository: ShadowRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(rows(9 * MIB))
    with_zstd = stored_file(repository, path)
    packed, _ = packed_text(b"text" * 1000)
    monkeypatch.setattr(chunks, "zstandard", None)
    monkeypatch.setattr(chunks, "blake3", None)

    with pytest.raises(StoreError, match="zstandard"):
        repository.verify_content(state_of(with_zstd))
    with pytest.raises(StoreError, match="zstandard"):
        unpacked_text(packed)
    plain = stored_file(repository, path, previous=state_of(with_zstd))
    assert whole(repository, plain) == path.read_bytes()
    assert store_size(repository) < 9 * MIB
    assert unpacked_text(packed_text(b"text")[0]) == b"text"
    assert_sound(repository)
