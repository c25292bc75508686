from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.resources.variables.bench import Notebook

CASES = {
    "two names": ("a = [1]; b = a; d = {'k': a}", "b.append(2); d['k'] = None", "a == [1] and a is b and d['k'] is a"),
    "a cycle": ("c = [1]; c.append(c)", "c.clear()", "c[1] is c and len(c) == 2"),
    "closures that share": (
        "def make():\n    acc = []\n    def add(v): acc.append(v); return acc\n    def get(): return acc\n"
        "    return add, get\n"
        "add, get = make(); add(1)",
        "add(2); get = None",
        "get() == [1] and add(5) is get() and get() == [1, 5]",
    ),
    "a recursive function": (
        "def f(n): return 1 if n < 1 else n * f(n - 1)\ng = f",
        "f = g = 0",
        "f(4) == 24 and f is g",
    ),
    "a function that calls itself through a cell": (
        "def outer():\n    def inner(n): return n and inner(n - 1)\n    return inner\ni = outer()",
        "i = 0",
        "i(3) == 0",
    ),
    "a class and its instances": (
        "class D:\n    made = []\n    def __init__(self): self.made.append(self)\nd = D()",
        "d.x = 1; D.made.clear(); D.more = 2",
        "type(d) is D and D.made == [d] and not hasattr(D, 'more') and not hasattr(d, 'x')",
    ),
    "a class defined again": (
        "class D: pass\nd = D()",
        "class D: z = 1\nd = D()",
        "type(d) is D and not hasattr(D, 'z')",
    ),
    "super": (
        "class A:\n    def f(self): return 'a'\nclass B(A):\n    def f(self): return super().f() + 'b'\nb = B()",
        "del A, B, b",
        "b.f() == 'ab' and isinstance(b, A) and type(b) is B",
    ),
    "no second __init_subclass__": (
        "class P:\n    known = []\n    def __init_subclass__(cls): P.known.append(cls)\nclass Q(P): pass",
        "del Q; P.known.clear(); import gc; gc.collect()",
        "P.known == [Q]",
    ),
    "an abstract class": (
        "import abc\nclass A(abc.ABC):\n    @abc.abstractmethod\n    def f(self): ...\nclass B(A):\n"
        "    def f(self): return 1\nb = B()",
        "del A, B, b",
        "b.f() == 1 and isinstance(b, A) and A.__abstractmethods__ == {'f'}",
    ),
    "slots": (
        "class S:\n    __slots__ = ('a', '__weakref__')\ns = S(); s.a = [1]; t = s.a",
        "s.a.append(2); del S",
        "s.a == [1] and t is s.a and type(s) is S and not hasattr(s, '__dict__')",
    ),
    "a dictionary that two instances share": (
        "class B:\n    s = {}\n    def __init__(self): self.__dict__ = self.s\na = B(); b = B(); a.x = 1",
        "a.x = 2",
        "b.x == 1 and a.__dict__ is b.__dict__ is B.s",
    ),
    "an enumeration": (
        "import enum\nclass E(enum.Enum):\n    A = (1, 2)\n    def __init__(self, p, q): self.p = p\ne = E.A",
        "e = None; del E",
        "e is E.A and e.p == 1 and list(E) == [E.A]",
    ),
    "a sentinel": ("S = object()\ndef f(v=S): return v is S", "S = None", "f() and f(S)"),
    "a named tuple": (
        "import collections\nP = collections.namedtuple('P', 'a b'); p = P(1, [2])",
        "p[1].append(3)",
        "p == P(1, [2])",
    ),
    "a dataclass": (
        "import dataclasses\n@dataclasses.dataclass(order=True)\nclass D:\n    x: int\n"
        "    y: list = dataclasses.field(default_factory=list)\nd = D(1)",
        "d.x = 5; del D",
        "d == D(1) and D(0) < d and type(d) is D and dataclasses.fields(D)[1].default is dataclasses.MISSING",
    ),
    "a weak reference": (
        "import weakref\nclass T: pass\nt = T(); w = weakref.ref(t); W = weakref.WeakValueDictionary(k=t)",
        "del t; import gc; gc.collect()",
        "w() is t and W['k'] is t",
    ),
    "half-used iterators": (
        "it = iter([1, 2, 3]); next(it); en = enumerate('abc'); next(en); z = zip([1, 2], [3, 4]); next(z)",
        "list(it); list(en); list(z)",
        "next(it) == 2 and next(en) == (1, 'b') and next(z) == (2, 4)",
    ),
    "views of a dictionary": (
        "d = {1: 2}; k = d.keys(); p = type(type.__dict__)(d)",
        "d[3] = 4",
        "list(k) == [1] and not d.update(q=1) and 'q' in k and p['q'] == 1",
    ),
    "a bound method": ("l = [1]; push = l.append", "push(2)", "l == [1] and not push(3) and l == [1, 3]"),
    "an object of a module": (
        "import random, os, logging\nf = random.random; e = os.environ; r = logging.root; k = [f, 1]",
        "k.append(2)",
        "k[0].__self__ is random._inst and e is os.environ and r is logging.root",
    ),
    "the namespace itself": ("g = globals(); h = [g]", "h.append(1)", "g is globals() and h == [g] and h[0] is g"),
    "a module of the process": (
        "import sys\np = sys.path; m = [sys, sys.modules]",
        "m.append(1)",
        "p is sys.path and m[0] is sys and m[1] is sys.modules",
    ),
    "properties and the like": (
        "class C:\n    @property\n    def p(self): return 1\n    @staticmethod\n    def s(): return 2\n"
        "    @classmethod\n    def c(cls): return cls\nc = C()",
        "del C, c",
        "c.p == 1 and C.s() == 2 and C.c() is C",
    ),
    "a counter with attributes": (
        "import collections\nc = collections.Counter('aab'); c.x = [1]",
        "c.clear(); c.x = 0",
        "c['a'] == 2 and c.x == [1]",
    ),
    "a metaclass": (
        "class M(type):\n    made = []\n    def __new__(m, *a):\n"
        "        M.made.append(a[0]); return super().__new__(m, *a)\nclass C(metaclass=M): pass",
        "del C; M.made.clear()",
        "type(C) is M and M.made == ['C']",
    ),
    "a partial": ("import functools\np = functools.partial(pow, 2)", "p = None", "p(3) == 8"),
    "a cached property": (
        "import functools\nclass C:\n    @functools.cached_property\n    def p(self): return [1]\nc = C(); c.p",
        "c.p.append(2); del C",
        "c.p == [1] and type(c) is C",
    ),
}


@pytest.mark.parametrize(("first", "second", "holds"), CASES.values(), ids=CASES)
def test_identity_comes_back(first: str, second: str, holds: str, ground: Path) -> None:
    book = Notebook(ground)
    book.run(first)
    book.run(second)

    book.back(1)

    assert eval(holds, book.ns)


@pytest.mark.parametrize(("first", "second", "holds"), CASES.values(), ids=CASES)
def test_a_new_kernel_gets_the_same(first: str, second: str, holds: str, ground: Path) -> None:
    book = Notebook(ground)
    book.run(first)
    later = Notebook(ground)
    later.points = book.points

    later.back(1)

    assert eval(holds, later.ns)


def test_nothing_of_the_user_is_kept_alive(ground: Path) -> None:
    book = Notebook(ground)
    book.run(
        "import weakref\nclass T: pass\nt = T(); t.me = [t]; gone = []\n"
        "t.me.clear(); f = weakref.finalize(t, gone.append, 1)"
    )
    book.run("t.x = 2")
    exec("del t", book.ns)

    assert book.ns["gone"] == [1]


def test_what_a_rewind_took_away_is_held_until_the_guard_lets_go(ground: Path) -> None:
    book = Notebook(ground)
    book.run("import weakref\ngone = []\nclass T: pass")
    book.run("t = T(); watch = weakref.ref(t)")
    watch = book.ns["watch"]

    book.back(1)
    held = watch() is not None  # type: ignore[operator]
    book.guard.release()

    assert held
    assert watch() is None  # type: ignore[operator]
