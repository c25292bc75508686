"""Measuring: CPU and wall time, folders of files to measure with, and tables of figures beside those to reach."""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.builders import TestWorkspace

__all__ = [
    "SCRATCH",
    "Figures",
    "Part",
    "Reach",
    "cpu",
    "disk",
    "make_files",
    "measured",
    "middle",
    "row_of",
    "run",
    "scratch",
]

Part = Callable[[int], list[dict[str, Any]]]
"""Measures for so many rounds, and returns the rows of its table."""
Figures = dict[str, list[dict[str, Any]]]
"""The rows of each part."""
Reach = tuple[str, str, Callable[[Figures], float], float, str]
"""What, its part, its figure, the figure to reach, and in what."""

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


def middle(pairs: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the median of both columns."""
    cpu_ms, wall_ms = zip(*pairs, strict=True)
    return statistics.median(cpu_ms), statistics.median(wall_ms)


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


def row_of(figures: Figures, part: str, **named: Any) -> dict[str, Any]:
    """Return the row of *part* in which the columns *named* have those values."""
    return next(row for row in figures[part] if named.items() <= row.items())


def _reached(figures: Figures, reach: Iterable[Reach]) -> list[dict[str, Any]]:
    rows = []
    for what, part, figure, goal, unit in reach:
        if part in figures:
            value = figure(figures)
            text = f"{value:.3f}" if unit == "times" else f"{value:.1f}"
            verdict = "yes" if value <= goal else "NO"
            rows.append({"what": what, "measured": f"{text} {unit}", "reach": f"{goal} {unit}", "met": verdict})
    return rows


def run(description: str, parts: dict[str, Part], reach: Iterable[Reach], results: str) -> None:
    """Run the parts asked for on the command line, print their tables and write the figures to *results*."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--part", action="append", choices=list(parts))
    options = parser.parse_args()
    figures: Figures = {}
    started = time.monotonic()
    for name in options.part or parts:
        figures[name] = parts[name](options.rounds)
        show((parts[name].__doc__ or name).strip(), figures[name])
    load_now = os.getloadavg()[0]
    show(
        f"The figures of the design, after {time.monotonic() - started:.0f} s (load of the machine: {load_now:.1f})",
        _reached(figures, reach),
    )
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / results).write_text(json.dumps(figures, indent=1))
