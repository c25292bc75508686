"""Measure what keeping the variables costs: nbrewind, whole-namespace cloudpickle and dill, and Kishu, in one run.

Usage: python benchmarks/variables [--quick] [--only WORKLOAD ...] [--system NAME ...] [--limit SECONDS]

Each system has an environment of its own in `build/bench`, made by plain pip at the first use, with the same versions
of everything that the workloads use. Each workload runs cell by cell in a real kernel; `nbrewind` is switched on by
`%load_ext`, protects an empty folder, and does all its work: files, outputs, log and process state too.

CPU is that of all threads of the kernel from the request until it is idle again, without the user's own code and
without what the same request costs in a bare kernel; medians over the cells after the first. *wait* is what the reply
takes longer, *saved after* when the point is complete after it. Then come four checkouts (one cell back, there again,
ten back, there again), each compared with a fresh run up to that cell in value and in sharing: `inside/fingerprint.py`
is the judge. *user code* is how many times longer the cells' own code takes than in a bare kernel, where it takes long
enough to tell. A peer that takes over *limit* seconds for its cells is cut there; ratios are of the cells both did.

Tables go to the terminal and to `benchmarks/results/variables.md`, all figures to `variables.json` beside it.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import time
from pathlib import Path

from environments import SYSTEMS, python_of
from running import WORKLOADS, Outcome, run
from table import TITLES, Runs, ratio_table, reach_table, workload_table

RESULTS = Path(__file__).resolve().parent.parent / "results"
_PEERS = [name for name in SYSTEMS if name != "bare"]


def main() -> None:
    """Run what was asked for, print tables and write all down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="five cells of each workload, peers cut after 10 seconds")
    parser.add_argument("--only", action="append", choices=list(WORKLOADS), metavar="WORKLOAD", help="a to j")
    parser.add_argument("--system", action="append", choices=_PEERS, metavar="NAME", help=", ".join(_PEERS))
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of cells after which a peer is cut")
    options = parser.parse_args()
    systems = options.system or _PEERS
    for name in ("bare", *systems):
        python_of(SYSTEMS[name])
    started = time.monotonic()
    runs: Runs = {}
    for workload in options.only or WORKLOADS:
        runs[workload] = measure(workload, systems, options.quick, options.limit)
        # After each: what a long run found so far is not lost with it.
        page = report(runs, time.monotonic() - started)
        write(page, runs)
    print("\n".join(page))


def write(page: list[str], runs: Runs) -> None:
    """Write the page and all figures down."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "variables.md").write_text("\n".join(page) + "\n")
    written = {
        name: {system: dataclasses.asdict(one) | {"prints": None} for system, one in outcomes.items()}
        for name, outcomes in runs.items()
    }
    (RESULTS / "variables.json").write_text(json.dumps(written, indent=1))


def measure(workload: str, systems: list[str], quick: bool, limit: float) -> dict[str, Outcome]:
    """Run *workload*, first bare, then under each system."""
    most, limit = (5, min(limit, 10.0)) if quick else (1000, limit)
    bare = run(workload, "bare", float("inf"), most, None)
    outcomes = {"bare": bare}
    for name in systems:
        print(f"{workload}: {name}", file=sys.stderr, flush=True)
        outcomes[name] = run(workload, name, float("inf") if name == "nbrewind" else limit, most, bare)
    return outcomes


def report(runs: Runs, seconds: float) -> list[str]:
    """Return the page of results."""
    load = os.getloadavg()[0]
    page = ["# Keeping variables: what it costs", ""]
    page += [f"{seconds:.0f} s; load of the machine at the end: {load:.1f}.", ""]
    for workload, outcomes in runs.items():
        page += [f"## {workload}: {TITLES[workload]}", "", *workload_table(outcomes), ""]
    page += ["## Times what nbrewind takes", "", *ratio_table(runs), ""]
    page += ["## The figures of the design", "", *reach_table(runs)]
    return page


if __name__ == "__main__":
    main()
