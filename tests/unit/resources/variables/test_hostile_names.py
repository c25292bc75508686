"""Objects that answer no question about themselves: a cell is read, captured and taken back all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbrewind.resources.variables.names import NameReader
from tests.unit.resources.variables.bench import Notebook

HOSTILE = {
    "a dead proxy": "import weakref\nclass A: pass\na = A(); p = weakref.proxy(a); del a",
    "a dead proxy of something to call": "import weakref\nclass A:\n    def __call__(self): pass\n"
    "a = A(); p = weakref.proxy(a); del a",
    "a live proxy": "import weakref\nclass A: pass\na = A(); p = weakref.proxy(a)",
    "a dead proxy in a list": "import weakref\nclass A: pass\na = A(); p = [weakref.proxy(a), 1]; q = p; del a",
    "a class that raises": "class A:\n    @property\n    def __class__(self): raise RuntimeError('no')\np = A()",
    "one that says it is a class": "class A:\n    __class__ = property(lambda self: type)\np = A()",
    "one that says it is a thread": "import threading\nclass A:\n    __class__ = property(lambda s: threading.Thread)\n"
    "p = A()",
    "one that says it is a module": "class A:\n    __class__ = property(lambda self: type(re))\nimport re\np = A()",
    "one that says it is a text": "class A:\n    __class__ = property(lambda self: str)\np = A()",
    "one that says it is a function": "class A:\n    __class__ = property(lambda self: type(lambda: 0))\np = A()",
    "attributes that raise": "class A:\n    def __getattribute__(self, name): raise RuntimeError(name)\np = A()",
}


@pytest.mark.parametrize("code", HOSTILE.values(), ids=HOSTILE)
def test_cells_around_it_are_captured_and_taken_back(code: str, ground: Path) -> None:
    book, reader = Notebook(ground), NameReader(watch=lambda holder, words: None)
    for cell in ("x = [1]; y = x", code, "x.append(2)", "p; print; register = 1\nif 0: p.attribute = 1\nx.append(3)"):
        reach = reader.before(cell, book.ns)
        exec(cell, book.ns)
        reach |= reader.after(book.ns)
        book.capture(reach.names)

    book.back(1)
    assert book.ns["x"] == [1] and book.ns["y"] is book.ns["x"] and "p" not in book.ns
    book.back(3)
    assert book.ns["x"] == [1, 2] and book.ns["y"] is book.ns["x"]
