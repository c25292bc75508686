"""The view: the widgets of a panel and how they are laid out. It knows nothing of sessions."""

from __future__ import annotations

from collections.abc import Sequence

import ipywidgets as widgets

from nbrewind.ui.panel.labels import Choice

__all__ = ["GROUPS", "View", "close_all", "show"]

GROUPS = {"files": "Files", "variables": "Variables", "outputs": "Outputs", "cells": "Cell text"}
_OFFERS = 3
_NONE = ("a file or a variable…", "")
_APART = {"justify_content": "space-between"}
_WIDE = {"description_width": "auto"}


def _button(text: str, icon: str = "", style: str = "") -> widgets.Button:
    return widgets.Button(description=text, icon=icon, button_style=style, layout={"width": "auto"})


def show(widget: widgets.DOMWidget, there: bool) -> None:
    """Show or hide *widget*."""
    widget.layout.display = None if there else "none"


class View:
    """One panel as widgets. Texts from a session go into lists, which show them as text, or come as escaped HTML."""

    def __init__(self) -> None:
        self.head = widgets.HTML()
        self.undo, self.redo = _button("Undo", "undo"), _button("Redo", "repeat")
        self.offers = [(widgets.HTML(), _button("")) for _ in range(_OFFERS)]
        self._offer_rows = [widgets.HBox(pair) for pair in self.offers]
        self.filter = widgets.Text(
            description="Filter", placeholder="a file, a variable, code", style=_WIDE, layout={"width": "60%"}
        )
        self.unfolded = widgets.Checkbox(description="Show folded cells", indent=False, layout={"width": "auto"})
        self.points = widgets.Select(description="Points", rows=12, style=_WIDE, layout={"width": "98%"})
        self.said, self.preview, self.details = (
            widgets.HTML(layout={"max_height": "24em", "overflow": "auto", "width": "98%"}) for _ in range(3)
        )
        self.ticks = {
            key: widgets.Checkbox(description=text, indent=False, layout={"width": "auto"})
            for key, text in GROUPS.items()
        }
        self._tick_row = widgets.HBox(list(self.ticks.values()))
        self.overwrite = widgets.Checkbox(
            description="Take back what someone else changed, too (kept for Undo)",
            indent=False,
            layout={"width": "auto"},
        )
        self.confirm, self.cancel = _button("", style="primary"), _button("Cancel")
        self._answers = widgets.HBox([self.confirm, self.cancel])
        self.one = widgets.Dropdown(description="Only one", options=[_NONE], style=_WIDE, layout={"width": "40%"})
        self.beside = widgets.Text(
            description="as", placeholder="a new name, or in its place", style=_WIDE, layout={"width": "30%"}
        )
        self.restore, self.difference = _button("Preview this one"), _button("Difference")
        self._one_row = widgets.HBox([self.one, self.beside, self.restore, self.difference])
        self.name = widgets.Text(
            description="Name this point", placeholder="it is kept for ever", style=_WIDE, layout={"width": "60%"}
        )
        self.name_it = _button("Name it", "star")
        self.progress = widgets.IntProgress(description="Making files ready", style=_WIDE, layout={"width": "60%"})
        self.root = widgets.VBox(self._rows())

    def _rows(self) -> list[widgets.DOMWidget]:
        return [
            widgets.HBox(
                [self.head, widgets.HBox([self.undo, self.redo])], layout={"justify_content": "space-between"}
            ),
            *self._offer_rows,
            widgets.HBox([self.filter, self.unfolded]),
            self.points,
            self.said,
            self.preview,
            self._tick_row,
            self.overwrite,
            self._answers,
            self.progress,
            self._one_row,
            self.details,
            widgets.HBox([self.name, self.name_it]),
        ]

    # -- showing ------------------------------------------------------------------------------------------------------

    def show_points(self, points: Sequence[Choice], chosen: str) -> None:
        """Show the list, with *chosen* selected where it is in there."""
        if tuple(points) != tuple(self.points.options):
            self.points.options = list(points)
        known = [value for _, value in points]
        wanted = chosen if chosen in known else None
        if self.points.value != wanted:
            self.points.value = wanted

    def show_offers(self, offers: Sequence[tuple[str, str]]) -> None:
        """Show *offers*: HTML and the text of a button each."""
        for place, (text, button) in enumerate(self.offers):
            there = place < len(offers)
            text.value, button.description = offers[place] if there else ("", "")
            show(self._offer_rows[place], there)

    def show_ticks(self, ticks: dict[str, tuple[str, bool]]) -> None:
        """Show the boxes that *ticks* names, each with its text and whether it is ticked."""
        for key, box in self.ticks.items():
            there = key in ticks
            show(box, there)
            if there:
                box.description, box.value = ticks[key]
        show(self._tick_row, bool(ticks))

    def show_button(self, text: str, *, armed: bool, working: bool) -> None:
        """Show the one button with *text*, or none; *armed*: the next click does what wants a second one."""
        self.confirm.description = text
        self.confirm.button_style = "danger" if armed else "primary"
        self.confirm.disabled = working
        show(self.confirm, bool(text))
        show(self._answers, bool(text) or working)

    def show_singles(self, singles: Sequence[tuple[str, str]]) -> None:
        """Show what can be brought back alone."""
        show(self._one_row, bool(singles))
        wanted = [_NONE, *singles]
        if wanted != list(self.one.options):
            self.one.options = wanted

    def show_progress(self, done: int, total: int) -> None:
        """Show how far a move is; nothing with *total* 0."""
        show(self.progress, total > 0)
        self.progress.max, self.progress.value = max(total, 1), done

    def close(self) -> None:
        """Close every widget; a page that shows them stops to."""
        close_all(self.root)


def close_all(widget: widgets.Widget) -> None:
    """Close *widget* with all that belongs to it."""
    for child in getattr(widget, "children", ()):
        close_all(child)
    for part in (getattr(widget, "style", None), getattr(widget, "layout", None), widget):
        if part is not None:
            part.close()
