"""An environment of its own for each system, made by plain pip and pinned; made once, and anew when a pin changes."""

from __future__ import annotations

import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PLACE = ROOT / "build" / "bench"

# What the workloads use and what runs them: the same versions for everybody, those that the project is tested with.
_COMMON = ("ipython", "ipykernel", "numpy", "pandas", "scikit-learn")


@dataclass(frozen=True)
class System:
    """One way to keep a namespace: *pins* are what pip installs for it beside the common packages."""

    name: str
    pins: tuple[str, ...] = ()
    of_project: bool = False


SYSTEMS = {
    one.name: one
    for one in (
        System("bare"),
        System("nbrewind", ("hatchling", "editables"), of_project=True),
        System("cloudpickle", ("cloudpickle==3.1.3",)),
        System("dill", ("dill==0.4.1",)),
        System("kishu", ("kishu==0.3.4", "dill==0.4.1")),
    )
}


def python_of(system: System) -> Path:
    """Return the interpreter of the environment of *system*; make the environment first where it is not there."""
    folder = PLACE / system.name
    python = folder / "bin" / "python"
    lock = ROOT / "requirements.lock"
    wanted = [sys.version, *_COMMON, *system.pins, lock.read_text()]
    if system.of_project:
        wanted.append((ROOT / "pyproject.toml").read_text())
    stamp = folder / ".ready"
    if stamp.exists() and stamp.read_text() == "\n".join(wanted):
        return python
    print(f"making the environment of {system.name}", flush=True)
    venv.create(folder, clear=True, with_pip=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--constraint", str(lock)]
    _run([*pip, *_COMMON, *system.pins, *(_requirements() if system.of_project else ())])
    if system.of_project:
        _run([*pip, "--no-deps", "--no-build-isolation", "--editable", str(ROOT)])
    stamp.write_text("\n".join(wanted))
    return python


def _requirements() -> list[str]:
    """Return what the project needs, by its own word."""
    import tomllib

    found: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    return found


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"pip failed:\n{done.stdout}{done.stderr}")
