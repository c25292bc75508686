"""What code is read to reach, case by case; the corpus has the breadth."""

from __future__ import annotations

import dis
import gc
import statistics
import sys
import threading
import time
import types
import warnings
import weakref
from typing import Any

import pytest

from nbrewind.resources.variables import facts as facts_module
from nbrewind.resources.variables import kinds
from nbrewind.resources.variables.facts import ByIdentity, compile_cell, facts_of
from nbrewind.resources.variables.magic_words import without_magics
from nbrewind.resources.variables.names import NameReader, Reach, reach


@pytest.fixture(autouse=True)
def _tests_are_no_notebook(monkeypatch):
    monkeypatch.setattr(kinds, "PURE", kinds.PURE | {"tests", "conftest"})
    monkeypatch.setattr(kinds, "_judged", {})
    monkeypatch.setattr(kinds, "_counted", [0])


def _namespace(code: str = "") -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(code, namespace)
    return namespace


@pytest.mark.parametrize(
    ("code", "loads", "stores"),
    [
        ("x = y + z.w", "y z", "x"),
        ("def f(a):\n    b = a\n    return b + c", "c", "f"),
        ("def f():\n    global g\n    g = h", "h", "f g"),
        ("class A(B):\n    x = 1\n    def m(self): return q", "B q __name__", "A"),
        ("[f(i) for i in xs]", "f xs", ""),
        ("lambda: (lambda: deep)", "deep", ""),
        ("del x", "x", ""),
        ("import os.path as p, sys", "", "p sys"),
        ("x += 1", "x", "x"),
        ("for i in a: pass", "a", "i"),
        ("with a as b: pass", "a", "b"),
        ("await x", "x", ""),
    ],
)
def test_global_names_of_code(code, loads, stores):
    found = facts_of(compile_cell(code))

    assert found.loads - {"__module__", "__qualname__"} == set(loads.split()) and found.stores == set(stores.split())


def test_names_of_functions_are_kept_for_later_and_those_of_list_comprehensions_are_not():
    assert facts_of(compile_cell("def f(): return a\n[b for _ in c]\n(lambda: d)\nlist(e for _ in g)")).later == {
        *("a", "d", "e")
    }


def test_bytecode_is_read_as_dis_reads_it():
    """Long argument numbers and every scope, over a large module."""
    with open(statistics.__file__) as file:
        source = file.read() + "\n" + "\n".join(f"name{i} = other{i}" for i in range(700))
    front = [compile_cell(source)]
    while front:
        code = front.pop()
        expected = [(i.opcode, i.argval) for i in dis.get_instructions(code) if i.opcode in facts_module._WANTED]
        assert list(facts_module._named(code)) == expected
        front += [one for one in code.co_consts if isinstance(one, types.CodeType)]


def test_compiling_shows_no_warning_and_leaves_the_filters_as_they_were():
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        before = list(warnings.filters)
        compile_cell("'\\d'; 1 is 1; assert (1, 2)")

        assert shown == [] and list(warnings.filters) == before


def test_cache_holds_nothing_alive_and_takes_no_other_object_of_the_same_identity():
    calls = []
    cache: ByIdentity[int] = ByIdentity(lambda one: calls.append(1) or len(calls))

    class One:
        pass

    one = One()
    assert cache(one) == cache(one) == 1
    alive = weakref.ref(one)
    del one
    assert alive() is None and cache._known == {}


@pytest.mark.parametrize(
    "code",
    [
        *("exec('x')", "eval('x')", "globals()", "locals()", "vars()", "get_ipython()", "__import__('x')"),
        *("import __main__", "from __main__ import x", "import ctypes", "import sys; sys.modules", "breakpoint()"),
        *(
            "f.__globals__",
            "def f():\n    return eval('x')",
            "x = = 1",
            "get_ipython().run_line_magic('run', 'x.py')",
        ),
        *("import pdb", "getattr(m, '__main__')", "get_ipython().run_cell_magic('unknown', '', 'x')"),
    ],
)
def test_code_that_can_reach_any_name_reaches_all(code):
    found = reach(code, _namespace("x = []"))

    assert found.names is None and found.reason


@pytest.mark.parametrize(
    "code",
    [
        *(
            "if __name__ == '__main__': x",
            "import importlib; x",
            "hasattr(x, 'y'); getattr(x, 'append')",
            "import gc; x",
        ),
        *("get_ipython().run_line_magic('matplotlib', 'inline'); x", "get_ipython().system('ls {x}'); x"),
        *("get_ipython().run_line_magic('time', 'x.append(1)')", "get_ipython().run_cell_magic('time', '', 'x\\n')"),
        "get_ipython().run_cell_magic('time', '', '!ls\\ny = !ls\\n%time x\\n')",
    ],
)
def test_code_that_cannot_reaches_what_it_names(code):
    found = reach(code, _namespace("x = []; z = []; import importlib, gc"))

    assert found.names is not None and "x" in found.names and "z" not in found.names, found


def test_magics_are_taken_out_with_the_code_that_they_run():
    code, magics = without_magics(
        "a = get_ipython().run_line_magic('timeit', '-n 3 -o f(x)')\n"
        "get_ipython().run_cell_magic('capture', 'out', 'y\\n%time z\\n')"
    )

    assert code == "a = None\nNone"
    assert [one.strip() for one in magics.sources] == ["f(x)", "z", "y\nNone"] and "out" in magics.names
    assert not magics.escape


def test_reach_of_two_moments_is_united():
    assert (Reach(frozenset("a")) | Reach(frozenset("b"))).names == {"a", "b"}
    assert (Reach(frozenset("a")) | Reach(None, "why")) == Reach(None, "why")


def test_function_taken_away_by_the_cell_was_reached_before_it():
    namespace = _namespace("xs = []\ndef f(): xs.append(1)")
    reader, code = NameReader(), "f(); f = None"

    before = reader.before(code, namespace)
    exec(code, namespace)

    assert before.names is not None and "xs" in before.names
    assert reader.after(namespace).names == {"f"}


def test_functions_beyond_the_budget_are_known_by_the_names_they_mention():
    reader = NameReader()
    code = "xs = []; ys = []\ndef f(): xs.append(1)\nmany = [[i] for i in range(50_000)] + [f]"
    namespace = _namespace(code)
    reader.note(code)

    found = reader.before("many[-1]()", namespace)

    assert found.names == {"many", "xs"}
    assert reach("many[-1]()", namespace) == Reach(None, "too much to look through")


def test_reader_holds_nothing_of_the_user():
    namespace = _namespace("class A:\n    def m(self): return self\na = A()\ndef f(): return a\nimport json")
    reader = NameReader()
    reader.before("f(); a.m(); json.x = f", namespace)
    exec("json.x = f", namespace)
    reader.after(namespace)
    gone = [weakref.ref(namespace[name]) for name in ("A", "a", "f")]
    del namespace["json"].x
    namespace.clear()
    import gc

    gc.collect()

    assert [one() for one in gone] == [None] * 3


HOSTILE = """
class Meta(type):
    def __hash__(cls): raise RuntimeError('hash')
    def __getattribute__(cls, name): raise RuntimeError(name)
class A(metaclass=Meta):
    def __getattribute__(self, name): raise RuntimeError(name)
    def __eq__(self, other): raise RuntimeError('eq')
    def __len__(self): raise RuntimeError('len')
a = A()
class L(list):
    def __len__(self): raise RuntimeError('len')
    def __iter__(self): raise RuntimeError('iter')
    @property
    def __class__(self): raise RuntimeError('class')
l = L([1])
d = {'a': a}
deep = []
for _ in range(50_000):
    deep = [deep]
loop = []; loop.append(loop)
"""


@pytest.mark.parametrize("code", ["a", "A", "l", "d['a']", "a, l, d", "deep", "loop"])
def test_hostile_and_deep_values_never_raise(code):
    namespace = _namespace(HOSTILE)

    found = NameReader().before(code, namespace)

    assert found.names is None or code.partition("[")[0].partition(",")[0] in found.names


def test_no_code_of_the_user_runs_while_reading():
    namespace = _namespace(
        "ran = []\nclass A:\n    def __getattr__(self, n): ran.append(n); raise AttributeError(n)\n"
        "    def __eq__(self, o): ran.append('eq'); return True\n    def __hash__(self): ran.append('hash'); return 1\n"
        "    def __len__(self): ran.append('len'); return 1\n    def __bool__(self): ran.append('bool'); return True\n"
        "    def __iter__(self): ran.append('iter'); return iter(())\na = A(); xs = [a]; "
        "d = {'k': a}\ndef f(): return a"
    )
    reader = NameReader()

    for code in ("a", "xs[0]", "d", "f()", "a.x = 1"):
        reader.before(code, namespace)
        reader.after(namespace)

    assert namespace["ran"] == []


def test_reading_beside_another_thread_holds_nothing_afterwards():
    namespace = _namespace("xs = [[1]]")
    before, done, reader = sys.getrefcount(namespace["xs"]), threading.Event(), NameReader()
    waiting = threading.Thread(target=done.wait)
    waiting.start()
    gc.disable()
    try:
        reader.before("xs[0]", namespace)
        reader.after(namespace)
        held = sys.getrefcount(namespace["xs"]) - before
    finally:
        gc.enable()
        done.set()
        waiting.join()

    assert held == 0


def test_a_trivial_cell_among_2000_names_costs_little():
    namespace = _namespace("\n".join(f"v{i} = {{'i': {i}, 'l': [{i}]}}" for i in range(2000)))
    reader, costs = NameReader(), []
    for i in range(30):
        start = time.perf_counter()
        reader.before(f"v0['l'].append({i})", namespace)
        reader.after(namespace)
        costs.append(time.perf_counter() - start)

    assert min(costs) < 0.010, min(costs)  # the test process has more hooks than a kernel


def test_user_modules_are_told_from_libraries(tmp_path, monkeypatch):
    (tmp_path / "corpus_own.py").write_text("x = []")
    monkeypatch.syspath_prepend(str(tmp_path))
    import importlib

    importlib.import_module("corpus_own")

    assert kinds.is_user_module("corpus_own") and "corpus_own" in kinds.user_modules()
    assert not any(kinds.is_user_module(name) for name in ("json", "numpy", "IPython", "__main__", "nbrewind", "no"))
    del sys.modules["corpus_own"]
