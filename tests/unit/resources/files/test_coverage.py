from __future__ import annotations

import pytest

from nbrewind.model import Settings
from nbrewind.resources.files.coverage import Coverage
from nbrewind.resources.files.range import Matcher, Range, git_refuses

WORK = "/home/u/project"


def covering(notebook: str = "", **settings: object) -> Coverage:
    defaults = {"store_dir": "/home/u/.local/share/jupyter/nbrewind/k", "workspace": WORK, "home": "/home/u"}
    return Coverage(Settings(**{**defaults, **settings}), notebook)  # type: ignore[arg-type]  # checked by the callers


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (WORK, ""),
        (f"{WORK}/a.csv", "a.csv"),
        (f"{WORK}/sub/a.csv", "sub/a.csv"),
        (f"{WORK}/sub/", "sub"),
        ("/home/u/project2/a.csv", None),
        ("/home/u", None),
        (f"{WORK}/ leading", " leading"),
        (f"{WORK}/lat\udce9.csv", "lat\udce9.csv"),
    ],
)
def test_paths_are_relative_to_the_workspace_or_outside(path: str, expected: str | None) -> None:
    assert covering().within(path) == expected


def test_everything_lies_within_the_root_workspace() -> None:
    coverage = covering(workspace="/")

    assert coverage.within("/etc/hosts") == "etc/hosts"
    assert coverage.within("/") == ""


@pytest.mark.parametrize(
    "name",
    [".git", ".hg", "node_modules", ".venv", "venv", "__pycache__", ".ipynb_checkpoints", ".nbrewind", ".mypy_cache"],
)
def test_caches_and_histories_are_excluded_as_directories_at_any_depth(name: str) -> None:
    coverage = covering()

    assert coverage.excluded(name, True)
    assert coverage.excluded(f"a/b/{name}", True)
    assert coverage.excluded(f"a/{name}/deep/x.py", False)


@pytest.mark.parametrize("name", ["venv", "node_modules", "__pycache__", ".tox"])
def test_a_file_named_like_a_cache_is_covered(name: str) -> None:
    assert not covering().excluded(f"sub/{name}", False)


@pytest.mark.parametrize("name", ["x.csv", "data.parquet", "app.db", "app.db-wal", "plot.png", ".gitignore", ".github"])
def test_data_files_are_covered_whatever_they_are_called(name: str) -> None:
    assert not covering().excluded(name, False)


@pytest.mark.parametrize(
    "name",
    [".git", ".GIT", ".Git ", ".git...", "git~1", "GIT~1 .", ".git::$INDEX_ALLOCATION", ".g\u200cit", "a\\.git"],
)
def test_names_that_git_refuses_in_trees_are_excluded_as_file_and_directory(name: str) -> None:
    assert git_refuses(name)
    assert covering().excluded(f"sub/{name}", False)
    assert covering().excluded(f"sub/{name}", True)


@pytest.mark.parametrize("name", [".gitignore", ".github", "git", "git~2", ".git2", "x.git", "git~10", "digit~1"])
def test_names_that_only_look_like_git_are_covered(name: str) -> None:
    assert not git_refuses(name)


def test_the_store_and_our_own_temporary_names_are_never_covered() -> None:
    coverage = covering(store_dir=f"{WORK}/deep/my-store", protect_paths=(f"{WORK}/deep/my-store",))

    assert coverage.excluded("deep/my-store", True) == "nbrewind's own data"
    assert coverage.excluded("deep/my-store/shadow/HEAD", False)
    assert coverage.excluded("sub/.nbrewind-0a1b-3", False) == "nbrewind's own data"
    assert coverage.excluded("sub/.nbrewind-77aa.tmp", False)
    assert not coverage.excluded("deep/other", False)


def test_shared_memory_of_sqlite_is_not_covered() -> None:
    assert covering().excluded("app.db-shm", False)


@pytest.mark.parametrize(
    ("pattern", "out", "kept"),
    [
        ("*.log", ["a.log", "x/y/b.log"], ["a.log.txt", "logs/c.txt"]),
        ("raw/", ["raw/x", "a/raw/x"], ["raw"]),
        ("raw", ["raw", "raw/x", "a/raw"], ["rawer", "xraw"]),
        ("data/raw", ["data/raw/x", "data/raw"], ["raw/x", "a/data/raw/x"]),
        ("/top.txt", ["top.txt"], ["sub/top.txt"]),
        ("data/**/tmp", ["data/tmp/x", "data/a/b/tmp/x"], ["tmp/x", "data/tmpx"]),
        ("data/*.bin", ["data/a.bin"], ["data/sub/a.bin", "a.bin"]),
        ("[ab].txt", ["a.txt", "s/b.txt"], ["c.txt"]),
    ],
)
def test_exclude_patterns_work_by_component(pattern: str, out: list[str], kept: list[str]) -> None:
    coverage = covering(exclude=(pattern,))

    assert [rel for rel in out if not coverage.excluded(rel, False)] == []
    assert [rel for rel in kept if coverage.excluded(rel, False)] == []


def test_a_built_in_exclude_can_be_taken_off_but_not_that_of_git() -> None:
    coverage = covering(exclude=("!venv", "!.git"))

    assert not coverage.excluded("venv/x.py", False)
    assert coverage.excluded(".git", True)


def test_rewind_paths_leave_only_what_they_name_and_the_way_to_it() -> None:
    coverage = covering(rewind_paths=("data", "models/*.pt", f"{WORK}/nb.ipynb"))

    assert not coverage.excluded("data/deep/x", False)
    assert not coverage.excluded("models/a.pt", False)
    assert not coverage.excluded("models", True)
    assert not coverage.excluded("nb.ipynb", False)
    assert coverage.excluded("sub/data/x", False) == "not in rewind_paths"
    assert coverage.excluded("models/readme.md", False)
    assert coverage.excluded("other", True)


def test_a_wildcard_in_rewind_paths_fits_at_any_depth() -> None:
    coverage = covering(rewind_paths=("*.csv",))

    assert not coverage.excluded("a/b/c.csv", False)
    assert coverage.excluded("a/b/c.txt", False)


@pytest.mark.parametrize("whole", [".", WORK, "./"])
def test_naming_the_workspace_itself_covers_all(whole: str) -> None:
    assert not covering(rewind_paths=(whole,)).excluded("a/b", False)


def test_no_rewind_paths_cover_nothing() -> None:
    assert covering(rewind_paths=()).excluded("a", False)


def test_a_protected_path_wins_over_an_exclude_and_its_siblings_stay_out() -> None:
    coverage = covering(protect_paths=(f"{WORK}/venv/etc/my.cfg",))

    assert not coverage.excluded("venv", True)
    assert not coverage.excluded("venv/etc", True)
    assert not coverage.excluded("venv/etc/my.cfg", False)
    assert coverage.excluded("venv/bin/python", False)
    assert coverage.excluded("venv/etc/other.cfg", False)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (".env", True),
        ("sub/.env.local", True),
        ("KEY.PEM", True),
        ("id_rsa", True),
        ("id_mapping.csv", False),
        ("environment.yml", False),
        (".envrc.py", False),
    ],
)
def test_secrets_are_told_by_exact_names(name: str, expected: bool) -> None:
    assert covering(secrets=(".env", ".env.*", "*.pem", "id_rsa")).secret(name) is expected


def outside(path: str, **settings: object) -> str:
    defaults = {
        "shared_roots": ("/home/u/.cache", "/dev", "/home/u/.ipython"),
        "temp_roots": ("/tmp", "/dev/shm", "/home/u/tmp"),
    }
    return covering(**{**defaults, **settings}).outside(path)


@pytest.mark.parametrize(
    "path",
    [
        "/tmp/x.csv",
        "/dev/shm/x",
        "/dev/null",
        "/proc/self/mem",
        "/sys/kernel/x",
        "/home/u/.cache/matplotlib/fontlist.json",
        "/home/u/.ipython/profile_default/history.sqlite",
        "/home/u/.local/share/jupyter/nbrewind/k/shadow/HEAD",
        "/usr/lib/python3/site-packages/x.py",
        "/home/u/lib/__pycache__/a.pyc",
        "/home/u/other/.git/index",
        "/home/u/other/.nbrewind-12-1",
    ],
)
def test_shared_temporary_and_unreal_places_are_not_kept(path: str) -> None:
    assert outside(path)


@pytest.mark.parametrize("path", ["/home/u/shared/conf.json", "/data/x.csv", "/home/u/tmpfile", "/mnt/results/m.pt"])
def test_any_other_place_outside_is_kept(path: str) -> None:
    assert outside(path) == ""


def test_a_protected_path_outside_wins_over_all_but_our_own_data_and_devices() -> None:
    protect = ("/home/u/.cache", "/tmp/mine", "/proc", "/home/u/.local/share/jupyter/nbrewind/k")

    assert outside("/home/u/.cache/x", protect_paths=protect) == ""
    assert outside("/tmp/mine/x", protect_paths=protect) == ""
    assert outside("/tmp/x", protect_paths=("/data",)) == "a temporary file"
    assert outside("/proc/self/mem", protect_paths=protect)
    assert outside("/home/u/.local/share/jupyter/nbrewind/k/format", protect_paths=protect)


def test_a_temporary_root_that_holds_the_workspace_is_kept_but_for_names_that_tempfile_makes() -> None:
    work = "/tmp/tmpabcd1234/work"

    assert outside("/tmp/tmpabcd1234/outside/x.csv", workspace=work) == ""
    assert outside("/tmp/shared/x.csv", workspace=work) == ""
    assert outside("/tmp/tmpzzzz9876/x.csv", workspace=work) == "a temporary file"
    assert outside("/tmp/tmpzzzz9876.png", workspace=work) == "a temporary file"
    assert outside("/dev/shm/x", workspace=work) == "a temporary file"


def test_the_innermost_root_decides() -> None:
    assert outside("/home/u/.cache/tmp/x", temp_roots=("/home/u/.cache/tmp",)) == "a temporary file"
    assert outside("/dev/shm/work2/x", workspace="/dev/shm/work") == ""


@pytest.mark.parametrize(("workspace", "word"), [("/home/u", "home"), ("/", "/"), ("/tmp", "temporary")])
def test_a_home_a_root_and_a_temporary_root_are_covered_by_focus_only(workspace: str, word: str) -> None:
    coverage = covering(f"{workspace}/nb/a.ipynb".replace("//", "/"), workspace=workspace, temp_roots=("/tmp",))

    assert coverage.focused
    assert word in coverage.focus_reason
    assert not coverage.excluded("nb/a.ipynb", False)
    assert not coverage.excluded("nb/x.csv", False)
    assert not coverage.excluded("nb", True)
    assert coverage.excluded("other/x.csv", False) == "outside the focus"
    assert coverage.excluded("x.csv", False) == "outside the focus"
    assert coverage.excluded("nb/sub", True) == "outside the focus"


def test_without_a_notebook_the_focus_is_the_folder_itself() -> None:
    coverage = covering(workspace="/home/u")

    assert not coverage.excluded("x.csv", False)
    assert coverage.excluded("sub/x.csv", False)


def test_a_folder_comes_into_focus_once_and_never_against_an_exclude() -> None:
    coverage = covering(workspace="/home/u")
    told: list[str] = []
    coverage.on_focus = told.append
    before = coverage.matcher

    assert coverage.focus("data/deep")
    assert not coverage.focus("data/deep")
    assert not coverage.focus("proj/.git/objects")
    assert told == ["data/deep"]
    assert coverage.matcher is not before
    assert not coverage.excluded("data/deep/x", False)
    assert not coverage.excluded("data", True)
    assert coverage.excluded("data/x", False)


def test_without_a_focus_everything_is_covered_already() -> None:
    assert not covering().focus("data")


def test_a_range_tells_later_what_was_covered() -> None:
    coverage = covering(exclude=("*.log",), rewind_paths=("data",))
    told = Matcher(coverage.range)

    assert told.reason("data/x", False) == ""
    assert told.reason("data/x.log", False)
    assert told.reason("x", False)
    assert Matcher(Range()).reason("anything", False) == ""
