"""Random notebooks, and a description of a namespace in which two are equal in value and alias structure, or differ."""

from __future__ import annotations

import functools
import gc
import random
import types
import weakref
from typing import Any

import numpy as np

NAMES = [f"v{number}" for number in range(8)]

START = """
import numpy as np, pandas as pd, functools, weakref, collections, enum, dataclasses, itertools, copy, array
def make(seed):
    acc = seed
    count = 0
    def add(value):
        nonlocal count
        acc.append(value); count += 1
        return count
    def get(): return acc
    return add, get
class Node:
    bag = []
    def __init__(self, value): self.value = value; self.peer = None
    def __repr__(self): return 'Node'
class Leaf(Node):
    def grow(self): super().__repr__(); self.value = [self.value, Leaf.bag]; return self
class Slotted:
    __slots__ = ('left', 'right', '__weakref__')
@dataclasses.dataclass
class Data:
    x: object
    y: list = dataclasses.field(default_factory=list)
class Kind(enum.Enum):
    ONE = 1
    TWO = 2
Pair = collections.namedtuple('Pair', 'a b')
class Meta(type):
    made = []
    def __call__(cls, *a): cls.made.append(cls.__name__); return super().__call__(*a)
class Odd(metaclass=Meta):
    pass
class Chain:
    def __init__(self): self.me = self; self.links = {'self': self}
    def __call__(self, x): self.links[len(self.links)] = x; return self
    def __eq__(self, other): return True
    __hash__ = None
class Tracked(dict):
    def __init__(self, *a): super().__init__(*a); self.log = []
    def __setitem__(self, key, value): self.log.append(key); super().__setitem__(key, value)
def tree(x):
    y = [x]
    def outer():
        nonlocal x
        x = len(y)
        def inner():
            nonlocal y
            y = [y, x]
            return y
        return inner
    def other(z=y): return x, y, z
    return outer, other, outer()
def counting(wrapped):
    @functools.wraps(wrapped)
    def counted(*a, **k):
        counted.calls += 1
        return wrapped(*a, **k)
    counted.calls = 0
    return counted
missing = object()
def sentinel(value=missing): return value is missing
"""

_VALUES = [
    "[1, 2, 3]",
    "{'k': 1, 'l': [2]}",
    "{1, 2, 3}",
    "(1, [2], 'x')",
    "7",
    "'text'",
    "2.5",
    "None",
    "[[0] * 3 for _ in range(3)]",
    "np.arange(12.)",
    "np.arange(5000.)",
    "np.zeros((40, 50), order='F')",
    "np.array([{W}, None], dtype=object)",
    "np.array(3)",
    "np.arange(600).reshape(20, 30)[::2, ::-1]",
    "np.zeros(3, dtype='i4,f8')",
    "collections.OrderedDict(a=1)",
    "collections.defaultdict(list, a=[1])",
    "collections.Counter('aab')",
    "collections.deque([1, 2], 5)",
    "bytearray(b'abc')",
    "Node(1)",
    "Leaf({W})",
    "Data({W})",
    "Kind.ONE",
    "Pair({W}, {X})",
    "Odd()",
    "Slotted()",
    "missing",
    "object()",
    "np.random.default_rng(1)",
    "lambda q=1: q",
    "type('Made', (Node,), dict(z={W}))",
    "frozenset({1, 2})",
    "slice(1, 2)",
    "iter([1, 2, 3, 4])",
    "enumerate('abcd')",
    "iter((1, 2, 3))",
    "zip([1, 2, 3], {W} if isinstance({W}, list) else [1])",
    "pd.DataFrame({'a': np.arange(5.), 'b': list('vwxyz'), 'c': range(5)})",
    "pd.DataFrame(np.arange(800.).reshape(400, 2), columns=['a', 'b'])",
    "pd.Series([1, 2, 3], name='a')",
    "np.arange(40.)[5:30][2:20:3]",
    "np.arange(90.).reshape(9, 10)[1:, 2:][::2]",
    "{'i': Node({W}), 'j': {X}, 'k': [Data({W})]}",
    "(n for n in [1, 2, 3])",
    "Chain()",
    "Tracked(a={W})",
    "array.array('d', [1, 2])",
    "iter(range(3, 7))",
    "itertools.chain([1], [{W}])",
    "map(str, [1, 2, 3])",
    "reversed([1, 2, 3])",
    "types.SimpleNamespace(x={W}, y=[{X}])",
    "functools.partial(make, {W})",
    "counting(lambda *a: a)",
    "Kind",
    "range(3)",
    "3 + 4j",
    "np.float64(2.5)",
    "np.ma.array([1, 2, 3], mask=[0, 1, 0])",
    "property(lambda self: 1)",
]

_STATEMENTS = [
    "{V} = {W}",
    "{V} = {W}",
    "{V} = [{W}, {X}]",
    "{V} = {'a': {W}, 'b': {X}}",
    "{V} = ({W}, {X})",
    "{V} = {W}[1:]",
    "{V} = {W}[::-1]",
    "{V} = {W}.T",
    "{V} = {W}.reshape(-1)",
    "{W}[0] = 9",
    "{W}[1:2] = 4",
    "{W} += 1",
    "{V}.append({W})",
    "{V}.append({V})",
    "{V}['z'] = {W}",
    "{V}[0] = {W}",
    "{V}.pop()",
    "{V}.clear()",
    "del {V}",
    "{V}, {W} = make([])",
    "{V}, {W} = make({X})",
    "{V}({W})",
    "{V}(5)",
    "Node.bag.append({W})",
    "Leaf.extra = {W}",
    "del Leaf.extra",
    "{V}.value = {W}",
    "{V}.peer = {W}",
    "{V}.grow()",
    "Node.__repr__ = lambda self: 'other'",
    "{V}.left = {W}",
    "{V}.right = {V}",
    "{V} = {W}.append",
    "{V} = functools.partial(max, {W})",
    "{V} = weakref.ref({W})",
    "{V} = weakref.WeakValueDictionary(k={W})",
    "next({V})",
    "def f(p={W}): return p, {X}",
    "f.note = {W}",
    "{V} = f",
    "f()",
    "{V} = Node",
    "{V} = vars({W}) if type({W}).__module__ == '__main__' and not isinstance({W}, enum.Enum) else 0",
    "{V}.y.append(3)",
    "{V} = {W}.y",
    "{V} = {W}.get",
    "{V} = {V}._replace(a={W})",
    "{V}.random()",
    "class Node:\n    bag = []\n    def __init__(self, value): self.value = value; self.peer = None",
    "class Late(Node):\n    shared = {W}\n    @property\n    def p(self): return self.value\n    @staticmethod\n"
    "    def s(): return Late\n    @classmethod\n    def c(cls): return cls.shared\n{V} = Late(3)",
    "{V} = [{W}] * 3",
    "{V} = {W}.copy()",
    "{V} = {W}.keys()",
    "{V} = types.MappingProxyType({W})",
    "{V} = memoryview({W})",
    "{V}.add(8)",
    "{V}.setdefault('q', []).append(1)",
    "{V} = np.frombuffer({W}, 'u1') if isinstance({W}, (bytes, bytearray)) else 0",
    "{V}.flags.writeable = False",
    "{V} = classmethod",
    "{V} = {W}.view('u1')",
    "{V} = np.broadcast_to({W}, (2, 12))",
    "{V} = np.lib.stride_tricks.sliding_window_view({W}, 3)",
    "{V} = staticmethod({W})",
    "{V} = list({W})",
    "{V}.count = {W}",
    "Data.tag = {W}",
    "Meta.made.append({W})",
    "{V} = [n for n in {W}]",
    "{V}.update(z={W})",
    "{V} = {W}.values()",
    "{V}.remove(2)",
    "{V} = sentinel({W})",
    "{V} = copy.deepcopy({W})",
    "{V} = copy.deepcopy([{W}, {W}, {X}])",
    "{V} = copy.copy({W})",
    "{V}, {W} = {W}, {V}",
    "{V}[:] = {W}",
    "{V}.extend({W})",
    "{V}.insert(0, {W})",
    "{V}.reverse()",
    "{V} += {W}",
    "{V} |= {W}",
    "{V} *= 2",
    "del {V}, {W}",
    "del {V}['k']",
    "del {V}[0]",
    "del {V}.value",
    "np.add({V}, 1, out={V})",
    "{V}[...] = 0",
    "{V}.flat[0] = 5",
    "{V}.sort()",
    "{V}.shape = (2, -1)",
    "{V} = {W}[1:][::2]",
    "{V} = {W}[1:, 1:]",
    "{V} = {W}.ravel()",
    "{V} = np.asarray({W})",
    "{V} = {W}.real",
    "{V} = {W}['f1']",
    "{V}['f0'] = 3",
    "{V}['c'] = {V}['a'] * 2",
    "{V}['new'] = {W}",
    "{V}.loc[1, 'a'] = 9",
    "{V} = {W}['a']",
    "{V} = {W}.iloc[1:3]",
    "{V}.iloc[0] = 5",
    "{V}.drop(columns='a', inplace=True)",
    "{V}.index = list('qrstu')",
    "{V} = {W}.values",
    "{V} = {W}.to_dict('list')",
    "{V} = {W}.groupby('b').sum()",
    "{V}, {W}, {X} = tree({V})",
    "{V} = {W}()",
    "{V} = counting({W}) if callable({W}) else 0",
    "{V} = {W}.__wrapped__",
    "def g(x, acc={W}, *, k={X}): acc.append(x); return acc, k",
    "g(3)",
    "g.__defaults__ = ({V},)",
    "g.__kwdefaults__ = {'k': {W}}",
    "{V} = g(4)",
    "g = functools.wraps(g)(lambda *a, inner=g: inner(*a))",
    "def len(x): return {W}",
    "del len",
    "max = {W}",
    "del max",
    "sum = lambda *a: {W}",
    "{V} = sum([1])",
    "setattr(Node, 'extra', lambda self: {W})",
    "Leaf.grow = Node.__init__",
    "del Leaf.grow",
    "Data.__init__ = lambda self, *a: None",
    "{V}.grow = types.MethodType(lambda s: s, {W})",
    "if type({V}) in (Node, Leaf): {V}.__class__ = Leaf",
    "if type({V}) in (Node, Leaf): {V}.__class__ = Node",
    "{V}.__dict__['w'] = {W}",
    "if {type({V}), type({W})} <= {Node, Leaf, Data, Chain}: {V}.__dict__ = {W}.__dict__",
    "{V} = {W}.__init__",
    "{V} = {W}.__class__",
    "{V} = {W}.me",
    "{V}.links['x'] = {W}",
    "{V} = {W}.links",
    "{V} = {W}.log",
    "Node.registry = {V} = {'n': Node, 'w': {W}}",
    "for i in range(2): {V}.append(i)",
    "{V} = {k: n for n, k in enumerate('ab')}",
    "{V} = [lambda: {W}, lambda: i]",
    "{V} = itertools.zip_longest(list({W}), [1])",
    "{V} = itertools.tee(iter([1, 2, 3]))",
    "{V} = (c for c in {W})",
    "{V} = {W}.items()",
    "{V} = {W} is {X}",
    "{V} = id",
    "{V}.append(Leaf); Leaf.owner = {V}",
    "class Leaf(Node):\n    made = {W}\n    def grow(self): return Leaf.made",
    "class Mixed(Chain, Node):\n    both = [{W}]\n{V} = Mixed()",
    "class Kind(enum.Enum):\n    ONE = 1\n    LIST = [1]\n{V} = Kind.LIST",
    "@dataclasses.dataclass\nclass Data:\n    x: object\n    z: list = dataclasses.field(default_factory=list)\n"
    "{V} = Data({W})",
    "{V}.z.append({W})",
    "{V} = weakref.WeakKeyDictionary({{W}: 1})",
    "{V} = weakref.proxy({W})",
    "{V} = types.new_class('Dynamic', (Node,)); {V}.held = {W}",
    "if 'v0' in globals(): {V} = v0",
    "globals()['{V}'] = {W}",
    "exec('{V} = [{W}]')",
]


def program(seed: int, cells: int = 8) -> list[str]:
    """Return the cells of one notebook. Statements may fail; each does so alike in every run of the same prefix."""
    dice = random.Random(seed)

    first = "".join(f"{name} = {_filled(dice.choice(_VALUES), dice)}\n" for name in dice.sample(NAMES, len(NAMES)))
    return [START, "import types\n" + _tried(first), *(cell(dice) for _ in range(cells))]


def cell(dice: random.Random) -> str:
    """Return one more cell."""
    lines: list[str] = []
    for _ in range(dice.randint(1, 3)):
        text = "{V} = " + dice.choice(_VALUES) if dice.random() < 0.25 else dice.choice(_STATEMENTS)
        lines.append(_filled(text, dice))
    return "".join(map(_tried, lines))


def _filled(text: str, dice: random.Random) -> str:
    for place in ("V", "W", "X"):
        text = text.replace("{" + place + "}", dice.choice(NAMES))
    return text


def _tried(text: str) -> str:
    body = text.strip().split("\n")
    if text.count("\n") > 4 and not text.startswith(("class", "@")):
        return "".join(_tried(line) for line in body)
    return "try:\n" + "".join(f"    {line}\n" for line in body) + "except Exception: pass\n"


class Description:
    """Walks a namespace in the order of its names; an object met again is named by when it was first met."""

    def __init__(self, namespace: dict[str, Any], hidden: frozenset[str]) -> None:
        self.namespace = namespace
        self._met: dict[int, int] = {}
        self._held: list[object] = []
        self._memory: list[tuple[int, int, int]] = []
        hidden |= {"__warningregistry__"}
        self.of = {name: self._of(namespace[name]) for name in sorted(namespace) if name not in hidden}

    def _of(self, value: Any) -> Any:
        kind = type(value)
        if kind in (weakref.ProxyType, weakref.CallableProxyType):
            return "a proxy"
        if kind is types.MappingProxyType and any(type(one) is dict and not one for one in gc.get_referents(value)):
            # There is one for all fields of all dataclasses.
            return "an empty mapping"
        if kind.__name__ == "MaskedArray":
            # Whether it was asked for its filling is written into it.
            return (kind.__name__, value.view(np.ndarray).tobytes(), repr(getattr(value, "_mask", None)))
        if kind in (int, float, complex, str, bytes, bool, type(None), range, slice, type(...)):
            return (kind.__name__, repr(value))
        if isinstance(value, types.ModuleType):
            return ("module", value.__name__)
        if kind.__module__ == "numpy" and hasattr(kind, "itemsize") and kind.__name__ not in ("ndarray", "void"):
            return (kind.__name__, repr(value))
        if value is self.namespace:
            return "the namespace"
        if kind not in (tuple, frozenset):
            if id(value) in self._met:
                return ("met", self._met[id(value)])
            self._met[id(value)] = len(self._met)
        self._held.append(value)
        # One that is through comes back as one that is through, in whichever direction.
        return (kind.__qualname__.replace("_reverseiterator", "_iterator"), *self._parts(value, kind))

    def _parts(self, value: Any, kind: type) -> list[Any]:
        of = self._of
        if isinstance(value, type):
            return self._class(value)
        if kind in (list, tuple) or issubclass(kind, tuple):
            return [of(one) for one in value]
        if kind in (set, frozenset):
            return sorted(map(repr, value))
        if kind is types.FunctionType:
            cells = [of(cell) for cell in value.__closure__ or ()]
            if value.__globals__ is not self.namespace and value.__module__ == "__main__":
                cells.append("other globals")
            return [value.__code__.co_code, value.__qualname__, of(value.__defaults__), of(vars(value)), *cells]
        if kind is types.CellType:
            return [of(value.cell_contents)]
        if kind.__name__ == "ndarray":
            return self._array(value)
        if kind.__module__.startswith("pandas"):
            return self._frame(value)
        if kind is types.GeneratorType:
            return ["a generator"]
        if kind is weakref.WeakKeyDictionary:
            return sorted((repr(of(key)), one) for key, one in value.items())
        if kind is types.MethodType:
            return [of(value.__self__), value.__name__]
        if kind is types.BuiltinFunctionType:
            return [value.__name__, "" if isinstance(value.__self__, types.ModuleType) else of(value.__self__)]
        if kind is functools.partial:
            return [of(value.func), of(value.args), of(value.keywords)]
        if kind is weakref.ref:
            return [of(value())]
        if kind is weakref.WeakValueDictionary:
            return [(key, of(one)) for key, one in sorted(value.items(), key=repr)]
        if kind in (staticmethod, classmethod):
            return [of(value.__func__)]
        if kind is property:
            return [of(value.fget)]
        if kind is memoryview:
            return [of(value.obj)]
        if kind.__name__.endswith(("_keys", "_values")):
            return [of(one) for one in value]
        if kind is types.MappingProxyType:
            return [of(gc.get_referents(value)[0])]
        if kind.__name__ == "Generator":
            return [repr(value.bit_generator.state)]
        if kind is bytearray:
            return [bytes(value)]
        return self._instance(value, kind)

    def _instance(self, value: Any, kind: type) -> list[Any]:
        of = self._of
        parts: list[Any] = [of(kind)] if kind.__module__ == "__main__" else []
        if isinstance(value, dict):
            parts += [(of(key), of(one)) for key, one in dict.items(value)]
        elif isinstance(value, list) or kind.__name__ == "deque":
            parts += [of(one) for one in value]
        elif kind.__module__ in ("builtins", "itertools"):
            try:
                reduced = value.__reduce__()[1:] if kind is not object else ()
            except TypeError:
                return ["something that cannot be looked into"]
            if kind.__name__ == "chain":
                return ["what is left of it"]
            if kind.__name__.endswith("iterator") and len(reduced) < 2:
                # One that is through says no more of its list, and comes back as one over an empty list.
                return ["nothing"]
            if kind.__name__.endswith("_iterator") and not reduced[0][0]:
                return ["nothing"]
            return [of(one) for one in reduced]
        if hasattr(value, "__dict__"):
            parts.append(of(vars(value)))
        for base in kind.__mro__:
            for name in base.__dict__.get("__slots__", ()):
                if name not in ("__weakref__", "__dict__") and hasattr(value, name):
                    parts.append((name, of(getattr(value, name))))
        return parts

    def _class(self, value: type) -> list[Any]:
        if value.__module__ != "__main__":
            return [value.__module__, value.__qualname__]
        skipped = {"__dict__", "__weakref__", "__doc__", "__module__", "_abc_impl", "__slotnames__"}
        skipped.add("_unhashable_values_")
        parts: list[Any] = [value.__qualname__, [self._of(base) for base in value.__bases__]]
        for name, one in sorted(vars(value).items()):
            if name not in skipped and type(one) not in (types.GetSetDescriptorType, types.MemberDescriptorType):
                parts.append((name, self._of(one)))
        return parts

    def _frame(self, value: Any) -> list[Any]:
        if type(value).__name__ not in ("DataFrame", "Series"):
            return [repr(value)]
        if "_mgr" not in vars(value):
            return ["emptied"]
        columns = [value] if type(value).__name__ == "Series" else [value[name] for name in value.columns]
        parts = [repr(value.index), repr(getattr(value, "columns", None)), repr(value.attrs)]
        return [*parts, *([str(one.dtype), [self._of(cell) for cell in one.tolist()]] for one in columns)]

    def _array(self, value: Any) -> list[Any]:
        if value.dtype == object:
            return [value.shape, self._of(value.tolist())]
        parts: list[Any] = [str(value.dtype), value.shape, value.tobytes(), value.flags.writeable]
        root = value
        while type(root.base) is type(value):
            root = root.base
        if root is not value:
            parts += [
                "view of",
                self._of(root),
                value.__array_interface__["data"][0] - root.__array_interface__["data"][0],
            ]
        return parts
