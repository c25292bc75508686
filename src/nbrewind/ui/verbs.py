"""Verbs: a checked call carried out on a session, giving the page that says what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

from nbrewind.errors import RefusalReason, RewindError, RewindRefused, StoreError, UsageError
from nbrewind.model import Note, OperationId, PlanOptions, RewindPlan
from nbrewind.rewind.targets import resolve, title
from nbrewind.session.names import bound_by
from nbrewind.session.session import Session
from nbrewind.ui.board.previews import does_something
from nbrewind.ui.connections import open_connections
from nbrewind.ui.health import status_page
from nbrewind.ui.listing import list_page, show_page
from nbrewind.ui.looks import cat_page, diff_page, provenance_page, typed_path
from nbrewind.ui.manual import help_page
from nbrewind.ui.page import Page, Tone
from nbrewind.ui.payload import operation_data
from nbrewind.ui.preview import preview_page, result_page
from nbrewind.ui.story import done_before
from nbrewind.ui.variables import variable_facts
from nbrewind.ui.wording import printable, shown_path, size
from nbrewind.ui.words import Call

__all__ = ["Desk"]

_NOT_YET = {"forget": "Making kept bytes unfindable is not there yet."}
_OF_THE_MOMENT = frozenset({"status", "help", "pause", "on", "cancel", "unfreeze"})
_STATUS_WAIT = 1.0
"""Seconds that `status` waits for a capture under way: whether it succeeds is what the person asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """A session with what the front end knows about the one who asks.

    *headless*: nobody can answer a preview. *asked_by* names the saved notebook cell that asks. *user_names* is the
    user's namespace, read only. *show_panel* gives a page with a panel, for the saved cell that asks.
    """

    session: Session
    headless: bool = False
    asked_by: str = ""
    user_names: Mapping[str, Any] | None = None
    show_panel: Callable[[str], Page] | None = None

    def run(self, call: Call) -> Page:
        """Carry out *call*.

        Raises:
            RewindError: one of the tree, with one line for the person.
        """
        if call.verb in _NOT_YET:
            raise UsageError(f"{_NOT_YET[call.verb]} Nothing changed.")
        if call.verb not in _OF_THE_MOMENT:
            # A capture starts after the reply: without this, a number typed quickly would mean the cell before.
            self.session.settle()
        elif call.verb == "status" and self.session.frozen is None:
            with suppress(RewindError):
                self.session.settle(_STATUS_WAIT)
        session, all_rows = self.session, call.has("all")
        verbs: dict[str, Callable[[], Page]] = {
            "list": lambda: list_page(session, all_rows=all_rows),
            "back": lambda: self._go(call),
            "to": lambda: self._go(call),
            "before": lambda: self._go(call),
            "confirm": lambda: self._carry_out(session.parked(call.text).plan, call),
            "cancel": self._cancel,
            "undo": lambda: self._step(call, session.plan_undo),
            "redo": lambda: self._step(call, session.plan_redo),
            "restore": lambda: self._restore(call),
            "show": lambda: show_page(session, call.target, all_rows=all_rows),
            "cat": lambda: cat_page(session, call),
            "diff": lambda: diff_page(session, call),
            "history": lambda: provenance_page(session, call),
            "get": lambda: self._get(call),
            "recover": lambda: self._recover(call),
            "trust": lambda: self._trust(call),
            "name": lambda: self._name(call),
            "status": lambda: status_page(session.status(), all_rows=all_rows),
            "pause": self._pause,
            "on": self._on,
            "help": lambda: help_page(call),
            "verify": self._verify,
            "gc": self._gc,
            "unfreeze": self._unfreeze,
            "panel": self._panel,
        }
        return verbs[call.verb]()

    # -- moving ---------------------------------------------------------------------------------------------------

    def _options(self, call: Call) -> PlanOptions:
        return PlanOptions(
            only=call.only or PlanOptions().only,
            everything=call.has("everything"),
            overwrite=call.has("overwrite"),
            force=call.has("force"),
            destination=call.destination,
            # A previewed rewind is confirmed by somebody who is there: only what is done at once is guarded.
            asked_by=self.asked_by if call.has("yes") or call.verb in ("restore", "undo", "redo") else "",
        )

    def _go(self, call: Call) -> Page:
        if call.has("yes") and (done := self._done_before(call)) is not None:
            return done
        session = self.session
        sentence = session.resolve(call.target).sentence
        plan = session.plan(call.target, self._options(call))
        if call.has("yes"):
            return self._carry_out(plan, call)
        parked = session.park(plan, call.target) if does_something(plan) else None
        if self.headless and parked is not None and not call.has("json"):
            raise UsageError(
                "Nothing changed: nobody can be asked here. Add --yes, or run "
                f"%rewind confirm {parked.token} next. It would be: {sentence}"
            )
        return preview_page(
            plan,
            session.timeline,
            session.workspace,
            parked=parked,
            sentence=sentence,
            variables=self._variables(plan),
            all_rows=call.has("all"),
            outputs_stay=not session.document_is_open,
        )

    def _done_before(self, call: Call) -> Page | None:
        """Return what to say if this saved cell did the same on this line already, so that "Run All" is safe."""
        if not self.asked_by or call.has("again"):
            return None
        for operation in reversed(self.session.timeline.line):
            if operation.asked_by == self.asked_by:
                data = {"done_before": operation_data(operation, self.session.timeline)}
                return Page(data=data).say(done_before(operation, self.session.timeline))
        return None

    def _carry_out(self, plan: RewindPlan, call: Call) -> Page:
        session, all_rows = self.session, call.has("all")
        if not does_something(plan):
            return preview_page(plan, session.timeline, session.workspace, all_rows=all_rows)
        if plan.needs_force:
            raise RewindRefused(
                RefusalReason.NEEDS_FORCE,
                f"Not rewound, nothing changed: {plan.needs_force}",
                hint="Add --force if that is meant.",
            )
        result = session.rewind(plan)
        connections: tuple[str, ...] = ()
        if self.user_names is not None:
            connections = open_connections(self.user_names, {step.path for step in plan.steps}, session.workspace)
        return result_page(
            result,
            session.timeline,
            session.workspace,
            connections=connections,
            all_rows=all_rows,
            outputs_stay=not session.document_is_open,
        )

    def _step(self, call: Call, plan: Callable[[PlanOptions | None], RewindPlan]) -> Page:
        try:
            found = plan(self._options(call))
        except RewindRefused as error:
            # Typed again, undo goes one further step back; run again by "Run All", there is nothing to take back.
            done = self._done_before(call) if error.reason in _NOTHING_LEFT else None
            if done is None:
                raise
            return done
        return self._carry_out(found, call)

    def _restore(self, call: Call) -> Page:
        done = self._done_before(call)
        if done is not None:
            return done
        source = resolve(call.target, self.session.timeline, anywhere=True).operation
        if self._are_variables(call, source):
            options = replace(self._options(call), only=("variables",))
            return self._carry_out(self.session.plan_recall(call.paths, source, options), call)
        paths = [typed_path(self.session, source, path) for path in call.paths]
        return self._carry_out(self.session.plan_restore(paths, source, self._options(call)), call)

    def _are_variables(self, call: Call, source: OperationId) -> bool:
        """Return whether the words of a restore are variables.

        Raises:
            UsageError: one is both a file and a variable.
        """
        session = self.session
        if call.only:
            return "variables" in call.only
        names = [word for word in call.paths if word.isidentifier() and session.has_variable(source, word)]
        both = [name for name in names if session.state_at(source, name) is not None]
        if both:
            raise UsageError(
                f"{both[0]} is a file and a variable. Nothing changed.", hint="Add --only files or --only variables."
            )
        if names and len(names) < len(call.paths):
            raise UsageError("Files and variables are restored one kind at a time. Nothing changed.")
        return bool(names)

    def _get(self, call: Call) -> Page:
        source = resolve(call.target, self.session.timeline, anywhere=True).operation
        if self.user_names is None:
            # Without a kernel nothing is unpickled, whoever wrote it: what the log tells has to do.
            return variable_facts(self.session, source, call.paths[0])
        return Page(value=self.session.variable(source, call.paths[0]))

    def _recover(self, call: Call) -> Page:
        plan = self.session.plan_recover(call.target)
        if not does_something(plan):
            return Page(data={}).say("There is nothing to recover: the variables are as they were then.")
        return self._carry_out(plan, call)

    def _trust(self, call: Call) -> Page:
        if not call.has("yes"):
            return Page(data={"trusted": False}).say(
                "Loading variables can run any code that whoever wrote this store put there, and going back can change "
                "files outside the workspace. %rewind trust --yes believes it from now on."
            )
        self.session.trust()
        return Page(data={"trusted": True}).say("This store is believed from now on.")

    def _cancel(self) -> Page:
        dropped = self.session.cancel()
        said = "Dropped. Nothing changed." if dropped else "There was nothing to drop. Nothing changed."
        return Page(data={"cancelled": dropped}).say(said)

    def _variables(self, plan: RewindPlan) -> tuple[str, ...]:
        """Return the bound names that the turns of *plan* bind, which a rewind leaves as they are."""
        if self.user_names is None or self.session.moves_variables(plan):
            return ()
        found: set[str] = set()
        for turn in (*plan.taken_back, *plan.brought_back):
            found |= bound_by(self.session.code_of(self.session.timeline.operation(turn)))
        return tuple(sorted(name for name in found if name in self.user_names))

    # -- housekeeping ---------------------------------------------------------------------------------------------

    def _name(self, call: Call) -> Page:
        operation = self.session.name(call.text)
        page = Page(data={"named": operation_data(operation, self.session.timeline), "name": call.text})
        return page.say(f"Named {printable(title(operation, self.session.timeline))}. This point is kept for ever.")

    def _panel(self) -> Page:
        if self.show_panel is None:
            raise UsageError("The panel is in notebooks: %rewind panel. Nothing changed.")
        return self.show_panel(self.asked_by)

    def _pause(self) -> Page:
        self.session.pause()
        return Page(data={"recording": False}).say("Paused: nothing is recorded until %rewind on. Points stay.")

    def _on(self) -> Page:
        self.session.resume()
        return Page(data={"recording": True}).say("Recording again.")

    def _unfreeze(self) -> Page:
        notes = self.session.unfreeze()
        page = Page(data={"recovered": _data(notes)}).say("Cells run again.")
        return page.list(_lines(notes, self.session.workspace))

    def _verify(self) -> Page:
        notes = self.session.verify()
        page = Page(data={"damaged": _data(notes)})
        if not notes:
            return page.say("All points were replayed and their hashes compared: all is well.")
        page.exit_status = StoreError.exit_status
        page.say("Damaged; everything else can be used:", Tone.PROBLEM)
        timeline = self.session.timeline
        named = [
            Note(title(timeline.operation(OperationId(note.subject)), timeline), note.reason)
            if note.subject in timeline
            else note
            for note in notes
        ]
        return page.list([f"{printable(note.subject)}: {printable(note.reason)}" for note in named], Tone.PROBLEM)

    def _gc(self) -> Page:
        done = self.session.gc()
        objects = f"{done.objects_before:,} objects before, {done.objects_after:,} now"
        freed = f"{size(done.freed)} freed" if done.freed > 0 else "nothing to free"
        return Page(data={"gc": asdict(done)}).say(f"The store is packed: {objects}; {freed}.")


_NOTHING_LEFT = (RefusalReason.NEW_TURNS, RefusalReason.UNKNOWN_CHECKPOINT)


def _data(notes: Sequence[Note]) -> list[dict[str, str]]:
    return [{"subject": note.subject, "reason": note.reason} for note in notes]


def _lines(notes: Sequence[Note], workspace: str) -> list[str]:
    return [f"{shown_path(note.subject, workspace)}: {printable(note.reason)}" for note in notes]
