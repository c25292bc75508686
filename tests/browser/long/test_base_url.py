"""The sidebar below a base address, as a hub gives one to each user: run with NBREWIND_BROWSER=1."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.notebook_page import NotebookPage

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

BASE_URL = "/user/x/"


def test_a_rewind_below_a_base_address(open_notebook: Callable[..., NotebookPage]) -> None:
    page = open_notebook("x = 1", "x = 2")
    assert "/user/x/lab" in page.page.url
    page.open_sidebar()
    page.protect()
    page.run(0, 1)
    page.run(1, 2)
    page.row(1).click()
    page.preview_text()
    page.press("Go back to [1]")
    page.success_text("Back to just after [1]")
    page.wait_until_saved()
    assert page.value("x") == "1"
    assert [cell["execution_count"] for cell in page.saved_cells()] == [1, None]
