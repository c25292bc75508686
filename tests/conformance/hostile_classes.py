"""Classes whose methods fail, hang, recurse or lie when their objects are looked at: a cell for each, making `h`."""

from __future__ import annotations

__all__ = ["HOSTILE"]


def _method(name: str, body: str) -> str:
    return f"class H:\n    def {name}(self, *a, **k):\n        {body}\nh = H()"


def _base(base: str, body: str, make: str = "H()") -> str:
    return f"class H({base}):\n    {body}\nh = {make}"


def _meta(body: str, more: str = "pass") -> str:
    return f"class M(type):\n    {body}\nclass H(metaclass=M):\n    {more}\nh = H()"


_FOREVER = "while True: pass"
_SLEEPS = "__import__('time').sleep(3600)"

HOSTILE: dict[str, str] = {
    # -- reduction
    "reduce raises": _method("__reduce__", "raise RuntimeError('no')"),
    "reduce_ex raises what is no Exception": _method("__reduce_ex__", "raise BaseException"),
    "reduce exits": _method("__reduce__", "raise SystemExit(3)"),
    "reduce calls itself": _method("__reduce__", "return self.__reduce__()"),
    "reduce never ends": _method("__reduce__", _FOREVER),
    "reduce sleeps": _method("__reduce_ex__", _SLEEPS),
    "reduce returns nonsense": _method("__reduce__", "return (1, 2, 3)"),
    "reduce returns a name that is not there": _method("__reduce__", "return 'nothing.of.that.name'"),
    "reduce returns the name of another": _method("__reduce__", "return 'ok'"),
    "reduce needs itself": _method("__reduce__", "return (type(self), (self,))"),
    "reduce needs another each time": _method("__reduce__", "return (type(self), (type(self)(),))"),
    "reduce cannot be called again": _method("__reduce__", "return (int, ('no number',))"),
    "reduce calls what never ends": "def loop():\n    " + _FOREVER + "\n" + _method("__reduce__", "return (loop, ())"),
    "reduce lists without end": _method("__reduce__", "return (list, (), None, __import__('itertools').count())"),
    "reduce pairs what are no pairs": _method("__reduce__", "return (dict, (), None, None, iter([1]))"),
    "reduce makes a name": _method("__reduce__", "globals()['new'] = 1; return (H, ())"),
    "reduce is None": "class H:\n    __reduce_ex__ = None\nh = H()",
    "reduce gives a generator": _method("__reduce__", "return (H, (), {'g': (n for n in 'ab')})"),
    "getstate raises": _method("__getstate__", "raise OSError"),
    "getstate never ends": _method("__getstate__", _FOREVER),
    "getstate sleeps": _method("__getstate__", _SLEEPS),
    "getstate is a number": "class H:\n    __getstate__ = 5\nh = H()",
    "getstate gives itself": _method("__getstate__", "return self"),
    "getstate raises the second time": "n = [0]\n"
    + _method("__getstate__", "n[0] += 1; return {} if n[0] < 2 else 1 / 0"),
    "setstate raises": "class H:\n    def __getstate__(s): return 1\n"
    "    def __setstate__(s, v): raise OSError\nh = H()",
    "setstate sleeps": f"class H:\n    def __getstate__(s): return 1\n    def __setstate__(s, v): {_SLEEPS}\nh = H()",
    "getnewargs lies": _method("__getnewargs__", "return 5"),
    "getnewargs_ex raises": _method("__getnewargs_ex__", "raise ValueError"),
    "new needs what nobody gives": "class H:\n    def __new__(cls, a, *, b): return super().__new__(cls)\n"
    "h = H(1, b=2)",
    "new raises later": "made = []\nclass H:\n    def __new__(cls):\n        if made: raise RuntimeError\n"
    "        made.append(1); "
    "return super().__new__(cls)\nh = H()",
    "copyreg reduces it to nonsense": "import copyreg\nclass H: pass\ncopyreg.pickle(H, lambda h: 1 / 0)\nh = H()",
    # -- attributes
    "getattr answers everything": _method("__getattr__", "return lambda *a, **k: 5"),
    "getattr asks itself": _method("__getattr__", "return getattr(self.inner, a[0])"),
    "getattr never ends": _method("__getattr__", _FOREVER),
    "getattribute raises": _method("__getattribute__", "raise ValueError"),
    "getattribute answers everything": _method("__getattribute__", "return 5"),
    "setattr raises": _base("object", "def __setattr__(s, n, v): raise TypeError", "H(); vars(h)['a'] = [1]"),
    "attributes without text for a name": "class H: pass\nh = H(); vars(h)[5] = [1]",
    "class raises": "class H:\n    @property\n    def __class__(self): raise ValueError\nh = H()",
    "class lies": "class H:\n    __class__ = property(lambda s: dict)\nh = H()",
    "dict raises": "class H:\n    @property\n    def __dict__(self): raise ValueError\nh = H()",
    "module is a number": "class H:\n    __module__ = 5\nh = H()",
    "module is another's": "class H:\n    __module__ = 'numpy'\nh = H()",
    "qualname leads elsewhere": "class H:\n    pass\nH.__module__ = 'os'; H.__qualname__ = 'path'; h = H()",
    "a descriptor raises": "class D:\n    def __get__(s, o, t=None): raise ValueError\nclass H:\n    a = D()\nh = H()",
    # -- comparing, counting, showing
    "eq raises": _base("object", "def __eq__(s, o): raise ValueError", "H()"),
    "eq never ends": _base("object", f"def __eq__(s, o):\n        {_FOREVER}\n    __hash__ = object.__hash__"),
    "eq says yes": _base("object", "def __eq__(s, o): return True\n    __hash__ = object.__hash__"),
    "eq gives what has no truth": _base(
        "object", "def __eq__(s, o): return H()\n    def __bool__(s): raise ValueError"
    ),
    "hash raises": _base("object", "def __hash__(s): raise ValueError"),
    "hash raises later": "n = [0]\nclass H:\n    def __hash__(s):\n        n[0] += 1\n"
    "        if n[0] > 1: raise ValueError\n"
    "        return 5\nkey = H(); held = {key: 1}; h = H()",
    "hash never the same": "import itertools; n = itertools.count()\nclass H:\n"
    "    def __hash__(s): return next(n)\n"
    "h = H(); held = {h: [1], 'k': 2}",
    "len raises": _method("__len__", "raise ValueError"),
    "len lies": _base("list", "def __len__(s): return 10 ** 9", "H([1, 2])"),
    "len is negative": _method("__len__", "return -5"),
    "bool raises": _method("__bool__", "raise ValueError"),
    "iter never ends": _base("list", "def __iter__(s): return __import__('itertools').repeat(0)", "H([1])"),
    "iter of a dict raises": _base(
        "dict", "def items(s): raise ValueError\n    def __iter__(s): raise ValueError", "H(a=1)"
    ),
    "getitem answers everything": _method("__getitem__", "return self"),
    "sizeof raises": _method("__sizeof__", "raise ValueError"),
    "repr raises": _method("__repr__", "raise ValueError"),
    "repr never ends": _method("__repr__", _FOREVER),
    "repr calls itself": _method("__repr__", "return repr(self)"),
    "repr is no text": _method("__repr__", "return 5"),
    "dir raises": _method("__dir__", "raise ValueError"),
    "shape raises": "class H:\n    __module__ = 'numpy'\n    @property\n    def shape(s): raise ValueError\nh = H()",
    "text that is none": _base(
        "str", "def __str__(s): raise ValueError\n    __hash__ = None\n    def __eq__(s, o): raise ValueError", "H('a')"
    ),
    "number that is none": _base(
        "int", "def __index__(s): raise ValueError\n    def __int__(s): raise ValueError", "H(5)"
    ),
    # -- end of life
    "del raises": _method("__del__", "raise ValueError"),
    "del brings itself back": "kept = []\n" + _method("__del__", "kept.append(self)"),
    "del unbinds names": _method("__del__", "globals().pop('nothing', None); globals()['born'] = 1"),
    # -- metaclasses
    "metaclass compares by hand": _meta("def __eq__(c, o): raise ValueError"),
    "metaclass says yes": _meta("def __eq__(c, o): return True\n    __hash__ = type.__hash__"),
    "metaclass hashes badly": _meta("def __hash__(c): raise ValueError"),
    "metaclass hides attributes": _meta("def __getattribute__(c, n): raise ValueError(n)", "pass").replace(
        "h = H()", "h = object.__new__(H)"
    ),
    "metaclass answers everything": _meta("def __getattr__(c, n): return 5"),
    "metaclass checks badly": _meta(
        "def __instancecheck__(c, o): raise ValueError\n    def __subclasscheck__(c, o): raise ValueError"
    ),
    "metaclass shows badly": _meta("def __repr__(c): raise ValueError"),
    "metaclass has another order": "class B: pass\nclass M(type):\n    def mro(c): return (c, B, object)\n"
    "class H(metaclass=M): pass\nh = H()",
    "metaclass refuses changes": _meta(
        "def __setattr__(c, n, v): raise TypeError\n    def __delattr__(c, n): raise TypeError"
    ),
    "metaclass makes no instances": "class M(type):\n    def __call__(c): raise TypeError\n"
    "class H(metaclass=M): pass\nh = object.__new__(H)",
    "metaclass makes no classes": "made = []\nclass M(type):\n    def __new__(m, *a):\n"
    "        if made: raise TypeError\n"
    "        made.append(1); return super().__new__(m, *a)\nclass H(metaclass=M): pass\nh = H()",
    "subclasses are refused": "class B:\n    seen = []\n    def __init_subclass__(c):\n"
    "        if B.seen: raise TypeError\n"
    "        B.seen.append(1)\nclass H(B): pass\nh = H()",
    # -- shapes
    "nested deeply": "class H:\n    def __init__(s, n): s.n = n\nh = None\nfor _ in range(20_000): h = H(h)",
    "a chain of cells": "def f(g): return lambda: g\nh = None\nfor _ in range(2000): h = f(h)",
    "holds the namespace": "class H: pass\nh = H(); h.names = globals()",
    "holds its frame": "import sys\nclass H: pass\nh = H(); h.frame = sys._getframe()",
    "holds its own class and module": "import sys\nclass H: pass\nh = H(); H.h = h; H.m = sys.modules[__name__]",
    "a weak reference with a callback that raises": "import weakref\nclass H: pass\ndef cb(r): 1 / 0\n"
    "held = H(); h = weakref.ref(held, cb)",
    "a name that is no text": "class H: pass\nh = H(); globals()[5] = 1",
}
