"""The sidebar in JupyterLab: what a person does in the first five minutes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.notebook_page import NotebookPage

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

MAKE = """import os
table = [1, 2, 3]
open('sales.csv', 'w').write('a,b\\n1,2\\n3,4\\n')
os.makedirs('raw', exist_ok=True)
for number in range(38): open(f'raw/{number:02}.json', 'w').write('{}')
print('made')"""
DAMAGE = "table.clear()\nwritten = open('sales.csv', 'w').close()\nprint('damaged')"


def test_damage_is_previewed_taken_back_and_undone(open_notebook: Callable[..., NotebookPage]) -> None:
    page = open_notebook(MAKE, DAMAGE, "!rm -rf raw")
    page.open_sidebar()
    page.protect()
    page.run(0, 1)
    page.run(1, 2)
    page.run(2, 3)
    damaged = page.cells()
    assert not (page.folder / "raw").exists()

    page.row(1).click()
    preview = page.preview_text()
    assert "Back to just after [1]. [1] stays; [2] and [3] are taken back." in preview
    assert {"sales.csv", "raw/", "table"} <= set(preview.split()), preview
    assert (page.folder / "sales.csv").read_text() == ""

    page.press("Go back to [1]")
    assert "Nothing was thrown away" in page.success_text("Back to just after [1]")
    page.wait_until_saved()
    assert (page.folder / "sales.csv").read_text() == "a,b\n1,2\n3,4\n"
    assert len(list((page.folder / "raw").iterdir())) == 38
    assert page.value("table") == "[1, 2, 3]"
    cells = page.cells()
    assert [cell["execution_count"] for cell in cells] == [1, None, None]
    assert [len(cell["outputs"]) for cell in cells] == [1, 0, 0]
    assert [cell["source"] for cell in cells] == [cell["source"] for cell in damaged]
    assert [cell["id"] for cell in page.saved_cells()] == [cell["id"] for cell in damaged]
    assert [cell["execution_count"] for cell in page.saved_cells()] == [1, None, None]
    assert page.page.locator(".jp-Dialog").count() == 0

    page.undo()
    page.success_text("Undone")
    page.wait_until_saved()
    assert (page.folder / "sales.csv").read_text() == ""
    assert not (page.folder / "raw").exists()
    assert page.value("table") == "[]"
    assert page.cells() == damaged
    assert page.page.locator(".jp-Dialog").count() == 0
