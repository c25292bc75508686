"""Pictures for README and docs, taken with NBREWIND_PICTURES=1: what they show is what the tests drive.

They are put into the folder `pictures0` below `--basetemp`, from where they are copied to docs/images.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser.notebook_page import NotebookPage

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

_MOST_BYTES = 200_000
_CELLS = (
    "prices = {'tea': 3.2, 'rice': 1.4, 'oil': 6.9}\nwith open('sales.csv', 'w') as file:\n"
    "    file.write('item,price\\n' + '\\n'.join(f'{k},{v}' for k, v in prices.items()) + '\\n')",
    "import json, pathlib\npathlib.Path('raw').mkdir(exist_ok=True)\nfor day in range(1, 31):\n"
    "    pathlib.Path(f'raw/{day:02}.json').write_text(json.dumps({'day': day}))",
    "total = sum(prices.values())\nprint(f'{total:.2f}')",
    "!rm -rf raw\nprices.clear()\nopen('sales.csv', 'w').close()",
)


def test_take_pictures(open_notebook: Callable[..., NotebookPage], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("pictures")
    page = open_notebook(*_CELLS, size=(1100, 720))
    page.open_sidebar()
    page.protect()
    for number in range(len(_CELLS)):
        page.run(number, number + 1)
    page.page.mouse.move(5, 5)
    _picture(page, folder / "sidebar.png")
    page.row(3).click()
    page.preview_text()
    page.page.mouse.move(5, 5)
    _picture(page, folder / "preview.png")


def _picture(page: NotebookPage, file: Path) -> None:
    page.page.screenshot(path=str(file), animations="disabled", caret="hide")
    assert file.stat().st_size <= _MOST_BYTES
