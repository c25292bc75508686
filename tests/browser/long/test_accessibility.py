"""Nothing that keeps people out: axe looks at the sidebar in each of its states; run with NBREWIND_BROWSER=1."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser.notebook_page import NotebookPage

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

_AXE = Path(__file__).resolve().parents[3] / "jupyterlab-ext" / "node_modules" / "axe-core" / "axe.min.js"
_LOOK = """async () => (await axe.run('#nbrewind-sidebar')).violations
    .map(found => `${found.impact} ${found.id}: ${found.nodes.map(node => node.html.slice(0, 200))}`)"""


@pytest.mark.skipif(not _AXE.exists(), reason="axe-core is not installed (npm ci in jupyterlab-ext)")
def test_axe_finds_nothing(open_notebook: Callable[..., NotebookPage]) -> None:
    page = open_notebook("x = [1]\nopen('a.txt', 'w').write('one')", "x.clear()\nopen('a.txt', 'w').close()")
    page.page.add_script_tag(content=_AXE.read_text())
    found: dict[str, list[str]] = {}
    page.open_sidebar()
    page.page.get_by_role("button", name="Protect", exact=True).wait_for()
    found["unprotected"] = page.page.evaluate(_LOOK)
    page.protect()
    page.run(0, 1)
    page.run(1, 2)
    found["list"] = page.page.evaluate(_LOOK)
    page.row(1).click()
    page.preview_text()
    found["preview"] = page.page.evaluate(_LOOK)
    page.page.evaluate(
        "() => window.jupyterapp.commands.execute('apputils:change-theme', { theme: 'JupyterLab Dark' })"
    )
    page.page.wait_for_function("() => document.body.dataset.jpThemeName === 'JupyterLab Dark'")
    found["dark"] = page.page.evaluate(_LOOK)
    page.press("Go back to [1]")
    page.success_text("Back to just after [1]")
    found["moved"] = page.page.evaluate(_LOOK)
    assert not any(found.values()), found
