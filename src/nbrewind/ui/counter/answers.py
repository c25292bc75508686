"""Answers: what each verb of the protocol gives. Moves are not here: `moves.py`."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nbrewind.errors import RewindError, StoreError, UsageError, clipped
from nbrewind.model import OperationId, SessionId
from nbrewind.session.session import Session
from nbrewind.store.layout import list_sessions
from nbrewind.store.locks import is_held
from nbrewind.store.oplog import read_log
from nbrewind.ui.board.document import cell_data
from nbrewind.ui.board.view import Board, BoardMaker
from nbrewind.ui.counter.request import Request
from nbrewind.ui.page import Line, Page
from nbrewind.ui.verbs import Desk
from nbrewind.ui.wording import printable
from nbrewind.ui.words import Call

__all__ = ["Answers"]


class Answers:
    """The verbs that only look, and those that note what a front end says of itself. From any thread."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.verbs: dict[str, Callable[[Request], dict[str, Any]]] = {
            "show": lambda request: self._look("show", request),
            "diff": lambda request: self._look("diff", request),
            "history": lambda request: self._look("history", request),
            "status": lambda request: self._look("status", request),
            "outputs": self._outputs,
            "ack": self._ack,
            "path": self._path,
            "sessions": self._sessions,
        }

    def board_of(self, session: str) -> Board:
        """Return the board of another session of the workspace, to look at.

        Raises:
            StoreError: there is none of that id.
        """
        if session == self._session.id:
            return BoardMaker(self._session).board()
        known = [one for one in Session.stored(self._session.settings) if one == session]
        if not known:
            raise StoreError(f"There is no session {clipped(session)!r} in this workspace.")
        opened = Session.open(self._session.settings, known[0])
        try:
            return BoardMaker(opened).board()
        finally:
            opened.close()

    # -- looks ----------------------------------------------------------------------------------------------------

    def _look(self, verb: str, request: Request) -> dict[str, Any]:
        subject = request.text("path") or request.text("name")
        if verb == "history" and not subject:
            raise UsageError("path or name is missing.")
        call = Call(
            verb=verb,
            target=request.text("point"),
            paths=(subject,) if subject else (),
        )
        page = Desk(session=self._session).run(call)
        return {"parts": _parts(page), "data": dict(page.data)}

    def _outputs(self, request: Request) -> dict[str, Any]:
        states = self._session.cell_states(request.texts("cells"), target_of(self._session, request.text("at")))
        return {"cells": {name: cell_data(state) for name, state in states.items()}}

    def _sessions(self, request: Request) -> dict[str, Any]:
        store = self._session.store
        rows = []
        for session in list_sessions(store):
            paths = store.session(session)
            try:
                operations = read_log(paths.log).operations
                held = is_held(paths) or ""
            except (RewindError, OSError):
                continue
            rows.append(_session_row(session, operations, held, self._session.id))
        return {"sessions": rows}

    # -- what a front end says ------------------------------------------------------------------------------------

    def _ack(self, request: Request) -> dict[str, Any]:
        session = self._session
        if not request.has("agreed"):
            return {"pending": session.pending_document}
        return {"pending": session.acknowledge(OperationId(request.text("patch")))}

    def _path(self, request: Request) -> dict[str, Any]:
        self.heed_path(request.text("path"))
        return {}

    def heed_path(self, path: str) -> None:
        """Go on with the notebook that a front end has open, where the kernel can see which one that is.

        A contents path begins at the server's root, which the kernel does not know: some folder above the notebook. A
        path that would fit below two of them says nothing.
        """
        session = self._session
        wanted = posixpath.normpath(path).lstrip("/")
        if not wanted.endswith(".ipynb") or ".." in wanted.split("/"):
            return
        here = session.notebook
        if here and (here == f"/{wanted}" or here.endswith(f"/{wanted}")) and Path(here).is_file():
            return
        folder = posixpath.dirname(here) or session.workspace
        parts = wanted.split("/")
        above = (folder, *map(str, Path(folder).parents))
        found = [path for place in above if Path(path := posixpath.join(place, *parts)).is_file()]
        if len(found) == 1:
            session.notebook_is_at(found[0])


def target_of(session: Session, target: str) -> str:
    """Return the operation that a target of the protocol means; "" for none.

    Raises:
        RewindRefused: unknown-checkpoint.
    """
    if not target.startswith("before:"):
        return session.timeline.operation(target).id if target else ""
    operation = session.timeline.operation(target.removeprefix("before:"))
    before = session.timeline.parent(operation)
    return before.id if before is not None else operation.id


def _session_row(session: SessionId, operations: Any, held: str, this: SessionId) -> dict[str, Any]:
    newest = operations[-1] if operations else None
    return {
        "id": session,
        "notebook": printable(posixpath.basename(newest.notebook)) if newest is not None else "",
        "at": newest.at if newest is not None else 0.0,
        "points": len(operations),
        "held": printable(held),
        "is_this": session == this,
    }


def _parts(page: Page) -> list[dict[str, Any]]:
    return [
        {"text": printable(part.text), "tone": part.tone.value, "indent": part.indent}
        if isinstance(part, Line)
        else {
            "rows": [[printable(cell) for cell in row] for row in part.rows],
            "heads": list(part.heads),
            "tones": [tone.value for tone in part.tones],
        }
        for part in page.parts
    ]
