"""Comparisons: two contents of one path in a data person's language: rows and columns, cells, or lines."""

from __future__ import annotations

import difflib
import importlib.util
import io
import json
from collections.abc import Iterable, Iterator
from typing import Any

from nbrewind.ui.page import Page, Tone
from nbrewind.ui.wording import count, printable, size

__all__ = ["compare"]

_TEXT_MOST = 4_000_000
_TABLE_MOST = 256_000_000
_LINES_MOST = 400
_SAMPLES = 3
_TABLES = (".csv", ".tsv", ".parquet", ".pq", ".feather")


def compare(page: Page, name: str, then: bytes | None, now: bytes | None) -> Page:
    """Add to *page* how *now* differs from *then*; None stands for absence. Never raises for odd content."""
    if then is None or now is None:
        content = now if then is None else then
        said = "not there then" if then is None else "not there now"
        return page.say(f"{said}, {size(len(content or b''))}.")
    if then == now:
        return page.say("The content is equal.", Tone.MUTED)
    lowered = name.lower()
    for ends, told in ((_TABLES, _tables), ((".npy",), _arrays), ((".ipynb",), _notebooks)):
        if lowered.endswith(ends) and max(len(then), len(now)) <= _TABLE_MOST:
            try:
                if told(page, lowered, then, now):
                    return page
            except Exception:  # noqa: BLE001  a file that is not what its name says is compared as text or bytes
                page.say(f"It cannot be read as {lowered.rsplit('.', 1)[-1]}.", Tone.MUTED)
    return _texts(page, then, now)


def _texts(page: Page, then: bytes, now: bytes) -> Page:
    texts = _decoded(then), _decoded(now)
    if texts[0] is None or texts[1] is None:
        first = next((at for at, (a, b) in enumerate(zip(then, now, strict=False)) if a != b), min(len(then), len(now)))
        return page.say(f"Binary: {size(len(then))} → {size(len(now))}, different from byte {first:,} on.")
    return _lines(page, texts[0].splitlines(), texts[1].splitlines())


def _decoded(content: bytes) -> str | None:
    if len(content) > _TEXT_MOST or b"\0" in content[:8192]:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _lines(page: Page, then: list[str], now: list[str], indent: int = 1) -> Page:
    rows = list(difflib.unified_diff(then, now, "then", "now", lineterm="", n=3))[2:]
    if not rows:
        return page.say("Only line ends differ.", Tone.MUTED, indent)
    for row in rows[:_LINES_MOST]:
        tone = {"+": Tone.ADDED, "-": Tone.REMOVED, "@": Tone.MUTED}.get(row[:1], Tone.CODE)
        page.say(printable(row.expandtabs(4)), tone, indent)
    if len(rows) > _LINES_MOST:
        page.say(f"… {len(rows) - _LINES_MOST} more lines", Tone.MUTED, indent)
    return page


def _tables(page: Page, name: str, then: bytes, now: bytes) -> bool:
    """Tell tables by shape, columns and changed rows; False where pandas is not installed."""
    if importlib.util.find_spec("pandas") is None:
        return False
    before, after = _frame(name, then), _frame(name, now)
    page.say(f"{_shape(before)} → {_shape(after)}", indent=1)
    old, new = [str(column) for column in before.columns], [str(column) for column in after.columns]
    for label, columns in (("+", [c for c in new if c not in old]), ("-", [c for c in old if c not in new])):
        if columns:
            page.say(f"columns {label} {', '.join(map(printable, columns[:20]))}", indent=1)
    kinds = [
        f"{printable(column)}: {before[column].dtype} → {after[column].dtype}"
        for column in old
        if old.count(column) == new.count(column) == 1 and before[column].dtype != after[column].dtype
    ]
    page.list(kinds, most=10)
    for line in _row_samples(before, after, [column for column in old if column in new]):
        page.say(line, Tone.CODE, 2)
    return True


def _frame(name: str, content: bytes) -> Any:
    import pandas

    stream = io.BytesIO(content)
    if name.endswith((".parquet", ".pq")):
        return pandas.read_parquet(stream)
    if name.endswith(".feather"):
        return pandas.read_feather(stream)
    if not content.strip():
        return pandas.DataFrame()
    return pandas.read_csv(stream, sep="\t" if name.endswith(".tsv") else ",", low_memory=False)


def _shape(frame: Any) -> str:
    return f"{count(len(frame), 'row')}, {count(len(frame.columns), 'column')}"


def _row_samples(before: Any, after: Any, columns: list[str]) -> Iterator[str]:
    """Yield how many rows changed, and a few of them; rows are compared by their place."""
    common = min(len(before), len(after))
    if not columns or not common or len(set(columns)) != len(columns):
        return
    left = before[columns].iloc[:common].reset_index(drop=True)
    right = after[columns].iloc[:common].reset_index(drop=True)
    differ = ~((left == right) | (left.isna() & right.isna()))
    rows = [int(place) for place in differ.any(axis=1).to_numpy().nonzero()[0]]
    if not rows:
        return
    yield f"{count(len(rows), 'row')} of the first {common:,} differ"
    for place in rows[:_SAMPLES]:
        cells = [column for column in columns if bool(differ[column].iloc[place])]
        told = [f"{column} {left[column].iloc[place]} → {right[column].iloc[place]}" for column in cells[:4]]
        yield printable(f"row {place}: {', '.join(told)}")[:200]
    if len(rows) > _SAMPLES:
        yield f"… {len(rows) - _SAMPLES:,} more"


def _arrays(page: Page, name: str, then: bytes, now: bytes) -> bool:
    if importlib.util.find_spec("numpy") is None:
        return False
    import numpy

    # allow_pickle stays off: a file in the workspace must not run code because it is looked at.
    before = numpy.load(io.BytesIO(then), allow_pickle=False)
    after = numpy.load(io.BytesIO(now), allow_pickle=False)
    page.say(f"{before.shape} {before.dtype} → {after.shape} {after.dtype}", indent=1)
    if before.shape == after.shape and before.size:
        differ = before != after
        number = int(numpy.count_nonzero(differ))
        page.say(f"{count(number, 'value')} of {before.size:,} differ", indent=1)
        for place in numpy.argwhere(differ)[:_SAMPLES]:
            at = tuple(int(part) for part in place)
            page.say(printable(f"{list(at)}: {before[at]} → {after[at]}"), Tone.CODE, 2)
    return True


def _notebooks(page: Page, name: str, then: bytes, now: bytes) -> bool:
    """Tell notebooks by cell: those that came, went, or changed in text or output."""
    before, after = list(_cells(then)), list(_cells(now))
    old, new = dict(before), dict(after)
    page.say(f"{count(len(before), 'cell')} → {count(len(after), 'cell')}", indent=1)
    for key, cell in before:
        if key not in new:
            page.say(f"- {_cell_text(cell)}", Tone.REMOVED, 1)
    for place, (key, cell) in enumerate(after, 1):
        if key not in old:
            page.say(f"+ {_cell_text(cell)}", Tone.ADDED, 1)
            continue
        source = _source(old[key]), _source(cell)
        outputs = len(old[key].get("outputs") or ()), len(cell.get("outputs") or ())
        if source[0] != source[1]:
            page.say(f"cell {place} changed:", indent=1)
            _lines(page, source[0].splitlines(), source[1].splitlines(), 2)
        if (old[key].get("outputs") or []) != (cell.get("outputs") or []):
            page.say(f"cell {place}: {count(outputs[0], 'output')} → {count(outputs[1], 'output')}", indent=1)
    return True


def _cells(content: bytes) -> Iterable[tuple[str, dict[str, Any]]]:
    for place, cell in enumerate(json.loads(content)["cells"]):
        yield str(cell.get("id") or place), cell


def _source(cell: dict[str, Any]) -> str:
    source = cell.get("source", "")
    return "".join(source) if isinstance(source, list) else str(source)


def _cell_text(cell: dict[str, Any]) -> str:
    lines = _source(cell).strip().split("\n")
    return printable(f"{cell.get('cell_type', 'cell')}: {lines[0]}")[:120]
