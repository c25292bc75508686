"""Rows of numpy."""

from __future__ import annotations

from tests.conformance.class_row import Row, reference, value

__all__ = ["ARRAYS"]

_NP = "import numpy as np; "


def _np(name: str, make: str, change: str = "", look: str = "x.tolist()") -> Row:
    return value(f"numpy.{name}", _NP + make, change, look, needs="numpy")


_GENERATOR = "(x.bit_generator.state['state'] if hasattr(x, 'bit_generator') else x.state['state'])"
_NUMPY = (
    _np("ndarray", "x = np.arange(6.).reshape(2, 3)", "x[1] = 9"),
    _np("ndarray, large", "x = np.arange(100_000.)", "x[5] = 9", "float(x.sum())"),
    _np("ndarray, 0-d", "x = np.array(5)", "x[()] = 6"),
    _np("ndarray, empty", "x = np.zeros((0, 3))", look="x.shape"),
    _np(
        "ndarray, Fortran order",
        "x = np.asfortranarray(np.arange(6).reshape(2, 3))",
        "x[0] = 9",
        "(x.tolist(), x.flags.f_contiguous, x.strides)",
    ),
    _np(
        "ndarray, view",
        "b = np.arange(9); x = b[1:7:2]",
        "x[0] = 99",
        "(b.tolist(), np.shares_memory(b, x), x.strides)",
    ),
    _np("ndarray, reversed view", "b = np.arange(9); x = b[::-1]", "b[0] = 99", "(x.tolist(), np.shares_memory(b, x))"),
    _np(
        "ndarray, transposed view",
        "b = np.arange(6).reshape(2, 3); x = b.T",
        "b[0] = 99",
        "(x.tolist(), np.shares_memory(b, x))",
    ),
    _np(
        "ndarray, broadcast view",
        "b = np.arange(3); x = np.broadcast_to(b, (4, 3))",
        "b[0] = 99",
        "(x.tolist(), x.strides, np.shares_memory(b, x), x.flags.writeable)",
    ),
    _np(
        "ndarray, read-only",
        "x = np.arange(3); x.flags.writeable = False",
        "x.flags.writeable = True; x[0] = 9",
        "(x.tolist(), x.flags.writeable)",
    ),
    _np(
        "ndarray of objects",
        "l = [1]; x = np.array([l, None, 's'], dtype=object)",
        "x[0].append(2)",
        "(x.tolist(), x[0] is l)",
    ),
    _np(
        "ndarray of structures",
        "x = np.zeros(2, dtype=[('a', 'i4'), ('b', 'f8', 2)])",
        "x['b'][0] = 5",
        "repr(x.tolist())",
    ),
    _np("ndarray, big-endian", "x = np.arange(3, dtype='>i4')", "x[0] = 9", "(x.tolist(), x.dtype.str)"),
    _np("ndarray of float16", "x = np.arange(3, dtype='f2')", "x[0] = 9"),
    _np("ndarray of complex", "x = np.array([1j, 2])", "x[0] = 9"),
    _np("ndarray of bool", "x = np.array([True, False])", "x[1] = True"),
    _np("ndarray of text", "x = np.array(['a', 'bcd'])", "x[0] = 'z'"),
    _np("ndarray of StringDType", "x = np.array(['a', 'b' * 40], dtype=np.dtypes.StringDType())", "x[0] = 'z' * 50"),
    _np(
        "ndarray of datetime64",
        "x = np.array(['2026-01-01', 'NaT'], dtype='M8[D]')",
        "x[0] = 'NaT'",
        "x.astype(str).tolist()",
    ),
    _np("ndarray of timedelta64", "x = np.array([1, 2], dtype='m8[s]')", "x[0] = 9", "x.astype(int).tolist()"),
    _np(
        "ndarray over a bytearray", "b = bytearray(8); x = np.frombuffer(b, 'u1')", "x[0] = 9", "(x.tolist(), bytes(b))"
    ),
    _np(
        "ndarray, subclass",
        "A = type('A', (np.ndarray,), {}); x = np.arange(3).view(A); x.tag = [1]",
        "x[0] = 9",
        "(x.tolist(), type(x).__name__)",
    ),
    _np(
        "matrix",
        "import warnings\nwith warnings.catch_warnings():\n    warnings.simplefilter('ignore')\n"
        "    x = np.matrix([[1, 2]])",
        "x[0, 0] = 9",
    ),
    _np("recarray", "x = np.rec.array([(1, 2.)], dtype=[('a', int), ('b', float)])", "x.a[0] = 9"),
    _np(
        "ma.MaskedArray",
        "x = np.ma.array([1, 2, 3], mask=[0, 1, 0])",
        "x[0] = np.ma.masked",
        "(x.tolist(), x.data.tolist())",
    ),
    _np("ma.masked", "x = np.ma.masked", look="x is np.ma.masked"),
    _np(
        "memmap",
        "x = np.memmap('m.bin', 'i4', 'w+', shape=(4,)); x[0] = 1; x.flush()",
        "x[0] = 9; x.flush()",
        "(x.tolist(), type(x).__name__, x.filename is not None)",
    ),
    _np("float64", "x = np.float64(1.5)"),
    _np("int8", "x = np.int8(5)", look="(x, x.dtype)"),
    _np("datetime64", "x = np.datetime64('2026-01-01T00:00')", look="str(x)"),
    _np("void", "x = np.zeros(1, dtype=[('a', 'i4')])[0]", "x['a'] = 5", "x.item()"),
    _np("dtype", "x = np.dtype([('a', 'i4'), ('b', '>f8')])", look="x"),
    _np("ufunc", "x = np.add", look="x is np.add"),
    _np("vectorize", "x = np.vectorize(lambda a: a + 1)", "x.tag = 1", "(x([1]).tolist(), hasattr(x, 'tag'))"),
    _np("poly1d", "x = np.poly1d([1, 2])", "x[0] = 9", "x.coeffs.tolist()"),
    _np("polynomial.Polynomial", "x = np.polynomial.Polynomial([1, 2])", "x.coef[0] = 9", "x.coef.tolist()"),
    _np("polynomial.Chebyshev", "x = np.polynomial.Chebyshev([1, 2])", "x.coef[0] = 9", "x.coef.tolist()"),
    _np("random.Generator", "x = np.random.default_rng(1); x.random()", "x.random()", _GENERATOR),
    _np("random.RandomState", "x = np.random.RandomState(1)", "x.random()", "x.get_state()[2]"),
    _np("random.MT19937", "x = np.random.MT19937(1)", "x.random_raw()", "x.state['state']['pos']"),
    _np("random.Philox", "x = np.random.Philox(1)", "x.random_raw()", "repr(x.state)"),
    _np("random.SeedSequence", "x = np.random.SeedSequence(5)", "x.spawn(1)", "(x.entropy, x.n_children_spawned)"),
    reference(
        "numpy.nditer",
        _NP + "x = np.nditer(np.arange(3))",
        "x.iternext()",
        "x.iterindex",
        needs="numpy",
        why="it cannot be written",
    ),
    reference(
        "numpy.flatiter", _NP + "x = np.arange(3).flat", "next(x)", "x.index", needs="numpy", why="it cannot be written"
    ),
    _np(
        "lib.npyio.NpzFile",
        "np.savez('a.npz', a=np.arange(3)); x = dict(np.load('a.npz'))",
        "x['a'][0] = 9",
        "x['a'].tolist()",
    ),
)

ARRAYS: tuple[Row, ...] = _NUMPY
