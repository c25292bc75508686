"""Moves from a front end: previews that wait for their confirmation, and what carries them out.

A token names exactly one plan, serves once, and lives in this process only.
"""

from __future__ import annotations

import hashlib
import posixpath
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from nbrewind.errors import RefusalReason, RewindRefused, UsageError, clipped
from nbrewind.model import PlanOptions, RewindPlan
from nbrewind.rewind.targets import sentence
from nbrewind.session.session import Parked, RewindResult, Session
from nbrewind.ui.board.document import patch_data
from nbrewind.ui.board.previews import changed_paths, does_something, is_careful, preview_data, result_data
from nbrewind.ui.counter.answers import target_of
from nbrewind.ui.counter.request import Request
from nbrewind.ui.looks import typed_path
from nbrewind.ui.verbs import Desk
from nbrewind.ui.wording import printable
from nbrewind.ui.words import Call

__all__ = ["Moves"]

_T = TypeVar("_T")
_MOST_PARKED = 32


class Moves:
    """Plans and carries out, always on the kernel's main thread and never while a cell runs."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._parked: dict[str, tuple[Parked, str]] = {}
        self.previews: dict[str, Callable[[Request], dict[str, Any]]] = {
            "preview": self._preview,
            "preview_undo": lambda request: self._parking(session.plan_undo(self._options(request))),
            "preview_redo": lambda request: self._parking(session.plan_redo(self._options(request))),
            "preview_restore": self._preview_restore,
            "preview_recover": lambda request: self._parking(
                session.plan_recover(target_of(session, request.text("target"))), "recover"
            ),
        }
        self.moves: dict[str, Callable[[Request], dict[str, Any]]] = {
            "confirm": self._confirm,
            "undo": lambda request: self._step(request, session.plan_undo),
            "redo": lambda request: self._step(request, session.plan_redo),
        }
        self.chores: dict[str, Callable[[Request], str]] = {
            "name": lambda request: self._said(Call(verb="name", text=request.text("text"))),
            "pause": lambda request: self._said(Call(verb="pause")),
            "on": lambda request: self._said(Call(verb="on")),
            "unfreeze": lambda request: self._said(Call(verb="unfreeze")),
            "free_space": lambda request: self._said(Call(verb="gc")),
        }

    def on_main_thread(self, act: Callable[[], _T]) -> _T:
        """Return what *act* gives, carried out on the main thread.

        Raises:
            RewindRefused: (busy) a cell runs.
        """
        return self._session.on_main_thread(act)

    def cancel(self, token: str) -> bool:
        """Drop one preview, or all without a token; return whether there was one."""
        if not token:
            there, self._parked = bool(self._parked), {}
            return there
        return self._parked.pop(token, None) is not None

    def chore(self, request: Request) -> str:
        """Do what is no move, and return what there is to say of it.

        Raises:
            RewindRefused: (busy) a cell runs.
        """
        running = self._session.pulse().running
        if running and request.verb != "unfreeze":
            raise RewindRefused(RefusalReason.BUSY, f"Nothing changed: {running}.")
        return self.on_main_thread(lambda: self.chores[request.verb](request))

    # -- previews -------------------------------------------------------------------------------------------------

    def _options(self, request: Request) -> PlanOptions:
        only = tuple(dict.fromkeys(request.texts("only")))
        return PlanOptions(
            only=only if "only" in request.fields else PlanOptions().only,
            everything=request.has("everything"),
            overwrite=request.has("overwrite"),
        )

    def _preview(self, request: Request) -> dict[str, Any]:
        session = self._session
        goal = target_of(session, request.text("target"))
        return self._parking(session.plan(goal, self._options(request)))

    def _preview_restore(self, request: Request) -> dict[str, Any]:
        session = self._session
        source = target_of(session, request.text("from"))
        paths, names = request.texts("paths"), request.texts("names")
        options = replace(self._options(request), destination=_destination(request.text("as")))
        if bool(paths) == bool(names):
            raise UsageError("Give either paths or names. Nothing changed.")
        if names:
            return self._parking(session.plan_recall(names, source, replace(options, only=("variables",))))
        known = [typed_path(session, source, path) for path in paths]
        return self._parking(session.plan_restore(known, source, options))

    def _parking(self, plan: RewindPlan, kind: str = "") -> dict[str, Any]:
        """Keep *plan* for its confirmation, where it does anything, and return its preview."""
        session = self._session
        parked = Parked(plan, plan.target, time.time() + session.settings.pending_ttl)
        there = does_something(plan)
        if there:
            self._parked[parked.token] = (parked, kind)
            while len(self._parked) > _MOST_PARKED:
                del self._parked[next(iter(self._parked))]
        return preview_data(
            session,
            plan,
            token=parked.token if there else "",
            expires=parked.expires,
            kind=kind,
            sentence=sentence(session.timeline.operation(plan.target), session.timeline),
            left=session.variables_left(plan),
            outputs_stay=not session.document_is_open,
        )

    # -- carrying out ---------------------------------------------------------------------------------------------

    def _confirm(self, request: Request) -> dict[str, Any]:
        token = request.text("token")
        found = self._parked.get(token)
        if found is None:
            raise RewindRefused(
                RefusalReason.EXPIRED, "Not rewound, nothing changed: this preview is not there any more."
            )
        parked, _ = found
        if time.time() > parked.expires:
            del self._parked[token]
            raise RewindRefused(RefusalReason.EXPIRED, "Not rewound, nothing changed: the preview has expired.")
        plan = parked.plan
        if request.has("force"):
            plan = replace(plan, options=replace(plan.options, force=True))
        elif plan.needs_force:
            raise RewindRefused(RefusalReason.NEEDS_FORCE, f"Not rewound, nothing changed: {plan.needs_force}")
        self._require_vote(request)
        # From here on it is used up: a plan that was refused, or done, is no plan any more.
        self._parked.pop(token, None)
        return self._carried_out(plan)

    def _step(self, request: Request, make: Callable[[PlanOptions | None], RewindPlan]) -> dict[str, Any]:
        plan = make(None)
        if is_careful(plan):
            return self._parking(plan)
        self._require_vote(request)
        return self._carried_out(plan)

    def _carried_out(self, plan: RewindPlan) -> dict[str, Any]:
        session = self._session
        outputs = len(session.moved_cells(plan)) if "outputs" in plan.options.only else 0
        result = session.rewind(plan)
        return {**result_data(session, result, outputs), "patch": self.patch(result)}

    def patch(self, result: RewindResult | None = None) -> dict[str, Any] | None:
        """Return the patch that the document has still to agree to, if any."""
        patch = self._session.document_patch()
        if patch is None:
            return None
        return patch_data(patch, changed_paths(result.plan.steps) if result is not None else ())

    def _require_vote(self, request: Request) -> None:
        """Refuse where the notebook on the disk is not the one that the front end saved.

        Raises:
            RewindRefused: stale-plan.
        """
        vote = request.fields.get("document")
        wanted = str(vote.get("hash", "")) if isinstance(vote, dict) else ""
        notebook = self._session.notebook
        if not wanted or not notebook:
            return
        try:
            there = hashlib.sha256(Path(notebook).read_bytes()).hexdigest()
        except OSError:
            there = ""
        if there != wanted.lower():
            name = printable(posixpath.basename(notebook))
            raise RewindRefused(
                RefusalReason.STALE_PLAN,
                f"Not rewound, nothing changed: {name} on the disk is not as it was saved from here.",
            )

    def _said(self, call: Call) -> str:
        page = Desk(session=self._session).run(call)
        return " ".join(printable(getattr(part, "text", "")) for part in page.parts).strip()


def _destination(text: str) -> str:
    """Return a name for a copy: inside the workspace, whatever is typed.

    Raises:
        RewindRefused: outside-workspace.
    """
    if text and (text.startswith(("/", "~")) or ".." in text.split("/")):
        raise RewindRefused(
            RefusalReason.OUTSIDE_WORKSPACE,
            f"Not restored, nothing changed: {printable(clipped(text, 200))} is no place in the workspace.",
        )
    return text
