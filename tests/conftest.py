"""Give every test a home of its own, and stop it from changing anything outside its temporary folders."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

from tests.builders import TestKernel, TestWorkspace
from tests.guard import GUARD
from tests.outsider import Outsider
from tests.stores import fsck, stores_below

_REAL_HOME = Path("~").expanduser()
_SHARED_MEMORY = "/dev/shm/nbrewind-test"

hypothesis.settings.register_profile(
    "nbrewind", deadline=None, database=None, derandomize=bool(os.environ.get("CI")), print_blob=True
)
hypothesis.settings.load_profile("nbrewind")
GUARD.install()


def pytest_configure(config: pytest.Config) -> None:
    """Keep Hypothesis' own files out of the project, wherever a test runs."""
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", os.path.join(tempfile.gettempdir(), "nbrewind-hypothesis"))


def _store_in_real_home() -> list[str]:
    places = [_REAL_HOME / ".local/share/jupyter/nbrewind", _REAL_HOME / ".jupyter/nbrewind"]
    return sorted(str(entry) for place in places if place.is_dir() for entry in place.iterdir())


@pytest.fixture(scope="session", autouse=True)
def real_home_stays_clean() -> Iterator[None]:
    """Fail the run where a kernel or a command made a store in the real home."""
    before = _store_in_real_home()
    yield
    assert _store_in_real_home() == before


@pytest.fixture(autouse=True)
def own_world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """Run the test in an empty folder, with a home, Jupyter folders and temporary folder of its own."""
    base = Path(os.path.realpath(tmp_path_factory.getbasetemp()))
    home = tmp_path_factory.mktemp("home")
    for name in [name for name in os.environ if name.startswith(("GIT_", "JUPYTER", "IPYTHON", "XDG_", "NBREWIND"))]:
        monkeypatch.delenv(name)
    for name, folder in environment_folders(home).items():
        Path(folder).mkdir(exist_ok=True)
        monkeypatch.setenv(name, folder)
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(home)
    GUARD.roots = (str(base), "/dev/null", "/dev/tty", "/dev/ptmx", "/dev/pts", "/proc/self", "/dev/shm")
    GUARD.roots += (os.environ["HYPOTHESIS_STORAGE_DIRECTORY"],)
    GUARD.violations.clear()
    GUARD.active = request.node.get_closest_marker("writes_outside") is None
    yield home
    GUARD.active = False
    assert not GUARD.violations


def environment_folders(home: Path) -> dict[str, str]:
    """Return the variables that keep a process inside *home*."""
    return {
        "HOME": str(home),
        "IPYTHONDIR": str(home / ".ipython"),
        "JUPYTER_DATA_DIR": str(home / "jupyter"),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "TMPDIR": str(home / "tmp"),
    }


@pytest.fixture(autouse=True)
def own_main() -> Iterator[None]:
    """Put `__main__` back: a shell that a test makes takes its place, and child processes are started from it."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main


@pytest.fixture
def home(own_world: Path) -> Path:
    """Return the home folder that this test has for itself."""
    return own_world


@pytest.fixture
def workspace(tmp_path: Path) -> TestWorkspace:
    """Return an empty workspace."""
    return TestWorkspace(tmp_path / "work")


@pytest.fixture
def kernel(workspace: TestWorkspace, home: Path) -> Iterator[TestKernel]:
    """Return a running kernel in the workspace, with nbrewind loaded by a silent request."""
    kernel = TestKernel(workspace.root, home)
    kernel.start()
    kernel.load()
    yield kernel
    kernel.stop()


@pytest.fixture(scope="session")
def outsider() -> Iterator[Outsider]:
    """Return somebody else, who changes files without being seen by any hook of this process."""
    outsider = Outsider()
    yield outsider
    outsider.close()


@pytest.fixture
def sound_stores(tmp_path: Path, home: Path) -> Iterator[None]:
    """Fail a test that leaves a store which `git fsck` finds fault with."""
    yield
    for store in stores_below(tmp_path, home):
        assert fsck(store) == ""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a file system of 24 MiB of its own, or skip where none can be mounted."""
    place = tmp_path / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=24m,mode=700", "nbrewind-test", str(place)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a small file system can be mounted by root only")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture
def unwritable() -> Iterator[Callable[[Path], None]]:
    """Return a function after which a file can be neither written nor replaced, even by root."""
    done: list[Path] = []

    def make(path: Path) -> None:
        if subprocess.run(["chattr", "+i", str(path)], capture_output=True, check=False).returncode:
            pytest.skip("a file cannot be made immutable here")
        done.append(path)

    yield make
    for path in done:
        subprocess.run(["chattr", "-i", str(path)], check=True)
