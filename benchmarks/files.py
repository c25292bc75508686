"""Measure what protecting files costs, side by side with `git add -A && git commit` in the same run.

Usage: files.py [--rounds N] [--part NAME ...]   parts: turns, rewind, kernel, load, csv, append, huge

CPU is user and system time of this process and its children, in milliseconds, as medians; wall times are medians too.
Both sides see the same change of the same files, one after the other in every round. *before* is what comes before a
cell, *after* what closing the turn and its capture cost, which begins 50 ms after the reply as in a kernel; in "Run
All" one scan serves as both. Everything lies in `build/bench`. Tables go to the terminal, the last one with the figure
to reach beside each, and all figures to `benchmarks/results/files.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from nbrewind.capture import hook
from tests.builders import TestKernel, TestWorkspace
from tests.sessions import Book, attached

RESULTS = Path(__file__).resolve().parent / "results"
SCRATCH = Path(__file__).resolve().parent.parent / "build" / "bench"


def cpu() -> float:
    """Return user and system time of this process and its finished children, in ms."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime)


def measured(function: Callable[[], Any]) -> tuple[float, float]:
    """Return CPU and wall milliseconds of one call."""
    before, start = cpu(), time.perf_counter()
    function()
    return cpu() - before, 1000 * (time.perf_counter() - start)


def disk(folder: Path) -> int:
    """Return the bytes of all files below *folder*."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


@contextmanager
def scratch() -> Iterator[Path]:
    """Make a folder and remove it afterwards."""
    # Not in a shared temporary folder: where thousands of files come and go, ext4 takes 0.5 ms to make one.
    SCRATCH.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(dir=SCRATCH))
    try:
        yield place
    finally:
        shutil.rmtree(place)


def make_files(workspace: TestWorkspace, count: int, *, folder: int = 100, largest: int = 40_000) -> None:
    """Write *count* files of 200 bytes to 40 KB, *folder* of them in each folder."""
    rng = random.Random(count)
    sizes = rng.choices([200, 2_000, 8_000, 40_000], weights=[4, 4, 2, 1], k=count)
    for number, size in enumerate(sizes):
        text = rng.randbytes(min(size, largest) // 2).hex()
        workspace.write({f"d{number // folder}/f{number}.txt": text})


class Git:
    """What people do by hand: `git add -A && git commit`, in a repository beside the files."""

    def __init__(self, workspace: TestWorkspace, folder: Path) -> None:
        self.workspace = workspace
        self.environment = dict(os.environ, GIT_DIR=str(folder), GIT_WORK_TREE=str(workspace.root))
        for name in ("AUTHOR", "COMMITTER"):
            self.environment |= {f"GIT_{name}_NAME": "b", f"GIT_{name}_EMAIL": "b@example.org"}
        self.run("init", "-q")
        self.run("config", "gc.auto", "0")

    def run(self, *words: str) -> str:
        """Run one git command."""
        # Not to be taken for a child process of the cells: these are looked for everywhere.
        with hook.suspended():
            done = subprocess.run(
                ["git", *words], cwd=self.workspace.root, env=self.environment, capture_output=True, check=True
            )
        return done.stdout.decode().strip()

    def commit(self) -> None:
        """Add and commit everything."""
        self.run("add", "-A")
        self.run("commit", "-qm", "turn", "--allow-empty")

    def plumb(self) -> None:
        """Do the same with the fewest commands: add, write-tree, commit-tree, update-ref."""
        self.run("add", "-A")
        tree = self.run("write-tree")
        self.run("update-ref", "refs/heads/plumbed", self.run("commit-tree", tree, "-m", "turn"))


def turn(book: Book, change: Callable[[], Any]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return what a turn costs before the cell, and from its end until it is saved, without *change* itself."""
    # As in a kernel: the capture comes later, on its own, and not inside the end of the turn.
    book.session.scheduler = lambda capture: True
    with_turn = book.turn("bench")
    before = measured(with_turn.__enter__)
    change()
    end = measured(lambda: with_turn.__exit__(None, None, None))
    time.sleep(book.session.settings.capture_delay)
    capture = measured(book.session._capture_in_background)
    return before, (end[0] + capture[0], end[1] + capture[1])


def turns(rounds: int) -> list[dict[str, Any]]:
    """Measure turns that change 0, 1, 10 and 1000 of 300 and 10 000 files."""
    rows = []
    for count in (300, 10_000):
        with scratch() as place:
            workspace = TestWorkspace(place / "work")
            make_files(workspace, count)
            git = Git(workspace, place / "naive"), Git(workspace, place / "plumbing")
            with attached(workspace, place / "home") as book:
                first = measured(lambda: (book.session.settle(), turn(book, lambda: None)))
                rows.append(
                    {"files": count, "changed": "all (first)", "after": first, "naive": measured(git[0].commit)}
                )
                git[1].plumb()
                rng = random.Random(1)
                for changed in (0, 1, 10, 1000):
                    if changed <= count:
                        rows.append(_round(count, changed, rounds if changed < 1000 else 3, rng, book, git))
                if count > 300:
                    # A walk of everything each time, as before a move.
                    book.session._distrust = True
                    rows.append(_round(count, 1, rounds, rng, book) | {"changed": "1 (full scan)"})
    return rows


def huge(rounds: int) -> list[dict[str, Any]]:
    """Measure a turn that changes one of 100 000 files in 2 000 folders; git takes too long to stand beside."""
    with scratch() as place:
        workspace = TestWorkspace(place / "work")
        make_files(workspace, 100_000, folder=50, largest=2_000)
        with attached(workspace, place / "home") as book:
            first = measured(lambda: (book.session.settle(), turn(book, lambda: None)))
            rows: list[dict[str, Any]] = [{"files": 100_000, "changed": "all (first)", "after": first}]
            rng = random.Random(1)
            rows.append(_round(100_000, 1, rounds, rng, book, folder=50))
            book.session._distrust = True
            rows.append(_round(100_000, 1, 3, rng, book, folder=50) | {"changed": "1 (full scan)"})
            return rows


def _round(
    count: int,
    changed: int,
    rounds: int,
    rng: random.Random,
    book: Book,
    git: tuple[Git, Git] | None = None,
    *,
    folder: int = 100,
) -> dict[str, Any]:
    found: dict[str, list[tuple[float, float]]] = {"before": [], "after": []}
    workspace = TestWorkspace(Path(book.session.workspace))
    for _ in range(rounds):
        names = [f"d{number // folder}/f{number}.txt" for number in rng.sample(range(count), changed)]

        def change(names: list[str] = names) -> None:
            workspace.write({name: rng.randbytes(1000).hex() for name in names})

        time.sleep(0.03)
        before, after = turn(book, change)
        found["before"].append(before)
        found["after"].append(after)
        if git is not None:
            found.setdefault("naive", []).append(measured(git[0].commit))
            found.setdefault("plumbing", []).append(measured(git[1].plumb))
    return {"files": count, "changed": changed, **{side: middle(pairs) for side, pairs in found.items()}}


def middle(pairs: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the median of both columns."""
    cpu_ms, wall_ms = zip(*pairs, strict=True)
    return statistics.median(cpu_ms), statistics.median(wall_ms)


def append(rounds: int) -> list[dict[str, Any]]:
    """Measure appending 6 KB to a file of 1 GB."""
    with scratch() as place:
        workspace = TestWorkspace(place / "work")
        block = "".join(f"{number},{number * 7 % 1000},{number / 7:.6f}\n" for number in range(300_000)).encode()
        with open(workspace.path("big.csv"), "wb") as file:
            while file.tell() < 1_000_000_000:
                file.write(f"{file.tell()}\n".encode() + block)
        with attached(workspace, place / "home") as book:
            first = measured(lambda: (book.session.settle(), turn(book, lambda: None)))
            rows: list[dict[str, Any]] = [{"what": "first copy of 1 GB", "after": first}]
            found, grown = [], []
            for _ in range(rounds):
                size = disk(place / "home")

                def change() -> None:
                    with open(workspace.path("big.csv"), "ab") as file:
                        file.write(os.urandom(3000).hex().encode())

                found.append(turn(book, change)[1])
                grown.append(disk(place / "home") - size)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            stored = int(statistics.median(grown))
            rows.append({"what": "append 6 KB", "after": middle(found), "stored": stored, "peak MB": peak})
    return rows


def csv(_rounds: int) -> list[dict[str, Any]]:
    """Measure the disk after 100 turns that each rewrite a 5 MB CSV of which 0.1 % of the rows change, and after gc."""
    rng = random.Random(5)
    lines = [f"{number},{rng.random():.12f},{rng.randrange(10**9)}\n" for number in range(150_000)]
    with scratch() as place:
        workspace = TestWorkspace(place / "work")
        with attached(workspace, place / "home") as book:
            for _ in range(100):
                for number in rng.sample(range(len(lines)), len(lines) // 1000):
                    lines[number] = f"{number},{rng.random():.12f},{rng.randrange(10**9)}\n"
                turn(book, lambda: workspace.write({"data.csv": "".join(lines)}))
            before = disk(place / "home")
            cost = measured(book.session.gc)
            return [{"what": "100 turns of a 5 MB CSV", "before": before, "after gc": disk(place / "home"), "gc": cost}]


def kernel(rounds: int) -> list[dict[str, Any]]:
    """Measure what a person waits for in a real kernel: trivial cells with 0.3 s between them, and in one go."""
    rows = []
    for count in (300, 10_000):
        with scratch() as place:
            workspace = TestWorkspace(place / "work")
            make_files(workspace, count)
            kernels = {}
            for side in ("bare", "nbrewind"):
                (place / side).mkdir()
                kernels[side] = TestKernel(workspace.root, place / side)
                kernels[side].start()
            try:
                kernels["nbrewind"].load()
                kernels["nbrewind"].run("1")
                time.sleep(5 if count > 1000 else 1)
                rows.append({"files": count, **_prompts(kernels, rounds)})
            finally:
                for each in kernels.values():
                    each.stop()
    return rows


def load(rounds: int) -> list[dict[str, Any]]:
    """Measure `%load_ext nbrewind` in fresh kernels, with 300 files."""
    found = []
    code = (
        "import time\nwall, cpu = time.perf_counter(), time.process_time()\n%load_ext nbrewind\n"
        "print('\\ntook', 1000 * (time.process_time() - cpu), 1000 * (time.perf_counter() - wall))"
    )
    for _ in range(min(rounds, 5)):
        with scratch() as place:
            workspace = TestWorkspace(place / "work")
            make_files(workspace, 300)
            (place / "home").mkdir()
            fresh = TestKernel(workspace.root, place / "home")
            fresh.start()
            try:
                words = fresh.run(code).text.split()
            finally:
                fresh.stop()
            at = words.index("took")
            found.append((float(words[at + 1]), float(words[at + 2])))
    return [{"files": 300, "%load_ext": middle(found)}]


def _prompts(kernels: dict[str, TestKernel], rounds: int) -> dict[str, Any]:
    spaced: dict[str, list[float]] = {side: [] for side in kernels}
    for _ in range(rounds):
        for side, each in kernels.items():
            time.sleep(0.3)
            spaced[side].append(measured(lambda each=each: each.run("x = 1"))[1])
    row: dict[str, Any] = {f"{side} spaced ms": statistics.median(values) for side, values in spaced.items()}
    for side, each in kernels.items():
        start = time.perf_counter()
        for _ in range(100):
            each.client.execute("x = 1")
        for _ in range(100):
            each.client.get_shell_msg(timeout=60)
        row[f"{side} run all ms each"] = 10 * (time.perf_counter() - start)
    return row


def rewind(rounds: int) -> list[dict[str, Any]]:
    """Measure going one turn back, and its undo, with 1 and 100 files changed of 300."""
    rows = []
    for changed in (1, 100):
        with scratch() as place:
            workspace = TestWorkspace(place / "work")
            make_files(workspace, 300)
            with attached(workspace, place / "home") as book:
                turn(book, lambda: None)
                back, undo = [], []
                for number in range(rounds):
                    names = [f"d{each // 100}/f{each}.txt" for each in range(changed)]
                    text = str(number)
                    turn(book, partial(workspace.write, dict.fromkeys(names, text)))
                    back.append(measured(lambda: book.to("-1")))
                    undo.append(measured(book.session.undo))
            rows.append({"files": 300, "changed": changed, "back": middle(back), "undo": middle(undo)})
    return rows


def _cell(value: Any) -> str:
    if isinstance(value, tuple):
        return f"{value[0]:.1f} CPU / {value[1]:.1f} wall ms"
    if isinstance(value, float):
        return f"{value:.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def show(title: str, rows: list[dict[str, Any]]) -> None:
    """Print *rows* as a table."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    print(f"\n{title}\n\n| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(_cell(row.get(name, "")) for name in columns) + " |", flush=True)


PARTS: dict[str, Callable[[int], list[dict[str, Any]]]] = {
    "turns": turns,
    "rewind": rewind,
    "kernel": kernel,
    "load": load,
    "csv": csv,
    "append": append,
    "huge": huge,
}

Figures = dict[str, list[dict[str, Any]]]


def _row(figures: Figures, part: str, **named: Any) -> dict[str, Any]:
    return next(row for row in figures[part] if named.items() <= row.items())


def _in_all(figures: Figures, part: str, files: int, changed: int | str) -> float:
    row = _row(figures, part, files=files, changed=changed)
    return float(row["before"][0] + row["after"][0])


def _delay(figures: Figures, files: int, kind: str) -> float:
    row = _row(figures, "kernel", files=files)
    return float(row[f"nbrewind {kind}"] - row[f"bare {kind}"])


# What, its part, its figure, the figure to reach, and in what.
REACH: list[tuple[str, str, Callable[[Figures], float], float, str]] = [
    ("prompt delay added, 0.3 s between cells, 300 files", "kernel", lambda f: _delay(f, 300, "spaced ms"), 3, "ms"),
    ("the same, 10 000 files", "kernel", lambda f: _delay(f, 10_000, "spaced ms"), 10, "ms"),
    (
        "Run All of 100 trivial cells, 300 files, each",
        "kernel",
        lambda f: float(_row(f, "kernel", files=300)["nbrewind run all ms each"]),
        15,
        "ms",
    ),
    ("300 files, 1 changed", "turns", lambda f: _in_all(f, "turns", 300, 1), 5, "CPU-ms"),
    ("300 files, 10 changed", "turns", lambda f: _in_all(f, "turns", 300, 10), 5, "CPU-ms"),
    ("10 000 files, 1 changed, with hints", "turns", lambda f: _in_all(f, "turns", 10_000, 1), 10, "CPU-ms"),
    (
        "10 000 files, 1 changed, one full scan",
        "turns",
        lambda f: float(_row(f, "turns", files=10_000, changed="1 (full scan)")["after"][0]),
        55,
        "CPU-ms",
    ),
    ("100 000 files, 1 changed, with hints", "huge", lambda f: _in_all(f, "huge", 100_000, 1), 20, "CPU-ms"),
    ("append 6 KB to 1 GB", "append", lambda f: float(f["append"][1]["after"][0]), 700, "CPU-ms"),
    ("the same, stored", "append", lambda f: f["append"][1]["stored"] / 1e6, 1, "MB"),
    ("rewind one turn back, 300 files, 1 changed", "rewind", lambda f: float(f["rewind"][0]["back"][1]), 50, "ms"),
    ("100 turns of a 5 MB CSV, after maintenance", "csv", lambda f: f["csv"][0]["after gc"] / 1e6, 10, "MB"),
    ("%load_ext in a fresh kernel, 300 files", "load", lambda f: float(f["load"][0]["%load_ext"][1]), 400, "ms"),
]


def _reached(figures: Figures) -> list[dict[str, Any]]:
    rows = []
    for what, part, figure, reach, unit in REACH:
        if part in figures:
            value = figure(figures)
            verdict = "yes" if value <= reach else "NO"
            rows.append({"what": what, "measured": f"{value:.1f} {unit}", "reach": f"{reach} {unit}", "met": verdict})
    return rows


def main() -> None:
    """Run the parts asked for, print their tables and write the figures down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--part", action="append", choices=list(PARTS))
    options = parser.parse_args()
    figures: Figures = {}
    started = time.monotonic()
    for name in options.part or PARTS:
        figures[name] = PARTS[name](options.rounds)
        show((PARTS[name].__doc__ or name).strip(), figures[name])
    load_now = os.getloadavg()[0]
    show(
        f"The figures of the design, after {time.monotonic() - started:.0f} s (load of the machine: {load_now:.1f})",
        _reached(figures),
    )
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "files.json").write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
