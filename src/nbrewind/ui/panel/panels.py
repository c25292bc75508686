"""The panels of a session: made, told what is new, and closed together."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from nbrewind.session.session import Session
from nbrewind.ui.board.view import BoardMaker
from nbrewind.ui.counter.herald import Herald
from nbrewind.ui.listing import list_page
from nbrewind.ui.page import Page, Tone
from nbrewind.ui.panel.buttons import Buttons
from nbrewind.ui.panel.panel import Panel
from nbrewind.ui.verbs import Desk

__all__ = ["Panels"]

_MOST = 8
_VIEW = "application/vnd.jupyter.widget-view+json"
_AGAIN = "If nothing can be clicked here (a reloaded page, another kernel): %rewind panel shows the panel again."


class Panels:
    """Every panel that is open, by the cell that showed it. None open: nothing is watched."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._maker = BoardMaker(session)
        self._herald = Herald(self._tell)
        self._lock = threading.Lock()
        self._panels: dict[str, Panel] = {}
        self._buttons: list[Buttons] = []
        self._count = 0
        self._end: Callable[[], None] | None = None

    def open(self, cell: str = "") -> Page:
        """Return a page that shows a new panel, and the list where panels cannot be shown.

        *cell* names the cell that shows it: run again, its panel takes the place of the one before.
        """
        panel = Panel(self._session, self._maker.board)
        with self._lock:
            self._count += 1
            key = cell or f"#{self._count}"
            gone = [before] if (before := self._panels.pop(key, None)) is not None else []
            self._panels[key] = panel
            while len(self._panels) > _MOST:
                gone.append(self._panels.pop(next(iter(self._panels))))
            if self._end is None:
                self._end = self._session.watch(self._herald.stir)
        for old in gone:
            old.close()
        page = list_page(self._session)
        page.say("This is the list as it was; the panel needs a page that shows widgets.", Tone.MUTED)
        page.live = _shown(panel.view.root.model_id)
        page.below = Page().say(_AGAIN, Tone.MUTED)
        return page

    def answer(self, desk: Desk, token: str) -> Page:
        """Return a page with the buttons that answer the preview with *token*."""
        buttons = Buttons(desk, token)
        with self._lock:
            gone, self._buttons = self._buttons[: 1 - _MOST], [*self._buttons[1 - _MOST :], buttons]
        for old in gone:
            old.close()
        return Page(live=_shown(buttons.root.model_id))

    def close(self) -> None:
        """Close all of them. Twice is fine."""
        with self._lock:
            panels: list[Panel | Buttons] = [*self._panels.values(), *self._buttons]
            self._panels, self._buttons = {}, []
            end, self._end = self._end, None
        if end is not None:
            end()
        self._herald.close()
        for panel in panels:
            panel.close()

    def _tell(self) -> None:
        with self._lock:
            panels = list(self._panels.values())
        if panels and not self._session.is_child:
            board = self._maker.board()
            for panel in panels:
                panel.show(board)


def _shown(model: str) -> dict[str, Any]:
    return {_VIEW: {"version_major": 2, "version_minor": 0, "model_id": model}}
