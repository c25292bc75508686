"""Random notebooks: going back equals a fresh run of the cells up to there, in value and alias structure.

After a few cells the program goes to any point, runs other cells there, and goes on to points of either line.
`NBREWIND_PROGRAMS` says how many; a failing one is run again by its number with `NBREWIND_FIRST_PROGRAM`.
"""

from __future__ import annotations

import builtins
import gc
import os
import random
import warnings
from pathlib import Path

import pytest

from nbrewind.resources.variables.names import NameReader
from tests.property.namespaces import Description, cell, program
from tests.reliability.effort import amount
from tests.unit.resources.variables.bench import Notebook

PROGRAMS = int(os.environ.get("NBREWIND_PROGRAMS", "0")) or amount(100, 2000)
FIRST = int(os.environ.get("NBREWIND_FIRST_PROGRAM", "0"))
BATCH = 20
MOVES = 4
NAMED = ("lost", "reference", "as it is now", "stored apart", "shares memory", "cannot be")


def fresh_run(cells: tuple[str, ...]) -> dict[str, object]:
    namespace: dict[str, object] = {"__name__": "__main__", "__builtins__": builtins}
    for one in cells:
        exec(compile(one, "<cell>", "exec", dont_inherit=True), namespace)
    return namespace


class Walk:
    """One program on its way through its lines. `lines[k]` are the cells that lead to point k."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.seed = seed
        self.dice = random.Random(seed * 7)
        self.book = Notebook(folder)
        self.reader = NameReader() if self.dice.random() < 0.5 else None
        self.lines: list[tuple[str, ...]] = [()]
        self.present: tuple[str, ...] = ()
        self.moved = False
        self.blind = False
        # Names of which it was said, at one time or another, that they do not come back as copies.
        self.named: set[str] = set()
        # Points made after that: what a used-up generator gave to a cell is not what a fresh one gives.
        self.tainted: set[int] = set()

    def run(self, code: str) -> None:
        """Run one cell here."""
        book = self.book
        names = self.reader.before(code, book.ns) if self.reader is not None else None
        exec(compile(code, "<cell>", "exec", dont_inherit=True), book.ns)
        if self.reader is not None and names is not None:
            names |= self.reader.after(book.ns)
        book.capture(names.names if names is not None else None)
        self.present = (*self.present, code)
        self.lines.append(self.present)
        self._note(book.last.notes)
        if self.named and self.moved:
            self.tainted.add(len(self.lines) - 1)

    def back(self, point: int) -> None:
        """Go to any point."""
        self.book.back(point)
        self.moved = True
        self.present = self.lines[point]
        self._note(self.book.notes)

    def _note(self, notes: tuple[object, ...]) -> None:
        # What is lost in a class may be seen under any name.
        self.blind = any(note.subject.startswith("class ") for note in notes)
        self.named |= {note.subject for note in notes if any(word in note.reason for word in NAMED)}

    def differences(self, what: str) -> list[str]:
        """Return the names that are not as in a fresh run, but for those that were named."""
        if self.blind or any(self.lines[point] == self.present for point in self.tainted):
            return []
        hidden, fresh = self.book.fixed | self.named, fresh_run(self.present)
        got, wanted = Description(self.book.ns, hidden).of, Description(fresh, hidden).of
        if got != wanted:
            # What only a cycle keeps alive is in weak containers for as long as nobody collects.
            gc.collect()
            got, wanted = Description(self.book.ns, hidden).of, Description(fresh, hidden).of
        names = sorted(name for name in got.keys() | wanted.keys() if got.get(name) != wanted.get(name))
        return [f"program {self.seed}, {what}: {', '.join(names)}"] if names else []


def differences(seed: int, folder: Path) -> list[str]:
    walk, found = Walk(seed, folder), []
    for code in program(seed):
        walk.run(code)
    for move in range(MOVES):
        point = walk.dice.randrange(1, len(walk.lines))
        walk.back(point)
        found += walk.differences(f"move {move}, to {point}")
        if walk.dice.random() < 0.5 and point > 2:
            for _ in range(walk.dice.randint(1, 3)):
                walk.run(cell(walk.dice))
            found += walk.differences(f"after cells on the line from {point}")
    return found


@pytest.mark.parametrize("first", range(FIRST, FIRST + PROGRAMS, BATCH))
def test_going_back_equals_a_fresh_run(first: int, ground: Path) -> None:
    found: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(first, min(first + BATCH, FIRST + PROGRAMS)):
            found += differences(seed, ground / str(seed))
    assert found == []
