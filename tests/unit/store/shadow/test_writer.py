"""Packs: what is written, what is not, and what an error leaves."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from nbrewind.errors import MissingObject, StoreError, StoreReadOnly
from nbrewind.model import ObjectId
from nbrewind.store.shadow import ShadowRepository, TreeEntry, Unstable
from nbrewind.store.shadow.objects import BLOB, digest
from tests.faults import ErrorAt, TornAt, installed, open_descriptors
from tests.unit.store.shadow.shadows import assert_sound, files_of, git, pack_names, stored_turn


def test_turn_is_one_pack_that_git_reads(repository: ShadowRepository) -> None:
    commit = stored_turn(repository, {b"a.py": b"x = 1\n", b"b": os.urandom(50_000)})

    assert {os.path.splitext(name)[1] for name in pack_names(repository)} == {".pack", ".idx"}
    assert len(pack_names(repository)) == 2
    assert git(repository, "cat-file", "-p", f"{commit}:a.py") == b"x = 1\n"
    assert os.listdir(repository.incoming) == []
    assert_sound(repository)


def test_empty_pack_writes_nothing(repository: ShadowRepository) -> None:
    with repository.writer() as writer:
        writer.finish()
    assert pack_names(repository) == set()


def test_object_that_is_there_is_not_stored_again(repository: ShadowRepository) -> None:
    stored_turn(repository, {b"a": b"same"})
    with repository.writer() as writer:
        writer.blob(b"same")
        assert writer.pending == 0
        writer.blob(b"other")
        writer.blob(b"other")
        assert writer.pending == 1


def test_writer_without_trust_stores_all_again_and_marks_its_pack(repository: ShadowRepository) -> None:
    stored_turn(repository, {b"a": b"same"})
    stored_turn(repository, {b"a": b"same"}, "2", trust=False)

    assert len(repository.packs.packs()) == 2
    assert sum(name.endswith(".keep") for name in pack_names(repository)) == 1
    assert_sound(repository)


def test_next_trusting_writer_takes_the_mark_away(repository: ShadowRepository) -> None:
    stored_turn(repository, {b"a": b"1"}, "1", trust=False)
    stored_turn(repository, {b"a": b"2"}, "2", trust=False)
    stored_turn(repository, {b"a": b"3"}, "3")
    assert not any(name.endswith(".keep") for name in pack_names(repository))


def test_equal_packs_get_different_names(repository: ShadowRepository) -> None:
    for _ in range(2):
        with repository.writer(trust=False) as writer:
            writer.blob(b"same")
            writer.finish()
    assert len(repository.packs.packs()) == 2


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_nobody_else_can_read_the_repository(tmp_path: Path, umask: int) -> None:
    old = os.umask(umask)
    try:
        repository = ShadowRepository.open(str(tmp_path / "shadow"))
        stored_turn(repository, {b"secret": b"hunter2"})
    finally:
        os.umask(old)

    for folder, _, files in os.walk(repository.path):
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700, folder
        for name in files:
            assert stat.S_IMODE(os.stat(f"{folder}/{name}").st_mode) == 0o600, name


def test_pack_larger_than_the_buffer_is_sound(repository: ShadowRepository) -> None:
    files = {b"%04d" % number: os.urandom(9000) for number in range(600)}
    files[b"big"] = os.urandom(3_000_000)
    commit = stored_turn(repository, files)

    assert files_of(repository, commit) == files
    assert_sound(repository)


def test_writer_that_is_left_without_finish_leaves_nothing(repository: ShadowRepository) -> None:
    with repository.writer() as writer:
        oid = writer.blob(os.urandom(2_000_000))
        assert os.listdir(repository.incoming)

    assert os.listdir(repository.incoming) == []
    assert not repository.contains(oid)
    with pytest.raises(MissingObject):
        repository.read(oid)


def test_finished_writer_takes_nothing_more(repository: ShadowRepository) -> None:
    with repository.writer() as writer:
        writer.finish()
        with pytest.raises(RuntimeError):
            writer.blob(b"x")


def test_objects_are_unknown_until_the_pack_is_durable(repository: ShadowRepository) -> None:
    with repository.writer() as writer:
        oid = writer.blob(b"not yet")
        assert not repository.contains(oid)
        writer.finish()
    assert repository.contains(oid)


def test_file_of_wrong_length_is_unstable_and_leaves_nothing(repository: ShadowRepository, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    fd = os.open(path, os.O_RDONLY)
    with repository.writer() as writer:
        kept = writer.blob(b"kept")
        for wrong in (4, 6, 9 << 20):
            with pytest.raises(Unstable):
                writer.file(fd, wrong)
        assert writer.pending == 1
        commit = writer.commit(writer.tree([TreeEntry(0o100644, b"kept", kept)]), "m", 0)
        writer.finish()
    os.close(fd)

    assert files_of(repository, commit) == {b"kept": b"kept"}
    assert_sound(repository)


def test_large_file_of_another_length_is_taken_out_of_the_pack(repository: ShadowRepository, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(os.urandom(13 << 20))
    fd = os.open(path, os.O_RDONLY)
    with repository.writer() as writer:
        before = writer.blob(b"before")
        with pytest.raises(Unstable):
            writer.file(fd, 14 << 20)
        after = writer.blob(b"after")
        assert writer.pending == 2
        with pytest.raises(Unstable):
            writer.file(fd, 12 << 20)
        assert writer.pending == 2
        writer.finish()
    os.close(fd)

    assert [repository.read(before), repository.read(after)] == [b"before", b"after"]
    assert os.stat(repository.packs.packs()[0].path + ".pack").st_size < 1000
    assert_sound(repository)


def test_unreadable_file_leaves_the_writer_usable(repository: ShadowRepository, tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDONLY)
    with repository.writer() as writer:
        with pytest.raises(IsADirectoryError):
            writer.file(fd, 10)
        oid = writer.blob(b"x")
        writer.finish()
    os.close(fd)
    assert repository.read(oid) == b"x"


def test_read_only_repository_says_so(tmp_path: Path, repository: ShadowRepository) -> None:
    with (
        installed(ErrorAt(0, 30, forever=True)),
        pytest.raises(StoreReadOnly),
        repository.writer() as writer,
    ):
        writer.blob(b"x")
        writer.finish()


@pytest.mark.parametrize("trust", [True, False])
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("forever", [False, True])
def test_failure_at_any_call_forgets_everything_and_the_next_turn_is_sound(
    repository: ShadowRepository, trust: bool, late: bool, forever: bool
) -> None:
    stored_turn(repository, {b"old": b"old"}, "old")
    descriptors = open_descriptors()
    payload = [os.urandom(400_000) for _ in range(4)]
    known = [ObjectId(digest(BLOB, data).hex()) for data in payload]
    point, hit = 0, True
    while hit:
        probe = ErrorAt(point, 28, forever=forever, late=late)
        with installed(probe), pytest.raises(StoreError):
            with repository.writer(trust=trust) as writer:
                for data in payload:
                    writer.blob(data)
                writer.finish()
            if not probe.hit:
                raise StoreError("the sweep is over")
        hit = probe.hit
        point += 1
        if hit:
            assert not any(repository.contains(oid) for oid in known), point
            if not forever:
                assert not any(ShadowRepository.open(repository.path).contains(oid) for oid in known), point
            assert open_descriptors() == descriptors
    assert point > 10

    # The sweep's last run had no fault: what failed before is stored now, and everything of it.
    assert [repository.read(oid) for oid in known] == payload
    assert_sound(repository)


def test_same_content_after_a_full_disk_is_really_stored(repository: ShadowRepository) -> None:
    files = {b"a": b"content", b"b": os.urandom(2_000_000)}
    with installed(ErrorAt(3, 28, forever=True)), pytest.raises(StoreError):
        stored_turn(repository, files)
    commit = stored_turn(repository, files)

    assert files_of(ShadowRepository.open(repository.path), commit) == files
    assert_sound(repository)


def test_writer_takes_nothing_after_a_failure(repository: ShadowRepository) -> None:
    with repository.writer() as writer:
        with installed(ErrorAt(0, 28)), pytest.raises(StoreError):
            writer.blob(os.urandom(2_000_000))
        with pytest.raises(StoreError):
            writer.blob(b"small")
        with pytest.raises(StoreError):
            writer.finish()
    assert pack_names(repository) == set()
    assert os.listdir(repository.incoming) == []


def test_torn_write_forgets_everything(repository: ShadowRepository) -> None:
    for point in range(3):
        with installed(TornAt(point, number=28)), pytest.raises(StoreError):
            stored_turn(repository, {b"a": os.urandom(400_000)}, str(point))
    commit = stored_turn(repository, {b"a": b"x"}, "last")
    assert files_of(repository, commit) == {b"a": b"x"}
    assert len(repository.packs.packs()) == 1
    assert_sound(repository)


def test_interrupt_inside_a_write_never_makes_a_broken_pack(repository: ShadowRepository) -> None:
    class Interrupt(ErrorAt):
        def before(self, call: str, target: str, size: int) -> int | None:
            if call == "write" and not self.hit:
                self.hit = True
                raise KeyboardInterrupt
            return None

    with repository.writer() as writer:
        with installed(Interrupt(0)), pytest.raises(KeyboardInterrupt):
            writer.blob(os.urandom(2_000_000))
        with pytest.raises(StoreError):
            writer.blob(b"x")
    assert pack_names(repository) == set()


def test_directory_that_could_not_be_flushed_is_never_relied_on(repository: ShadowRepository) -> None:
    class NoFlushNoRemoval(ErrorAt):
        def before(self, call: str, target: str, size: int) -> int | None:
            if call == "unlink" or (call == "fsync" and os.path.isdir(target)):
                raise OSError(5, "Input/output error", target)
            return None

    with installed(NoFlushNoRemoval(0)), pytest.raises(StoreError), repository.writer() as writer:
        oid = writer.blob(b"perhaps durable")
        writer.finish()

    assert not repository.contains(oid)
    with repository.writer() as writer:
        writer.blob(b"perhaps durable")
        assert writer.pending == 1
        writer.finish()
    assert repository.read(oid) == b"perhaps durable"
