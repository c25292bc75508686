"""A panel: what its widgets ask is asked, and what came of it is shown. An error is a line in it, never a traceback."""

from __future__ import annotations

import contextvars
import logging
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from nbrewind.errors import RewindError
from nbrewind.session.session import Session
from nbrewind.ui.board.view import Board
from nbrewind.ui.counter.faults import fault_data, unexpected_data
from nbrewind.ui.panel.asking import Asking, Question
from nbrewind.ui.panel.labels import choices, find, present
from nbrewind.ui.panel.pages import head_html, offer_html, preview_html, row_html
from nbrewind.ui.panel.view import GROUPS, View, show

__all__ = ["Panel"]

_LOG = logging.getLogger("nbrewind")
_HINT = "Choose a point to see what would come back."


class Panel:
    """One panel over *session*. Callbacks come by any thread; what is shown changes in one at a time.

    Everything is sent in the context of its own last message: the kernel routes the next message of a widget to the
    thread whose message was being handled when the widget last sent something.
    """

    def __init__(self, session: Session, make: Callable[[], Board]) -> None:
        self._make = make
        self._board = make()
        self._chosen = ""
        self._lock = threading.RLock()
        self._filler = 0
        self._context = contextvars.copy_context()
        self.view = View()
        self._asking = Asking(session, self._progressed)
        self._wire()
        self._render()

    def show(self, board: Board) -> None:
        """Show *board*; from any thread."""
        if board.revision != self._board.revision:
            self._board = board
            self._asking.heed(running=board.head["busy"] is not None)
            self._render()

    def close(self) -> None:
        """Take the panel out of the pages that show it."""
        with self._lock:
            self._asking.drop()
            self._context.copy().run(self.view.close)

    # -- what is asked ------------------------------------------------------------------------------------------------

    def _wire(self) -> None:
        view, asking = self.view, self._asking
        for button, act in (
            (view.undo, partial(self._step, "undo")),
            (view.redo, partial(self._step, "redo")),
            (view.confirm, asking.confirm),
            (view.cancel, self._cancel),
            (view.restore, self._restore),
            (view.difference, self._compare),
            (view.name_it, self._name),
        ):
            button.on_click(self._fenced(act))
        for place, (_, button) in enumerate(view.offers):
            button.on_click(self._fenced(partial(self._take_offer, place)))
        for widget, act in (
            (view.points, self._choose),
            (view.filter, lambda: None),
            (view.unfolded, lambda: None),
            (view.overwrite, lambda: asking.refine(overwrite=view.overwrite.value)),
            *((box, self._tick) for box in view.ticks.values()),
        ):
            widget.observe(self._fenced(act), names="value")

    def _fenced(self, act: Callable[[], Any]) -> Callable[..., None]:
        """Return *act* as a callback: without an error that anybody sees, and with what came of it shown."""

        def run(*_: object) -> None:
            if self._filler == threading.get_ident():
                return
            self._context = contextvars.copy_context()
            try:
                act()
            except RewindError as error:
                self._asking.refuse(fault_data(error))
            except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  the top handler of this front end
                _LOG.debug("A panel failed.", exc_info=True)
                self._asking.refuse(unexpected_data(error))
            self._render()

        return run

    def _choose(self) -> None:
        self._chosen = self.view.points.value or ""
        row = find(self._board.rows, self._chosen)
        if row is None or row["target"] is None:
            self._asking.drop()
        else:
            self._asking.look("preview", target=row["target"])

    def _step(self, verb: str) -> None:
        self._chosen = ""
        self._asking.move(verb)

    def _tick(self) -> None:
        question = self._asking.question
        shown = _ticks(question) if question is not None else {}
        only = [key for key, box in self.view.ticks.items() if key in shown and box.value]
        self._asking.refine(only=only)

    def _cancel(self) -> None:
        if not self._asking.stop():
            self._asking.drop()
            self._chosen = ""

    def _single(self) -> tuple[str, str]:
        kind, _, subject = (self.view.one.value or "").partition(":")
        return kind, subject

    def _restore(self) -> None:
        kind, subject = self._single()
        question = self._asking.question
        if question is None or not subject:
            return
        beside = self.view.beside.value.strip()
        fields: dict[str, Any] = {"from": question.preview["target"], kind: [subject]}
        self._asking.look("preview_restore", **fields, **({"as": beside} if beside else {}))

    def _compare(self) -> None:
        kind, subject = self._single()
        if subject:
            self._asking.compare({kind: subject})

    def _name(self) -> None:
        text = self.view.name.value.strip()
        if text:
            self._asking.chore("name", text=text)
            self.view.name.value = ""

    def _take_offer(self, place: int) -> None:
        offers = self._board.head["offers"]
        if place >= len(offers):
            return
        self._chosen = ""
        kind, target = offers[place]["kind"], offers[place]["target"]
        if kind == "recover":
            self._asking.look("preview_recover", target=target)
        elif kind == "take-back":
            self._asking.look("preview", target=target)
        else:
            self._asking.chore(kind.replace("-", "_"))

    # -- what is shown ------------------------------------------------------------------------------------------------

    def _progressed(self, done: int, total: int) -> None:
        # Without the lock: this is the main thread, for which whoever holds the lock may be waiting.
        self._context.copy().run(self.view.show_progress, done, total)

    def _render(self) -> None:
        """Show everything as it is now. What is so already costs no message."""
        with self._lock:
            self._filler = threading.get_ident()
            try:
                self._board = self._make()
                self._let_go()
                self._context.copy().run(self._fill)
            except Exception:  # noqa: BLE001  a panel never gets in the way of anything
                _LOG.debug("A panel could not be shown.", exc_info=True)
            finally:
                self._filler = 0

    def _let_go(self) -> None:
        """Choose what is now again where nothing is previewed: a list says nothing when its choice is clicked."""
        row = find(self._board.rows, self._chosen)
        if self._asking.question is None and (row is None or row["target"] is not None):
            self._chosen = ""

    def _fill(self) -> None:
        view, board, asking = self.view, self._board, self._asking
        head = board.head
        rows = [row.data for row in board.rows]
        view.head.value = head_html(head)
        for button, told in ((view.undo, head["undo"]), (view.redo, head["redo"])):
            button.disabled = told is None
            button.tooltip = told["text"] if told else ""
        view.show_offers([(offer_html(offer["text"]), offer["action"]) for offer in head["offers"]])
        view.show_points(
            choices(rows, view.filter.value, unfolded=view.unfolded.value), self._chosen or present(rows)
        )  # fmt: skip
        view.said.value = asking.said or offer_html(_HINT if asking.question is None and rows else "")
        view.details.value = asking.details
        self._fill_preview(asking.question)
        if not asking.is_working:
            view.show_progress(0, 0)

    def _fill_preview(self, question: Question | None) -> None:
        view, working = self.view, self._asking.is_working
        preview = question.preview if question is not None else None
        row = find(self._board.rows, self._chosen)
        more = row_html(row) if row is not None else ""
        view.preview.value = (preview_html(preview) if preview is not None else "") + more
        view.show_ticks(_ticks(question) if question is not None else {})
        show(view.overwrite, bool(preview and (preview["conflicts"] or (question and "overwrite" in question.fields))))
        view.overwrite.value = bool(question and question.fields.get("overwrite"))
        armed = question is not None and question.armed
        text = preview["button"] if preview is not None and preview["token"] else ""
        view.show_button(f"{text}: click again" if armed and text else text, armed=armed, working=working)
        view.show_singles(_singles(question) if question is not None else [])


def _ticks(question: Question) -> dict[str, tuple[str, bool]]:
    """Return the boxes of a preview; only going back to a point has parts to choose from."""
    if question.verb != "preview":
        return {}
    only, counts = question.preview["only"], question.preview["counts"]
    there = [key for key in GROUPS if question.ticks.get(key)]
    return {key: (f"{GROUPS[key]} {counts[key] or question.ticks[key]}", key in only) for key in there}


def _singles(question: Question) -> list[tuple[str, str]]:
    """Return what of a preview can be brought back alone."""
    if question.verb != "preview":
        return []
    found = []
    for group, kind in (("files", "paths"), ("variables", "names")):
        found += [(item["name"], f"{kind}:{item['subject']}") for item in question.preview["groups"][group][:200]]
    return found
