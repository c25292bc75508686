"""Random histories of a folder: every snapshot equals what stands, and every difference is the real one."""

from __future__ import annotations

import itertools
import os
import shutil
import stat
import time
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbrewind.model import EntryKind, FilesAddress
from nbrewind.resources.files.tree import SnapshotTree, diff
from tests.unit.resources.files.lab import Lab

# Few names, so that operations meet; folders and files share them, so that one takes the other's place.
PATHS = st.lists(st.sampled_from(["a", "B", "lat\udce9", "*"]), min_size=1, max_size=3).map("/".join)
CONTENTS = st.binary(max_size=3)

Model = dict[str, tuple[str, int, int, bytes]]
Act = Callable[[Lab], None]


def write(path: str, content: bytes) -> Act:
    def act(lab: Lab) -> None:
        os.makedirs(os.path.dirname(lab.path(path)), exist_ok=True)
        # Never waits for the other end of a FIFO.
        fd = os.open(lab.path(path), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK, 0o644)
        os.write(fd, content)
        os.close(fd)

    return act


def rewrite(path: str, content: bytes) -> Act:
    def act(lab: Lab) -> None:
        stamps = os.stat(lab.path(path))
        with open(lab.path(path), "r+b") as file:
            file.write(content)
        os.utime(lab.path(path), ns=(stamps.st_atime_ns, stamps.st_mtime_ns))

    return act


def replace(path: str, content: bytes) -> Act:
    def act(lab: Lab) -> None:
        with open(f"{lab.path(path)}.tmp", "wb") as file:
            file.write(content)
        os.replace(f"{lab.path(path)}.tmp", lab.path(path))

    return act


def make_folder(path: str) -> Act:
    return lambda lab: os.makedirs(lab.path(path))


def remove(path: str) -> Act:
    def act(lab: Lab) -> None:
        if stat.S_ISDIR(os.lstat(lab.path(path)).st_mode):
            shutil.rmtree(lab.path(path))
        else:
            os.remove(lab.path(path))

    return act


def rename(old: str, new: str) -> Act:
    return lambda lab: os.rename(lab.path(old), lab.path(new))


def symlink(path: str, to: str) -> Act:
    return lambda lab: os.symlink(to, lab.path(path))


def hard_link(old: str, new: str) -> Act:
    return lambda lab: os.link(lab.path(old), lab.path(new), follow_symlinks=False)


def change_mode(path: str, mode: int) -> Act:
    def act(lab: Lab) -> None:
        if not os.path.islink(lab.path(path)):
            os.chmod(lab.path(path), mode)

    return act


def fifo(path: str) -> Act:
    return lambda lab: os.mkfifo(lab.path(path))


def attach_again() -> Act:
    return lambda lab: lab.restart(lab.tracker.address)


ACTS = st.one_of(
    st.builds(write, PATHS, CONTENTS),
    st.builds(write, PATHS, CONTENTS),
    st.builds(rewrite, PATHS, CONTENTS),
    st.builds(replace, PATHS, CONTENTS),
    st.builds(make_folder, PATHS),
    st.builds(remove, PATHS),
    st.builds(rename, PATHS, PATHS),
    st.builds(symlink, PATHS, PATHS),
    st.builds(hard_link, PATHS, PATHS),
    st.builds(change_mode, PATHS, st.sampled_from([0o700, 0o755, 0o600, 0o4755])),
    st.builds(fifo, PATHS),
    st.builds(attach_again),
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.tuples(st.lists(ACTS, min_size=1, max_size=8), st.booleans()), min_size=2, max_size=6),
)
def test_every_snapshot_equals_what_stands_and_every_difference_is_the_real_one(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[list[Act], bool]]
) -> None:
    lab = Lab(tmp_path_factory.mktemp("any"))
    lab.snap()
    assert lab.tracker.address is not None
    taken: list[tuple[FilesAddress, Model]] = [(lab.tracker.address, {})]
    try:
        for acts, trust in history:
            for act in acts:
                try:
                    act(lab)
                except OSError:
                    continue
            taken.append(take(lab, taken[-1], trust=trust))
        for (first, then), (second, now) in itertools.permutations(taken, 2):
            compare(lab, first, then, second, now)
    finally:
        shutil.rmtree(lab.base, ignore_errors=True)


def take(lab: Lab, last: tuple[FilesAddress, Model], *, trust: bool) -> tuple[FilesAddress, Model]:
    """Take a snapshot, and hold it against the disk."""
    before, now = last[1], model(lab)
    snapshot = lab.snap(trust=trust, age=False)
    address = lab.tracker.address
    assert address is not None

    assert stored(lab, address) == now
    assert {row.path for row in snapshot.changes} == real_difference(before, now)
    for row in snapshot.changes:
        assert row.before == SnapshotTree(lab.repository, last[0]).lookup(row.path)
        assert row.after == SnapshotTree(lab.repository, address).lookup(row.path)
        assert snapshot.ctimes[row.path] <= time.time_ns()
    assert (snapshot.address is not None) == (before != now or links(lab, last[0]) != links(lab, address))
    return address, now


def compare(lab: Lab, first: FilesAddress, then: Model, second: FilesAddress, now: Model) -> None:
    """Hold the difference of two snapshots against what stood when they were taken."""
    trees = SnapshotTree(lab.repository, first), SnapshotTree(lab.repository, second)

    rows = list(diff(*trees))

    assert {path for path, *_ in rows} == real_difference(then, now)
    assert len({path for path, *_ in rows}) == len(rows)
    for path, before, after in rows:
        assert (before, after) == (trees[0].lookup(path), trees[1].lookup(path))


def model(lab: Lab) -> Model:
    """Return what stands on the disk, read in the plainest way."""
    found: Model = {}
    for name, entry in lab.tree_on_disk().items():
        content, mtime = b"", os.lstat(lab.path(name)).st_mtime_ns
        if entry.kind == "file":
            content = lab.read(name)
        elif entry.kind == "symlink":
            content = os.fsencode(os.readlink(lab.path(name)))
        else:
            mtime = 0
        found[os.fsdecode(name)] = (entry.kind, 0 if entry.kind == "symlink" else entry.mode, mtime, content)
    return found


def stored(lab: Lab, address: FilesAddress) -> Model:
    """Return what a checkpoint holds, in the same form."""
    found: Model = {}
    for path, state in SnapshotTree(lab.repository, address).walk():
        kept = state.kind in (EntryKind.FILE, EntryKind.SYMLINK)
        content = b"".join(lab.repository.content(state)) if kept else b""
        mode = 0 if state.kind is EntryKind.SYMLINK else state.mode
        found[path] = (str(state.kind), mode, state.mtime_ns, content)
    return found


def links(lab: Lab, address: FilesAddress) -> object:
    return SnapshotTree(lab.repository, address).links()


def real_difference(then: Model, now: Model) -> set[str]:
    """Return the paths at which something else stands; times do not count."""

    def told(model: Model, path: str) -> object:
        row = model.get(path)
        return row and (row[0], row[1], row[3])

    return {path for path in {**then, **now} if told(then, path) != told(now, path)}
