from __future__ import annotations

import builtins
from pathlib import Path

from tests.unit.resources.variables.bench import Notebook, plan


def test_values_and_deletions_come_back(ground: Path) -> None:
    book = Notebook(ground)
    book.run("a = [1]; b = {'k': a}; n = 5")
    book.run("a.append(2); del n; c = 3")

    book.back(1)

    assert book.ns["a"] == [1]
    assert book.ns["n"] == 5
    assert "c" not in book.ns
    assert book.ns["b"]["k"] is book.ns["a"]  # type: ignore[index]


def test_unchanged_objects_stay_the_same_objects(ground: Path) -> None:
    book = Notebook(ground)
    book.run("a = [1]; b = [2]")
    kept = book.ns["b"]
    book.run("a.append(2)")

    book.back(1)

    assert book.ns["b"] is kept


def test_views_stay_views(ground: Path) -> None:
    book = Notebook(ground)
    book.run("import numpy as np\na = np.arange(10_000.); v = a[2:5]; r = a[::-1]; m = a.reshape(100, 100)[:, 1]")
    book.run("v[:] = -1")

    book.back(1)

    exec("assert a[3] == 3; v[0] = 77; assert a[2] == 77 and r[-3] == 77; m[0] = 5; assert a[1] == 5", book.ns)


def test_functions_read_the_live_namespace(ground: Path) -> None:
    book = Notebook(ground)
    book.run("k = 10\ndef f(): return k")
    book.run("k = 99\ndef f(): return -k")

    book.back(1)

    exec("assert f() == 10; k = 5; assert f() == 5", book.ns)
    assert book.ns["f"].__globals__ is book.ns  # type: ignore[attr-defined]


def test_a_failed_apply_rolls_back(ground: Path) -> None:
    book = Notebook(ground)
    book.run("class R:\n    items = []\na = [1]; old = R")
    book.run("R.items.append(1); R.more = 2; a.append(2); z = 1")
    before = dict(book.ns)
    resource, context = book.resource(1)

    resource.prepare(plan(), context)
    resource.apply()
    assert book.ns["a"] == [1]
    resource.rollback()

    assert {name: id(value) for name, value in book.ns.items()} == {name: id(value) for name, value in before.items()}
    exec("assert R.items == [1] and R.more == 2 and a == [1, 2]", book.ns)
    assert book.ns["__builtins__"] is builtins
