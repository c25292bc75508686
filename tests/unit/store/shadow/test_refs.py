"""References, read and written in process and by git."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from nbrewind.errors import StoreError
from nbrewind.model import ObjectId
from nbrewind.store.shadow import ShadowRepository
from nbrewind.store.shadow.maintenance import reconcile_refs
from tests.faults import ErrorAt, KillAt, installed, run_forked, sweep_points
from tests.unit.store.shadow.shadows import git, stored_turn

POINTS = "refs/nbrewind/points/"


def git_refs(repository: ShadowRepository) -> dict[str, str]:
    lines = git(repository, "for-each-ref", "--format=%(refname) %(objectname)").decode().splitlines()
    return dict(line.split(" ") for line in lines)


def test_git_sees_our_references(repository: ShadowRepository) -> None:
    commit = stored_turn(repository, {b"a": b"1"}, "01abc-def")
    assert git_refs(repository) == {POINTS + "01abc-def": commit} == repository.refs()


def test_packed_references_are_read_and_loose_ones_win(repository: ShadowRepository) -> None:
    first = stored_turn(repository, {b"a": b"1"}, "1")
    stored_turn(repository, {b"a": b"2"}, "2")
    git(repository, "pack-refs", "--all")
    third = stored_turn(repository, {b"a": b"3"}, "2")

    assert repository.refs(POINTS) == {POINTS + "1": first, POINTS + "2": third} == git_refs(repository)
    assert repository.refs("refs/nbrewind/side/") == {}


def test_deleted_reference_is_gone_packed_or_not(repository: ShadowRepository) -> None:
    for name in ("1", "2", "3"):
        stored_turn(repository, {b"a": name.encode()}, name)
        if name == "2":
            git(repository, "pack-refs", "--all")
    for name in ("1", "3", "none"):
        repository.delete_ref(POINTS + name)
    assert set(git_refs(repository)) == {POINTS + "2"}


@pytest.mark.parametrize(
    "name",
    ["HEAD", "../HEAD", "refs/../HEAD", "refs/nbrewind/a..b", "refs/nbrewind//a", "refs/nbrewind/a.lock", "refs/a b"],
)
def test_other_names_are_refused(repository: ShadowRepository, name: str) -> None:
    with pytest.raises(ValueError, match="reference"):
        repository.set_ref(name, ObjectId("0" * 40))
    assert Path(f"{repository.path}/HEAD").read_text() == "ref: refs/heads/nbrewind\n"


def test_reconciling_makes_exactly_what_the_logs_say_and_leaves_others(repository: ShadowRepository) -> None:
    commits = {name: stored_turn(repository, {b"a": name.encode()}, name) for name in ("1", "2", "3")}
    git(repository, "update-ref", "refs/heads/mine", commits["1"])
    wanted = {POINTS + "2": commits["2"], POINTS + "4": commits["3"], "refs/nbrewind/side/4": commits["1"]}

    reconcile_refs(repository, wanted)

    assert git_refs(repository) == wanted | {"refs/heads/mine": commits["1"]}
    assert os.listdir(f"{repository.path}/refs/nbrewind/points") == []


def test_reconciling_sweeps_what_a_killed_writer_left(repository: ShadowRepository) -> None:
    stored_turn(repository, {b"a": b"1"}, "1")
    run_forked(partial(repository.set_ref, POINTS + "2", ObjectId("0" * 40)), KillAt(2))
    assert len(os.listdir(f"{repository.path}/{POINTS}")) == 2
    assert repository.refs() == git_refs(repository)
    reconcile_refs(repository, repository.refs())
    assert os.listdir(f"{repository.path}/{POINTS}") == []


def test_reconciling_refuses_names_that_are_not_ours(repository: ShadowRepository) -> None:
    with pytest.raises(ValueError, match="none of our"):
        reconcile_refs(repository, {"refs/heads/x": ObjectId("0" * 40)})


def test_killed_reconciling_never_loses_a_wanted_reference(tmp_path: Path) -> None:
    def prepared(number: int) -> tuple[ShadowRepository, dict[str, ObjectId]]:
        repository = ShadowRepository.open(str(tmp_path / f"{number}"))
        commits = [stored_turn(repository, {b"a": b"%d" % turn}, f"{turn}") for turn in range(3)]
        git(repository, "pack-refs", "--all")
        stored_turn(repository, {b"a": b"2"}, "1")
        return repository, {POINTS + "0": commits[0], POINTS + "1": commits[1]}

    repository, wanted = prepared(-1)
    for point in sweep_points(partial(reconcile_refs, repository, wanted)):
        repository, wanted = prepared(point)
        run_forked(partial(reconcile_refs, repository, wanted), KillAt(point))
        assert set(repository.refs()) >= set(wanted)
        reconcile_refs(repository, wanted)
        assert repository.refs() == wanted


def test_full_disk_is_a_store_error(repository: ShadowRepository) -> None:
    with installed(ErrorAt(0, 28)), pytest.raises(StoreError):
        repository.set_ref(POINTS + "1", ObjectId("0" * 40))
