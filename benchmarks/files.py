"""Measure what protecting files costs, side by side with `git add -A && git commit` in the same run.

Usage: files.py [--rounds N] [--part NAME ...]   parts: turns, rewind, csv, append, huge, and those of kernel.py

CPU is user and system time of this process and its children, in milliseconds, as medians; wall times are medians too.
Both sides see the same change of the same files, one after the other in every round. *before* is what comes before a
cell, *after* what closing the turn and its capture cost, which begins 50 ms after the reply as in a kernel; in "Run
All" one scan serves as both. Everything lies in `build/bench`. Tables go to the terminal, the last one with the figure
to reach beside each, and all figures to `benchmarks/results/files.json`.
"""

from __future__ import annotations

import os
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import kernel
from benchmarks.measuring import Figures, Part, Reach, disk, make_files, measured, middle, row_of, run, scratch

from nbrewind.capture import hook
from tests.builders import TestWorkspace
from tests.sessions import Book, attached


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


PARTS: dict[str, Part] = {
    "turns": turns,
    "rewind": rewind,
    **kernel.PARTS,
    "csv": csv,
    "append": append,
    "huge": huge,
}


def _in_all(figures: Figures, part: str, files: int, changed: int | str) -> float:
    row = row_of(figures, part, files=files, changed=changed)
    return float(row["before"][0] + row["after"][0])


REACH: list[Reach] = [
    *kernel.REACH,
    ("300 files, 1 changed", "turns", lambda f: _in_all(f, "turns", 300, 1), 5, "CPU-ms"),
    ("300 files, 10 changed", "turns", lambda f: _in_all(f, "turns", 300, 10), 5, "CPU-ms"),
    ("10 000 files, 1 changed, with hints", "turns", lambda f: _in_all(f, "turns", 10_000, 1), 10, "CPU-ms"),
    (
        "10 000 files, 1 changed, one full scan",
        "turns",
        lambda f: float(row_of(f, "turns", files=10_000, changed="1 (full scan)")["after"][0]),
        55,
        "CPU-ms",
    ),
    ("100 000 files, 1 changed, with hints", "huge", lambda f: _in_all(f, "huge", 100_000, 1), 20, "CPU-ms"),
    ("append 6 KB to 1 GB", "append", lambda f: float(f["append"][1]["after"][0]), 700, "CPU-ms"),
    ("the same, stored", "append", lambda f: f["append"][1]["stored"] / 1e6, 1, "MB"),
    ("rewind one turn back, 300 files, 1 changed", "rewind", lambda f: float(f["rewind"][0]["back"][1]), 50, "ms"),
    ("100 turns of a 5 MB CSV, after maintenance", "csv", lambda f: f["csv"][0]["after gc"] / 1e6, 10, "MB"),
]


if __name__ == "__main__":
    run(__doc__ or "", PARTS, REACH, "files.json")
