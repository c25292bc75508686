"""A pack is whole without its index: a damaged or lost one is made again from it, and the damaged one is kept."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from nbrewind import fs
from nbrewind.model import ObjectId
from nbrewind.store.shadow import ShadowRepository
from nbrewind.store.shadow import index as indexing
from nbrewind.store.shadow.inventory import take_inventory
from nbrewind.store.shadow.maintenance import maintaining, mend
from tests.unit.store.shadow.shadows import assert_sound, files_of, git, pack_names, stored_turn

FILES = {b"a": b"first " * 400, b"b": b"second", b"c": bytes(range(256)) * 9}


def only(repository: ShadowRepository, extension: str) -> Path:
    (name,) = [name for name in pack_names(repository) if name.endswith(extension)]
    return Path(repository.packs.path, name)


def flip(path: Path, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.chmod(0o600)
    path.write_bytes(data)


def age(path: Path) -> None:
    """Make *path* older than any writer between two renames."""
    os.utime(path, (1e9, 1e9))


def fresh(repository: ShadowRepository) -> ShadowRepository:
    return ShadowRepository.open(repository.path)


def test_index_made_from_a_pack_of_ours_is_the_one_that_was_written(repository: ShadowRepository) -> None:
    stored_turn(repository, FILES)

    made = take_inventory(str(only(repository, ".pack")))

    assert made.whole
    assert made.data == only(repository, ".idx").read_bytes()


@pytest.mark.parametrize("option", ["true", "false"])
def test_index_made_from_a_pack_of_gits_deltas_is_gits(repository: ShadowRepository, option: str) -> None:
    chosen = random.Random(3)
    text = b"\n".join(b"%d" % chosen.randrange(10**9) for _ in range(3000))
    for number in range(8):
        stored_turn(repository, {b"t": text[: number * 900] + b"changed" + text[number * 900 :]}, str(number))
    git(repository, "-c", f"repack.useDeltaBaseOffset={option}", "repack", "-adfq", "--depth=50")

    made = take_inventory(str(only(repository, ".pack")))

    assert made.whole
    assert made.data == only(repository, ".idx").read_bytes()


def test_any_wrong_bit_of_an_index_hides_nothing_and_promises_nothing_wrong(repository: ShadowRepository) -> None:
    commit = stored_turn(repository, FILES)
    index = only(repository, ".idx")
    right, chosen = index.read_bytes(), random.Random(11)
    bits = [chosen.randrange(len(right) * 8) for _ in range(150)]

    for bit in [0, 7, *bits]:
        flip(index, bit)
        reader = fresh(repository)
        assert files_of(reader, commit) == FILES, f"bit {bit}"
        assert not reader.contains(ObjectId("0" * 40))
        assert reader.contains(commit)
        index.write_bytes(right)


def test_damaged_index_is_replaced_by_the_right_one_and_kept_aside(repository: ShadowRepository) -> None:
    commit = stored_turn(repository, FILES)
    index = only(repository, ".idx")
    right = index.read_bytes()
    flip(index, len(right) * 4)
    wrong = index.read_bytes()
    reader = fresh(repository)
    reader.read(commit)

    said = mend(reader)

    assert said == (
        f"the index of {index.stem} was damaged and has been made again from the pack, which is whole; "
        "the damaged one is kept in shadow/damaged",
    )
    assert index.read_bytes() == right
    assert [path.read_bytes() for path in Path(repository.path, "damaged").iterdir()] == [wrong]
    assert_sound(repository)
    assert files_of(reader, commit) == FILES
    assert mend(reader, thorough=True) == ()


def test_lost_index_is_made_again(repository: ShadowRepository) -> None:
    commit = stored_turn(repository, FILES)
    index = only(repository, ".idx")
    right = index.read_bytes()
    index.unlink()
    age(only(repository, ".pack"))

    reader = fresh(repository)
    assert files_of(reader, commit) == FILES
    said = mend(reader)

    assert said == (f"the index of {index.stem} was missing and has been made again from the pack, which is whole",)
    assert index.read_bytes() == right
    assert reader.contains(commit)


def test_pack_whose_writer_may_be_about_to_take_it_back_is_read_but_not_relied_on(
    repository: ShadowRepository,
) -> None:
    commit = stored_turn(repository, FILES)
    only(repository, ".idx").unlink()
    reader = fresh(repository)

    assert files_of(reader, commit) == FILES
    assert not reader.contains(commit)
    assert mend(reader, thorough=True) == ()
    assert not [name for name in pack_names(repository) if name.endswith(".idx")]


def test_large_index_is_proved_only_when_something_is_not_found(
    repository: ShadowRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = stored_turn(repository, FILES)
    index = only(repository, ".idx")
    right = index.read_bytes()
    monkeypatch.setattr(indexing, "_MAPPED_FROM", 0)

    for bit in range(8 * 8, len(right) * 8, 397):
        index.write_bytes(right)
        flip(index, bit)
        assert files_of(fresh(repository), commit) == FILES, f"bit {bit}"


def test_index_and_pack_damaged_together_leave_what_is_whole_readable(repository: ShadowRepository) -> None:
    commit = stored_turn(repository, FILES)
    flip(only(repository, ".idx"), 8000)
    pack = only(repository, ".pack")
    flip(pack, (pack.stat().st_size - 10) * 8)
    reader = fresh(repository)

    assert files_of(reader, commit) == FILES
    (said,) = mend(reader)

    assert said.endswith("is damaged, and the pack is damaged too: what is whole in it is still read")
    assert not os.path.lexists(f"{repository.path}/damaged")


def test_index_is_not_written_while_somebody_else_does_maintenance(repository: ShadowRepository) -> None:
    commit = stored_turn(repository, FILES)
    index = only(repository, ".idx")
    flip(index, 9000)
    wrong = index.read_bytes()
    reader = fresh(repository)
    lock = fs.FileLock(f"{repository.path}/maintenance.lock")
    assert lock.acquire()
    try:
        said = mend(reader, thorough=True)
    finally:
        lock.release()

    assert said == (f"the index of {index.stem} is damaged; its pack is read without it",)
    assert index.read_bytes() == wrong
    assert files_of(reader, commit) == FILES
    with maintaining(reader):
        pass
