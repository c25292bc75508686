"""The sidebar in JupyterLab, all of it: run with NBREWIND_BROWSER=1."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.notebook_page import NotebookPage
from tests.builders import wait_until

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

Open = Callable[..., NotebookPage]
ONE, TWO = "x = 1\nopen('a.txt', 'w').write('one')", "x = 2\nopen('a.txt', 'w').write('two')"


def protected(open_notebook: Open, *cells: str, **more: object) -> NotebookPage:
    page = open_notebook(*cells, **more)
    page.open_sidebar()
    page.protect()
    return page


def go_back_to(page: NotebookPage, number: int) -> None:
    page.row(number).click()
    page.preview_text()
    page.press(f"Go back to [{number}]")
    page.success_text(f"Back to just after [{number}]")


def test_redo(open_notebook: Open) -> None:
    page = protected(open_notebook, ONE, TWO)
    page.run(0, 1)
    page.run(1, 2)
    go_back_to(page, 1)
    page.undo()
    page.success_text("Undone")
    assert (page.folder / "a.txt").read_text() == "two" and page.value("x") == "2"
    page.press("Redo")
    wait_until(lambda: (page.folder / "a.txt").read_text() == "one")
    page.wait_until_saved()
    assert page.value("x") == "1"


def test_restart_and_resume(open_notebook: Open) -> None:
    page = protected(open_notebook, ONE, TWO)
    page.run(0, 1)
    page.run(1, 2)
    page.restart_kernel()
    page.protect()
    page.row(1).wait_for(state="attached")
    page.row(1).click()
    page.preview_text()
    page.press("Go back to [1]")
    page.success_text("Back to just after [1]")
    assert (page.folder / "a.txt").read_text() == "one" and page.value("x") == "1"


def test_reload_shows_the_same_points(open_notebook: Open) -> None:
    page = protected(open_notebook, ONE, TWO)
    page.run(0, 1)
    page.run(1, 2)
    page.page.reload()
    page.page.wait_for_selector(".jp-Notebook .jp-Cell")
    page.wait_for_kernel()
    if page.page.locator("#nbrewind-sidebar:visible").count() == 0:
        page.open_sidebar()
    page.row(2).wait_for(state="attached")
    go_back_to(page, 1)
    assert (page.folder / "a.txt").read_text() == "one" and page.value("x") == "1"


def test_nothing_moves_while_a_cell_runs(open_notebook: Open) -> None:
    page = protected(open_notebook, ONE, "import os, time\nwhile not os.path.exists('stop'): time.sleep(0.05)")
    page.run(0, 1)
    page.start(1)
    page.page.locator('[data-status="busy"], .jp-nbrewind-running').first.wait_for()
    page.row(1).click()
    page.page.locator("#nbrewind-sidebar").get_by_text("Nothing changed", exact=False).first.wait_for()
    assert page.page.locator(".jp-nbrewind-preview").count() == 0
    (page.folder / "stop").write_text("")
    page.row(2).wait_for(state="attached")


def test_first_and_last_point_of_300_can_be_reached(open_notebook: Open) -> None:
    page = protected(open_notebook, "open('a.txt', 'w').write(str(n := globals().get('n', 0) + 1))")
    page.page.evaluate(
        """async () => { const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
        const code = "open('a.txt', 'w').write(str(n := globals().get('n', 0) + 1))";
        for (let turn = 0; turn < 300; turn++) { await kernel.requestExecute({ code }).done } }"""
    )
    page.row(300).wait_for(state="attached")
    listing = page.page.get_by_role("listbox")
    listing.focus()
    page.page.keyboard.press("End")
    page.page.wait_for_function("() => document.querySelector('.jp-nbrewind-list [data-number=\"1\"]') !== null")
    page.row(1).click()
    page.preview_text()
    page.press("Go back to [1]")
    page.success_text("Back to just after [1]")
    assert page.value("n") == "1" and (page.folder / "a.txt").read_text() == "1"


NASTY = (
    "<img src=x onerror=window.hurt=1>",
    "<script>window.hurt=1</script>",
    '"><svg onload=window.hurt=1>',
    "javascript:window.hurt=1",
    "{{constructor.constructor('window.hurt=1')()}}",
)


def test_what_cells_write_is_shown_and_never_run(open_notebook: Open) -> None:
    names = [name.replace("/", "|") for name in NASTY]
    cell = (
        f"for name in {names!r}: open(name, 'w').write(name)\nglobals().update(dict.fromkeys({list(NASTY)!r}, 1))"
        f"\nprint(*{list(NASTY)!r})"
    )
    page = protected(open_notebook, "x = 1", cell, f"%rewind name {NASTY[0]}")
    page.run(0, 1)
    page.run(1, 2)
    page.start(2)
    page.wait_for_kernel()
    page.row(1).click()
    assert NASTY[0] in page.preview_text()
    page.press("Go back to [1]")
    page.success_text("Back to just after [1]")
    assert page.page.evaluate("() => window.hurt") is None
    assert page.page.locator("#nbrewind-sidebar img[src=x]").count() == 0


def test_the_keyboard_is_enough_in_a_narrow_window(open_notebook: Open) -> None:
    page = protected(open_notebook, ONE, TWO, size=(640, 480))
    page.run(0, 1)
    page.run(1, 2)
    page.page.get_by_role("listbox").focus()
    for _ in range(3):
        page.page.keyboard.press("ArrowDown")
        if page.page.locator('.jp-nbrewind-row.jp-mod-active[data-number="1"]').count():
            break
    page.page.keyboard.press("Enter")
    assert "[1] stays" in page.preview_text()
    button = page.page.get_by_role("button", name="Go back to [1]", exact=True)
    button.focus()
    box = button.bounding_box()
    assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 640 and box["y"] + box["height"] <= 480
    page.page.keyboard.press("Enter")
    page.success_text("Back to just after [1]")
    assert (page.folder / "a.txt").read_text() == "one"


def test_marks_and_rows_follow_the_theme(open_notebook: Open) -> None:
    page = protected(open_notebook, ONE)
    page.run(0, 1)
    sidebar = page.page.locator("#nbrewind-sidebar")
    colours = []
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        page.use_theme(theme)
        found = sidebar.evaluate("node => [getComputedStyle(node).color, getComputedStyle(node).backgroundColor]")
        colours.append(tuple(found))
        assert page.row(1).is_visible()
    assert len(set(colours)) == 2


def test_two_pages_on_one_kernel_see_the_same_points(open_notebook: Open) -> None:
    page = protected(open_notebook, ONE, TWO)
    page.run(0, 1)
    second = NotebookPage(page.page.context.new_page(), page.folder, page.page.url)
    if second.page.locator("#nbrewind-sidebar:visible").count() == 0:
        second.open_sidebar()
    second.row(1).wait_for(state="attached")
    page.run(1, 2)
    second.row(2).wait_for(state="attached")
    go_back_to(page, 1)
    second.row(2).wait_for(state="detached")


def test_200_cells_with_20_mb_of_outputs_keep_what_did_not_change(open_notebook: Open) -> None:
    big = "print('x' * 100_000)"
    page = protected(open_notebook, *[big] * 200, "x = 1", "x = 2")
    page.page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.row(202).wait_for(state="attached")
    page.wait_for_kernel()
    page.page.evaluate(
        "() => { for (const [i, one] of window.jupyterapp.shell.currentWidget.content.widgets.entries())"
        " one.node.dataset.kept = i }"
    )
    before = page.cells()
    page.row(201).click()
    page.preview_text()
    page.press("Go back to [201]")
    page.success_text("Back to just after [201]")
    after = page.cells()
    assert after[:201] == before[:201] and after[201]["execution_count"] is None
    assert sum(len(str(cell["outputs"])) for cell in after) > 20_000_000
    assert page.page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.content.widgets"
        ".every((one, i) => one.node.dataset.kept === String(i))"
    )
