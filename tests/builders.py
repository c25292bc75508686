"""Builders of what tests need: a folder of real files, and a real kernel in it."""

from __future__ import annotations

import ast
import hashlib
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

__all__ = ["Entry", "Run", "Symlink", "TestKernel", "TestWorkspace", "hash_tree", "wait_until"]


class Entry(NamedTuple):
    """What stands at a path: *content* is a digest of the bytes, or a symlink's target."""

    kind: str
    mode: int
    content: str


@dataclass(frozen=True)
class Symlink:
    """A symlink to *target* in a dictionary of files."""

    target: str | bytes


def hash_tree(root: str | Path, *, skip: tuple[str, ...] = ()) -> dict[bytes, Entry]:
    """Return every entry below *root* by its relative name in bytes, without following symlinks.

    *skip* names entries at any depth to leave out. Reads need no permission bits of the entries themselves for root
    only; a file that cannot be read is recorded as such.
    """
    skipped = {os.fsencode(name) for name in skip}
    return dict(_entries(os.fsencode(root), b"", skipped))


def _entries(root: bytes, relative: bytes, skipped: set[bytes]) -> Iterator[tuple[bytes, Entry]]:
    for name in sorted(os.listdir(os.path.join(root, relative) if relative else root)):
        if name in skipped:
            continue
        below = os.path.join(relative, name) if relative else name
        path = os.path.join(root, below)
        status = os.lstat(path)
        mode = stat.S_IMODE(status.st_mode)
        if stat.S_ISLNK(status.st_mode):
            yield below, Entry("symlink", 0o777, os.fsdecode(os.readlink(path)))
        elif stat.S_ISDIR(status.st_mode):
            yield below, Entry("directory", mode, "")
            yield from _entries(root, below, skipped)
        elif stat.S_ISREG(status.st_mode):
            yield below, Entry("file", mode, _digest(path))
        else:
            yield below, Entry("special", mode, oct(stat.S_IFMT(status.st_mode)))


def _digest(path: bytes) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "blake2b").hexdigest()[:32]
    except PermissionError:
        return "unreadable"


class TestWorkspace:
    """A folder of real files. Names may be `str` or bytes; parents are made as needed."""

    __test__ = False

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.root = root

    def path(self, name: str | bytes) -> str:
        """Return the absolute path of *name*, as `os.fsdecode` makes it."""
        return os.path.join(str(self.root), os.fsdecode(name))

    def write(self, files: Mapping[str | bytes, str | bytes | Symlink | None], *, mode: int | None = None) -> None:
        """Write *files*: text or bytes, a `Symlink`, or None for an empty directory."""
        for name, content in files.items():
            path = self.path(name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if content is None:
                os.makedirs(path, exist_ok=True)
            elif isinstance(content, Symlink):
                os.symlink(os.fsencode(content.target), os.fsencode(path))
            else:
                with open(path, "wb") as file:
                    file.write(content.encode() if isinstance(content, str) else content)
                if mode is not None:
                    os.chmod(path, mode)

    def read(self, name: str | bytes) -> bytes:
        """Return the bytes of *name*."""
        with open(self.path(name), "rb") as file:
            return file.read()

    def exists(self, name: str | bytes) -> bool:
        """Return whether something, even a dangling symlink, stands at *name*."""
        return os.path.lexists(self.path(name))

    def tree(self, *, skip: tuple[str, ...] = ()) -> dict[bytes, Entry]:
        """Return `hash_tree` of the whole folder."""
        return hash_tree(self.root, skip=skip)

    def git(self, *arguments: str, check: bool = True) -> str:
        """Run git here as a person would, with an identity, and return what it prints."""
        command = ["git", "-c", "user.name=T", "-c", "user.email=t@example.org", *arguments]
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=check)
        return done.stdout


class Run(NamedTuple):
    """What one request gave: *status* is ok, error, aborted, timeout or dead; *text* is all that it showed."""

    status: str
    text: str
    error: str


def wait_until(claim: Any, *, timeout: float = 10.0) -> bool:
    """Return whether the callable *claim* became true in time."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        if claim():
            return True
        time.sleep(0.02)
    return bool(claim())


def _not_asked(message: dict[str, Any]) -> None:
    raise AssertionError(f"a cell asked for input: {message['content']}")


@dataclass
class TestKernel:
    """A real IPython kernel in *cwd* whose home, Jupyter and temporary folders lie in *home*.

    *headless* is how a runner without a person asks: its requests allow no input.
    """

    __test__ = False

    cwd: Path
    home: Path
    environment: dict[str, str] = field(default_factory=dict)
    python: str = sys.executable
    headless: bool = False
    manager: KernelManager = field(init=False)
    client: BlockingKernelClient = field(init=False)

    def start(self) -> None:
        """Start it, once more if its ports were taken by somebody else."""
        try:
            self._start()
        except RuntimeError:
            self.stop()
            self._start()

    def _start(self) -> None:
        folders = {
            "HOME": self.home,
            "IPYTHONDIR": self.home / ".ipython",
            "JUPYTER_DATA_DIR": self.home / "jupyter",
            "JUPYTER_CONFIG_DIR": self.home / "config",
            "TMPDIR": self.home / "tmp",
        }
        (self.home / "tmp").mkdir(exist_ok=True)
        environment = dict(
            os.environ, MPLBACKEND="Agg", PYTHONDONTWRITEBYTECODE="1", PYDEVD_DISABLE_FILE_VALIDATION="1"
        )
        environment |= {name: str(folder) for name, folder in folders.items()} | self.environment
        self.manager = KernelManager()
        assert self.manager.kernel_spec is not None
        self.manager.kernel_spec.argv = [self.python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        self.manager.start_kernel(
            cwd=str(self.cwd), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    @property
    def pid(self) -> int:
        """Return the kernel's process id."""
        process: subprocess.Popen[bytes] = self.manager.provisioner.process  # type: ignore[union-attr]  # set by start
        return process.pid

    def alive(self) -> bool:
        """Return whether the process runs."""
        return bool(self.manager.is_alive())

    def load(self) -> None:
        """Load the extension in a silent request, so that cells keep their own numbers."""
        run = self.run("%load_ext nbrewind", silent=True)
        assert run.status == "ok", run

    def stop(self) -> None:
        """End the process now and close every channel."""
        if hasattr(self, "client"):
            self.client.stop_channels()
        if self.manager.has_kernel:
            self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()

    def shut_down(self) -> None:
        """Ask the kernel to end, as a front end does, and wait for it."""
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=False)
        self.manager.cleanup_resources()

    def kill(self) -> None:
        """Kill the process, and wait until it is gone."""
        os.kill(self.pid, signal.SIGKILL)
        assert wait_until(lambda: not self.alive())

    def restart(self) -> None:
        """Start a new kernel in the place of this one, and load the extension."""
        self.stop()
        self.start()
        self.load()

    def interrupt_after(self, seconds: float, code: str) -> None:
        """Run *code* and interrupt it after *seconds*."""
        self.client.execute(code)
        time.sleep(seconds)
        self.manager.interrupt_kernel()
        self.client.get_shell_msg(timeout=30)
        self.run("", silent=True)

    def kill_after(self, seconds: float, code: str) -> None:
        """Run *code* and kill the kernel after *seconds*."""
        self.client.execute(code)
        time.sleep(seconds)
        self.kill()

    def run(self, code: str, *, silent: bool = False, store_history: bool | None = None, timeout: float = 90) -> Run:
        """Run *code* and return the reply's status, everything shown, and the error."""
        shown: list[str] = []

        def show(message: dict[str, Any]) -> None:
            content, kind = message["content"], message["msg_type"]
            if kind == "stream":
                shown.append(content["text"])
            elif kind in ("display_data", "execute_result", "update_display_data"):
                shown.append(str(content["data"].get("text/plain", "")) + str(content["data"].get("text/html", "")))
            elif kind == "error":
                shown.append("\n".join(content["traceback"]))

        keep = (not silent) if store_history is None else store_history
        try:
            reply = self.client.execute_interactive(
                code,
                silent=silent,
                store_history=keep,
                allow_stdin=not self.headless,
                stdin_hook=_not_asked,
                output_hook=show,
                timeout=timeout,
            )
        except (TimeoutError, RuntimeError) as late:
            return Run("timeout" if self.alive() else "dead", "".join(shown), repr(late))
        content = reply["content"]
        error = "" if content["status"] == "ok" else f"{content.get('ename')}: {content.get('evalue')}"
        return Run(content["status"], "".join(shown), error)

    def value(self, expression: str) -> Any:
        """Return the value of *expression* in the kernel, by its repr (literals only)."""
        self.client.execute("", silent=True, user_expressions={"value": expression})
        while True:
            reply = self.client.get_shell_msg(timeout=60)
            if reply["msg_type"] == "execute_reply" and "value" in reply["content"].get("user_expressions", {}):
                break
        answer = reply["content"]["user_expressions"]["value"]
        assert answer["status"] == "ok", answer
        return ast.literal_eval(answer["data"]["text/plain"])
