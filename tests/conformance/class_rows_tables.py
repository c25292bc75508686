"""Rows of pandas and the other libraries of tables."""

from __future__ import annotations

from tests.conformance.class_row import Row, reference, value

__all__ = ["TABLES"]

_PD = "import numpy as np, pandas as pd; "


def _pd(name: str, make: str, change: str = "", look: str = "x") -> Row:
    return value(f"pandas.{name}", _PD + make, change, look, needs="pandas")


_FRAME = "x = pd.DataFrame({'a': [1, 2, 2], 'b': [1.5, None, 3.], 'c': ['x', 'y', None]})"
_SHOW = "x.to_dict('list').__repr__()"
_PANDAS = (
    _pd("DataFrame", _FRAME, "x.loc[0, 'a'] = 9; x['d'] = 1", _SHOW),
    _pd(
        "DataFrame, MultiIndex",
        "x = pd.DataFrame({'a': [1, 2]}, index=pd.MultiIndex.from_tuples([('p', 1), ('q', 2)]))",
        "x.iloc[0, 0] = 9",
        "(x.to_dict(), x.index.tolist())",
    ),
    _pd(
        "DataFrame, attrs",
        _FRAME + "; x.attrs['l'] = [1]; x.flags.allows_duplicate_labels",
        "x.attrs['l'].append(2)",
        "x.attrs",
    ),
    _pd(
        "DataFrame, wide and long",
        "x = pd.DataFrame(np.arange(60_000.).reshape(2000, 30))",
        "x.iloc[7, 7] = 0.",
        "float(x.to_numpy().sum())",
    ),
    _pd("Series", "x = pd.Series([1, 2], index=['p', 'q'], name='n')", "x['p'] = 9", "(x.to_dict(), x.name)"),
    _pd(
        "Series of a DataFrame",
        "f = pd.DataFrame({'a': [1, 2]}); x = f['a']",
        "f.loc[0, 'a'] = 9",
        "(x.tolist(), f['a'].tolist())",
    ),
    _pd("Series of Categorical", "x = pd.Series(['a', 'b', 'a'], dtype='category')", "x[0] = 'b'", "x.tolist()"),
    _pd("Series of string", "x = pd.Series(['a', None], dtype='string')", "x[0] = 'z'", "repr(x.tolist())"),
    _pd("Series of str", "x = pd.Series(['a', 'b'])", "x[0] = 'z'", "(x.tolist(), str(x.dtype))"),
    _pd("Series of Int64", "x = pd.Series([1, None], dtype='Int64')", "x[0] = 9", "repr(x.tolist())"),
    _pd("Series of boolean", "x = pd.Series([True, None], dtype='boolean')", "x[0] = False", "repr(x.tolist())"),
    _pd(
        "Series of datetime64, zone",
        "x = pd.Series(pd.date_range('2026', periods=2, tz='UTC'))",
        "x[0] = x[1]",
        "x.astype(str).tolist()",
    ),
    _pd(
        "Series of Period",
        "x = pd.Series(pd.period_range('2026-01', periods=2, freq='M'))",
        "x[0] = x[1]",
        "x.astype(str).tolist()",
    ),
    _pd("Series of Interval", "x = pd.Series(pd.interval_range(0, 2))", "x[0] = x[1]", "x.astype(str).tolist()"),
    _pd("Series, sparse", "x = pd.Series(pd.arrays.SparseArray([0, 0, 5]))", look="(x.tolist(), str(x.dtype))"),
    _pd("Series, Arrow-backed", "x = pd.Series([1, None], dtype='int64[pyarrow]')", "x[0] = 9", "repr(x.tolist())"),
    _pd("Index", "x = pd.Index(['a', 'b'], name='n')", "x.name = 'm'", "(x.tolist(), x.name)"),
    _pd("RangeIndex", "x = pd.RangeIndex(3)", "x.name = 'm'", "(x.tolist(), x.name, type(x).__name__)"),
    _pd(
        "MultiIndex",
        "x = pd.MultiIndex.from_product([['a'], [1, 2]])",
        "x.names = ['p', 'q']",
        "(x.tolist(), list(x.names))",
    ),
    _pd(
        "DatetimeIndex",
        "x = pd.date_range('2026', periods=3, freq='D')",
        "x.name = 'm'",
        "(list(x), x.freqstr, x.name)",
    ),
    _pd("PeriodIndex", "x = pd.period_range('2026-01', periods=2, freq='M')", "x.name = 'm'", "(list(x), x.name)"),
    _pd("IntervalIndex", "x = pd.interval_range(0, 2)", "x.name = 'm'", "(list(x), x.name)"),
    _pd("CategoricalIndex", "x = pd.CategoricalIndex(['a', 'b'])", "x.name = 'm'", "(list(x), x.name)"),
    _pd("TimedeltaIndex", "x = pd.timedelta_range('1D', periods=2)", "x.name = 'm'", "(list(x), x.name)"),
    _pd("Categorical", "x = pd.Categorical(['a', 'b'], ordered=True)", "x[0] = 'b'", "(list(x), x.ordered)"),
    _pd("arrays.IntegerArray", "x = pd.array([1, None], dtype='Int64')", "x[0] = 9", "repr(list(x))"),
    _pd("arrays.SparseArray", "x = pd.arrays.SparseArray([0, 1])", look="list(x)"),
    _pd("Timestamp", "x = pd.Timestamp('2026-01-01', tz='Europe/Berlin')"),
    _pd("Timedelta", "x = pd.Timedelta('1D')"),
    _pd("Period", "x = pd.Period('2026-01')"),
    _pd("Interval", "x = pd.Interval(0, 1, closed='left')"),
    _pd("NaT", "x = pd.NaT", look="x is pd.NaT"),
    _pd("NA", "x = pd.NA", look="x is pd.NA"),
    _pd("DateOffset", "x = pd.DateOffset(months=1)"),
    _pd("CategoricalDtype", "x = pd.CategoricalDtype(['a'], ordered=True)"),
    _pd(
        "api.typing.DataFrameGroupBy",
        "f = pd.DataFrame({'a': [1, 1, 2], 'b': [1, 2, 3]}); x = f.groupby('a')",
        "x.group_keys = False",
        "(x.sum().to_dict(), x.group_keys, x.obj is f)",
    ),
    _pd(
        "api.typing.Rolling",
        "s = pd.Series([1., 2, 3]); x = s.rolling(2)",
        "x.min_periods = 1",
        "repr(x.sum().tolist())",
    ),
    _pd(
        "api.typing.Resampler",
        "s = pd.Series([1, 2], pd.date_range('2026', periods=2)); x = s.resample('2D')",
        look="x.sum().tolist()",
    ),
    _pd(
        "io.formats.style.Styler",
        "x = pd.DataFrame({'a': [1]}).style",
        "x.set_caption('c')",
        "(x.caption, len(x.to_html(uuid='u')))",
    ),
    _pd(
        "ExcelWriter's frame, flags",
        "x = pd.DataFrame({'a': [1]}).set_flags(allows_duplicate_labels=False)",
        "x.flags.allows_duplicate_labels = True",
        "x.flags.allows_duplicate_labels",
    ),
)


def _of(package: str, name: str, make: str, change: str = "", look: str = "x") -> Row:
    return value(f"{package}.{name}", make, change, look, needs=package)


_PL, _XR, _PA = "import polars as pl; ", "import numpy as np, xarray as xr; ", "import pyarrow as pa; "
_TABLES = (
    _of(
        "polars",
        "DataFrame",
        _PL + "x = pl.DataFrame({'a': [1, 2], 'b': ['x', None]})",
        "x[0, 'a'] = 9",
        "x.to_dict(as_series=False)",
    ),
    _of("polars", "Series", _PL + "x = pl.Series('n', [1, 2])", "x[0] = 9", "(x.to_list(), x.name)"),
    _of(
        "polars",
        "LazyFrame",
        _PL + "x = pl.LazyFrame({'a': [1, 2]}).filter(pl.col('a') > 1)",
        look="x.collect().to_dict(as_series=False)",
    ),
    _of("polars", "Expr", _PL + "x = pl.col('a') + 1", look="str(x)"),
    _of("polars", "Categorical series", _PL + "x = pl.Series(['a', 'b'], dtype=pl.Categorical)", look="x.to_list()"),
    _of("polars", "nested series", _PL + "x = pl.Series([[1], [2, 3]])", look="x.to_list()"),
    _of("polars", "Schema", _PL + "x = pl.Schema({'a': pl.Int8})", "x['b'] = pl.String", "list(x)"),
    _of(
        "xarray",
        "DataArray",
        _XR + "x = xr.DataArray(np.zeros((2, 2)), dims=['p', 'q'], attrs={'l': [1]})",
        "x[0, 0] = 9",
        "(x.values.tolist(), x.dims, x.attrs)",
    ),
    _of(
        "xarray",
        "Dataset",
        _XR + "x = xr.Dataset({'a': ('p', np.arange(3))}, coords={'p': [1, 2, 3]})",
        "x['b'] = x.a + 1",
        "x.to_dict()",
    ),
    _of("xarray", "Variable", _XR + "x = xr.Variable('p', np.arange(3))", "x[0] = 9", "x.values.tolist()"),
    _of(
        "xarray",
        "DatasetGroupBy",
        _XR + "x = xr.Dataset({'a': ('p', np.arange(3))}, coords={'p': [1, 1, 2]}).groupby('p')",
        look="x.sum().to_dict()",
    ),
    _of("pyarrow", "Table", _PA + "x = pa.table({'a': [1, None], 'b': ['x', 'y']})", look="x.to_pydict()"),
    _of("pyarrow", "Array", _PA + "x = pa.array([1, None, 3])", look="x.to_pylist()"),
    _of("pyarrow", "ChunkedArray", _PA + "x = pa.chunked_array([[1], [2]])", look="(x.to_pylist(), x.num_chunks)"),
    _of("pyarrow", "RecordBatch", _PA + "x = pa.record_batch({'a': [1]})", look="x.to_pydict()"),
    _of("pyarrow", "Schema", _PA + "x = pa.schema([('a', pa.int8())])", look="str(x)"),
    _of("pyarrow", "Scalar", _PA + "x = pa.scalar(5)", look="x.as_py()"),
    _of("pyarrow", "Buffer", _PA + "x = pa.py_buffer(b'abc')", look="x.to_pybytes()"),
    reference(
        "h5py.File",
        "import h5py; x = h5py.File('a.h5', 'w')",
        "x['a'] = [1]",
        "sorted(x)",
        needs="h5py",
        after="x.close()",
        why="it is a handle of the HDF5 library; the file has its own history",
    ),
    reference(
        "h5py.Dataset",
        "import h5py; f = h5py.File('a.h5', 'w'); x = f.create_dataset('a', data=[1, 2])",
        "x[0] = 9",
        "x[:].tolist()",
        needs="h5py",
        after="f.close()",
        why="it is a handle of the HDF5 library",
    ),
    _of(
        "scipy",
        "sparse.csr_matrix",
        "import scipy.sparse; x = scipy.sparse.csr_matrix([[0, 1], [2, 0]])",
        "x.data[0] = 9",
        "x.toarray().tolist()",
    ),
    _of(
        "scipy",
        "sparse.lil_array",
        "import scipy.sparse; x = scipy.sparse.lil_array((2, 2))",
        "x[0, 0] = 9",
        "x.toarray().tolist()",
    ),
    _of(
        "scipy",
        "sparse.coo_array",
        "import scipy.sparse; x = scipy.sparse.coo_array([[0, 1]])",
        "x.data[0] = 9",
        "x.toarray().tolist()",
    ),
    _of(
        "scipy",
        "interpolate.CubicSpline",
        "import scipy.interpolate; x = scipy.interpolate.CubicSpline([0, 1, 2], [0, 1, 4])",
        "x.c[0, 0] = 9",
        "float(x(0.5))",
    ),
    _of(
        "scipy",
        "stats frozen distribution",
        "import scipy.stats; x = scipy.stats.norm(1, 2)",
        "x.kwds['tag'] = 1",
        "sorted(x.kwds)",
    ),
    _of(
        "scipy",
        "spatial.cKDTree",
        "import scipy.spatial; x = scipy.spatial.cKDTree([[0., 0], [1, 1]])",
        look="x.query([1, 1])",
    ),
    _of(
        "scipy",
        "optimize.OptimizeResult",
        "import scipy.optimize; x = scipy.optimize.OptimizeResult(x=[1])",
        "x.x.append(2)",
        "dict(x)",
    ),
)

TABLES: tuple[Row, ...] = (*_PANDAS, *_TABLES)
