from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from nbrewind.model import EntryKind, Note
from nbrewind.resources.files.coverage import Coverage
from nbrewind.resources.files.mounts import Mount, mount_of, mounts
from nbrewind.resources.files.scan import Scan, scan, signature
from tests.builders import Symlink
from tests.unit.resources.files.lab import Lab


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def look(lab: Lab, **options: object) -> Scan:
    return scan(str(lab.root), lab.coverage, **options)  # type: ignore[arg-type]  # passed on as given


def test_every_entry_has_the_signature_that_lstat_gives(lab: Lab) -> None:
    lab.write({"a": "1", "d/e/b": "22", "link": Symlink("d"), b"lat\xe9": "x"})
    os.mkfifo(lab.path("pipe"))

    entries = look(lab).entries

    assert entries == {os.fsdecode(name): signature(os.lstat(lab.path(name))) for name in lab.tree_on_disk()}
    assert entries["a"].kind is EntryKind.FILE
    assert entries["d/e"].kind is EntryKind.DIRECTORY
    assert entries["link"].kind is EntryKind.SYMLINK
    assert entries["pipe"].kind is EntryKind.SPECIAL
    assert (entries["d/e/b"].size, entries["d/e/b"].mode) == (2, 0o644)


def test_a_scan_answers_for_single_paths(lab: Lab) -> None:
    lab.write({"d/b": "22"})
    seen = look(lab)

    assert seen.signature("d/b") == signature(os.lstat(lab.path("d/b")))
    assert seen.signature("d/nothing") is None
    assert seen.signature("no/where") is None
    assert len(seen) == 2


def test_what_is_not_covered_is_listed_once_and_not_entered(lab: Lab) -> None:
    lab.write({"a": "1", "venv/lib/x.py": "x", "sub/__pycache__/y.pyc": "y", ".git/HEAD": "h", "app.db-shm": "s"})

    seen = look(lab)

    assert seen.entries.keys() == {"a", "sub"}
    assert seen.excluded == (
        Note(".git", "git's own data"),
        Note("app.db-shm", "SQLite's shared memory"),
        Note("venv", "excluded by default"),
        Note("sub/__pycache__", "excluded by default"),
    )


def test_a_name_that_changes_its_kind_is_judged_anew(lab: Lab) -> None:
    lab.write({"venv": "a file"})
    first = look(lab)
    os.remove(lab.path("venv"))
    lab.write({"venv/x": "1"})

    assert first.entries.keys() == {"venv"}
    assert look(lab, previous=first).entries == {}


def test_unchanged_listings_are_used_again_and_changed_ones_are_not(lab: Lab) -> None:
    lab.write({"d1/a": "1", "d2/b": "2"})
    first = look(lab)
    lab.write({"d2/b": "changed"})

    second = look(lab, previous=first)

    assert second.folders["d1"] is first.folders["d1"]
    assert second.folders["d2"] is not first.folders["d2"]
    assert second.entries == look(lab).entries


def test_a_hinted_scan_looks_only_where_told_and_finds_what_came_and_went_below(lab: Lab) -> None:
    lab.write({"d1/a": "1", "d2/b": "2", "d3/sub/deep/c": "3", "quiet/q": "q"})
    first = look(lab)
    lab.write({"d2/b": "22", "d2/new/tree/x": "x", "quiet/q": "changed, but nobody said so"})
    shutil.rmtree(lab.path("d3/sub"))
    os.remove(lab.path("d1/a"))

    hinted = look(lab, previous=first, dirty={"d1", "d2", "d3", "d3/sub", "d3/sub/deep", "nowhere"})

    truth = look(lab).entries
    assert not hinted.full
    assert hinted.folders["quiet"] is first.folders["quiet"]
    assert {**hinted.entries, "quiet/q": None} == {**truth, "quiet/q": None}
    assert hinted.folders.keys() == look(lab).folders.keys()


def test_a_hinted_scan_sees_a_folder_become_a_file_and_come_back(lab: Lab) -> None:
    lab.write({"d/sub/a": "1"})
    first = look(lab)
    shutil.rmtree(lab.path("d"))
    lab.write({"d": "file"})
    second = look(lab, previous=first, dirty={"", "d", "d/sub"})
    assert second.folders.keys() == {""}
    os.remove(lab.path("d"))
    lab.write({"d/sub/b": "2"})

    third = look(lab, previous=second, dirty={""})

    assert third.entries == look(lab).entries


def test_each_folder_is_announced_before_it_is_listed(lab: Lab) -> None:
    lab.write({"d/e/f": "1", "venv/x": "1"})
    told: list[str] = []

    look(lab, on_folder=told.append)

    assert sorted(told) == ["", "d", "d/e"]


@pytest.mark.parametrize("budget", [{"max_workspace_files": 5}, {"max_workspace_size": 8}])
def test_a_workspace_over_budget_is_given_up_unless_in_focus(lab: Lab, budget: dict[str, int]) -> None:
    lab.restart(**budget)
    lab.write({f"f{number}": "xx" for number in range(6)})

    assert look(lab).truncated
    lab.coverage.narrow("too much")
    assert not look(lab).truncated
    assert len(look(lab)) == 6


def test_files_beyond_the_limit_do_not_count_for_the_size_of_the_workspace(lab: Lab) -> None:
    lab.restart(max_workspace_size=100, max_file_size=50)
    lab.write({"big": "x" * 1000, "small": "x" * 50})

    assert not look(lab).truncated


def test_a_budget_is_kept_over_hinted_scans(lab: Lab) -> None:
    lab.restart(max_workspace_files=10)
    lab.write({f"d/{number}": "x" for number in range(5)})
    first = look(lab)
    lab.write({f"d/more{number}": "x" for number in range(3)})
    second = look(lab, previous=first, dirty={"d"})
    assert not second.truncated
    lab.write({f"d/most{number}": "x" for number in range(3)})

    assert look(lab, previous=second, dirty={"d"}).truncated


def test_a_symlink_in_the_place_of_the_workspace_top_is_no_way_in(lab: Lab) -> None:
    lab.write({"d/x": "1"})
    os.rename(lab.path("d"), lab.path("real"))
    os.symlink("real", lab.path("d"))

    assert look(lab).folders.keys() == {"", "real"}


def test_another_range_is_scanned_from_the_start(lab: Lab) -> None:
    lab.write({"a.log": "1", "b": "2"})
    first = look(lab)
    other = Coverage(lab.settings.__class__(**{
        **{name: getattr(lab.settings, name) for name in lab.settings.__dataclass_fields__}, "exclude": ("*.log",)
    }))  # fmt: skip

    assert scan(str(lab.root), other, previous=first).entries.keys() == {"b"}


def test_a_missing_workspace_is_empty(lab: Lab) -> None:
    os.rmdir(lab.root)

    assert look(lab).entries == {}


def test_mounts_are_told_with_their_kinds() -> None:
    table = mounts()

    assert any(mount.point == "/" for mount in table)
    assert mount_of("/proc/self").pseudo
    assert not mount_of("/").network
    assert mount_of("/anything/else", (Mount("/any", "nfs4"), Mount("/", "ext4"))).type == "ext4"
    assert mount_of("/any/thing", (Mount("/any", "nfs4"), Mount("/", "ext4"))).network
    assert Mount("/", "nfs").slack_ns > Mount("/", "ext4").slack_ns


def test_another_file_system_that_is_no_real_one_is_not_entered(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.write({"a": "1"})
    os.mkdir(lab.path("proc"))
    if os.geteuid() != 0 or os.system(f"mount -t proc none '{lab.path('proc')}' 2>/dev/null"):
        pytest.skip("nothing can be mounted here")
    try:
        seen = look(lab)
    finally:
        os.system(f"umount '{lab.path('proc')}'")

    assert seen.entries.keys() == {"a"}
    assert seen.excluded == (Note("proc", "another file system (proc)"),)
