from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbrewind.resources.files import tracker as tracking
from nbrewind.resources.files import watch as watching
from nbrewind.resources.files.scan import scan
from nbrewind.resources.files.watch import Watch
from tests.unit.resources.files.lab import Lab


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    monkeypatch.setattr(tracking, "_WORTH_WATCHING", 1)
    lab = Lab(tmp_path)
    lab.write({"a/x": "1", "a/sub/y": "2", "b/z": "3"})
    yield lab
    lab.tracker.close()


def watched(lab: Lab) -> Watch:
    watch = Watch(str(lab.root))
    watch.begin()
    scan(str(lab.root), lab.coverage, on_folder=watch.add)
    watch.trust()
    return watch


def test_nothing_is_known_before_a_full_walk(lab: Lab) -> None:
    with Watch(str(lab.root)) as watch:
        assert watch.dirty() is None
        watch.add("")
        assert watch.dirty() is None


def test_each_change_makes_its_own_folder_dirty(lab: Lab) -> None:
    with watched(lab) as watch:
        assert watch.dirty() == set()
        lab.write({"a/x": "11"})
        assert watch.dirty() == {"a"}
        os.chmod(lab.path("a/sub/y"), 0o600)
        os.utime(lab.path("b/z"))
        assert watch.dirty() >= {"a/sub", "b"}
        os.rename(lab.path("a/x"), lab.path("b/x"))
        assert watch.dirty() == {"a", "b"}
        os.mkdir(lab.path("b/new"))
        assert watch.dirty() == {"b"}
        os.remove(lab.path("b/x"))
        assert watch.dirty() == {"b"}
        assert watch.dirty() == set()


def test_a_folder_that_goes_and_comes_back_is_dirty_with_its_parent(lab: Lab) -> None:
    with watched(lab) as watch:
        shutil.rmtree(lab.path("a/sub"))
        os.mkdir(lab.path("a/sub"))

        assert watch.dirty() == {"a", "a/sub"}
        watch.add("a/sub")
        lab.write({"a/sub/new": "1"})
        assert watch.dirty() == {"a/sub"}


def test_a_renamed_folder_ends_the_trust(lab: Lab) -> None:
    with watched(lab) as watch:
        os.rename(lab.path("a"), lab.path("c"))

        assert watch.dirty() is None
        assert watch.dirty() is None


def test_lost_events_end_the_trust(lab: Lab) -> None:
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if limit > 100_000:
        pytest.skip("the queue is too long to fill here")
    with watched(lab) as watch:
        # Equal events in a row are told once, so two files take turns.
        program = f"import os\nfor _ in range({limit}): os.utime('a/x'); os.utime('a/sub/y')"
        subprocess.run([sys.executable, "-S", "-c", program], cwd=lab.root, check=True)

        assert watch.dirty() is None


def test_no_more_watches_end_it_for_good(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    with watched(lab) as watch:
        monkeypatch.setattr(watching.ctypes, "get_errno", lambda: 28)
        watch.add("no/such/folder")

        assert not watch.usable
        assert watch.dirty() is None


def test_a_forked_child_takes_no_events_from_its_parent(lab: Lab) -> None:
    with watched(lab) as watch:
        lab.write({"a/x": "11"})
        pid = os.fork()
        if pid == 0:
            os._exit(0 if watch.dirty() is None else 1)
        assert os.waitpid(pid, 0)[1] == 0

        assert watch.dirty() == {"a"}


def test_a_closed_watch_knows_nothing(lab: Lab) -> None:
    watch = watched(lab)
    watch.close()
    watch.close()

    assert watch.dirty() is None


def test_the_tracker_goes_by_hints_and_a_full_scan_is_there_for_the_asking(lab: Lab) -> None:
    lab.snap()
    lab.snap()
    lab.write({"a/x": "changed"})

    hinted = lab.tracker.scan()

    assert not hinted.full
    assert hinted.entries == scan(str(lab.root), lab.coverage).entries
    assert lab.tracker.scan(full=True).full


@pytest.mark.parametrize(("cheap", "every"), [(1, 51), (2000, 9)])
def test_now_and_then_a_scan_looks_everywhere(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, cheap: int, every: int
) -> None:
    monkeypatch.setattr(tracking, "_CHEAP", cheap)
    lab.snap()
    lab.snap()

    fulls = [lab.tracker.scan().full for _ in range(3 * every)]
    assert [place % every for place, full in enumerate(fulls) if full] == [every - 1] * 3


def test_a_small_workspace_is_walked_in_full_at_any_doubt(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.snap()
    lab.snap()

    assert lab.tracker.scan(doubtful=True).full
    monkeypatch.setattr(tracking, "_CHEAP", 1)
    assert not lab.tracker.scan(doubtful=True).full


def test_a_new_link_to_a_file_elsewhere_is_found_at_both_names(lab: Lab) -> None:
    lab.snap()
    lab.snap()
    os.link(lab.path("b/z"), lab.path("a/z"))
    assert lab.changes() == {"a/z": ("", "3")}
    with open(lab.path("a/z"), "r+") as file:
        file.write("9")

    assert lab.changes() == {"a/z": ("3", "9"), "b/z": ("3", "9")}
    assert lab.tracker.last_scan is not None
    assert not lab.tracker.last_scan.full


def test_a_write_through_a_hard_link_from_elsewhere_is_seen(lab: Lab, tmp_path: Path) -> None:
    os.link(lab.path("b/z"), tmp_path / "elsewhere")
    lab.snap()
    lab.snap()
    with open(tmp_path / "elsewhere", "r+") as file:
        file.write("9")

    assert lab.changes() == {"b/z": ("3", "9")}
    assert lab.tracker.last_scan is not None
    assert not lab.tracker.last_scan.full


def test_workspaces_of_a_few_files_are_always_walked_in_full(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracking, "_WORTH_WATCHING", 2000)
    lab.snap()
    lab.snap()

    assert lab.tracker.scan().full


def test_hinted_snapshots_equal_the_disk_whatever_happens(lab: Lab) -> None:
    chance = random.Random(7)
    names = [f"{top}/{name}" for top in ("a", "b", "a/sub", "b/new", "b/new/deep") for name in ("x", "y", "dir")]
    hinted = 0
    for _ in range(60):
        for _ in range(chance.randrange(1, 5)):
            path = lab.path(chance.choice(names))
            try:
                match chance.randrange(7):
                    case 0 | 1:
                        lab.write({os.path.relpath(path, lab.root): str(chance.random())})
                    case 2:
                        os.makedirs(path, exist_ok=True)
                    case 3:
                        shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
                    case 4:
                        os.rename(path, lab.path(chance.choice(names)))
                    case 5:
                        os.chmod(path, chance.choice([0o700, 0o755]))
                    case 6:
                        os.link(path, lab.path(chance.choice(names)))
            except OSError:
                continue
        lab.snap(age=False)
        assert lab.tracker.last_scan is not None
        hinted += not lab.tracker.last_scan.full
        assert {os.fsencode(path) for path, _ in lab.tree().walk()} == set(lab.tree_on_disk())
        assert lab.tracker.address is not None
        assert lab.tracker.last_scan.entries == scan(str(lab.root), lab.coverage).entries
    assert hinted > 20
    assert lab.tracker.address.tree == lab.write_tree()
