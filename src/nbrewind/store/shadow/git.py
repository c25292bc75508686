"""Running git, which maintenance needs: isolated from everybody's settings, and never needed to keep or to restore."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbrewind import fs
from nbrewind.errors import GitUnavailable, StoreError
from nbrewind.store.shadow import layout

__all__ = ["GitResult", "GitRunner"]

_OLDEST = (2, 30)
_NOWHERE = "/dev/null/nowhere"

_ISOLATED = {
    "HOME": _NOWHERE,
    "XDG_CONFIG_HOME": _NOWHERE,
    "LC_ALL": "C",
    "LANGUAGE": "C",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_AUTHOR_NAME": "nbrewind",
    "GIT_AUTHOR_EMAIL": "nbrewind@localhost",
    "GIT_COMMITTER_NAME": "nbrewind",
    "GIT_COMMITTER_EMAIL": "nbrewind@localhost",
}


@dataclass(frozen=True, slots=True)
class GitResult:
    """How a git command ended."""

    status: int
    output: bytes
    errors: str


class GitRunner:
    """Starts git on one repository, through GitPython, which is imported at the first use.

    GitPython adds to the environment of the process and takes nothing away, so each command begins with `env -i`: git
    sees the variables listed here and no other. The repository's own config must be the one that nbrewind writes; a
    changed one is put back before git can read it.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._git: Any = None
        self._version: tuple[int, ...] | None = None
        self._running: Any = None
        self._stopped = False

    def available(self) -> str | None:
        """Return git's version, or None where it is missing or older than 2.30."""
        try:
            return ".".join(map(str, self._checked_version()))
        except GitUnavailable:
            return None

    def run(
        self,
        *arguments: str,
        data: bytes = b"",
        changes: bool = False,
        extra: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> GitResult:
        """Run `git *arguments*` at a low priority with *data* as its input.

        Args:
            *arguments: What follows `git`.
            data: Its input.
            changes: Whether the command can change the disk.
            extra: More variables for its environment.
            timeout: Seconds after which it is killed.

        Raises:
            GitUnavailable: git is missing or too old.
            StoreError: It took longer than *timeout*, or was stopped.
        """
        if self._stopped:
            raise StoreError("git is not started any more: the session ends.")
        self._checked_version()
        self._own_config(changes=changes)

        def child() -> GitResult:
            return self._execute(arguments, data, extra or {}, timeout)

        return fs.mutating_child(f"git {arguments[0]}", child) if changes else child()

    def stop(self) -> None:
        """Kill the command that another thread is running or about to start, and start no more."""
        self._stopped = True
        running = self._running
        if running is not None:
            with contextlib.suppress(OSError):
                running.kill()

    def _execute(
        self, arguments: Sequence[str], data: bytes, extra: Mapping[str, str], timeout: float | None
    ) -> GitResult:
        environment = _ISOLATED | {"PATH": self._search_path(), "GIT_DIR": self._path, **extra}
        command = [_tool("env"), "-i", *(f"{name}={value}" for name, value in environment.items())]
        command += [*_niceness(), self._program(), *arguments]
        # A session of its own: an interrupt for the kernel's group is meant for the cell, not for this.
        # Held until the end: GitPython's wrapper terminates the process when it goes.
        wrapper = self._git(self._path).execute(
            command, istream=subprocess.PIPE, as_process=True, shell=False, start_new_session=True
        )
        process = self._running = wrapper.proc
        try:
            if self._stopped:
                process.kill()
            output, errors = process.communicate(data, timeout=timeout)
        except subprocess.TimeoutExpired as problem:
            raise StoreError(f"git {arguments[0]} took longer than {timeout:g} s and was stopped.") from problem
        finally:
            self._running = None
            if process.poll() is None:
                process.kill()
                process.communicate()
        if process.returncode < 0:
            raise StoreError(f"git {arguments[0]} was stopped by signal {-process.returncode}.")
        return GitResult(process.returncode, output, errors.decode("utf-8", "replace"))

    def _checked_version(self) -> tuple[int, ...]:
        if self._version is None:
            self._git = _gitpython()
            words = self._execute(["version"], b"", {}, 60.0).output.decode("ascii", "replace").split()
            numbers = (words[2] if len(words) > 2 else "").split(".")[:3]
            version = tuple(int(number) for number in numbers if number.isdigit())
            if version < _OLDEST:
                raise GitUnavailable(f"git {'.'.join(map(str, version)) or 'of unknown version'} is older than 2.30.")
            self._version = version
        return self._version

    def _program(self) -> str:
        executable: str = self._git.GIT_PYTHON_GIT_EXECUTABLE or "git"
        found = shutil.which(executable)
        if found is None:
            raise GitUnavailable("git is not installed.")
        return found

    def _search_path(self) -> str:
        return os.pathsep.join((os.path.dirname(self._program()), "/usr/local/bin", "/usr/bin", "/bin"))

    def _own_config(self, *, changes: bool) -> None:
        path = Path(self._path, "config")
        try:
            if path.read_text(encoding="utf-8", errors="replace") == layout.CONFIG:
                return
        except FileNotFoundError:
            pass
        if not changes and not os.access(self._path, os.W_OK):
            raise GitUnavailable(f"{path} is not as nbrewind writes it, so git is not started there.")
        fs.replace(path, layout.CONFIG.encode())


def _gitpython() -> Any:
    # A git.py beside the notebook is the user's own; it must not run only because maintenance looks for git.
    spec = importlib.util.find_spec("git")
    if spec is None or spec.submodule_search_locations is None:
        raise GitUnavailable("GitPython is not installed.", hint="pip install GitPython")
    try:
        return importlib.import_module("git").Git
    except ImportError as problem:
        # GitPython tries git in the user's own environment when it is imported, and refuses where that fails: for want
        # of git, or because of a broken line in somebody's configuration, which is no matter here.
        commands = sys.modules.get("git.cmd")
        if commands is None:
            raise GitUnavailable(f"GitPython cannot be imported: {problem}.") from problem
        return commands.Git


def _tool(name: str) -> str:
    found = shutil.which(name, path="/usr/bin:/bin") or shutil.which(name)
    if found is None:
        raise GitUnavailable(f"{name} is not installed, and git is never started without it.")
    return found


def _niceness() -> list[str]:
    found = shutil.which("nice", path="/usr/bin:/bin")
    return [found, "-n", "15"] if found is not None else []
