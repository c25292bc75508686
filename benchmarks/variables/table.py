"""What a run of the benchmark says: tables by workload, ratios to each peer, and the figures to reach."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from running import Cell, Outcome

Runs = dict[str, dict[str, Outcome]]
"""Outcomes by workload and system; each workload has a bare one."""
TITLES = {
    "a": "30 scalars",
    "b": "80 MB frame, one column or one cell changed",
    "c": "300 000 dictionaries, one changed",
    "d": "400 MB array, one row changed",
    "e": "scikit-learn models",
    "f": "shared objects, views, closures, cycles",
    "g": "what cannot be pickled",
    "h": "2 000 variables",
    "i": "80 MB frame, read only",
    "j": "hot loops",
}
_TELLING = 5.0


def _later(cells: Sequence[Cell]) -> Sequence[Cell]:
    """Return the cells that count for medians: not the first, which makes the data."""
    return cells[1:] or cells


def _median(outcome: Outcome, figure: Callable[[Cell], float], most: int | None = None) -> float:
    return statistics.median(map(figure, _later(outcome.cells[:most])))


@dataclass(frozen=True)
class Figures:
    """What one outcome comes to, in ms and bytes, with what a bare kernel costs taken off."""

    cpu: float
    variables: float | None
    wall: float
    saved: float
    slowdown: float | None
    stored: int
    back: float | None
    far: float | None


def figures(outcome: Outcome, bare: Outcome, most: int | None = None) -> Figures:
    """Return the figures of *outcome*, of its first *most* cells where it has to be fair to a slower one."""
    moves = [move for move in outcome.moves if not move.error]
    parts = [sum(cell.variables.values()) for cell in _later(outcome.cells[:most]) if cell.variables]
    return Figures(
        cpu=max(_median(outcome, lambda cell: cell.cpu, most) - _median(bare, lambda cell: cell.cpu), 0.0),
        variables=statistics.median(parts) if parts else None,
        wall=max(_median(outcome, lambda cell: cell.wall, most) - _median(bare, lambda cell: cell.wall), 0.0),
        saved=_median(outcome, lambda cell: cell.saved, most) if outcome.system == "nbrewind" else 0.0,
        slowdown=_slowdown(outcome, bare),
        stored=sum(cell.stored for cell in outcome.cells[:most]),
        back=next((move.cpu for move in moves if move.start - move.goal == 1), None),
        far=next((move.cpu for move in moves if move.start - move.goal > 1), None),
    )


def _slowdown(outcome: Outcome, bare: Outcome) -> float | None:
    """Return how much longer the user's own code takes: by minima of even and odd cells, which alternate in kind.

    None where it takes too little to tell.
    """
    count = len(outcome.cells)
    if count < 3 or _median(bare, lambda cell: cell.own) < _TELLING:
        return None
    times = [
        sum(min(cell.own for cell in cells[start:count:2]) for start in (1, 2)) for cells in (outcome.cells, bare.cells)
    ]
    return times[0] / times[1]


def verdict(outcome: Outcome) -> str:
    """Say how many checkouts were right, and what was not."""
    failed = sum(1 for cell in outcome.cells if cell.failed)
    right = sum(1 for move in outcome.moves if move.correct)
    text = f"{right}/{len(outcome.moves)}"
    wrong = sorted({name for move in outcome.moves for name in move.wrong} - {"#aliases"})
    if wrong:
        said = all(move.honest for move in outcome.moves)
        text += f" ({'named' if said else 'wrong'}: {', '.join(wrong[:6])}{' ...' if len(wrong) > 6 else ''})"
    errors = sorted({move.error.split(":")[0] for move in outcome.moves if move.error})
    if errors:
        text += f" ({', '.join(errors)})"
    return text + (f"; {failed} of {len(outcome.cells)} points could not be made" if failed else "")


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB" if count >= 1e6 else f"{count / 1e3:,.1f} KB"


def _ms(value: float | None) -> str:
    return "" if value is None else f"{value:,.2f}" if value < 10 else f"{value:,.0f}"


def rows_of(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table in Markdown."""
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows)]


def workload_table(outcomes: dict[str, Outcome]) -> list[str]:
    """Return the table of one workload."""
    bare = outcomes["bare"]
    rows = []
    for name, outcome in outcomes.items():
        if name == "bare":
            continue
        one = figures(outcome, bare)
        rows.append(
            (
                *(name, f"{len(outcome.cells)}/{outcome.total}", _ms(one.cpu), _ms(one.variables), _ms(one.wall)),
                *(
                    _ms(one.saved) if one.saved else "",
                    "" if one.slowdown is None else f"{one.slowdown:.2f}",
                    _size(one.stored),
                ),
                *(f"{_ms(one.back)} / {_ms(one.far)}", verdict(outcome)),
            )
        )
    columns = ("system", "cells", "CPU ms", "of it variables", "wait ms", "saved after ms", "user code", "stored")
    return rows_of((*columns, "checkout 1 / 10 back, CPU ms", "checkouts right"), rows)


def ratio_table(runs: Runs) -> list[str]:
    """Return how many times each peer takes what nbrewind takes, over the cells that both did."""
    rows = []
    for workload, outcomes in runs.items():
        ours = outcomes.get("nbrewind")
        for name, outcome in outcomes.items():
            if ours is None or name in ("bare", "nbrewind"):
                continue
            most = min(len(ours.cells), len(outcome.cells))
            mine, other = (figures(one, outcomes["bare"], most) for one in (ours, outcome))
            rows.append(
                (
                    *(workload, name, str(most), _times(other.cpu, mine.cpu), _times(other.cpu, mine.variables)),
                    *(_times(other.stored, mine.stored), _times(_wanted(outcome), _wanted(ours))),
                    *(_times(other.back, mine.back), verdict(outcome)),
                )
            )
    columns = ("workload", "peer", "cells", "CPU", "CPU, variables alone", "stored", "stored per later cell")
    return rows_of((*columns, "checkout", "its checkouts right"), rows)


def _wanted(outcome: Outcome) -> float:
    """Return the mean growth of a cell after the first."""
    return statistics.mean(cell.stored for cell in _later(outcome.cells))


def _times(other: float | None, mine: float | None) -> str:
    if not mine or other is None:
        return ""
    return f"{other / mine:.1f}x" if other < 10 * mine else f"{other / mine:,.0f}x"


def _part(outcome: Outcome, cells: slice | None = None) -> float:
    chosen = outcome.cells[cells] if cells else _later(outcome.cells)
    return statistics.median(sum(cell.variables.values()) for cell in chosen)


def _growth(outcome: Outcome, cells: slice | None = None) -> float:
    chosen = outcome.cells[cells] if cells else _later(outcome.cells)
    return statistics.median(cell.objects for cell in chosen) / 1e6


# What, its workload, its figure, the figure to reach, and in what.
REACH: list[tuple[str, str, Callable[[Outcome, Outcome], float | None], float, str]] = [
    ("30 scalars, variables' part of a turn", "a", lambda ours, bare: _part(ours), 0.5, "CPU-ms"),
    ("2 000 names, the same", "h", lambda ours, bare: _part(ours), 3, "CPU-ms"),
    ("read-only cell over an 80 MB frame", "i", lambda ours, bare: _part(ours), 10, "CPU-ms"),
    ("the same, content stored", "i", lambda ours, bare: _growth(ours), 0, "MB"),
    ("one cell of the frame changed", "b", lambda ours, bare: _part(ours, slice(2, None, 2)), 10, "CPU-ms"),
    ("the same, stored", "b", lambda ours, bare: _growth(ours, slice(2, None, 2)), 0.1, "MB"),
    ("one column of it changed (8 MB)", "b", lambda ours, bare: _part(ours, slice(1, None, 2)), 10, "CPU-ms"),
    ("the same, stored", "b", lambda ours, bare: _growth(ours, slice(1, None, 2)), 8.1, "MB"),
    ("one row of a 400 MB array", "d", lambda ours, bare: _part(ours, slice(2, None)), 30, "CPU-ms"),
    ("the same, stored", "d", lambda ours, bare: _growth(ours), 1, "MB"),
    ("300 000 dictionaries, one changed", "c", lambda ours, bare: _part(ours), 300, "CPU-ms"),
    ("the same, stored", "c", lambda ours, bare: _growth(ours), 1, "MB"),
    ("hot loop, times bare", "j", _slowdown, 1.02, ""),
    ("rewind one turn back, small namespace", "a", lambda ours, bare: figures(ours, bare).back, 50, "CPU-ms"),
]


def reach_table(runs: Runs) -> list[str]:
    """Return the figures of the design beside what was measured."""
    rows = []
    for what, workload, figure, wanted, unit in REACH:
        outcomes = runs.get(workload, {})
        if "nbrewind" not in outcomes or len(outcomes["nbrewind"].cells) < 4:
            continue
        value = figure(outcomes["nbrewind"], outcomes["bare"])
        if value is not None:
            text = "yes" if value <= wanted else "NO"
            rows.append((what, f"{value:.3g} {unit}".strip(), f"{wanted:g} {unit}".strip(), text))
    return rows_of(("what", "measured", "to reach", "met"), rows)
