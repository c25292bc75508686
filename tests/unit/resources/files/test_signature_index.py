from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nbrewind.model import FilesAddress
from nbrewind.resources.files import signature_index
from nbrewind.resources.files.intake import Intake
from nbrewind.resources.files.mounts import Mount
from nbrewind.resources.files.signature_index import SignatureIndex
from nbrewind.resources.files.tracker import FileTracker
from tests.builders import Symlink
from tests.unit.resources.files.lab import Lab

FILES: dict[str | bytes, str | bytes | Symlink | None] = {
    "a.txt": "one",
    "sub/b.txt": "two",
    "sub/deep/c": "three",
    b"not-utf8-\xff": "four",
    "link": Symlink("a.txt"),
    "empty": None,
}


class IndexLab(Lab):
    """A lab whose trackers keep signatures in `index`."""

    @property
    def index(self) -> Path:
        return self.base / "index"

    def restart(self, address: FilesAddress | None = None, **settings: object) -> None:
        super().restart(None, **settings)
        self.tracker = FileTracker(str(self.root), self.coverage, self.repository, SignatureIndex(str(self.index)))
        if address is not None:
            self.tracker.load(address)

    def end(self) -> FilesAddress:
        """End as a kernel does, and return where the last snapshot is."""
        self.tracker.remember()
        assert self.tracker.address is not None
        return self.tracker.address


@pytest.fixture(autouse=True)
def _stamps(monkeypatch: pytest.MonkeyPatch) -> None:
    # Whatever the temporary folder lies on.
    monkeypatch.setattr(Mount, "stamps_mappings", True)


@pytest.fixture
def lab(tmp_path: Path) -> IndexLab:
    made = IndexLab(tmp_path)
    made.write(FILES)
    made.snap()
    return made


@contextmanager
def reads() -> Iterator[set[str]]:
    """Yield the files and symlinks that are read."""
    found: set[str] = set()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_file", "_symlink"):
            real = getattr(Intake, name)

            def read(self: Intake, rel: str, *rest: object, real: Callable[..., object] = real) -> object:
                found.add(rel)
                return real(self, rel, *rest)

            patch.setattr(Intake, name, read)
        yield found


ALL = {"a.txt", "sub/b.txt", "sub/deep/c", os.fsdecode(b"not-utf8-\xff"), "link"}


def test_a_new_kernel_reads_nothing_that_did_not_change(lab: IndexLab) -> None:
    lab.restart(lab.end())

    with reads() as read:
        assert not lab.tracker.changed(lab.tracker.scan())
        assert lab.changes() == {}

    assert read == set()


def test_without_an_index_everything_is_read(lab: IndexLab) -> None:
    address = lab.end()
    lab.index.unlink()
    lab.restart(address)

    with reads() as read:
        assert lab.changes() == {}

    assert read == ALL


def test_only_what_changed_meanwhile_is_read(lab: IndexLab) -> None:
    address = lab.end()
    lab.write({"sub/b.txt": "2", "new": "n"})
    os.remove(lab.path("a.txt"))
    lab.restart(address)

    with reads() as read:
        found = lab.changes()

    assert found == {"a.txt": ("one", ""), "new": ("", "n"), "sub/b.txt": ("two", "2")}
    assert read == {"new", "sub/b.txt"}


def test_an_edit_that_keeps_size_and_time_is_found(lab: IndexLab) -> None:
    address = lab.end()
    before = os.stat(lab.path("a.txt"))
    with open(lab.path("a.txt"), "r+b") as file:
        file.write(b"ONE")
    os.utime(lab.path("a.txt"), ns=(before.st_atime_ns, before.st_mtime_ns))
    lab.restart(address)

    assert lab.changes() == {"a.txt": ("one", "ONE")}


def test_another_file_with_the_same_size_and_time_is_found(lab: IndexLab) -> None:
    address = lab.end()
    before = os.stat(lab.path("a.txt"))
    lab.write({"other": "ONE"})
    os.utime(lab.path("other"), ns=(before.st_atime_ns, before.st_mtime_ns))
    os.replace(lab.path("other"), lab.path("a.txt"))
    lab.restart(address)

    assert lab.changes() == {"a.txt": ("one", "ONE")}


def test_changed_modes_and_kinds_are_found(lab: IndexLab) -> None:
    address = lab.end()
    os.chmod(lab.path("a.txt"), 0o755)
    os.chmod(lab.path("empty"), 0o750)
    os.remove(lab.path("sub/b.txt"))
    os.mkdir(lab.path("sub/b.txt"))
    lab.restart(address)

    assert set(lab.changes()) == {"a.txt", "empty", "sub/b.txt"}


def test_an_index_of_another_commit_proves_nothing(lab: IndexLab) -> None:
    old = lab.end()
    lab.write({"a.txt": "later"})
    lab.snap()
    lab.end()
    lab.write({"a.txt": "one"})
    lab.restart(old)

    with reads() as read:
        assert lab.changes() == {}

    assert read == ALL


def test_after_the_machine_was_started_again_an_index_proves_nothing(
    lab: IndexLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = lab.end()
    (tmp_path / "boot").write_text("another run\n")
    monkeypatch.setattr(signature_index, "_BOOT", tmp_path / "boot")
    lab.restart(address)

    with reads() as read:
        assert lab.changes() == {}

    assert read == ALL


def test_where_runs_of_the_machine_have_no_names_nothing_is_kept(
    lab: IndexLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signature_index, "_BOOT", tmp_path / "missing")

    lab.end()

    assert not lab.index.exists()


def test_a_damaged_index_proves_nothing(lab: IndexLab) -> None:
    address = lab.end()
    whole = lab.index.read_bytes()
    damaged = [whole[:cut] for cut in (0, 5, 30, len(whole) // 2, len(whole) - 1)]
    for place in range(0, len(whole), max(1, len(whole) // 40)):
        damaged.append(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
    damaged += [whole + b"\0", os.urandom(len(whole))]

    for data in damaged:
        lab.index.write_bytes(data)
        assert SignatureIndex(str(lab.index)).read(address) == {}
    lab.restart(address)
    with reads() as read:
        assert lab.changes() == {}

    assert read == ALL


def test_what_was_written_too_shortly_before_it_was_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Mount, "slack_ns", 3600 * 10**9)
        lab = IndexLab(tmp_path)
        lab.write(FILES)
        lab.snap()
        address = lab.end()
    lab.restart(address)

    with reads() as read:
        assert lab.changes() == {}

    assert read == ALL


def test_a_file_that_was_mapped_or_open_for_writing_is_read(lab: IndexLab) -> None:
    lab.snap(force=frozenset({"sub/deep/c"}))
    lab.restart(lab.end())

    with reads() as read:
        assert lab.changes() == {}

    assert read == {"sub/deep/c"}


def test_settings_of_the_new_kernel_count(lab: IndexLab) -> None:
    lab.restart(lab.end(), max_file_size=4)

    assert lab.changes()["sub/deep/c"] == ("three", "<too large>")


def test_bytes_that_the_store_lost_are_stored_again(lab: IndexLab) -> None:
    state = lab.tracker.state("a.txt")
    assert state is not None
    assert state.object is not None
    address = lab.end()
    lab.repository.packs.mark_damaged(bytes.fromhex(state.object))
    lab.restart(address)

    with reads() as read:
        lab.snap()

    assert read == {"a.txt"}


def test_what_was_without_bytes_is_looked_at_again(tmp_path: Path) -> None:
    lab = IndexLab(tmp_path, max_file_size=4)
    lab.write(FILES)
    lab.snap()
    lab.restart(lab.end(), max_file_size=1000)

    with reads() as read:
        lab.snap()

    assert read == {"sub/deep/c"}
    assert lab.files()["sub/deep/c"] == "three"


def test_times_before_1970_and_folders_without_files_do_no_harm(lab: IndexLab) -> None:
    os.utime(lab.path("sub/b.txt"), ns=(-5, -5))
    lab.snap()
    lab.restart(lab.end())

    with reads() as read:
        assert lab.changes() == {}

    assert read == {"sub/b.txt"}


def test_nothing_is_kept_where_a_mapping_leaves_no_stamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mount, "stamps_mappings", False)
    lab = IndexLab(tmp_path)
    lab.write(FILES)
    lab.snap()
    lab.end()

    assert not lab.index.exists()


def test_an_index_that_cannot_be_written_is_no_harm(lab: IndexLab) -> None:
    lab.index.mkdir()
    (lab.index / "in the way").touch()

    lab.restart(lab.end())

    with reads() as read:
        assert lab.changes() == {}
    assert read == ALL


def test_it_is_written_only_for_news_and_not_more_often_than_asked(lab: IndexLab) -> None:
    lab.end()
    first = os.stat(lab.index)
    lab.tracker.remember()
    assert os.stat(lab.index) == first
    lab.write({"a.txt": "more"})
    lab.snap()
    lab.tracker.remember(pause=3600)
    assert os.stat(lab.index) == first

    lab.tracker.remember()

    assert os.stat(lab.index).st_ino != first.st_ino
