"""An open notebook, as a person in front of it sees and moves it. Every wait is for something that shows."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

_PANEL = "const panel = window.jupyterapp.shell.currentWidget;"


class NotebookPage:
    """A page with one notebook in front; *folder* holds it. It is opened at *address*, if that is given."""

    def __init__(self, page: Any, folder: Path, address: str = "") -> None:
        self.page = page
        self.folder = folder
        if address:
            page.goto(address)
        page.wait_for_selector(".jp-Notebook .jp-Cell")
        self.wait_for_kernel()

    # -- the notebook -------------------------------------------------------------------------------------------------

    def wait_for_kernel(self) -> None:
        """Wait until the kernel is there and runs nothing."""
        self.page.wait_for_function(
            f"() => {{ {_PANEL} return panel?.sessionContext?.session?.kernel?.status === 'idle' }}"
        )

    def run(self, cell: int, number: int) -> None:
        """Run *cell* and wait until it is the turn [*number*] of the list."""
        self.page.locator(".jp-Notebook .jp-Cell").nth(cell).locator(".cm-content").click()
        self.page.keyboard.press("Control+Enter")
        prompt = self.page.locator(".jp-Notebook .jp-Cell").nth(cell).locator(".jp-InputPrompt")
        prompt.filter(has_text=f"[{number}]:").wait_for()
        self.row(number).wait_for(state="attached")

    def cells(self) -> list[dict[str, Any]]:
        """Return what the page holds: id, source, count and outputs of each cell."""
        found = self.page.evaluate(
            f"() => {{ {_PANEL} return panel.content.model.sharedModel.cells.map(cell => cell.toJSON()) }}"
        )
        return list(found)

    def saved_cells(self) -> list[dict[str, Any]]:
        """Return the cells of the file on the disk."""
        return list(json.loads((self.folder / "work.ipynb").read_text())["cells"])

    def is_dirty(self) -> bool:
        """Return whether the page holds what the disk does not."""
        return bool(self.page.evaluate(f"() => {{ {_PANEL} return panel.context.model.dirty }}"))

    def value(self, expression: str) -> str:
        """Return what *expression* gives in the kernel, without a cell running."""
        reply = self.page.evaluate(
            f"""async expression => {{ {_PANEL}
            const ask = {{ code: '', silent: true, store_history: false, user_expressions: {{ it: expression }} }};
            const reply = await panel.sessionContext.session.kernel.requestExecute(ask).done;
            return reply.content.user_expressions.it }}""",
            expression,
        )
        return str(reply["data"]["text/plain"] if reply["status"] == "ok" else reply["evalue"])

    def start(self, cell: int) -> None:
        """Run *cell* without waiting for it."""
        self.page.locator(".jp-Notebook .jp-Cell").nth(cell).locator(".cm-content").click()
        self.page.keyboard.press("Control+Enter")

    def restart_kernel(self) -> None:
        """Restart the kernel, as the menu does once it was confirmed."""
        self.page.evaluate(f"async () => {{ {_PANEL} await panel.sessionContext.session.kernel.restart() }}")
        self.wait_for_kernel()

    def use_theme(self, theme: str) -> None:
        """Change the theme, and wait until it is there."""
        self.page.evaluate("theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", theme)
        self.page.wait_for_function("theme => document.body.dataset.jpThemeName === theme", arg=theme)

    # -- the sidebar --------------------------------------------------------------------------------------------------

    def open_sidebar(self) -> None:
        """Show the sidebar."""
        self.page.get_by_role("tab", name=re.compile("Go back to a point")).click()

    def open_sidebar_from_toolbar(self) -> None:
        """Show the sidebar with the notebook's own button: Notebook 7 has no tab for it before it is open."""
        self.page.locator('.jp-NotebookPanel-toolbar [data-jp-item-name="nbrewind"]').get_by_role("button").click()

    def protect(self) -> None:
        """Protect the notebook with the sidebar's button."""
        self.page.get_by_role("button", name="Protect", exact=True).click()
        self.page.get_by_role("listbox").wait_for()

    def row(self, number: int) -> Any:
        """Return the row of the newest turn with this number."""
        return self.page.locator(f'.jp-nbrewind-list [data-kind="turn"][data-number="{number}"]').first

    def press(self, name: str) -> None:
        """Press the button of that name in the sidebar."""
        self.page.locator("#nbrewind-sidebar").get_by_role("button", name=name, exact=True).click()

    def undo(self) -> None:
        """Press Undo in the line that tells of a move."""
        self.page.locator(".jp-nbrewind-message.jp-mod-success").get_by_role("button", name="Undo").click()

    def preview_text(self) -> str:
        """Return what the preview says, once it is there."""
        preview = self.page.locator(".jp-nbrewind-preview")
        preview.wait_for()
        return str(preview.inner_text())

    def success_text(self, containing: str) -> str:
        """Return the line that tells of a move, once it has *containing*."""
        line = self.page.locator(".jp-nbrewind-message.jp-mod-success").filter(has_text=containing)
        line.wait_for()
        return str(line.inner_text())

    def wait_until_saved(self) -> None:
        """Wait until the disk has what the page has."""
        self.page.wait_for_function(f"() => {{ {_PANEL} return !panel.context.model.dirty }}")
