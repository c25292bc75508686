from __future__ import annotations

import json
import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbrewind.ui.payload import to_json
from nbrewind.ui.wording import (
    count,
    duration,
    first_line,
    folder_name,
    moment,
    printable,
    shown_path,
    size,
    typed_bytes,
)

names = st.binary(max_size=40).map(os.fsdecode)


@given(names)
def test_every_file_name_can_be_printed(name):
    assert printable(name).isprintable()
    printable(name).encode("utf-8")


@given(names)
def test_every_file_name_can_be_told_in_json_and_comes_back_the_same(name):
    text = to_json({"path": name})

    text.encode("ascii")
    assert json.loads(text) == {"path": name}


@given(st.binary(max_size=40).filter(lambda name: b"\\" not in name).map(os.fsdecode))
def test_a_name_typed_as_it_is_shown_is_that_name(name):
    assert typed_bytes(printable(name)) in (name, typed_bytes(printable(name)))
    if all(char.isprintable() or "\udc80" <= char <= "\udcff" or char in "\n\t\r" for char in name):
        assert typed_bytes(printable(name)) == name


def test_escapes_for_terminals_and_directions_do_not_act():
    assert printable("a\x1b[31mb") == "a\\x1b[31mb"
    assert printable("a\u202eb") == "a\\u202eb"
    assert printable("b\udcff\n.txt") == "b\\xff\\n.txt"
    assert printable("Zürich 🎉") == "Zürich 🎉"


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (12_345, "12 kB"), (84_000_000, "84 MB"), (41 * 10**9, "41 GB"),
     (999_999, "1.0 MB"), (10**18, "1000 PB")],
)  # fmt: skip
def test_sizes_are_human(number, text):
    assert size(number) == text


def test_counts_have_their_plural():
    assert count(1, "file") == "1 file"
    assert count(10_412, "row") == "10,412 rows"


def test_times_say_the_day_only_where_it_is_another():
    now = time.mktime((2026, 3, 5, 15, 0, 0, 0, 0, -1))

    assert moment(now - 60, now) == "14:59"
    assert moment(now - 86400, now) == "04 Mar 15:00"
    assert moment(0, now) == ""
    assert duration(0.26) == "0.3 s"
    assert duration(240) == "4 min"


def test_the_first_line_is_the_first_that_says_something():
    assert first_line("\n# why\nx = 1\ny = 2") == "x = 1 …"
    assert first_line("# only this") == "# only this"
    assert first_line("") == ""
    assert first_line("a" * 100) == "a" * 59 + "…"
    assert first_line("print('\x1b[2J')") == "print('\\x1b[2J')"


def test_paths_outside_are_shown_as_a_person_writes_them():
    assert shown_path("/home/me/shared/conf.json", "/home/me/work") == "../shared/conf.json"
    assert shown_path("/etc/passwd", "/home/me/deep/er/work") == "/etc/passwd"
    assert shown_path("data/a.csv", "/home/me/work") == "data/a.csv"


@pytest.mark.parametrize(
    ("path", "said"),
    [("/home/me", "~"), ("/home/me/churn", "~/churn"), ("/home/meg", "/home/meg"), ("/data/\udcff", r"/data/\xff")],
)
def test_a_folder_is_named_from_home_where_it_is_inside(monkeypatch, path, said):
    monkeypatch.setenv("HOME", "/home/me")

    assert folder_name(path) == said
