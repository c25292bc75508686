"""The sidebar in Notebook 7: the same five minutes, where there is no side bar until somebody opens it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.notebook_page import NotebookPage

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

MAKE = "table = {'rows': 4}\nopen('sales.csv', 'w').write('a,b\\n1,2\\n3,4\\n')\nprint('made')"
DAMAGE = "import os\ntable['rows'] = 0\nos.remove('sales.csv')\nopen('wrong.csv', 'w').write('x')\nprint('damaged')"


def test_damage_is_previewed_taken_back_and_undone(open_notebook: Callable[..., NotebookPage]) -> None:
    page = open_notebook(MAKE, DAMAGE, app="notebooks")
    page.open_sidebar_from_toolbar()
    page.protect()
    page.run(0, 1)
    page.run(1, 2)
    damaged = page.cells()

    page.row(1).click()
    preview = page.preview_text()
    assert "Back to just after [1]. [1] stays; [2] is taken back." in preview
    assert {"sales.csv", "wrong.csv", "table"} <= set(preview.split()), preview
    assert not (page.folder / "sales.csv").exists()

    page.press("Go back to [1]")
    page.success_text("Back to just after [1]")
    page.wait_until_saved()
    assert (page.folder / "sales.csv").read_text() == "a,b\n1,2\n3,4\n"
    assert not (page.folder / "wrong.csv").exists()
    assert page.value("table") == "{'rows': 4}"
    assert [cell["execution_count"] for cell in page.cells()] == [1, None]
    assert [len(cell["outputs"]) for cell in page.saved_cells()] == [1, 0]
    assert page.page.locator(".jp-Dialog").count() == 0

    page.undo()
    page.success_text("Undone")
    page.wait_until_saved()
    assert not (page.folder / "sales.csv").exists()
    assert (page.folder / "wrong.csv").read_text() == "x"
    assert page.value("table") == "{'rows': 0}"
    assert page.cells() == damaged
    assert page.page.locator(".jp-Dialog").count() == 0
