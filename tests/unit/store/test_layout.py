from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nbrewind.errors import StoreError, StoreReadOnly, StoreTooNew
from nbrewind.model import SessionId
from nbrewind.store.layout import (
    find_store,
    is_id,
    list_sessions,
    new_operation_id,
    new_session_id,
    open_store,
    workspace_key,
)
from tests.faults import KILLED, ErrorAt, KillAt, calls_of, installed, run_forked, sweep_points


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o777], ids=lambda mask: f"umask {mask:03o}")
def any_umask(request: pytest.FixtureRequest) -> Iterator[None]:
    previous = os.umask(request.param)
    yield
    os.umask(previous)


def _modes(root: Path) -> dict[str, int]:
    return {str(path.relative_to(root)): stat.S_IMODE(path.stat().st_mode) for path in [root, *root.rglob("*")]}


def test_a_new_store_says_its_version_and_is_private(tmp_path: Path, any_umask: None) -> None:
    open_store(str(tmp_path / "deep/store"), workspace="/home/me/analysis")

    assert (tmp_path / "deep/store/format").read_text() == "nbrewind-store 1\n"
    assert (tmp_path / "deep/store/workspace").read_text() == "/home/me/analysis\n"
    assert _modes(tmp_path / "deep") == {
        ".": 0o700,
        "store": 0o700,
        "store/format": 0o600,
        "store/workspace": 0o600,
        "store/sessions": 0o700,
    }


def test_opening_again_changes_nothing(tmp_path: Path) -> None:
    open_store(str(tmp_path / "store"))
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "store").rglob("*")}

    open_store(str(tmp_path / "store"))

    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "store").rglob("*")} == before


def test_a_store_that_stands_open_to_others_is_closed(tmp_path: Path) -> None:
    open_store(str(tmp_path / "store"))
    (tmp_path / "store").chmod(0o755)

    open_store(str(tmp_path / "store"))

    assert _modes(tmp_path / "store")["."] == 0o700


def test_an_empty_folder_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir(mode=0o755)
    (tmp_path / "store/.gitignore").write_text("*")

    open_store(str(tmp_path / "store"))

    assert _modes(tmp_path / "store")["."] == 0o700


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir(mode=0o755)
    (tmp_path / "thesis/chapter.tex").write_text("")

    with pytest.raises(StoreError, match=r"chapter\.tex"):
        open_store(str(tmp_path / "thesis"))

    assert [entry.name for entry in (tmp_path / "thesis").iterdir()] == ["chapter.tex"]
    assert _modes(tmp_path / "thesis")["."] == 0o755


def test_a_file_in_the_place_of_the_store_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("")

    with pytest.raises(StoreError):
        open_store(str(tmp_path / "store"))
    with pytest.raises(StoreError):
        find_store(str(tmp_path / "store"))


@pytest.mark.parametrize("open_or_find", [open_store, find_store])
def test_a_later_version_is_refused_untouched(tmp_path: Path, open_or_find: Callable[[str], object]) -> None:
    (tmp_path / "format").write_text("nbrewind-store 2\n")
    before = _modes(tmp_path)

    with pytest.raises(StoreTooNew):
        open_or_find(str(tmp_path))

    assert _modes(tmp_path) == before


@pytest.mark.parametrize(
    "line", ["", "nbrewind-store 1", "nbrewind-store x\n", "nbrewind-store 0\n", "hello\n", "\0\xff"]
)
@pytest.mark.parametrize("open_or_find", [open_store, find_store])
def test_a_damaged_version_line_is_named_and_not_repaired(
    tmp_path: Path, open_or_find: Callable[[str], object], line: str
) -> None:
    (tmp_path / "format").write_text(line)

    with pytest.raises(StoreError, match="version line"):
        open_or_find(str(tmp_path))

    assert (tmp_path / "format").read_text() == line


def test_finding_creates_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store"):
        find_store(str(tmp_path / "store"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(StoreError, match="no store"):
        find_store(str(tmp_path / "empty"))

    assert [entry.name for entry in tmp_path.iterdir()] == ["empty"]
    assert not list((tmp_path / "empty").iterdir())


def test_a_kill_at_any_call_leaves_no_store_or_a_whole_one(tmp_path: Path) -> None:
    def scenario(folder: Path) -> Callable[[], object]:
        return lambda: open_store(str(folder / "store"), workspace="/w")

    for point in sweep_points(scenario(tmp_path / "dry")):
        folder = tmp_path / str(point)
        assert run_forked(scenario(folder), KillAt(point)) == KILLED
        open_store(str(folder / "store"), workspace="/w")
        find_store(str(folder / "store"))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES])
def test_an_error_at_any_call_is_an_error_of_the_store(tmp_path: Path, number: int) -> None:
    for point in range(len(calls_of(lambda: open_store(str(tmp_path / "dry/s"))))):
        kind = StoreReadOnly if number in (errno.EROFS, errno.EACCES) else StoreError
        with installed(ErrorAt(point, number)), pytest.raises(kind):
            open_store(str(tmp_path / str(point) / "s"))
        open_store(str(tmp_path / str(point) / "s"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_s_store_is_read_only(tmp_path: Path) -> None:
    open_store(str(tmp_path / "store"))
    for folder in (tmp_path, tmp_path / "store", tmp_path / "store/sessions"):
        folder.chmod(0o755)
    (tmp_path / "store/format").chmod(0o644)

    def as_nobody() -> None:
        os.chdir(tmp_path)  # the folders above are root's own
        os.setuid(65534)
        find_store("store")
        with pytest.raises(StoreReadOnly):
            open_store("store")

    assert run_forked(as_nobody) == 0


HOSTILE = [
    *(
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "/etc",
        "a" * 41,
        "A",
        "é",
        "a b",
        "a\0",
        "a\n",
        "\uff41",
        "\u202ex",
        "CON.",
        "a_b",
        "%2e",
    ),
    *("a/../../etc/passwd", "\\", "~", "$HOME", "-" * 41, "0" * 300, "\ud800"),
]


@pytest.mark.parametrize("name", HOSTILE)
def test_strings_from_outside_are_never_joined_to_a_path(tmp_path: Path, name: str) -> None:
    paths = open_store(str(tmp_path / "store"))

    assert not is_id(name)
    with pytest.raises(StoreError):
        paths.session(SessionId(name))


def test_sessions_are_listed_newest_first_and_only_with_a_log(tmp_path: Path) -> None:
    paths = open_store(str(tmp_path / "store"))
    ids = [new_session_id() for _ in range(3)]
    for one in ids:
        Path(paths.session(one).root).mkdir()
    for one in ids[:2]:
        Path(paths.session(one).log).write_bytes(b"")
    (tmp_path / "store/sessions/Not An Id").mkdir()
    (tmp_path / "store/sessions/a-file").write_text("")

    assert list_sessions(paths) == (ids[1], ids[0])


def test_a_store_without_sessions_lists_none(tmp_path: Path) -> None:
    (tmp_path / "format").write_text("nbrewind-store 1\n")

    assert list_sessions(find_store(str(tmp_path))) == ()


def test_ids_are_ours_and_rise_even_when_the_clock_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    first = [new_operation_id() for _ in range(200)]
    monkeypatch.setattr("nbrewind.store.layout.time.time_ns", lambda: 1_000_000_000)
    second = [new_operation_id() for _ in range(200)]

    assert [*first, *second] == sorted({*first, *second})
    assert all(is_id(one) for one in first)


def test_forked_processes_never_share_ids(tmp_path: Path) -> None:
    def many(name: str) -> Callable[[], object]:
        return lambda: (tmp_path / name).write_text("\n".join(new_operation_id() for _ in range(500)))

    assert run_forked(many("a")) == run_forked(many("b")) == 0

    assert len({*(tmp_path / "a").read_text().split(), *(tmp_path / "b").read_text().split()}) == 1000


def test_workspaces_have_keys_of_their_own_that_hide_their_names() -> None:
    keys = {workspace_key(path) for path in ("/", "/home/me/secret-project", "/home/me/Secret-project", "/caf\udce9")}

    assert len(keys) == 4
    assert all(is_id(key) and "secret" not in key for key in keys)
    assert workspace_key("/home/me/x") == workspace_key("/home/me/x")
