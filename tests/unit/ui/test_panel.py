"""The panel in this process: what its widgets show and do, without a page and without a kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbrewind.ui.panel.panels import Panels
from nbrewind.ui.panel.view import View
from tests.builders import TestWorkspace, wait_until
from tests.sessions import Book, attached

ATTACK = "<img src=x onerror=alert(1)><script>alert(2)</script>"


@pytest.fixture
def book(workspace: TestWorkspace, home: Path) -> Iterator[Book]:
    with attached(workspace, home) as found:
        yield found


@pytest.fixture
def panels(book: Book) -> Iterator[Panels]:
    made = Panels(book.session)
    yield made
    made.close()


def opened(panels: Panels, cell: str = "") -> View:
    page = panels.open(cell)
    (shown,) = page.live.values()
    return next(one.view for one in panels._panels.values() if one.view.root.model_id == shown["model_id"])


def cells(book: Book, workspace: TestWorkspace) -> None:
    with book.turn("make()"):
        workspace.write({"a.csv": "x\n1\n", "b.txt": "b"})
    with book.turn("look()"):
        pass
    with book.turn("clean()"):
        workspace.write({"a.csv": "x\n1\n2\n"})
        (workspace.root / "b.txt").unlink()
    book.session.settle()


def choose(view: View, text: str) -> None:
    view.points.value = next(value for label, value in view.points.options if text in label)


def text(value: str) -> str:
    return re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", value)).strip()


def is_shown(widget: Any) -> bool:
    return widget.layout.display != "none"


def test_a_choice_previews_and_the_button_goes_back(book, workspace, panels):
    cells(book, workspace)
    view = opened(panels)
    assert [label.split("  ·  ")[0].strip() for label, _ in view.points.options] == [
        "● [3] clean()", "▸ [2] changed nothing", "[1] make()", "Start · before [1]",
    ]  # fmt: skip
    assert not is_shown(view.confirm)

    choose(view, "make()")
    assert "Back to just after [1]. [1] stays; [2] and [3] are taken back." in text(view.preview.value)
    assert "~ a.csv 2 → 1 rows" in text(view.preview.value)
    assert is_shown(view.confirm) and view.confirm.description == "Go back to [1]"
    assert workspace.read("a.csv") == b"x\n1\n2\n"

    view.confirm.click()
    assert "Back to just after [1]: 2 files." in text(view.said.value)
    assert workspace.read("a.csv") == b"x\n1\n" and workspace.exists("b.txt")
    assert not is_shown(view.confirm) and view.preview.value == ""
    assert any("Bring back" in label for label, _ in view.points.options)

    view.undo.click()
    assert "Undone" in text(view.said.value) and not workspace.exists("b.txt")
    view.redo.click()
    assert workspace.exists("b.txt")
