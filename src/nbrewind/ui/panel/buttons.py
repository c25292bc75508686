"""Buttons below a printed preview: they do what `%rewind confirm` and `%rewind cancel` do, and say what came of it."""

from __future__ import annotations

import logging
from collections.abc import Callable

import ipywidgets as widgets

from nbrewind.errors import RefusalReason, RewindError, RewindRefused
from nbrewind.ui.board.previews import button_text, is_careful
from nbrewind.ui.counter.faults import fault_data, unexpected_data
from nbrewind.ui.page import Page
from nbrewind.ui.panel.pages import error_html
from nbrewind.ui.panel.view import close_all, show
from nbrewind.ui.render import to_html
from nbrewind.ui.verbs import Desk
from nbrewind.ui.words import Call

__all__ = ["Buttons"]

_LOG = logging.getLogger("nbrewind")


class Buttons:
    """Two buttons for the preview with *token*; the first asks for a second click where something would be lost."""

    def __init__(self, desk: Desk, token: str) -> None:
        session = desk.session
        plan = session.parked(token).plan
        self._desk = desk
        self._token = token
        self._text = button_text(plan, session.timeline, "", session.workspace)
        self._armed = not is_careful(plan)
        wide = {"width": "auto"}
        self.go = widgets.Button(description=self._text, button_style="primary", layout=wide)
        self.cancel = widgets.Button(description="Cancel", layout=wide)
        self.said = widgets.HTML()
        self._row = widgets.HBox([self.go, self.cancel])
        self.root = widgets.VBox([self._row, self.said])
        self.go.on_click(lambda _: self._fenced(self._confirm))
        self.cancel.on_click(lambda _: self._fenced(lambda: self._run(Call(verb="cancel"))))

    def close(self) -> None:
        """Take them out of the page."""
        close_all(self.root)

    def _confirm(self) -> Page | None:
        if not self._armed:
            self._armed = True
            self.go.description, self.go.button_style = f"{self._text}: click again", "danger"
            return None
        return self._run(Call(verb="confirm", text=self._token))

    def _run(self, call: Call) -> Page:
        session = self._desk.session
        return session.on_main_thread(lambda: self._desk.run(call))

    def _fenced(self, act: Callable[[], Page | None]) -> None:
        """Show what *act* gives, or why it does not; the buttons stay where they can be clicked again."""
        try:
            page = act()
            self.said.value, stays = (to_html(page), False) if page is not None else ("", True)
        except RewindError as error:
            self.said.value = error_html(fault_data(error))
            stays = isinstance(error, RewindRefused) and error.reason is RefusalReason.BUSY
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  the top handler of this front end
            _LOG.debug("A button failed.", exc_info=True)
            self.said.value, stays = error_html(unexpected_data(error)), False
        show(self._row, stays)
