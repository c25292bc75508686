"""One workload under one system: a real kernel, cell after cell, then four checkouts, each judged."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from environments import PLACE, SYSTEMS, python_of
from jupyter_client.manager import KernelManager

HERE = Path(__file__).resolve().parent
WORKLOADS = {path.stem.partition("_")[0]: path for path in sorted((HERE / "workloads").glob("*.cells"))}
_QUIET = 0.3
_PATIENCE = 1800.0
Prints = dict[str, Any]


@dataclass
class Cell:
    """Figures of one cell in ms and bytes: *own* is the user's code alone, *cpu* and *wall* what comes on top.

    *wall* is what the reply waits for, *saved* the time from the reply until all is stored; *objects* are those bytes
    of *stored* that hold content, where a system keeps a log beside it.
    """

    own: float
    cpu: float
    wall: float
    saved: float
    stored: int
    objects: int
    variables: dict[str, float] = field(default_factory=dict)
    failed: str = ""


@dataclass
class Move:
    """A checkout from cell *start* to cell *goal*. *wrong* and *missing* are names that the judge found."""

    start: int
    goal: int
    cpu: float = 0.0
    wall: float = 0.0
    wrong: list[str] = field(default_factory=list)
    named: list[str] = field(default_factory=list)
    error: str = ""

    @property
    def correct(self) -> bool:
        """Return whether every variable and all sharing is as in a fresh run."""
        return not (self.wrong or self.error)

    @property
    def honest(self) -> bool:
        """Return whether the system itself named everything that is not right."""
        return not self.error and set(self.wrong) - {"#aliases"} <= set(self.named)


@dataclass
class Outcome:
    """Everything of one run. *prints* has the judge's digests after each cell, in a bare run alone."""

    workload: str
    system: str
    total: int
    cells: list[Cell] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)
    prints: list[Prints] = field(default_factory=list)


def cells_of(workload: str) -> list[str]:
    """Return the cells of *workload*."""
    return [cell.strip("\n") for cell in re.split(r"^# %%$", WORKLOADS[workload].read_text(), flags=re.M)]


def disk(folder: Path) -> tuple[int, int]:
    """Return the bytes of all files below *folder*, and of those that are in a folder of objects."""
    found = objects = 0
    for path in folder.rglob("*"):
        try:
            size = path.lstat().st_size if path.is_file() else 0
        except FileNotFoundError:
            continue
        found += size
        objects += size if "objects" in path.parts else 0
    return found, objects


class Kernel:
    """The measured kernel in a folder of its own, with an empty workspace and a home of its own."""

    def __init__(self, python: Path, place: Path) -> None:
        self.store = place / "store"
        folders = {"HOME": place, "IPYTHONDIR": place / "ipython", "JUPYTER_CONFIG_DIR": place / "config"}
        folders |= {"JUPYTER_DATA_DIR": self.store, "JUPYTER_RUNTIME_DIR": place / "run", "TMPDIR": place / "tmp"}
        for folder in (*folders.values(), place / "work"):
            folder.mkdir(parents=True, exist_ok=True)
        environment = dict(os.environ, PYTHONHASHSEED="0", MPLBACKEND="Agg", PYDEVD_DISABLE_FILE_VALIDATION="1")
        environment |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        environment |= {name: str(folder) for name, folder in folders.items()}
        self.manager = KernelManager(connection_file=str(place / "kernel-bench.json"))
        assert self.manager.kernel_spec is not None
        self.manager.kernel_spec.argv = [str(python), str(HERE / "inside" / "kernel.py"), "-f", "{connection_file}"]
        self.manager.start_kernel(
            cwd=str(place / "work"), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=120)
        process: Any = self.manager.provisioner.process  # type: ignore[union-attr]
        # The kernel's CLOCK_PROCESS_CPUTIME_ID, as clock_getcpuclockid(3) gives it: all threads, nanoseconds.
        self._clock = (~process.pid << 3) | 2

    def cpu(self) -> float:
        """Return the kernel's CPU time in ms."""
        return 1000 * time.clock_gettime(self._clock)

    def execute(self, code: str, *, silent: bool = False) -> dict[str, Any]:
        """Run a cell and return the reply's content."""
        wanted = self.client.execute(code, silent=silent, store_history=not silent)
        while True:
            reply = self.client.get_shell_msg(timeout=_PATIENCE)
            if reply["parent_header"].get("msg_id") == wanted:
                content: dict[str, Any] = reply["content"]
                return content

    def command(self, do: str, **what: Any) -> Any:
        """Let the benchmark's side of the kernel do something."""
        content = self.execute("#bench " + json.dumps({"do": do, **what}), silent=True)
        if content["status"] != "ok":
            raise RuntimeError(f"{content['ename']}: {content['evalue']}")
        return content["bench"]

    def settle(self, grown: Callable[[], bool]) -> float:
        """Wait until the kernel is idle and *grown* is true; return the seconds after which it did nothing more."""
        start = last = time.perf_counter()
        used, end = self.cpu(), start + 60
        while time.perf_counter() < end:
            time.sleep(0.01)
            now = self.cpu()
            if now - used > 0.05:
                used, last = now, time.perf_counter()
            elif time.perf_counter() - last > _QUIET and grown():
                break
        return last - start

    def stop(self) -> None:
        """End it."""
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()


@contextmanager
def kernel_of(system: str) -> Iterator[Kernel]:
    """Start a kernel with *system* switched on; remove its folder afterwards."""
    place = PLACE / "runs" / f"{os.getpid()}-{time.monotonic_ns()}"
    place.mkdir(parents=True)
    kernel = Kernel(python_of(SYSTEMS[system]), place)
    try:
        kernel.command("attach", system=system, store=str(kernel.store))
        if system == "nbrewind":
            kernel.execute("%load_ext nbrewind", silent=True)
            kernel.command("note")
        kernel.settle(lambda: True)
        yield kernel
    finally:
        kernel.stop()
        shutil.rmtree(place, ignore_errors=True)


def run(workload: str, system: str, limit: float, most: int, bare: Outcome | None) -> Outcome:
    """Run at most *most* cells of *workload*, no new one after *limit* seconds; judge by *bare*, None to be that."""
    cells = cells_of(workload)
    outcome = Outcome(workload, system, len(cells))
    with kernel_of(system) as kernel:
        end = time.monotonic() + limit
        for cell in cells[:most]:
            if time.monotonic() > end:
                break
            outcome.cells.append(_cell(kernel, system, cell))
            if bare is None:
                outcome.prints.append(kernel.command("fingerprint"))
        if bare is not None:
            _moves(kernel, outcome, bare.prints)
    return outcome


def _cell(kernel: Kernel, system: str, code: str) -> Cell:
    stored, start, used = disk(kernel.store), time.perf_counter(), kernel.cpu()
    content = kernel.execute(code)
    waited = time.perf_counter() - start
    if content["status"] != "ok":
        raise RuntimeError(f"{system}: {code[:60]!r} failed: {content['ename']}: {content['evalue']}")
    saved = kernel.settle(_grown(kernel, system, stored))
    cost = kernel.cpu() - used
    note = kernel.command("note") or {}
    after = disk(kernel.store)
    own = content["bench"]
    return Cell(
        own=1000 * own["cpu"],
        cpu=cost - 1000 * own["cpu"],
        wall=1000 * (waited - own["wall"]),
        saved=1000 * saved,
        stored=after[0] - stored[0],
        objects=after[1] - stored[1],
        variables={name: 1000 * value for name, value in note.get("variables", {}).items()},
        failed=note.get("failed", ""),
    )


def _grown(kernel: Kernel, system: str, before: tuple[int, int]) -> Callable[[], bool]:
    """Return what tells that a point was stored: only nbrewind does that after the reply."""
    return (lambda: disk(kernel.store) != before) if system == "nbrewind" else (lambda: True)


def _moves(kernel: Kernel, outcome: Outcome, prints: list[Prints]) -> None:
    """Go one cell back and forth, then ten and forth."""
    last = len(outcome.cells)
    far = max(last - 10, 1)
    for start, goal in ((last, last - 1), (last - 1, last), (last, far), (far, last)):
        if goal < 1 or start < 1:
            continue
        move = Move(start, goal)
        outcome.moves.append(move)
        try:
            _move(kernel, outcome, move)
            got = kernel.command("fingerprint")
        except RuntimeError as error:
            move.error = str(error)[:200]
            continue
        wanted = prints[goal - 1]
        move.wrong = sorted(name for name in wanted.keys() | got.keys() if wanted.get(name) != got.get(name))


def _move(kernel: Kernel, outcome: Outcome, move: Move) -> None:
    start, used = time.perf_counter(), kernel.cpu()
    if outcome.system == "nbrewind":
        command = f"%rewind to {move.goal} --yes" if move.goal < move.start else "%rewind undo"
        content = kernel.execute(command)
        if content["status"] != "ok":
            raise RuntimeError(f"{content['ename']}: {content['evalue']}")
    else:
        kernel.command("checkout", point=move.goal)
    # Until the reply: what comes later is no part of the move, and may be maintenance that was due anyway.
    move.wall, move.cpu = 1000 * (time.perf_counter() - start), kernel.cpu() - used
    kernel.settle(lambda: True)
    if outcome.system == "nbrewind":
        move.named = kernel.command("checkout", point=move.goal)["named"]
