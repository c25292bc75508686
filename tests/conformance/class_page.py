"""Writes `docs/classes.md` from the table: `python -m tests.conformance.class_page`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.conformance.class_table import TABLE, How, Row

__all__ = ["PAGE", "page"]

PAGE = Path(__file__).parent.parent.parent / "docs" / "classes.md"

_HEAD = """\
# What comes back, class by class

Written by `tests/conformance/class_page.py` from the table that `tests/conformance/test_classes.py` goes through row by
row: an object is made, changed where it is, its name bound to something else, and a rewind has to bring it back under
two names and in a container, once beside the living object and once after it died. Change the table, not this page.

| how | means | classes |
|---|---|---|
| **value** | comes back from the store, whole, also when nothing of it lives any more; nothing is said | {value} |
| **reference** | the same object is put back while it is alive | {reference} |
| **named** | comes back but for a part, and the rewind says which | {named} |

Whatever is not whole is named by the rewind. Cells are never run again. Two names of one object that can change are two
names of one object again; of what cannot change (`int`, `datetime`, `pyarrow.Table`) each name may get its own.
"""
_APART = """
## By reference, or named

*State*: "back" if the object also gets the state of then, "as it is now" if only the object is put back. *When it is
dead*: what is bound where nothing holds the object any more. The rows are tested in one process; see
`tests/integration/test_kernel_variables.py` for a new kernel.

| class | how | state | when it is dead | why |
|---|---|---|---|---|
"""
_WHOLE = """
## By value

"""


def _apart(row: Row) -> str:
    state = "back" if row.settles else "as it is now"
    dead = "a new one" if row.revives else "lost, and named"
    return f"| `{row.name}` | {row.how} | {state} | {dead} | {row.why} |\n"


def _groups() -> Iterator[tuple[str, list[str]]]:
    found: dict[str, list[str]] = {}
    for row in TABLE:
        if row.how is How.VALUE:
            root, dot, _ = row.name.partition(".")
            group = root if row.needs and dot else "other packages" if row.needs else "Python"
            found.setdefault(group, []).append(row.name.removeprefix(f"{root}.") if group == root else row.name)
    yield from found.items()


def page() -> str:
    """Return the page."""
    count = Counter(row.how.value for row in TABLE)
    text = _HEAD.format(**count) + f"\n{len(TABLE)} rows in all.\n" + _APART
    text += "".join(_apart(row) for row in TABLE if row.how is not How.VALUE)
    text += _WHOLE + "| package | classes |\n|---|---|\n"
    for group, names in _groups():
        text += f"| {group} | {' · '.join(f'`{name}`' for name in names)} |\n"
    return text


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
