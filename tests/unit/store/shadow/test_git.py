"""git is started with nobody's settings, and is never needed to keep or restore."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

from nbrewind.errors import GitUnavailable, StoreError
from nbrewind.store.shadow import ShadowRepository, layout
from nbrewind.store.shadow.checks import fsck
from nbrewind.store.shadow.collection import collect
from nbrewind.store.shadow.git import GitRunner
from nbrewind.store.shadow.maintenance import repack
from tests.faults import Counter, installed
from tests.unit.store.shadow.shadows import files_of, pack_names, stored_turn
from tests.unit.store.shadow.test_maintenance import OneLock


@pytest.fixture
def hostile(monkeypatch: pytest.MonkeyPatch, own_world: Path) -> Path:
    """Set up a user whose git runs things at every chance; return the file that any of them would make."""
    # GitPython asks git when it is imported: that must be part of the test.
    for name in [name for name in sys.modules if name == "git" or name.startswith("git.")]:
        monkeypatch.delitem(sys.modules, name)
    proof = own_world / "it-ran"
    script = own_world / "sentinel"
    script.write_text(f"#!/bin/sh\necho \"$0 $@\" >> '{proof}'\nexit 1\n")
    script.chmod(0o755)
    hooks = own_world / "template" / "hooks"
    hooks.mkdir(parents=True)
    for name in ("pre-auto-gc", "post-index-change", "reference-transaction", "fsmonitor-watchman", "post-commit"):
        (hooks / name).symlink_to(script)
    (own_world / ".gitconfig").write_text(
        f"""[core]
        hooksPath = {hooks}
        fsmonitor = {script}
        pager = {script}
        editor = {script}
        autocrlf = true
        compression = 9
        alternateRefsCommand = {script}
        sshCommand = {script}
        [init]
        templateDir = {own_world}/template
        [alias]
        fsck = !{script}
        pack-objects = !{script}
        [uploadpack]
        packObjectsHook = {script}
        [gc]
        recentObjectsHook = {script}
        [pack]
        packSizeLimit = 1m
        [user]
        useConfigOnly = true
        [include]
        path = {own_world}/broken-config
        """
    )
    (own_world / "broken-config").write_text("this is no config [[[")
    elsewhere = str(own_world / "elsewhere")
    for name, value in {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": str(script),
        "GIT_CONFIG_PARAMETERS": f"'core.hooksPath'='{hooks}'",
        "GIT_DIR": elsewhere,
        "GIT_OBJECT_DIRECTORY": elsewhere,
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": elsewhere,
        "GIT_COMMON_DIR": elsewhere,
        "GIT_WORK_TREE": elsewhere,
        "GIT_INDEX_FILE": elsewhere,
        "GIT_NAMESPACE": "other",
        "GIT_EXTERNAL_DIFF": str(script),
        "GIT_TRACE": str(own_world / "trace"),
        "GIT_EXEC_PATH": str(own_world),
        "GIT_SHALLOW_FILE": elsewhere,
        "GIT_REPLACE_REF_BASE": "refs/other/",
        "GIT_DEFAULT_HASH": "sha256",
    }.items():
        monkeypatch.setenv(name, value)
    return proof


def test_nothing_of_a_hostile_user_runs_or_counts(hostile: Path, tmp_path: Path) -> None:
    before = dict(os.environ)
    repository = ShadowRepository.open(str(tmp_path / "shadow"))
    git = GitRunner(repository.path)
    files = {b"crlf.txt": b"a\r\nb\n", b"big": bytes(100_000), b".gitattributes": b"* text=auto ident filter=lfs\n"}
    first = stored_turn(repository, files, "1")
    second = stored_turn(repository, files | {b"new": b"$Id$"}, "2")

    assert git.available() is not None
    assert fsck(repository, git) == ()
    assert repack(repository, git) == 2
    assert collect(repository, git, OneLock(), repository.refs).objects_after == 8
    assert fsck(repository, git) == ()
    assert [files_of(repository, commit) for commit in (first, second)] == [files, files | {b"new": b"$Id$"}]

    assert not hostile.exists()
    assert dict(os.environ) == before
    assert not Path(os.environ["GIT_DIR"]).exists()


def test_config_that_somebody_changed_is_put_back_before_git_reads_it(
    repository: ShadowRepository, tmp_path: Path
) -> None:
    config = Path(repository.path, "config")
    proof = tmp_path / "it-ran"
    config.write_text(f"[core]\nrepositoryformatversion = 0\nbare = true\nfsmonitor = \"touch '{proof}'\"\n")
    stored_turn(repository, {b"a": b"1"})

    assert fsck(repository, GitRunner(repository.path)) == ()
    assert config.read_text() == layout.CONFIG
    assert not proof.exists()


def test_git_accepts_our_config(repository: ShadowRepository) -> None:
    result = GitRunner(repository.path).run("config", "--get", "core.hooksPath")
    assert (result.status, result.output, result.errors) == (0, b"/dev/null\n", "")


def test_fsck_does_not_judge_the_user_s_own_git_files(repository: ShadowRepository) -> None:
    stored_turn(
        repository, {b".gitmodules": b'[submodule "../x"]\n\turl = -u./payload\n[[[', b".gitattributes": b"x" * 9000}
    )
    assert fsck(repository, GitRunner(repository.path)) == ()


def test_missing_git_is_no_error_until_it_is_needed(
    repository: ShadowRepository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in [name for name in sys.modules if name == "git" or name.startswith("git.")]:
        monkeypatch.delitem(sys.modules, name)
    commit = stored_turn(repository, {b"a": b"1"})
    stored_turn(repository, {b"a": b"2"}, "2")
    git = GitRunner(repository.path)

    assert git.available() is None
    with pytest.raises(GitUnavailable):
        repack(repository, git)
    assert fsck(repository, git) == ()
    assert files_of(repository, commit) == {b"a": b"1"}
    assert dict(os.environ)["PATH"] == str(tmp_path)


def test_git_that_is_too_old_is_not_used(
    repository: ShadowRepository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    old = tmp_path / "bin" / "git"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho git version 2.29.9\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{old.parent}:{os.environ['PATH']}")
    git = GitRunner(repository.path)
    assert git.available() is None
    with pytest.raises(GitUnavailable, match=r"2\.29\.9"):
        git.run("fsck")


def test_module_of_the_user_called_git_does_not_run(
    repository: ShadowRepository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "git.py").write_text("raise SystemExit('the user\\'s own module ran')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name == "git" or name.startswith("git.")]:
        monkeypatch.delitem(sys.modules, name)
    assert GitRunner(repository.path).available() is None


def test_failing_command_tells_status_and_words(repository: ShadowRepository) -> None:
    result = GitRunner(repository.path).run("cat-file", "-p", "0" * 40)
    assert result.status == 128
    assert "Not a valid object name" in result.errors or "bad file" in result.errors


def test_command_gets_its_input_and_gives_all_output(repository: ShadowRepository) -> None:
    oids = [stored_turn(repository, {b"a": b"%d" % number}, f"{number}") for number in range(3)]
    data = "".join(f"{oid}\n" for oid in oids * 5000).encode()
    result = GitRunner(repository.path).run("cat-file", "--batch-check=%(objectname)", data=data)
    assert result.output == data


def test_slow_command_is_killed(repository: ShadowRepository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text('#!/bin/sh\n[ "$1" = version ] && echo git version 2.40.0 && exit\nexec /bin/sleep 100\n')
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}:{os.environ['PATH']}")
    git = GitRunner(repository.path)
    with pytest.raises(StoreError, match="longer than"):
        git.run("fsck", timeout=0.2)


def test_running_command_can_be_stopped_from_another_thread(
    repository: ShadowRepository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    started = tmp_path / "started"
    os.mkfifo(started)
    slow.write_text(
        f"#!/bin/sh\n[ \"$1\" = version ] && echo git version 2.40.0 && exit\necho >'{started}'\nexec /bin/sleep 100\n"
    )
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}:{os.environ['PATH']}")
    git = GitRunner(repository.path)
    assert git.available() == "2.40.0"

    def stop() -> None:
        started.read_bytes()
        git.stop()

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(StoreError, match="signal 9"):
        git.run("fsck")
    thread.join()
    with pytest.raises(StoreError, match="not started"):
        git.run("fsck")


def test_changing_commands_pass_the_gate(repository: ShadowRepository) -> None:
    counter = Counter()
    git = GitRunner(repository.path)
    with installed(counter):
        git.run("fsck")
        git.run("pack-refs", "--all", changes=True)
    assert [(call.name, call.target) for call in counter.calls] == [("child", "git pack-refs")]
    assert pack_names(repository) == set()
