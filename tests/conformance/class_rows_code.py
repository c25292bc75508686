"""Rows of functions, classes, exceptions, typing and weak references."""

from __future__ import annotations

from tests.conformance.class_row import Row, named, reference, value

__all__ = ["CODE"]

_RUNNING = "its state is a frame of running code, which Python cannot write down"
_OWN = "class A:\n    def __init__(s): s.n = [1]\n    def m(s): return s.n\n"

_CODE = (
    value(
        "function",
        "k = [1]\ndef x(a, b=2, *, c=[3]): return a, b, c, k",
        "x.__kwdefaults__['c'].append(1); k.append(2)",
        "x(0)",
    ),
    value("lambda", "x = lambda n=[1]: n", "x().append(2)", "x()"),
    value(
        "closure",
        "def make():\n    n = [0]\n    def up(): n[0] += 1; return n\n    return up\nx = make(); x()",
        "x()",
        "x.__closure__[0].cell_contents",
    ),
    value("function with attributes", "def x(): pass\nx.calls = [1]", "x.calls.append(2)", "x.calls"),
    value("generator function", "def x(): yield 1", "x.__name__ = 'y'", "(list(x()), x.__name__)"),
    value("coroutine function", "async def x(): return 1", "x.__doc__ = 'd'", "x.__doc__"),
    value("builtin_function_or_method", "x = len", look="x is len"),
    value("bound method of a builtin", "l = [1]; x = l.append", "x(2)", "(l, x.__self__ is l)"),
    value("method", _OWN + "a = A(); x = a.m", "x().append(2)", "(x(), x.__self__ is a)"),
    value("method_descriptor", "x = str.upper", look="x('a')"),
    value("wrapper_descriptor", "x = int.__add__", look="x(1, 2)"),
    value("code", "x = compile('1 + 1', 'f', 'eval')", look="eval(x)"),
    value("cell", "import types; x = types.CellType([1])", "x.cell_contents.append(2)", "x.cell_contents"),
    value("module", "import json as x", look="x is __import__('json')"),
    value("module made by hand", "import types; x = types.ModuleType('m'); x.l = [1]", "x.l.append(2)", "x.l"),
    value("property", "x = property(lambda s: 5, doc='d')", look="(x.fget(0), x.__doc__)"),
    value("staticmethod", "x = staticmethod(lambda: [1])", look="x.__func__()"),
    value("classmethod", "x = classmethod(lambda c: [1])", look="x.__func__(0)"),
    value(
        "functools.partial",
        "import functools; x = functools.partial(max, [1], key=len)",
        "x.args[0].append(2)",
        "(x.args, list(x.keywords))",
    ),
    value(
        "functools.partialmethod",
        "import functools; x = functools.partialmethod(max, [1])",
        "x.args[0].append(2)",
        "x.args",
    ),
    value(
        "functools.cached_property", "import functools; x = functools.cached_property(lambda s: 5)", look="x.func(0)"
    ),
    named(
        "functools.lru_cache",
        "import functools\n@functools.lru_cache(maxsize=3)\ndef x(n): return n\nx(1)",
        "x(2)",
        "(x.__wrapped__(1), x.cache_info().currsize > 1)",
        why="its content cannot be read: it comes back empty",
        says="comes back empty",
    ),
    value(
        "functools.lru_cache, unused",
        "import functools\nx = functools.cache(lambda n: [n])",
        "x.tag = 1",
        "(x.__wrapped__(1), vars(x).get('tag'))",
    ),
    value(
        "functools.singledispatch",
        "import functools\n@functools.singledispatch\ndef x(a): return 'any'\n@x.register\ndef _(a: int): return 'int'",
        "x.register(str, lambda a: 'str')",
        "(x(1), x(2.0), x('s'))",
    ),
    reference(
        "functools.cmp_to_key",
        "import functools; k = functools.cmp_to_key(lambda a, b: b - a); x = k(3)",
        "x.obj = 4",
        "x.obj",
        why="how it compares cannot be read off it",
    ),
    value("operator.itemgetter", "import operator; x = operator.itemgetter(1, 2)", look="x('abc')"),
    value("operator.attrgetter", "import operator; x = operator.attrgetter('real')", look="x(5)"),
    value("operator.methodcaller", "import operator; x = operator.methodcaller('split', ',')", look="x('a,b')"),
    reference("frame", "import sys\ndef f(): return sys._getframe()\nx = f()", look="x.f_code.co_name", why=_RUNNING),
    reference("traceback", "try: 1 / 0\nexcept Exception as e: x = e.__traceback__", look="x.tb_lineno", why=_RUNNING),
)

_CLASSES = (
    value("class", "class x:\n    bag = [1]", "x.bag.append(2); x.more = 1", "(x.bag, hasattr(x, 'more'))"),
    value("instance", _OWN + "x = A()", "x.n.append(2); x.m2 = 1", "vars(x)"),
    value(
        "instance with slots",
        "class A:\n    __slots__ = ('a', 'b')\nx = A(); x.a = [1]",
        "x.a.append(2)",
        "(x.a, hasattr(x, 'b'))",
    ),
    value(
        "subclass of dict",
        "class A(dict): pass\nx = A(k=1); x.tag = [1]",
        "x['j'] = 2; x.tag.append(2)",
        "(dict(x), x.tag)",
    ),
    value(
        "subclass of list",
        "class A(list): pass\nx = A([1]); x.tag = [1]",
        "x.append(2); x.tag.append(2)",
        "(list(x), x.tag)",
    ),
    value("subclass of int", "class A(int): pass\nx = A(5); x.tag = [1]", "x.tag.append(2)", "(int(x), x.tag)"),
    value("class of the interpreter", "import types; x = types.FunctionType", look="x is type(lambda: 0)"),
    value(
        "metaclass",
        "class M(type):\n    made = [1]\nclass x(metaclass=M): pass",
        "x.made.append(2); x.n = 1",
        "(x.made, hasattr(x, 'n'), type(x).__name__)",
    ),
    value(
        "abc.ABCMeta",
        "import abc\nclass x(abc.ABC):\n    @abc.abstractmethod\n    def f(s): ...",
        "x.n = 1",
        "(sorted(x.__abstractmethods__), hasattr(x, 'n'))",
    ),
    value(
        "dataclass",
        "import dataclasses\n@dataclasses.dataclass\nclass A:\n    l: list\nx = A([1])",
        "x.l.append(2)",
        "(x.l, repr(x))",
    ),
    value(
        "frozen dataclass",
        "import dataclasses\n@dataclasses.dataclass(frozen=True, slots=True)\nclass A:\n    l: list\nx = A([1])",
        "x.l.append(2)",
        "(x.l, repr(x))",
    ),
    value(
        "namedtuple",
        "import collections; P = collections.namedtuple('P', 'a b'); x = P(1, [2])",
        "x.b.append(3)",
        "(x, x.b, type(x) is P)",
    ),
    value(
        "typing.NamedTuple",
        "import typing\nclass P(typing.NamedTuple):\n    a: int\n    b: list = []\nx = P(1, [2])",
        "x.b.append(3)",
        "(x.a, x.b)",
    ),
    value(
        "typing.TypedDict",
        "import typing\nclass T(typing.TypedDict):\n    a: int\nx = T(a=1)",
        "x['a'] = 2",
        "(x, sorted(T.__annotations__))",
    ),
    value(
        "typing.Protocol",
        "import typing\nclass x(typing.Protocol):\n    def f(self): ...",
        "x.n = 1",
        "(hasattr(x, 'n'), x._is_protocol)",
    ),
    value(
        "typing.Generic",
        "import typing\nT = typing.TypeVar('T')\nclass A(typing.Generic[T]):\n    l = [1]\nx = A[int]",
        "A.l.append(2)",
        "(x.__args__, A.l, x.__origin__ is A)",
    ),
    value(
        "enum.Enum",
        "import enum\nclass E(enum.Enum):\n    A = 1\n    B = [2]\nx = E.B",
        "x.value.append(3)",
        "(x.name, x.value, x is E.B)",
    ),
    value(
        "enum.Flag", "import enum\nclass E(enum.Flag):\n    A = 1\n    B = 2\nx = E.A | E.B", look="(x.value, E.A in x)"
    ),
    value("enum.StrEnum", "import enum\nclass E(enum.StrEnum):\n    A = 'a'\nx = E.A", look="(x + '', x is E.A)"),
    value("Exception", "x = ValueError('no', [1]); x.add_note('n')", "x.args[1].append(2)", "(x.args, x.__notes__)"),
    value(
        "Exception of a cell",
        "class E(Exception):\n    def __init__(s, a, b): s.a = a; s.b = b\nx = E(1, [2])",
        "x.b.append(3)",
        "(x.a, x.b)",
    ),
    value("ExceptionGroup", "x = ExceptionGroup('g', [ValueError(1)])", look="(x.message, x.exceptions[0].args)"),
    value(
        "Exception with a cause",
        "x = ValueError(1); x.__cause__ = KeyError([2])",
        "x.__cause__.args[0].append(3)",
        "(x.__cause__.args, x.__suppress_context__)",
    ),
    named(
        "Exception that was raised",
        "def f(): raise KeyError([1])\ntry: f()\nexcept KeyError as e: x = e",
        "x.args[0].append(2)",
        "(x.args, type(x.__context__))",
        why="its traceback is made of frames of running code",
        says="traceback",
    ),
    value("super", _OWN + "class B(A): pass\nb = B(); x = super(B, b)", "b.n.append(2)", "x.m()"),
    value("types.SimpleNamespace", "import types; x = types.SimpleNamespace(l=[1])", "x.l.append(2)"),
    value("types.GenericAlias", "x = list[dict[str, int]]"),
    value("types.UnionType", "x = int | str | None"),
    value(
        "types.DynamicClassAttribute", "import types; x = types.DynamicClassAttribute(lambda s: 5)", look="x.fget(0)"
    ),
    value("typing.Union", "import typing; x = typing.Optional[typing.Dict[str, typing.List[int]]]"),
    value("typing.TypeVar", "import typing; x = typing.TypeVar('T', bound=int)", look="(x.__name__, x.__bound__)"),
    value("typing.ParamSpec", "import typing; x = typing.ParamSpec('P')", look="x.__name__"),
    value("typing.NewType", "import typing; x = typing.NewType('N', int)", look="(x(5), x.__name__)"),
    value("typing.ForwardRef", "import typing; x = typing.ForwardRef('A')", look="x.__forward_arg__"),
    value("typing.Literal", "import typing; x = typing.Literal['a', 1]"),
    value("typing.Callable", "import typing; x = typing.Callable[[int], str]"),
    value("inspect.Signature", "import inspect; x = inspect.signature(lambda a, *b, c=1: 0)", look="str(x)"),
    value("weakref.ref", _OWN + "a = A(); import weakref; x = weakref.ref(a)", "a.n.append(2)", "(x().n, x() is a)"),
    value("weakref.proxy", _OWN + "a = A(); import weakref; x = weakref.proxy(a)", "a.n.append(2)", "x.n"),
    value(
        "weakref.WeakMethod", _OWN + "a = A(); import weakref; x = weakref.WeakMethod(a.m)", "a.n.append(2)", "x()()"
    ),
    value(
        "weakref.WeakSet", _OWN + "a = A(); import weakref; x = weakref.WeakSet([a])", "x.clear()", "(len(x), a in x)"
    ),
    value(
        "weakref.WeakValueDictionary",
        _OWN + "a = A(); import weakref; x = weakref.WeakValueDictionary(k=a)",
        "del x['k']",
        "('k' in x, x.get('k') is a)",
    ),
    value(
        "weakref.WeakKeyDictionary",
        _OWN + "a = A(); import weakref; x = weakref.WeakKeyDictionary({a: [1]})",
        "x[a].append(2)",
        "x[a]",
    ),
    value(
        "weakref.finalize",
        _OWN + "a = A(); l = []; import weakref; x = weakref.finalize(a, l.append, 1)",
        "x.detach()",
        "x.alive",
    ),
)

CODE: tuple[Row, ...] = (*_CODE, *_CLASSES)
