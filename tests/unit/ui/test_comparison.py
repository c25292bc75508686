from __future__ import annotations

import io
import json

import numpy
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbrewind.ui.comparison import compare
from nbrewind.ui.page import Page
from nbrewind.ui.render import to_plain


def told(name: str, then: bytes | None, now: bytes | None) -> str:
    return to_plain(compare(Page(), name, then, now))


def parquet(frame: pandas.DataFrame) -> bytes:
    stream = io.BytesIO()
    frame.to_parquet(stream)
    return stream.getvalue()


def npy(array: numpy.ndarray) -> bytes:
    stream = io.BytesIO()
    numpy.save(stream, array)
    return stream.getvalue()


def notebook(*cells: tuple[str, str, int]) -> bytes:
    return json.dumps(
        {"cells": [{"id": key, "cell_type": "code", "source": [source], "outputs": [{}] * outputs}
                   for key, source, outputs in cells], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}
    ).encode()  # fmt: skip


def test_text_is_a_unified_diff():
    text = told("a.py", b"x = 1\ny = 2\n", b"x = 1\ny = 3\n")

    assert "-y = 2" in text
    assert "+y = 3" in text
    assert " x = 1" in text


def test_equal_line_ends_apart_is_said():
    assert "Only line ends differ" in told("a.txt", b"a\nb\n", b"a\r\nb\r\n")
    assert "equal" in told("a.txt", b"a", b"a")


def test_absence_is_said_with_the_size():
    assert told("a", None, b"12345") == "not there then, 5 B."
    assert told("a", b"1", None) == "not there now, 1 B."


def test_binary_says_where_the_difference_begins():
    assert told("a.bin", b"\0abc", b"\0abd!") == "Binary: 4 B → 5 B, different from byte 3 on."


def test_tables_are_told_by_rows_columns_and_samples():
    text = told("sales.csv", b"a,b\n1,2\n3,4\n", b"a,b,price\n1,2,9\n3,5,9\n6,7,9\n")

    assert "2 rows, 2 columns → 3 rows, 3 columns" in text
    assert "columns + price" in text
    assert "1 row of the first 2 differ" in text
    assert "row 1: b 4 → 5" in text


def test_parquet_is_told_by_its_types():
    frame = pandas.DataFrame({"k": ["a", "b"], "v": [1, 2]})

    text = told("ds/part.parquet", parquet(frame), parquet(frame.assign(v=[1.5, 2.0])))

    assert "v: int64 → float64" in text


def test_arrays_are_told_by_shape_and_values():
    array = numpy.arange(6).reshape(2, 3)
    other = array.copy()
    other[1, 2] = 99

    text = told("a.npy", npy(array), npy(other))

    assert "(2, 3) int64 → (2, 3) int64" in text
    assert "1 value of 6 differ" in text
    assert "[1, 2]: 5 → 99" in text


def test_a_pickled_array_is_not_loaded():
    hostile = npy(numpy.array([1], dtype=object))

    assert "cannot be read as npy" in told("a.npy", hostile, npy(numpy.arange(2)))


def test_notebooks_are_told_by_cell():
    then = notebook(("a", "x = 1", 1), ("b", "y = 2", 0))
    now = notebook(("a", "x = 7", 1), ("c", "z = 3", 0))

    text = told("nb.ipynb", then, now)

    assert "cell 1 changed" in text
    assert "-x = 1" in text
    assert "+x = 7" in text
    assert "- code: y = 2" in text
    assert "+ code: z = 3" in text
    assert "outputs" in told("nb.ipynb", then, notebook(("a", "x = 1", 3), ("b", "y = 2", 0)))


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.npy", "a.ipynb", "a.tsv", "a.feather", "a.txt"])
@settings(max_examples=30, deadline=None)
@given(then=st.binary(max_size=60), now=st.binary(max_size=60))
def test_odd_content_is_compared_without_a_failure(name, then, now):
    told(name, then, now).encode("utf-8")


def test_a_large_text_is_cut():
    many = "\n".join(map(str, range(2000)))

    assert "more lines" in told("a.txt", b"", many.encode())
