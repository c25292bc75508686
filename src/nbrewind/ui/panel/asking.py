"""Asking: what a panel asks of the counter, and what it was told last: a preview, a result, or a refusal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nbrewind.model import OperationId
from nbrewind.session.session import Session
from nbrewind.ui.counter.answers import target_of
from nbrewind.ui.counter.moves import Moves
from nbrewind.ui.counter.request import Request
from nbrewind.ui.panel.pages import error_html, said_html
from nbrewind.ui.panel.progress import Progress
from nbrewind.ui.render import to_html
from nbrewind.ui.verbs import Desk
from nbrewind.ui.words import Call

__all__ = ["Asking"]


@dataclass(slots=True)
class Question:
    """A preview that is open: how it was asked for, and the groups that there were to tick."""

    verb: str
    fields: dict[str, Any]
    preview: Mapping[str, Any]
    ticks: dict[str, int] = field(default_factory=dict)
    armed: bool = False


class Asking:
    """One conversation with the counter. Moves run on the main thread, and are refused while a cell runs."""

    def __init__(self, session: Session, show_progress: Callable[[int, int], None]) -> None:
        self._session = session
        self._moves = Moves(session)
        self._show_progress = show_progress
        self._progress: Progress | None = None
        self.question: Question | None = None
        self.said = ""
        self.details = ""
        self.head: OperationId | None = None

    @property
    def is_working(self) -> bool:
        """Return whether a move is under way."""
        return self._progress is not None

    def look(self, verb: str, **fields: Any) -> None:
        """Preview something."""
        self.drop()
        preview = self._session.on_main_thread(lambda: self._moves.previews[verb](Request("panel", verb, fields)))
        self._take(verb, fields, preview)

    def refine(self, **fields: Any) -> None:
        """Preview the same with other ticks."""
        question = self.question
        if question is not None:
            ticks = question.ticks
            self.look(question.verb, **{**question.fields, **fields})
            if self.question is not None:
                self.question.ticks = {**ticks, **{key: n for key, n in self.question.ticks.items() if n}}

    def confirm(self) -> None:
        """Carry out what is previewed; at the second time of asking where something would be lost."""
        question = self.question
        if question is None or self.is_working or not question.preview["token"]:
            return
        if question.preview["careful"] and not question.armed:
            question.armed = True
            return
        force = {"force": True} if question.preview["needs_force"] else {}
        self.move("confirm", token=question.preview["token"], **force)

    def move(self, verb: str, **fields: Any) -> None:
        """Carry out *verb*: what came of it is said, or asked where somebody should look twice."""
        if self.is_working:
            return
        self._progress = progress = Progress(self._show_progress)
        request = Request("panel", verb, fields)

        def act() -> dict[str, Any]:
            self._session.progress = progress
            try:
                return self._moves.moves[verb](request)
            finally:
                self._session.progress = None

        try:
            data = self._session.on_main_thread(act)
        finally:
            self._progress = None
        self.drop()
        if "operation" in data:
            self.say(said_html(data["sentence"], data["notes"]))
        else:
            self._take(verb, {}, data)

    def chore(self, verb: str, **fields: Any) -> None:
        """Do what is no move: naming, and what an offer is about."""
        text = self._moves.chore(Request("panel", verb, fields))
        self.drop()
        self.say(said_html(text))

    def compare(self, subject: Mapping[str, str]) -> None:
        """Show how a file or a variable differs between the point that is previewed and now."""
        question = self.question
        if question is not None:
            point = target_of(self._session, question.preview["target"])
            call = Call(verb="diff", target=point, paths=tuple(subject.values()))
            self.details = to_html(Desk(session=self._session).run(call))

    def stop(self) -> bool:
        """Stop a move that is being made ready; return whether there was one."""
        progress = self._progress
        if progress is not None:
            progress.stopped = True
        return progress is not None

    def drop(self) -> None:
        """Forget what was previewed and said."""
        if self.question is not None and self.question.preview["token"]:
            self._moves.cancel(self.question.preview["token"])
        self.question, self.said, self.details = None, "", ""

    def say(self, text: str) -> None:
        """Show *text* until something else happens."""
        self.head = self._session.head
        self.said = text

    def refuse(self, error: Mapping[str, Any]) -> None:
        """Show a refusal; what was previewed is no longer so."""
        self.drop()
        self.say(error_html(error))

    def heed(self, *, running: bool) -> None:
        """Forget what was previewed and said where something happened since; a preview already when a cell runs."""
        head = self._session.head
        if self.is_working:
            return
        if head != self.head or (running and self.question is not None):
            self.drop()
            self.head = head

    def _take(self, verb: str, fields: dict[str, Any], preview: Mapping[str, Any]) -> None:
        # The head first: whoever heeds it in between must not take this for an old preview.
        self.head = self._session.head
        self.question = Question(verb, fields, preview, dict(preview["counts"]))
