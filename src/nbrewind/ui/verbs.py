"""Verbs: a checked call carried out on a session, giving the page that says what came of it."""

from __future__ import annotations

import base64
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nbrewind.errors import RefusalReason, RewindRefused, StoreError, UsageError
from nbrewind.model import Note, PlanOptions, RewindPlan
from nbrewind.rewind.targets import title
from nbrewind.session.names import bound_by
from nbrewind.session.points import Difference
from nbrewind.session.session import RewindResult, Session
from nbrewind.ui.comparison import compare
from nbrewind.ui.health import status_page
from nbrewind.ui.listing import history_page, list_page, show_page
from nbrewind.ui.page import Page, Tone
from nbrewind.ui.payload import difference_data, operation_data
from nbrewind.ui.preview import preview_page, result_page
from nbrewind.ui.story import done_before
from nbrewind.ui.vocabulary import VERBS
from nbrewind.ui.wording import printable, shown_path, size, state_text, typed_bytes
from nbrewind.ui.words import Call

__all__ = ["Desk", "open_connections"]

_NOT_YET = {
    "get": "Variables are not kept yet, so no old value can be given.",
    "recover": "Variables are not kept yet, so none can be recovered. Files can: %rewind lists the points.",
    "panel": "There is no panel yet. %rewind lists the points, %rewind help the words.",
    "forget": "Making kept bytes unfindable is not there yet.",
    "trust": "A store of somebody else cannot be trusted yet: nothing of it is run.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """A session with what the front end knows: whether anybody can confirm, which cell asks, which names are bound."""

    session: Session
    headless: bool = False
    asked_by: str = ""
    user_names: Mapping[str, Any] | None = None

    def run(self, call: Call) -> Page:
        """Carry out *call*.

        Raises:
            RewindError: one of the tree, with one line for the person.
        """
        if call.verb in _NOT_YET:
            raise UsageError(f"{_NOT_YET[call.verb]} Nothing changed.")
        verbs: dict[str, Callable[[Call], Page]] = {
            "list": lambda call: list_page(self.session, all_rows=call.has("all")),
            "back": self._go,
            "to": self._go,
            "before": self._go,
            "confirm": self._confirm,
            "cancel": self._cancel,
            "undo": lambda call: self._step(call, self.session.plan_undo),
            "redo": lambda call: self._step(call, self.session.plan_redo),
            "restore": self._restore,
            "show": lambda call: show_page(self.session, call.target, all_rows=call.has("all")),
            "cat": self._cat,
            "diff": self._diff,
            "history": self._history,
            "name": self._name,
            "status": lambda call: status_page(self.session.status(), all_rows=call.has("all")),
            "pause": self._pause,
            "on": self._on,
            "help": help_page,
            "verify": self._verify,
            "gc": self._gc,
            "unfreeze": self._unfreeze,
        }
        return verbs[call.verb](call)

    # -- moving ---------------------------------------------------------------------------------------------------

    def _options(self, call: Call) -> PlanOptions:
        default = PlanOptions()
        return PlanOptions(
            only=call.only or default.only,
            everything=call.has("everything"),
            overwrite=call.has("overwrite"),
            force=call.has("force"),
            paths=call.paths if call.verb == "restore" else (),
            destination=call.destination,
            asked_by=self.asked_by if call.has("yes") or call.verb == "restore" else "",
        )

    def _go(self, call: Call) -> Page:
        if call.has("yes") and (done := self._done_before(call)) is not None:
            return done
        options = self._options(call)
        sentence = self.session.resolve(call.target).sentence
        plan = self.session.plan(call.target, options)
        if call.has("yes"):
            return self._carry_out(plan, call)
        nothing = not plan.steps and not plan.taken_back and not plan.brought_back
        # A list or a preview moves nothing, so the sentence may be of the log before the plan settled it.
        parked = None if nothing else self.session.park(plan, call.target)
        page = preview_page(
            plan,
            self.session.timeline,
            self.session.workspace,
            parked=parked,
            sentence=sentence,
            variables=self._variables(plan),
            all_rows=call.has("all"),
        )
        if self.headless and parked is not None and not call.has("json"):
            raise UsageError(
                f"Nothing changed: nobody can be asked here. Add --yes to the cell, or run "
                f"%rewind confirm {parked.token} next. {sentence}"
            )
        return page

    def _done_before(self, call: Call) -> Page | None:
        if not self.asked_by or call.has("again"):
            return None
        for operation in reversed(self.session.timeline.line):
            if operation.asked_by == self.asked_by:
                data = {"done_before": operation_data(operation, self.session.timeline)}
                return Page(data=data).say(done_before(operation, self.session.timeline))
        return None

    def _carry_out(self, plan: RewindPlan, call: Call) -> Page:
        if not plan.steps and not plan.taken_back and not plan.brought_back and plan.undone is None:
            return preview_page(plan, self.session.timeline, self.session.workspace)
        if plan.needs_force:
            raise RewindRefused(
                RefusalReason.NEEDS_FORCE,
                f"Not rewound, nothing changed: {plan.needs_force}",
                hint="Add --force if that is meant.",
            )
        return self._result(self.session.rewind(plan), call)

    def _result(self, result: RewindResult, call: Call) -> Page:
        return result_page(
            result,
            self.session.timeline,
            self.session.workspace,
            connections=self._connections(result.plan),
            all_rows=call.has("all"),
        )

    def _confirm(self, call: Call) -> Page:
        parked = self.session.parked(call.text)
        return self._carry_out(parked.plan, call)

    def _cancel(self, call: Call) -> Page:
        dropped = self.session.cancel()
        return Page(data={"cancelled": dropped}).say(
            "Dropped. Nothing changed." if dropped else "There was nothing to drop. Nothing changed."
        )

    def _step(self, call: Call, plan: Callable[[PlanOptions | None], RewindPlan]) -> Page:
        return self._carry_out(plan(self._options(call)), call)

    def _restore(self, call: Call) -> Page:
        done = self._done_before(call)
        if done is not None:
            return done
        plan = self.session.plan_restore([self._typed(call.target, path) for path in call.paths], call.target,
                                         self._options(call))  # fmt: skip
        return self._carry_out(plan, call)

    def _typed(self, target: str, path: str) -> str:
        r"""Return *path*, with `\xff` read as the byte that it was shown for where no such name was there."""
        raw = typed_bytes(path)
        if raw != path and self.session.state_at(target, path) is None:
            return raw
        return path

    def _variables(self, plan: RewindPlan) -> tuple[str, ...]:
        """Return the bound names that the turns of *plan* bind, which a rewind leaves as they are."""
        if self.user_names is None:
            return ()
        found: set[str] = set()
        for turn in (*plan.taken_back, *plan.brought_back):
            found |= bound_by(self.session.code_of(self.session.timeline.operation(turn)))
        return tuple(sorted(name for name in found if name in self.user_names))

    def _connections(self, plan: RewindPlan) -> tuple[str, ...]:
        paths = {step.path for step in plan.steps}
        return open_connections(self.user_names, paths, self.session.workspace) if self.user_names else ()

    # -- looking --------------------------------------------------------------------------------------------------

    def _cat(self, call: Call) -> Page:
        path = self._typed(call.target, call.paths[0])
        content = b"".join(self.session.cat(call.target, path))
        page = Page(raw=content)
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            text = None
        if text is None or "\0" in text:
            page.data = {"path": path, "base64": base64.b64encode(content).decode("ascii")}
            return page.say(
                f"{printable(path)}: {size(len(content))} of binary data. "
                f"%rewind restore {printable(path)} --from {call.target} --as NEW puts it beside the present one."
            )
        page.data = {"path": path, "text": text}
        for line in text.removesuffix("\n").split("\n"):
            page.say(printable(line.expandtabs(4)), Tone.CODE)
        return page

    def _diff(self, call: Call) -> Page:
        path = self._typed(call.target, call.paths[0]) if call.paths else None
        goal = self.session.resolve(call.target)
        rows = self.session.diff(call.target, path)
        page = Page(data={"target": goal.operation, "title": goal.title, "files": [difference_data(r) for r in rows]})
        where = goal.title or goal.operation
        if not rows:
            what = printable(path) if path else "Every file"
            return page.say(f"{what} is now as it was {where}.")
        if path is None or len(rows) > 1:
            page.say(f"Since {where}:", Tone.STRONG)
            lines = [f"{shown_path(row.path, self.session.workspace)}  {state_text(row.then)} → {state_text(row.now)}"
                     for row in rows]  # fmt: skip
            return page.list(lines, most=0 if call.has("all") else 40)
        row = rows[0]
        page.say(f"{shown_path(row.path, self.session.workspace)}, {where} → now:", Tone.STRONG)
        if row.then is not None and row.now is not None and row.then.same_content(row.now):
            return page.say(f"mode {row.then.mode:o} → {row.now.mode:o}")
        return compare(page, row.path, self._then(row), self._now(row))

    def _then(self, row: Difference) -> bytes | None:
        return None if row.then is None else b"".join(self.session.content(row.then))

    def _now(self, row: Difference) -> bytes | None:
        return None if row.now is None else self.session.bytes_now(row.path)

    def _history(self, call: Call) -> Page:
        path = call.paths[0]
        rows = self.session.history(path)
        if not rows and (raw := typed_bytes(path)) != path:
            rows = self.session.history(raw)
        return history_page(rows, path, self.session.timeline, self.session.workspace)

    # -- housekeeping ---------------------------------------------------------------------------------------------

    def _name(self, call: Call) -> Page:
        operation = self.session.name(call.text)
        said = title(operation, self.session.timeline)
        return Page(data={"named": operation_data(operation, self.session.timeline), "name": call.text}).say(
            f"Named {printable(said)}. This point is kept for ever."
        )

    def _pause(self, call: Call) -> Page:
        self.session.pause()
        return Page(data={"recording": False}).say("Paused: nothing is recorded until %rewind on. Points stay.")

    def _on(self, call: Call) -> Page:
        self.session.resume()
        return Page(data={"recording": True}).say("Recording again.")

    def _unfreeze(self, call: Call) -> Page:
        notes = self.session.unfreeze()
        page = Page(data={"recovered": _notes_data(notes)}).say("Cells run again.")
        return page.list([f"{shown_path(n.subject, self.session.workspace)}: {printable(n.reason)}" for n in notes])

    def _verify(self, call: Call) -> Page:
        notes = self.session.verify()
        page = Page(data={"damaged": _notes_data(notes)})
        if not notes:
            return page.say("All points were read and their hashes compared: all is well.")
        page.exit_status = StoreError.exit_status
        page.say("Damaged; everything else can be used:", Tone.PROBLEM)
        return page.list([f"{printable(note.subject)}: {printable(note.reason)}" for note in notes], Tone.PROBLEM)

    def _gc(self, call: Call) -> Page:
        notes = self.session.gc()
        page = Page(data={"gc": _notes_data(notes)}).say("The store is packed.")
        return page.list([f"{printable(note.subject)}: {printable(note.reason)}" for note in notes])


def _notes_data(notes: Sequence[Note]) -> list[dict[str, str]]:
    return [{"subject": note.subject, "reason": note.reason} for note in notes]


def help_page(call: Call) -> Page:
    """Return the words, all of them with `help all`, or one verb."""
    asked = call.text.split()
    everything = asked == ["all"]
    if asked and not everything and asked[0] not in VERBS:
        raise UsageError(f'Unknown "{asked[0]}". Nothing changed.', hint="%rewind help lists the words.")
    page = Page(data={"verbs": {verb.name: {"usage": verb.usage, "help": verb.help} for verb in VERBS.values()}})
    chosen = [VERBS[asked[0]]] if asked and not everything else VERBS.values()
    page.table([(f"%rewind {verb.usage}", verb.help) for verb in chosen if everything or asked or not verb.more])
    if asked and not everything:
        options = sorted(VERBS[asked[0]].options)
        return page.say("Options: " + ", ".join(f"--{option}" for option in options)) if options else page
    page.say('N is the number in the brackets: 3, "before 3", -1 (one back), 5@14:44, "NAME", start or an id.')
    page.say(
        "Options: --yes (without preview), --only files,outputs, --everything, --overwrite, --force, --json, --again."
    )
    if not everything:
        page.say("%rewind help all lists the rest.", Tone.MUTED)
    return page


def open_connections(names: Mapping[str, Any], paths: set[str], workspace: str) -> tuple[str, ...]:
    """Return the names bound to sqlite3 connections whose database is among the changed *paths*.

    Only the exact type is asked, and only for its file list: no code of the user runs.
    """
    found: list[str] = []
    for name, value in list(names.items()):
        if type(value) is not sqlite3.Connection or not isinstance(name, str) or name.startswith("_"):
            continue
        try:
            files = {row[2] for row in value.execute("PRAGMA database_list")}
        except sqlite3.Error:
            # Closed, or of another thread: it may or may not be that file, so it is named.
            files = set()
            if not any(path.endswith((".db", ".sqlite", ".sqlite3")) for path in paths):
                continue
            found.append(name)
        if any(_inside(file, workspace) in paths for file in files if file):
            found.append(name)
    return tuple(sorted(found))


def _inside(file: str, workspace: str) -> str:
    return file[len(workspace) + 1 :] if file.startswith(workspace + "/") else file
