"""The panel in a real kernel: its widgets are driven over their comms, as a page does, with no cell running."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.front_end import FrontEnd

pytestmark = pytest.mark.kernel

VIEW = "application/vnd.jupyter.widget-view+json"
SESSION = "__import__('nbrewind').current()"


class Page(FrontEnd):
    """A page: it keeps the widgets that the kernel opens, and what cells display."""

    def __init__(self, kernel: Any, *, subshell: bool = False) -> None:
        self.widgets: dict[str, dict[str, Any]] = {}
        self.shown: list[dict[str, Any]] = []
        super().__init__(kernel, subshell=subshell)

    def _take(self, message: dict[str, Any]) -> None:
        content, kind = message["content"], message["msg_type"]
        if kind == "comm_open" and content["target_name"] == "jupyter.widget":
            self.widgets[content["comm_id"]] = dict(content["data"]["state"])
        elif kind == "comm_msg" and content["comm_id"] in self.widgets:
            if content["data"]["method"] in ("update", "echo_update"):
                self.widgets[content["comm_id"]] |= content["data"]["state"]
        elif kind == "comm_close":
            self.widgets.pop(content["comm_id"], None)
        elif kind == "display_data":
            self.shown.append(content["data"])
        else:
            super()._take(message)

    def open_panel(self) -> Panel:
        """Run `%rewind panel` and return what it shows."""
        known = len(self.shown)
        assert self.run("%rewind panel") == "ok"
        assert self.until(lambda: len(self.shown) >= known + 2)
        return Panel(self, self.shown[known][VIEW]["model_id"])


class Panel:
    """The widgets below one root."""

    def __init__(self, page: Page, root: str) -> None:
        self.page = page
        self.root = root

    def _all(self, model: str = "") -> Iterator[str]:
        model = model or self.root
        yield model
        for child in self.page.widgets[model].get("children", ()):
            yield from self._all(child.removeprefix("IPY_MODEL_"))

    def find(self, kind: str, text: str = "") -> str:
        """Return the widget of that kind whose description holds *text*."""
        return next(
            name
            for name in self._all()
            if self.page.widgets[name]["_model_name"] == f"{kind}Model"
            and text in self.page.widgets[name].get("description", "")
        )

    def is_shown(self, name: str) -> bool:
        layout = self.page.widgets[name]["layout"].removeprefix("IPY_MODEL_")
        return self.page.widgets[layout].get("display") != "none"

    @property
    def points(self) -> list[str]:
        return list(self.page.widgets[self.find("Select")]["_options_labels"])

    @property
    def texts(self) -> str:
        values = [self.page.widgets[name]["value"] for name in self._all() if self._is_html(name)]
        return re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", " ".join(values)))

    def _is_html(self, name: str) -> bool:
        return self.page.widgets[name]["_model_name"] == "HTMLModel"

    def says(self, text: str) -> bool:
        """Return whether the panel comes to say *text*."""
        return bool(self.page.until(lambda: text in self.texts))

    def send(self, name: str, data: dict[str, Any]) -> None:
        message = self.page.client.session.msg("comm_msg", {"comm_id": name, "data": data})
        if self.page.subshell is not None:
            message["header"]["subshell_id"] = self.page.subshell
        self.page.client.shell_channel.send(message)

    def choose(self, text: str) -> None:
        place = next(place for place, label in enumerate(self.points) if text in label)
        self.send(self.find("Select"), {"method": "update", "state": {"index": place}, "buffer_paths": []})

    def type(self, kind: str, text: str, value: Any) -> None:
        self.send(self.find(kind, text), {"method": "update", "state": {"value": value}, "buffer_paths": []})

    def has_button(self, text: str) -> bool:
        """Return whether a button of that text comes to be shown."""

        return bool(self.page.until(lambda: self.buttons(text)))

    def buttons(self, text: str) -> list[str]:
        """Return the buttons of that text that are shown now."""
        widgets = self.page.widgets
        found = [name for name in self._all() if widgets[name]["_model_name"] == "ButtonModel"]
        return [name for name in found if text in widgets[name]["description"] and self.is_shown(name)]

    def click(self, text: str) -> None:
        assert self.has_button(text), (text, self.texts)
        self.send(self.find("Button", text), {"method": "custom", "content": {"event": "click"}})


@pytest.fixture(params=[False, True], ids=["main", "subshell"])
def page(request, kernel) -> Iterator[Page]:
    made = Page(kernel, subshell=request.param)
    yield made
    made.close()


def write(name, text):
    return f"open({name!r}, 'w').write({text!r})"


def test_going_back_undo_redo_and_naming_with_no_cell_running(kernel, workspace, page):
    page.run("x = 1; " + write("a", "one"))
    page.run("x = 2; " + write("a", "two"))
    panel = page.open_panel()
    assert panel.points[0].startswith("● [2] x = 2"), panel.points

    panel.choose("[1] x = 1")
    assert panel.says("Back to just after [1]. [1] stays; [2] is taken back.")
    assert panel.says("a 3 B → 3 B")
    assert workspace.read("a") == b"two"
    panel.click("Go back to [1]")
    assert panel.says("Back to just after [1]: 1 file")
    assert workspace.read("a") == b"one"
    assert kernel.value("x") == 1
    assert any("Bring back" in label for label in panel.points)

    panel.click("Undo")
    assert panel.says("Undone")
    assert workspace.read("a") == b"two" and kernel.value("x") == 2
    panel.click("Redo")
    assert page.until(lambda: workspace.read("a") == b"one")

    panel.type("Text", "Name this point", "the right one")
    panel.click("Name it")
    assert panel.says("kept for ever")
    assert "the right one" in kernel.run("%rewind").text


def test_the_list_follows_each_turn_and_every_panel_does(kernel, page):
    first = page.open_panel()
    second = page.open_panel()
    page.run(write("a", "1"))
    for panel in (first, second):
        assert page.until(lambda panel=panel: any("● [3]" in label for label in panel.points)), panel.points


def test_while_a_cell_runs_a_click_moves_nothing(kernel, workspace, page):
    page.run(write("a", "1"))
    page.run(write("a", "2"))
    panel = page.open_panel()
    panel.choose("[1]")
    assert panel.has_button("Go back to [1]")
    page.start(
        "import asyncio, os\nopen('started', 'w').close()\nwhile not os.path.exists('go'): await asyncio.sleep(0.05)"
    )
    assert page.until(lambda: workspace.exists("started"))

    assert page.until(lambda: not panel.buttons("Go back")), "the preview is that of a state that may be gone"
    panel.choose("[1]")
    assert panel.says("Not rewound, nothing changed")
    assert workspace.read("a") == b"2" and not panel.buttons("Go back")
    workspace.write({"go": ""})


def test_unloading_takes_the_panel_out_of_the_page(kernel, page):
    panel = page.open_panel()
    assert panel.root in page.widgets

    page.run("%unload_ext nbrewind")

    assert page.until(lambda: not page.widgets), page.widgets.keys()


def test_a_page_without_widgets_gets_the_list_and_the_way_back(kernel, page):
    page.run(write("a", "<script>alert(1)</script>"))
    page.open_panel()
    shown, below = page.shown[-2:]
    assert "[1]" in shown["text/plain"] and "&lt;script&gt;" in shown["text/html"]
    assert "<script" not in shown["text/html"]
    assert "%rewind panel shows the panel again" in below["text/plain"]


def test_without_ipywidgets_there_is_one_line(kernel):
    kernel.run("import sys; sys.modules['ipywidgets'] = None")
    run = kernel.run("%rewind panel")
    assert run.status == "error"
    assert "The panel needs ipywidgets 8, which is not installed. Nothing changed." in str(run)


def test_a_printed_preview_has_buttons_below_it_where_somebody_can_click(kernel, workspace, page):
    page.run(write("a", "1"))
    page.run(write("a", "2"))
    assert page.run("%rewind to 1") == "ok"
    assert page.until(lambda: len(page.shown) >= 2)
    preview, below = page.shown[-2:]
    assert VIEW not in preview and "%rewind confirm" in preview["text/plain"] and below["text/plain"] == ""

    buttons = Panel(page, below[VIEW]["model_id"])
    buttons.click("Go back to [1]")

    assert buttons.says("Back to just after [1]: 1 file")
    assert page.until(lambda: not buttons.is_shown(buttons.find("HBox")))
    assert workspace.read("a") == b"1"
