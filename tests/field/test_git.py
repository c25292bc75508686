"""Faults of comparable tools that have to do with git: configuration, hooks, filters, nested and user repositories."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import time
from pathlib import Path

import pytest

from nbrewind.errors import RewindError
from tests.builders import Symlink, TestWorkspace, hash_tree, wait_until
from tests.outsider import Outsider
from tests.sessions import Book, attached, settings_for, without_override
from tests.stores import stores_below

pytestmark = [
    pytest.mark.usefixtures("sound_stores"),
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
]


HOOKS = ("pre-commit", "post-commit", "post-checkout", "post-index-change", "reference-transaction")


def hostile_environment(monkeypatch: pytest.MonkeyPatch, home: Path) -> Path:
    """Set up a git configuration that breaks naive shadow repositories; return the file that its hooks would make."""
    sentinel, hooks, template = home / "hook-ran", home / "hooks", home / "template"
    for folder in (hooks, template / "hooks"):
        folder.mkdir(parents=True)
        for name in (*HOOKS, "watch"):
            (folder / name).write_text(f"#!/bin/sh\ntouch {sentinel}\nexit 1\n")
            (folder / name).chmod(0o755)
    (home / "ignore").write_text("*.csv\n")
    (home / "attributes").write_text("* text=auto eol=crlf ident filter=broken\n")
    (home / ".gitconfig").write_text(
        f"""[core]
    hooksPath = {hooks}
    excludesFile = {home / "ignore"}
    attributesFile = {home / "attributes"}
    autocrlf = true
    fsmonitor = {hooks / "watch"}
    safecrlf = true
[init]
    templateDir = {template}
[user]
    useConfigOnly = true
[commit]
    gpgSign = true
[filter "broken"]
    clean = false
    smudge = false
    required = true
[filter "lfs"]
    clean = touch {sentinel} && false
    smudge = touch {sentinel} && false
    required = true
"""
    )
    variables = {
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": "core.hooksPath",
        "GIT_CONFIG_VALUE_0": str(hooks),
        "GIT_CONFIG_KEY_1": "core.autocrlf",
        "GIT_CONFIG_VALUE_1": "true",
        "GIT_DIR": str(home / "wrong.git"),
        "GIT_WORK_TREE": str(home),
        "GIT_INDEX_FILE": str(home / "wrong-index"),
        "GIT_OBJECT_DIRECTORY": str(home / "wrong-objects"),
        "GIT_TEMPLATE_DIR": str(template),
        "GIT_AUTHOR_DATE": "nonsense",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return sentinel


HOSTILE_FILES: dict[str | bytes, str | bytes | Symlink | None] = {
    "crlf.txt": b"a\r\nb\r\n",
    "mixed.txt": b"a\r\nb\nc\r",
    "utf16.txt": "héllo\r\n".encode("utf-16"),
    "nul.bin": b"\0\r\n\0\n",
    "ident.txt": b"$Id$ $Id: 1 $\n",
    "data.csv": b"1,2\r\n",
    "large.lfs": b"not a pointer\n",
    ".gitattributes": b"*.lfs filter=lfs diff=lfs -text\n* text=auto\nutf16.txt working-tree-encoding=UTF-16\n",
    ".gitignore": b"*\n",
}


def test_b20_b26_b27_b28_b29_b30_b32_a_hostile_git_configuration_changes_nothing(
    workspace: TestWorkspace, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentinel = hostile_environment(monkeypatch, home)
    store = tmp_path / ("long" * 15) / ("path" * 15)
    with attached(workspace, home, store_dir=str(store)) as book:
        with book.turn():
            workspace.write(HOSTILE_FILES)
        whole = workspace.tree()
        with book.turn():
            for name in HOSTILE_FILES:
                os.remove(workspace.path(name))
        book.session.gc()
        assert book.session.verify() == ()

        book.to(1)

        assert workspace.tree() == whole
        assert not sentinel.exists()
        assert not [name for name in os.listdir(home) if name.startswith("wrong")]
    monkeypatch.undo()


def test_a_checkpoints_tree_is_what_git_writes_for_the_same_files(book: Book, workspace: TestWorkspace) -> None:
    with book.turn():
        workspace.write({"a": "1", "d/b": b"\0\r\n", b"latin\xe9": "x", "d.txt": "", "d-": "2", "l": Symlink("d/b")})
        workspace.write({"run.sh": "echo"}, mode=0o755)

    tree = book.session.tree(book.session.timeline.operation(book.head()))
    assert tree is not None
    workspace.git("init", "-q")
    workspace.git("-c", "core.autocrlf=false", "add", "-A")
    operation = book.session.timeline.operation(book.head())
    assert operation.checkpoint.files is not None
    assert operation.checkpoint.files.tree == workspace.git("write-tree").strip()


def test_b44_the_users_repository_is_byte_identical_after_every_move(
    workspace: TestWorkspace, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.write({"kept": "1", "stashed": "1", ".gitignore": "ignored\n", "ignored": "x"})
    workspace.git("init", "-q")
    workspace.git("add", "-A")
    workspace.git("commit", "-qm", "first")
    workspace.write({"stashed": "2"})
    workspace.git("stash", "-q")
    workspace.write({"kept": "staged"})
    workspace.git("add", "kept")
    workspace.git("update-index", "--refresh", check=False)
    before, status = hash_tree(workspace.root / ".git"), workspace.git("--no-optional-locks", "status", "--porcelain")

    with attached(workspace, home) as book:
        with book.turn():
            workspace.write({"kept": "worked on", "new": "1"})
        with book.turn():
            os.remove(workspace.path("kept"))
        book.to(1)
        book.session.undo()
        book.session.redo()
        book.to("start")

    assert hash_tree(workspace.root / ".git") == before
    assert workspace.git("--no-optional-locks", "status", "--porcelain") == status
    assert workspace.git("stash", "list").count("stash@") == 1


def test_b15_b16_b18_nested_repositories_files_come_back_and_their_git_folders_are_left_alone(
    book: Book, workspace: TestWorkspace
) -> None:
    for name in ("nested", "empty-nested"):
        workspace.write({f"{name}/inner.txt": "1", f"{name}/sub/lib.c": "2"})
        workspace.git("init", "-q", name)
    workspace.git("-C", "nested", "add", "inner.txt")
    workspace.git("-C", "nested", "commit", "-qm", "first")
    workspace.write({"worktree/.git": "gitdir: /nowhere\n", "worktree/file": "3", "to-dir": Symlink("nested")})
    workspace.write({"dangling": Symlink("nowhere"), "outer": "4"})
    with book.turn():
        workspace.write({"outer": "5"})
    whole = workspace.tree()
    git_folders = [hash_tree(workspace.root / name / ".git") for name in ("nested", "empty-nested")]

    with book.turn():
        for name in ("nested/inner.txt", "nested/sub/lib.c", "empty-nested/inner.txt", "worktree/file", "outer"):
            os.remove(workspace.path(name))
        os.remove(workspace.path("to-dir"))
        os.remove(workspace.path("dangling"))
    book.to(1)

    assert workspace.tree() == whole
    assert [hash_tree(workspace.root / name / ".git") for name in ("nested", "empty-nested")] == git_folders
    assert workspace.read("worktree/.git") == b"gitdir: /nowhere\n"


def test_b16_one_unreadable_file_is_listed_and_costs_only_itself(workspace: TestWorkspace, home: Path) -> None:
    workspace.write({"a": "1", "locked": "2", "z": "3"})
    os.chmod(workspace.path("locked"), 0)
    with without_override(), attached(workspace, home) as book:
        with book.turn():
            workspace.write({"a": "changed", "z": "changed"})
        with book.turn():
            os.remove(workspace.path("a"))
            os.remove(workspace.path("z"))
        not_covered = [note.subject for note in book.session.status().not_covered]
        book.to(1)

    assert "locked" in not_covered
    assert (workspace.read("a"), workspace.read("z")) == (b"changed", b"changed")
    assert stat.S_IMODE(os.lstat(workspace.path("locked")).st_mode) == 0


def test_b23_a_notebook_in_a_subdirectory_of_a_repository_is_protected(home: Path) -> None:
    workspace = TestWorkspace(home / "repo")
    workspace.write({"sub/data.csv": "1", "top.txt": "1"})
    workspace.git("init", "-q")
    settings = settings_for(home / "repo" / "sub", home)

    with attached(TestWorkspace(Path(settings.workspace)), home) as book:
        with book.turn():
            workspace.write({"sub/data.csv": "2"})
        with book.turn():
            os.remove(workspace.path("sub/data.csv"))
        assert book.point(1).has_files
        book.to(1)

    assert settings.workspace == str(home / "repo")
    assert workspace.read("sub/data.csv") == b"2"


def test_b31_a_store_that_another_user_owns_works(workspace: TestWorkspace, home: Path, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    with attached(workspace, home) as book:
        with book.turn():
            workspace.write({"a": "1"})
        first = book.head()
    (store,) = stores_below(home, tmp_path)
    subprocess.run(["chown", "-R", "65534:65534", str(store)], check=True)

    with attached(workspace, home) as book:
        with book.turn():
            workspace.write({"a": "2"})
        book.session.gc()
        book.to(first)

    assert workspace.read("a") == b"1"


def test_b35_b25_an_ignored_file_survives_when_gitignore_goes_back(
    book: Book, workspace: TestWorkspace, outsider: Outsider
) -> None:
    workspace.git("init", "-q")
    with book.turn():
        workspace.write({".gitignore": ""})
    with book.turn():
        workspace.write({".gitignore": "data/\n"})
    outsider.write(workspace.root, {"data/mine.csv": "mine"})

    book.to(1)

    assert workspace.read(".gitignore") == b""
    assert workspace.read("data/mine.csv") == b"mine"


def test_b46_git_clean_and_stash_leave_a_store_inside_the_workspace(workspace: TestWorkspace, home: Path) -> None:
    workspace.git("init", "-q")
    with attached(workspace, home, store_dir="workspace") as book:
        with book.turn():
            workspace.write({"a": "1", "untracked": "1"})
        workspace.git("add", "a")
        workspace.git("commit", "-qm", "first")
        with book.turn():
            workspace.write({"a": "2"})
        workspace.git("stash", "-qu")
        workspace.git("clean", "-fdq")
        assert not workspace.exists("untracked")

        book.to(1, everything=True)

        assert (workspace.read("a"), workspace.read("untracked")) == (b"1", b"1")
        assert ".nbrewind" not in workspace.git("status", "--porcelain", "--untracked-files=all")


def test_b48_a_file_that_the_users_head_tracks_stays_deleted_where_the_point_lacks_it(
    book: Book, workspace: TestWorkspace
) -> None:
    workspace.write({"tracked": "1", "other": "1"})
    workspace.git("init", "-q")
    workspace.git("add", "-A")
    workspace.git("commit", "-qm", "first")
    with book.turn():
        os.remove(workspace.path("tracked"))
    with book.turn():
        workspace.write({"tracked": "again", "other": "2"})

    book.to(1)

    assert not workspace.exists("tracked")
    assert workspace.read("other") == b"1"


def test_b71_locks_that_a_killed_git_left_do_not_stop_the_next_point(
    workspace: TestWorkspace, home: Path, tmp_path: Path
) -> None:
    with attached(workspace, home) as book:
        with book.turn():
            workspace.write({"a": "1"})
        book.head()
        (store,) = stores_below(home, tmp_path)
        for name in ("index.lock", "HEAD.lock", "packed-refs.lock", "config.lock", "shallow.lock"):
            (store / "shadow" / name).touch()
        with book.turn():
            workspace.write({"a": "2"})
        assert book.point(2).has_files
        book.to(1)
        for name in ("index.lock", "HEAD.lock", "packed-refs.lock", "config.lock", "shallow.lock"):
            (store / "shadow" / name).unlink(missing_ok=True)

    assert workspace.read("a") == b"1"


def test_b04_files_that_a_killed_repack_left_are_swept_at_the_next_start(
    workspace: TestWorkspace, home: Path, tmp_path: Path
) -> None:
    with attached(workspace, home) as book:
        for number in range(8):
            with book.turn():
                workspace.write({f"a{number}": os.urandom(1 << 20)})
        book.head()
        (store,) = stores_below(home, tmp_path)
    for delay in (0.1, 0.15, 0.2, 0.3):
        child = os.fork()
        if child == 0:
            try:
                with attached(workspace, home) as book:
                    book.session.gc()
            finally:
                os._exit(0)
        time.sleep(delay)
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert wait_until(lambda: not [line for line in _command_lines() if os.fsencode(store) in line])

    with attached(workspace, home) as book:
        with book.turn():
            workspace.write({"a0": "2"})
        book.session.gc()
        assert book.session.verify() == ()

    packs = [name.rsplit(".")[-1] for name in os.listdir(store / "shadow" / "objects" / "pack")]
    assert os.listdir(store / "shadow" / "incoming") == []
    assert set(packs) <= {"pack", "idx", "rev", "bitmap", "keep"}
    assert not [path for path in store.rglob("tmp_*")]


def test_b14_a_kill_in_a_capture_leaves_every_git_folder_as_it_was(workspace: TestWorkspace, home: Path) -> None:
    workspace.write({f"nested/{number}": str(number) * 1000 for number in range(300)})
    for name in (".", "nested"):
        workspace.git("init", "-q", name)
    git_folders = {name: hash_tree(workspace.root / name / ".git") for name in (".", "nested")}
    for delay in (0.0, 0.002, 0.005, 0.01, 0.02, 0.05):
        child = os.fork()
        if child == 0:
            try:
                with attached(workspace, home) as book, book.turn():
                    workspace.write({"a": str(delay)})
            finally:
                os._exit(0)
        time.sleep(delay)
        os.kill(child, 9)
        os.waitpid(child, 0)

    assert {name: hash_tree(workspace.root / name / ".git") for name in (".", "nested")} == git_folders
    with attached(workspace, home) as book:
        with book.turn():
            workspace.write({"nested/0": "changed"})
        book.to("start")
    assert workspace.read("nested/0") == b"0" * 1000


def test_missing_git_costs_only_maintenance(
    workspace: TestWorkspace, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    with monkeypatch.context() as context:
        context.setenv("PATH", str(tmp_path / "bin"))
        with attached(workspace, home) as book:
            with book.turn():
                workspace.write({"a": "1"})
            with book.turn():
                workspace.write({"a": "2"})
            book.to(1)
            with pytest.raises(RewindError):
                book.session.gc()

    assert workspace.read("a") == b"1"


def _command_lines() -> list[bytes]:
    lines = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            lines.append(Path("/proc", pid, "cmdline").read_bytes())
        except OSError:
            continue
    return lines
