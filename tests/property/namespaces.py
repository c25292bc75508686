"""Random notebooks, and a description of a namespace in which two are equal in value and alias structure, or differ."""

from __future__ import annotations

import functools
import gc
import random
import types
import weakref
from typing import Any

NAMES = [f"v{number}" for number in range(8)]

START = """
import numpy as np, functools, weakref, collections, enum, dataclasses, itertools
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
    "{V} = vars({W}) if type({W}).__module__ == '__main__' and type({W}) is not Kind else 0",
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
]


def program(seed: int, cells: int = 8) -> list[str]:
    """Return the cells of one notebook. Statements may fail; each does so alike in every run of the same prefix."""
    dice = random.Random(seed)

    def filled(text: str) -> str:
        for place in ("V", "W", "X"):
            text = text.replace("{" + place + "}", dice.choice(NAMES))
        return text

    first = "".join(f"{name} = {filled(dice.choice(_VALUES))}\n" for name in dice.sample(NAMES, len(NAMES)))
    made = [START, "import types\n" + _tried(first)]
    for _ in range(cells):
        lines: list[str] = []
        for _ in range(dice.randint(1, 3)):
            if dice.random() < 0.25:
                lines.append(filled("{V} = " + dice.choice(_VALUES)))
            else:
                lines.append(filled(dice.choice(_STATEMENTS)))
        made.append("".join(map(_tried, lines)))
    return made


def _tried(text: str) -> str:
    body = text.strip().split("\n")
    if text.count("\n") > 4 and not text.startswith("class"):
        return "".join(_tried(line) for line in body)
    return "try:\n" + "".join(f"    {line}\n" for line in body) + "except Exception: pass\n"


class Description:
    """Walks a namespace in the order of its names; an object met again is named by when it was first met."""

    def __init__(self, namespace: dict[str, Any], hidden: frozenset[str]) -> None:
        self.namespace = namespace
        self._met: dict[int, int] = {}
        self._held: list[object] = []
        self._memory: list[tuple[int, int, int]] = []
        self.of = {name: self._of(namespace[name]) for name in sorted(namespace) if name not in hidden}

    def _of(self, value: Any) -> Any:
        kind = type(value)
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
        return (kind.__qualname__, *self._parts(value, kind))

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
            if kind.__name__.endswith("_iterator") and len(reduced) < 2:
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
        skipped = ("__dict__", "__weakref__", "__doc__", "__module__", "_abc_impl", "__slotnames__")
        parts: list[Any] = [value.__qualname__, [self._of(base) for base in value.__bases__]]
        for name, one in sorted(vars(value).items()):
            if name not in skipped and type(one) not in (types.GetSetDescriptorType, types.MemberDescriptorType):
                parts.append((name, self._of(one)))
        return parts

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
