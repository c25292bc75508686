"""Rows of the language's plain values, containers and iterators."""

from __future__ import annotations

from tests.conformance.class_row import Row, reference, value

__all__ = ["BUILTINS"]

_RUNNING = "its state is a frame of running code, which Python cannot write down"
_OWN = "class A:\n    def __init__(s): s.n = [1]\n    def m(s): return s.n\n"

_PLAIN = (
    value("NoneType", "x = None"),
    value("bool", "x = True"),
    value("int", "x = 2 ** 300 + 7"),
    value("float", "x = [1.5, float('inf'), -0.0, float('nan')]", "x.pop()", "[repr(n) for n in x]"),
    value("complex", "x = 1 - 2j"),
    value("str", "x = 'a\\ud800é' * 3"),
    value("bytes", "x = bytes(range(256))"),
    value("ellipsis", "x = ..."),
    value("NotImplementedType", "x = NotImplemented", look="x is NotImplemented"),
    value("range", "x = range(3, 90, 7)"),
    value("slice", "x = slice(1, None, 2)"),
    value("bytearray", "x = bytearray(b'abc')", "x += b'd'"),
    value("memoryview", "x = memoryview(bytearray(b'abc'))", "x[0] = 9", "(bytes(x), bytes(x.obj))"),
    reference(
        "memoryview of a part",
        "b = bytearray(b'abcdef'); x = memoryview(b)[1:5:2]",
        "x[0] = 9",
        "x.tolist()",
        why="which part of the memory it shows cannot be read off it",
    ),
    value("object", "x = object()", look="type(x) is object"),
    value("list", "x = [1, [2, 3]]", "x[1].append(4)"),
    value("list that holds itself", "x = [1]; x.append(x)", "x[0] = 2", "(x[0], x[1] is x, len(x))"),
    value("tuple", "x = (1, [2])", "x[1].append(3)"),
    value("dict", "x = {'k': [1], 2: None}", "x['k'].append(2); x['n'] = 1"),
    value("dict that holds itself", "x = {'n': 1}; x['x'] = x", "x['n'] = 2", "(x['n'], x['x'] is x)"),
    value("set", "x = {1, 'a', (2,)}", "x.add(9)"),
    value("frozenset", "x = frozenset({1, 2})"),
    value("dict_keys", "d = {'a': 1}; x = d.keys()", "d['b'] = 2", "(list(x), x.mapping == d)"),
    value("dict_values", "d = {'a': 1}; x = d.values()", "d['b'] = 2", "list(x)"),
    value("dict_items", "d = {'a': 1}; x = d.items()", "d['b'] = 2", "list(x)"),
    value("mappingproxy", "import types; d = {'a': 1}; x = types.MappingProxyType(d)", "d['b'] = 2", "dict(x)"),
)

_LEFT = "(type(x).__name__, x.__reduce__()[1:] and list(__import__('pickle').loads(__import__('pickle').dumps(x))))"
_ITERATORS = (
    value("list_iterator", "l = [1, 2, 3]; x = iter(l); next(x)", "next(x)", _LEFT),
    value("list_reverseiterator", "x = reversed([1, 2, 3]); next(x)", "next(x)", _LEFT),
    value("tuple_iterator", "x = iter((1, 2, 3)); next(x)", "next(x)", _LEFT),
    value("range_iterator", "x = iter(range(5)); next(x)", "next(x)", _LEFT),
    value("str_iterator", "x = iter('abc\\u0100'); next(x)", "next(x)", _LEFT),
    value("bytes_iterator", "x = iter(b'abc'); next(x)", "next(x)", "[type(x).__name__, x.__length_hint__()]"),
    value("set_iterator", "x = iter({1, 2, 3}); next(x)", "next(x)", "x.__length_hint__()"),
    value("dict_keyiterator", "x = iter({'a': 1, 'b': 2}); next(x)", "next(x)", "x.__length_hint__()"),
    value("dict_itemiterator", "x = iter({'a': 1, 'b': 2}.items()); next(x)", "next(x)", "x.__length_hint__()"),
    value("callable_iterator", "l = [3, 2, 1]; x = iter(l.pop, 3); next(x)", "next(x)", "(l, type(x).__name__)"),
    value("enumerate", "x = enumerate('abc', 5); next(x)", "next(x)", _LEFT),
    value("zip", "x = zip([1, 2, 3], 'abc'); next(x)", "next(x)", _LEFT),
    value("map", "x = map(str, [1, 2, 3]); next(x)", "next(x)", _LEFT),
    value("filter", "x = filter(None, [1, 0, 2, 3]); next(x)", "next(x)", _LEFT),
    value("itertools.count", "import itertools; x = itertools.count(5); next(x)", "next(x)", "repr(x)"),
    value(
        "itertools.cycle",
        "import itertools; x = itertools.cycle('abc'); next(x)",
        "next(x)",
        "[next(c) for c in [__import__('pickle').loads(__import__('pickle').dumps(x))] for _ in range(4)]",
    ),
    value("itertools.repeat", "import itertools; x = itertools.repeat(7, 4)", "next(x)", "repr(x)"),
    value("itertools.chain", "import itertools; x = itertools.chain([1, 2], (3,)); next(x)", "next(x)", _LEFT),
    value("itertools.islice", "import itertools; x = itertools.islice(range(9), 1, 7); next(x)", "next(x)", _LEFT),
    value("itertools.product", "import itertools; x = itertools.product('ab', [1, 2]); next(x)", "next(x)", _LEFT),
    value("itertools.permutations", "import itertools; x = itertools.permutations('abc'); next(x)", "next(x)", _LEFT),
    value("itertools.combinations", "import itertools; x = itertools.combinations('abc', 2)", "next(x)", _LEFT),
    value("itertools.accumulate", "import itertools; x = itertools.accumulate([1, 2, 3]); next(x)", "next(x)", _LEFT),
    value("itertools.tee", "import itertools; x, z = itertools.tee([1, 2, 3]); next(x)", "next(x)", _LEFT),
    value(
        "itertools.groupby",
        "import itertools; x = itertools.groupby('aab'); next(x)",
        "next(x)",
        "type(x).__name__, [k for k, _ in __import__('pickle').loads(__import__('pickle').dumps(x))]",
    ),
    reference(
        "generator", "x = (n for n in range(3)); next(x)", "next(x)", "x.gi_frame.f_lasti", why=_RUNNING, unseen=True
    ),
    reference(
        "generator of a function",
        "def g():\n    yield 1\n    yield 2\nx = g(); next(x)",
        "next(x)",
        "x.gi_frame.f_lineno",
        why=_RUNNING,
    ),
    reference("coroutine", "async def c(): pass\nx = c()", why=_RUNNING, after="x.close()"),
    reference("async_generator", "async def c():\n    yield 1\nx = c()", why=_RUNNING),
    value("map over a generator's rest", "x = list(map(str, (n for n in range(3))))", "x.pop()"),
)

BUILTINS: tuple[Row, ...] = (*_PLAIN, *_ITERATORS)
