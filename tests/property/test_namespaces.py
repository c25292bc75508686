"""Random notebooks: going back equals a fresh run of the cells up to there, in value and alias structure.

`NBREWIND_PROGRAMS` says how many; a failing one is run again by its number with `NBREWIND_FIRST_PROGRAM`.
"""

from __future__ import annotations

import builtins
import os
import random
import warnings
from pathlib import Path

import pytest

from nbrewind.resources.variables.names import reach
from tests.property.namespaces import Description, program
from tests.unit.resources.variables.bench import Notebook

PROGRAMS = int(os.environ.get("NBREWIND_PROGRAMS", "100"))
FIRST = int(os.environ.get("NBREWIND_FIRST_PROGRAM", "0"))
BATCH = 20
NAMED = ("lost", "reference")


def fresh_run(cells: list[str]) -> dict[str, object]:
    namespace: dict[str, object] = {"__name__": "__main__", "__builtins__": builtins}
    for cell in cells:
        exec(compile(cell, "<cell>", "exec", dont_inherit=True), namespace)
    return namespace


def differences(seed: int, folder: Path) -> list[str]:
    cells, dice = program(seed), random.Random(seed * 7)
    book = Notebook(folder)
    by_names = dice.random() < 0.5
    for cell in cells:
        book.run(cell, reach(cell, book.ns).names if by_names else None)
    found: list[str] = []
    for _ in range(3):
        point = dice.randint(1, len(cells))
        book.back(point)
        got = Description(book.ns, book.fixed).of
        wanted = Description(fresh_run(cells[:point]), book.fixed).of
        if got != wanted and not any(word in note.reason for note in (*book.notes, *book.last.notes) for word in NAMED):
            names = sorted(name for name in got.keys() | wanted.keys() if got.get(name) != wanted.get(name))
            found.append(f"program {seed}, back to {point}: {', '.join(names)}")
    return found


@pytest.mark.parametrize("first", range(FIRST, FIRST + PROGRAMS, BATCH))
def test_going_back_equals_a_fresh_run(first: int, ground: Path) -> None:
    found: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(first, min(first + BATCH, FIRST + PROGRAMS)):
            found += differences(seed, ground / str(seed))
    assert found == []
