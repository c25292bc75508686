"""The panel in this process: what its widgets show and do, without a page and without a kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbrewind.ui.panel.panels import Panels
from nbrewind.ui.panel.view import View
from nbrewind.ui.verbs import Desk
from nbrewind.ui.words import parse
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


def test_a_box_that_is_unticked_takes_its_part_out_and_stays_to_be_ticked_again(book, workspace, panels):
    cells(book, workspace)
    view = opened(panels)
    choose(view, "make()")
    assert is_shown(view.ticks["files"]) and view.ticks["files"].value
    assert view.ticks["files"].description == "Files 2" and not is_shown(view.ticks["variables"])

    view.ticks["files"].value = False
    assert "a.csv" not in text(view.preview.value)
    assert is_shown(view.ticks["files"]) and not view.ticks["files"].value

    view.ticks["files"].value = True
    assert "a.csv" in text(view.preview.value)
    view.confirm.click()
    assert workspace.exists("b.txt")


def test_one_file_is_brought_back_alone_or_beside_the_present_one(book, workspace, panels):
    cells(book, workspace)
    view = opened(panels)
    choose(view, "make()")
    choices = dict(view.one.options)

    view.one.value = choices["b.txt"]
    view.restore.click()
    assert view.confirm.description == "Restore b.txt" and not is_shown(view.ticks["files"])
    view.confirm.click()
    assert workspace.read("b.txt") == b"b" and workspace.read("a.csv") == b"x\n1\n2\n"

    choose(view, "make()")
    view.one.value = dict(view.one.options)["a.csv"]
    view.difference.click()
    assert "2" in text(view.details.value)
    view.beside.value = "a-then.csv"
    view.restore.click()
    view.confirm.click()
    assert workspace.read("a-then.csv") == b"x\n1\n" and workspace.read("a.csv") == b"x\n1\n2\n"

    choose(view, "make()")
    view.one.value = dict(view.one.options)["a.csv"]
    view.beside.value = "../out.csv"
    view.restore.click()
    assert "no place in the workspace" in text(view.said.value)


def test_what_others_changed_later_wants_a_second_click(book, workspace, panels, outsider):
    cells(book, workspace)
    outsider.write(workspace.root, {"a.csv": "theirs"})
    view = opened(panels)
    choose(view, "make()")
    assert "Changed by someone else later" in text(view.preview.value) and is_shown(view.overwrite)

    assert view.confirm.description == "Go back to [1]"
    view.confirm.click()
    assert not workspace.exists("b.txt")
    assert view.confirm.description == "Go back to [1]: click again" and view.confirm.button_style == "danger"

    view.confirm.click()
    assert workspace.exists("b.txt") and workspace.read("a.csv") == b"theirs"


def test_what_others_changed_goes_back_too_where_that_is_ticked(book, workspace, panels, outsider):
    cells(book, workspace)
    outsider.write(workspace.root, {"a.csv": "theirs"})
    view = opened(panels)
    choose(view, "make()")

    view.overwrite.value = True
    assert is_shown(view.overwrite) and view.overwrite.value
    view.confirm.click()
    assert workspace.read("a.csv") == b"x\n1\n"

    view.undo.click()
    assert workspace.read("a.csv") == b"theirs"


def test_while_a_cell_runs_nothing_is_moved_and_the_panel_says_why(book, workspace, panels):
    cells(book, workspace)
    view = opened(panels)
    with book.turn("slow()"):
        choose(view, "make()")
        assert "Not rewound, nothing changed" in text(view.said.value) and not is_shown(view.confirm)
        view.name.value = "mine"
        view.name_it.click()
        assert "Nothing changed" in text(view.said.value)
    choose(view, "make()")
    assert is_shown(view.confirm)


def test_a_preview_that_a_turn_has_overtaken_is_taken_away_and_the_list_follows(book, workspace, panels):
    cells(book, workspace)
    first, second = opened(panels), opened(panels)
    choose(first, "make()")
    choose(second, "clean()")

    with book.turn("more()"):
        workspace.write({"c": "c"})
    book.session.settle()

    for view in (first, second):
        assert wait_until(lambda view=view: any("[4] more()" in label for label, _ in view.points.options))
        assert wait_until(lambda view=view: not is_shown(view.confirm))
    first.confirm.click()
    assert workspace.exists("c")


def test_a_point_is_named_and_found_by_its_name(book, workspace, panels):
    cells(book, workspace)
    view = opened(panels)
    view.name.value = "clean data"
    view.name_it.click()
    assert "kept for ever" in text(view.said.value) and view.name.value == ""

    view.filter.value = "CLEAN DATA"
    assert len(view.points.options) == 1 and "★clean data" in view.points.options[0][0]
    view.filter.value = "b.txt"
    assert [label.split("  ·  ")[0].strip() for label, _ in view.points.options] == ["● [3] clean()", "[1] make()"]
    view.filter.value = ""
    view.unfolded.value = True
    assert any("[2] look()" in label for label, _ in view.points.options)


def test_an_offer_has_its_button(book, workspace, panels):
    with book.turn("make()"):
        workspace.write({f"raw/{number}": "x" for number in range(20)})
    with book.turn("rm()"):
        for number in range(20):
            (workspace.root / f"raw/{number}").unlink()
    book.session.settle()
    view = opened(panels)
    told, button = view.offers[0]
    assert "[2] deleted 20 files" in text(told.value) and button.description == "Take back what [2] did"

    button.click()
    view.confirm.click()
    assert workspace.exists("raw/0")
    assert not is_shown(view._offer_rows[0])


def test_what_was_stored_is_shown_as_text(book, workspace, panels):
    name = ATTACK.replace("/", "")
    with book.turn(f"make({ATTACK!r})\nmore()"):
        workspace.write({name: "1", "a.csv": ATTACK})
    with book.turn(ATTACK):
        workspace.write({name: "22", "a.csv": "x"})
    book.session.settle()
    view = opened(panels)
    view.name.value = ATTACK
    view.name_it.click()
    choose(view, "make(")
    view.one.value = dict(view.one.options)["a.csv"]
    view.difference.click()

    told = [view.head, view.said, view.preview, view.details, *(text for text, _ in view.offers)]
    assert name.replace("<", "&lt;").replace(">", "&gt;") in view.preview.value
    assert "&lt;script&gt;" in view.details.value
    for html in told:
        assert not re.search(r"<(img|script)", html.value, re.I), html.value


def test_an_error_is_a_line_in_the_panel(book, workspace, panels, monkeypatch):
    cells(book, workspace)
    view = opened(panels)

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("<b>broken</b>")

    monkeypatch.setattr(book.session, "plan", broken)
    choose(view, "make()")
    assert "nbrewind failed: RuntimeError: &lt;b&gt;broken" in view.said.value
    monkeypatch.undo()
    choose(view, "make()")
    assert is_shown(view.confirm)


def test_a_cell_that_is_run_again_takes_its_panel_along_and_closing_leaves_no_widget(book, workspace, panels):
    from ipywidgets.widgets.widget import _instances

    cells(book, workspace)
    before = set(_instances)
    first = opened(panels, "cell")
    second = opened(panels, "cell")
    assert first.root.comm is None and second.root.comm is not None
    for _ in range(20):
        opened(panels)
    assert len(panels._panels) == 8
    assert book.session.is_watched

    panels.close()
    assert [type(_instances[name]) for name in set(_instances) - before] == []
    assert not book.session.is_watched


def test_a_long_move_shows_how_far_it_is_and_can_be_stopped(book, workspace, panels, monkeypatch):
    from nbrewind.ui.panel import progress

    monkeypatch.setattr(progress, "_QUIET", -1.0)
    monkeypatch.setattr(progress, "_PAUSE", -1.0)
    cells(book, workspace)
    view = opened(panels)
    choose(view, "make()")
    seen: list[int] = []

    def stop(change: dict[str, Any]) -> None:
        seen.append(change["new"])
        view.cancel.click()

    view.progress.observe(stop, names="max")
    view.confirm.click()
    assert seen
    assert "Stopped. Nothing changed." in text(view.said.value)
    assert workspace.read("a.csv") == b"x\n1\n2\n" and not is_shown(view.progress)


def test_without_widgets_there_is_the_list_and_the_way_back_to_the_panel(book, workspace, panels):
    from nbrewind.ui.render import to_bundle

    cells(book, workspace)
    page = panels.open()
    bundle = to_bundle(page)
    assert "[1]" in bundle["text/plain"] and "clean()" in bundle["text/html"]
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert "%rewind panel shows the panel again" in to_bundle(page.below)["text/plain"]


def test_a_missing_or_old_ipywidgets_is_said_in_one_line(monkeypatch):
    import ipywidgets

    from nbrewind.errors import UsageError
    from nbrewind.ui.panel.requirement import require_widgets

    require_widgets()
    monkeypatch.setattr(ipywidgets, "__version__", "7.8.1")
    with pytest.raises(UsageError, match="needs ipywidgets 8, and this is"):
        require_widgets()
    monkeypatch.setitem(__import__("sys").modules, "ipywidgets", None)
    with pytest.raises(UsageError, match="which is not installed"):
        require_widgets()


def test_the_buttons_below_a_preview_do_it_or_drop_it_once(book, workspace, panels):
    cells(book, workspace)
    desk = Desk(session=book.session)

    def asked(line: str) -> Any:
        token = desk.run(parse(line)).data["plan"]["token"]
        panels.answer(desk, token)
        return panels._buttons[-1]

    buttons = asked("to 1")
    assert buttons.go.description == "Go back to [1]"
    buttons.cancel.click()
    assert "Dropped. Nothing changed." in text(buttons.said.value) and not is_shown(buttons._row)
    buttons.go.click()
    assert not workspace.exists("b.txt") and "nothing" in text(buttons.said.value).lower()

    buttons = asked("to 1")
    with book.turn("slow()"):
        buttons.go.click()
    assert not workspace.exists("b.txt") and "nothing changed" in text(buttons.said.value)

    buttons = asked("to 1")
    buttons.go.click()
    assert "Back to just after [1]" in text(buttons.said.value) and workspace.exists("b.txt")
