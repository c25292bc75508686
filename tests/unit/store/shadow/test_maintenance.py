"""Repacking, collecting and checking: nothing that is named is ever lost."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from nbrewind.errors import RefusalReason, RewindRefused, StoreError
from nbrewind.model import ObjectId
from nbrewind.store.shadow import ShadowRepository, TreeEntry
from nbrewind.store.shadow.checks import check_packs, fsck
from nbrewind.store.shadow.collection import collect
from nbrewind.store.shadow.git import GitRunner
from nbrewind.store.shadow.maintenance import count_objects, maintaining, repack, rolled_up
from tests.faults import KILLED, ErrorAt, KillAt, calls_of, installed, run_forked, sweep_points
from tests.unit.store.shadow.shadows import (
    assert_sound,
    files_of,
    git,
    pack_names,
    state_of,
    stored_file,
    stored_turn,
    whole,
)

POINTS = "refs/nbrewind/points/"


class OneLock:
    """A gc lock for tests with one process; runs *inside* while the lock is about to be taken."""

    def __init__(self, before=lambda: None) -> None:
        self.generation = 0
        self._before = before

    @contextlib.contextmanager
    def exclusive(self, timeout: float = 0.0) -> Iterator[None]:
        self._before()
        yield

    def raise_generation(self) -> int:
        self.generation += 1
        return self.generation


def turns(repository: ShadowRepository, count: int, first: int = 0) -> dict[ObjectId, dict[bytes, bytes]]:
    """Store turns that change one of three files each."""
    found = {}
    for number in range(first, first + count):
        files = {
            b"same": b"same" * 100,
            b"table": b"".join(b"row %d\n" % row for row in range(2000)) + b"%d" % number,
            b"random": b"%d" % (number // 3) + os.urandom(0),
        }
        found[stored_turn(repository, files, f"{number}")] = files
    return found


def assert_all(repository: ShadowRepository, expected: dict[ObjectId, dict[bytes, bytes]]) -> None:
    for reader in (repository, ShadowRepository.open(repository.path)):
        for commit, files in expected.items():
            assert files_of(reader, commit) == files
    assert_sound(repository)


def test_repack_makes_one_small_pack_and_loses_nothing(repository: ShadowRepository) -> None:
    expected = turns(repository, 30)
    before = count_objects(repository)

    assert repack(repository, GitRunner(repository.path)) == 30

    after = count_objects(repository)
    assert (after.packs, after.objects, after.unfinished) == (1, before.objects, 0)
    assert after.size < before.size / 4
    assert_all(repository, expected)


def test_repack_keeps_objects_that_nothing_names(repository: ShadowRepository) -> None:
    turns(repository, 3)
    with repository.writer() as writer:
        oid = writer.blob(b"a turn in the making, in another kernel")
        writer.finish()
    repack(repository, GitRunner(repository.path))
    assert repository.read(oid) == b"a turn in the making, in another kernel"


def test_repack_leaves_large_packs_and_marked_ones(repository: ShadowRepository) -> None:
    with repository.writer() as writer:
        writer.blob(os.urandom(1 << 20))
        writer.finish()
    (large,) = repository.packs.packs()
    expected = turns(repository, 5)
    with repository.writer(trust=False) as writer:
        writer.blob(b"no log names it yet")
        writer.finish()

    assert repack(repository, GitRunner(repository.path)) == 5
    assert large.stem in {pack.stem for pack in repository.packs.packs()}
    assert count_objects(repository).packs == 3
    assert_all(repository, expected)
    assert repack(repository, GitRunner(repository.path)) == 0


def test_repack_takes_no_more_than_it_may(repository: ShadowRepository) -> None:
    turns(repository, 5)
    assert rolled_up(repository, 0) == []
    assert len(rolled_up(repository, 1 << 30)) == 5
    assert repack(repository, GitRunner(repository.path), least=6) == 0


def test_chunks_are_not_tried_as_deltas(repository: ShadowRepository, tmp_path: Path) -> None:
    path = tmp_path / "big"
    path.write_bytes(os.urandom(9 << 20))
    fd = os.open(path, os.O_RDONLY)
    with repository.writer() as writer:
        stored = writer.file(fd, 9 << 20)
        side = writer.tree([TreeEntry(0o40000, b"big", ObjectId(str(stored.chunk_tree)))])
        tree = writer.tree([TreeEntry(0o100644, b"big", stored.oid), TreeEntry(0o40000, b"c", side)])
        commit = writer.commit(tree, "m", 0)
        writer.finish()
    os.close(fd)
    expected = turns(repository, 3)
    started = time.process_time()
    repack(repository, GitRunner(repository.path))
    collect(repository, GitRunner(repository.path), OneLock(), lambda: {POINTS + "big": commit} | repository.refs())
    assert time.process_time() - started < 5
    assert whole(repository, stored) == path.read_bytes()
    repository.verify_content(state_of(stored))
    assert_all(repository, expected)


def test_small_change_in_an_incompressible_chunk_becomes_a_delta(repository: ShadowRepository, tmp_path: Path) -> None:
    path = tmp_path / "big"
    data = bytearray(os.urandom(9 << 20))
    found = []
    for number in range(4):
        data[number * 1000] ^= 1
        path.write_bytes(data)
        found.append((stored_file(repository, path), bytes(data)))
    before = count_objects(repository).size
    repack(repository, GitRunner(repository.path))

    after = count_objects(repository)
    assert (before > 20 << 20, after.size < 10 << 20, after.packs) == (True, True, 1)
    assert all(whole(repository, stored) == content for stored, content in found)


def test_no_delta_is_looked_for_where_zstd_is_inside(repository: ShadowRepository) -> None:
    start = os.urandom(20_000).hex().encode()
    for number in range(4):
        with repository.writer() as writer:
            writer.zblob(start + b"%d" % number)
            writer.finish()
    repack(repository, GitRunner(repository.path))
    (pack,) = repository.packs.packs()
    assert b"chain length" not in git(repository, "verify-pack", "-v", pack.path + ".idx")


def test_two_maintainers_do_not_meet(repository: ShadowRepository) -> None:
    turns(repository, 3)
    with maintaining(ShadowRepository.open(repository.path)), pytest.raises(RewindRefused) as refused:
        repack(repository, GitRunner(repository.path))
    assert refused.value.reason is RefusalReason.BUSY
    assert repack(repository, GitRunner(repository.path)) == 3


def test_collection_drops_what_no_log_names_and_nothing_else(repository: ShadowRepository) -> None:
    expected = turns(repository, 20)
    dropped = dict(list(expected.items())[:15])
    kept = dict(list(expected.items())[15:])
    loose = ObjectId(git(repository, "hash-object", "-w", "--stdin", data=b"loose").decode().strip())
    lock = OneLock()
    wanted = {f"{POINTS}{number}": commit for number, commit in enumerate(kept)}

    done = collect(repository, GitRunner(repository.path), lock, lambda: wanted)

    assert lock.generation == 1
    assert done.objects_after < done.objects_before
    assert done.freed > 0
    assert_all(repository, kept)
    assert not any(repository.contains(commit) for commit in dropped)
    assert not repository.contains(loose)
    assert repository.refs() == wanted
    assert fsck(repository, GitRunner(repository.path)) == ()
    assert len(repository.packs.packs()) == 1


def test_trees_named_by_the_logs_are_roots_too(repository: ShadowRepository) -> None:
    with repository.writer() as writer:
        blob = writer.blob(b"side")
        side = writer.tree([TreeEntry(0o100644, b"meta", blob)])
        lone = writer.blob(b"lone")
        writer.blob(b"garbage")
        writer.finish()
    collect(
        repository, GitRunner(repository.path), OneLock(), lambda: {"refs/nbrewind/side/1": side, POINTS + "2": lone}
    )
    assert (repository.read(blob), repository.read(lone)) == (b"side", b"lone")
    assert count_objects(repository).objects == 3
    assert_sound(repository)


def test_collection_after_a_collection_finds_the_same_objects(repository: ShadowRepository) -> None:
    expected = turns(repository, 5)
    for _ in range(3):
        collect(repository, GitRunner(repository.path), OneLock(), repository.refs)
        assert_all(repository, expected)


def test_writer_after_a_collection_stores_dropped_content_again(repository: ShadowRepository) -> None:
    other = ShadowRepository.open(repository.path)
    turns(repository, 2)
    gone = stored_turn(other, {b"gone": b"and wanted again"}, "gone")
    assert other.contains(gone)
    collect(repository, GitRunner(repository.path), OneLock(), lambda: {POINTS + "0": repository.refs()[POINTS + "0"]})
    other.forget()

    assert stored_turn(other, {b"gone": b"and wanted again"}, "gone") == gone
    assert files_of(other, gone) == {b"gone": b"and wanted again"}
    assert_sound(repository)


def test_writer_that_never_heard_of_the_collection_stores_dropped_content_again(repository: ShadowRepository) -> None:
    other = ShadowRepository.open(repository.path)
    gone = stored_turn(other, {b"gone": b"x"}, "gone")
    turns(repository, 2)
    collect(repository, GitRunner(repository.path), OneLock(), lambda: {POINTS + "0": repository.refs()[POINTS + "0"]})
    assert stored_turn(other, {b"gone": b"x"}, "gone") == gone
    assert files_of(repository, gone) == {b"gone": b"x"}
    assert_sound(repository)


def test_turn_that_comes_while_git_works_is_rescued_with_what_it_relied_on(repository: ShadowRepository) -> None:
    kept = turns(repository, 2)
    other = ShadowRepository.open(repository.path)
    nested = {b"found": b"nothing names it, and a new turn finds it", b"deep": b"nor this"}
    stored_turn(other, nested, "dropped")
    other.delete_ref(POINTS + "dropped")
    late: dict[ObjectId, dict[bytes, bytes]] = {}

    def meanwhile() -> None:
        files = {b"found": nested[b"found"], b"new": b"new"}
        late[stored_turn(other, files, "late")] = files
        late[stored_turn(other, nested, "late2")] = nested

    done = collect(repository, GitRunner(repository.path), OneLock(meanwhile), repository.refs)

    assert done.rescued > 0
    assert_all(repository, kept | late)
    assert_all(other, kept | late)


def test_pack_of_an_untrusting_writer_survives_until_its_log_names_it(repository: ShadowRepository) -> None:
    kept = turns(repository, 2)
    roots = repository.refs()
    other = ShadowRepository.open(repository.path)
    unnamed = stored_turn(other, {b"a": b"unnamed"}, "unnamed", trust=False)

    for _ in range(2):
        collect(repository, GitRunner(repository.path), OneLock(), lambda: roots)
        assert files_of(other, unnamed) == {b"a": b"unnamed"}
    stored_turn(other, {b"a": b"next"}, "next")
    collect(repository, GitRunner(repository.path), OneLock(), lambda: roots)
    assert not repository.contains(unnamed)
    assert_all(repository, kept)


def test_mark_of_a_dead_writer_is_removed_in_the_end(repository: ShadowRepository) -> None:
    turns(repository, 1)
    with repository.writer(trust=False) as writer:
        writer.blob(b"x")
        writer.finish()
    (keep,) = [f"{repository.packs.path}/{name}" for name in pack_names(repository) if name.endswith(".keep")]
    Path(keep).write_text("nbrewind 4194305\n")
    git_runner = GitRunner(repository.path)
    collect(repository, git_runner, OneLock(), repository.refs)
    assert os.path.exists(keep)
    os.utime(keep, (time.time() - 7200,) * 2)
    collect(repository, git_runner, OneLock(), repository.refs)
    assert not os.path.exists(keep)


def test_collection_refuses_to_drop_everything(repository: ShadowRepository) -> None:
    expected = turns(repository, 2)
    with pytest.raises(StoreError, match="Nothing was removed"):
        collect(repository, GitRunner(repository.path), OneLock(), dict)
    assert_all(repository, expected)


def test_collection_with_a_missing_object_removes_nothing(repository: ShadowRepository) -> None:
    expected = turns(repository, 3)
    before = pack_names(repository)
    lock = OneLock()
    with pytest.raises(StoreError):
        collect(repository, GitRunner(repository.path), lock, lambda: {POINTS + "x": ObjectId("1" * 40)})
    assert (pack_names(repository), lock.generation) == (before, 0)
    assert_all(repository, expected)
    assert os.listdir(repository.incoming) == []


def test_collection_that_does_not_get_the_lock_leaves_no_second_copy(repository: ShadowRepository) -> None:
    class Busy(OneLock):
        @contextlib.contextmanager
        def exclusive(self, timeout: float = 0.0) -> Iterator[None]:
            raise RewindRefused(RefusalReason.BUSY, "busy")
            yield

    expected = turns(repository, 3)
    before = pack_names(repository)
    with pytest.raises(RewindRefused):
        collect(repository, GitRunner(repository.path), Busy(), repository.refs)
    assert pack_names(repository) == before
    assert os.listdir(repository.incoming) == []
    assert_all(repository, expected)


def test_checks_find_a_flipped_bit_with_and_without_git(repository: ShadowRepository) -> None:
    turns(repository, 3)
    assert fsck(repository, GitRunner(repository.path)) == ()
    assert fsck(repository, GitRunner(repository.path), full=False) == ()
    assert check_packs(repository) == ()
    path = Path(repository.packs.packs()[0].path + ".pack")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert check_packs(ShadowRepository.open(repository.path), objects=False) != ()
    assert fsck(repository, GitRunner(repository.path)) != ()


def test_checks_find_a_missing_object(repository: ShadowRepository) -> None:
    turns(repository, 1)
    repository.set_ref(POINTS + "x", ObjectId("1" * 40))
    assert fsck(repository, GitRunner(repository.path), full=False) != ()


def maintained(path: str) -> None:
    """One of everything that maintenance does."""
    repository = ShadowRepository.open(path)
    repack(repository, GitRunner(path))
    wanted = {name: oid for name, oid in repository.refs().items() if not name.endswith("/0")}
    collect(repository, GitRunner(path), OneLock(), lambda: wanted)


@pytest.mark.slow
def test_killed_maintenance_loses_nothing_and_the_next_one_finishes(tmp_path: Path) -> None:
    def prepared(name: str) -> tuple[ShadowRepository, dict[ObjectId, dict[bytes, bytes]]]:
        repository = ShadowRepository.open(str(tmp_path / name))
        return repository, dict(list(turns(repository, 4).items())[1:])

    # Imported here, once: each child would do it again.
    assert GitRunner(str(tmp_path)).available()
    for point in sweep_points(partial(maintained, prepared("counted")[0].path)):
        repository, expected = prepared(f"{point}")
        assert run_forked(partial(maintained, repository.path), KillAt(point)) == KILLED
        for commit, files in expected.items():
            assert files_of(repository, commit) == files, point
        again = ShadowRepository.open(repository.path)
        assert all(files_of(again, commit) == files for commit, files in expected.items())
        maintained(repository.path)
        assert all(files_of(again, commit) == files for commit, files in expected.items())
        assert count_objects(again).unfinished == 0
    assert_sound(repository)


@pytest.mark.slow
@pytest.mark.parametrize("number", [28, 5])
def test_failing_maintenance_loses_nothing(tmp_path: Path, number: int) -> None:
    path = str(tmp_path / "counted")
    turns(ShadowRepository.open(path), 4)
    for point in range(len(calls_of(partial(maintained, path)))):
        repository = ShadowRepository.open(str(tmp_path / f"{point}"))
        expected = dict(list(turns(repository, 4).items())[1:])
        with installed(ErrorAt(point, number)), contextlib.suppress(StoreError):
            maintained(repository.path)
        for reader in (repository, ShadowRepository.open(repository.path)):
            assert all(files_of(reader, commit) == files for commit, files in expected.items()), point
    assert_sound(repository)


def test_git_that_dies_leaves_nothing_behind(repository: ShadowRepository) -> None:
    expected = turns(repository, 3)
    code = (
        "import os, signal, sys\n"
        "from nbrewind.store.shadow import ShadowRepository\n"
        "from nbrewind.store.shadow.git import GitRunner\n"
        "from nbrewind.store.shadow.maintenance import repack\n"
        "from nbrewind.store.shadow.quarantine import Quarantine\n"
        "Quarantine.harden = lambda self, pack: os.kill(os.getpid(), signal.SIGKILL)\n"
        "repack(ShadowRepository.open(sys.argv[1]), GitRunner(sys.argv[1]))\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    assert (
        subprocess.run([sys.executable, "-c", code, repository.path], env=environment, check=False).returncode == KILLED
    )
    assert count_objects(repository).unfinished == 1

    again = ShadowRepository.open(repository.path)
    assert count_objects(again).unfinished == 0
    assert_all(again, expected)
