"""Previews and results: what a plan would change, what stays, and what a move did."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from nbrewind.model import EntryKind, FileStep, Note, Operation, OperationKind, RewindPlan, Verdict
from nbrewind.rewind.evidence import parents
from nbrewind.rewind.targets import cells
from nbrewind.rewind.timeline import MOVES, Timeline
from nbrewind.session.session import Parked, RewindResult
from nbrewind.ui.page import Page, Tone
from nbrewind.ui.payload import plan_data, result_data
from nbrewind.ui.story import move_text, old_point, plan_sentence, result_sentence, stale_variables
from nbrewind.ui.variables import say_references, say_variables
from nbrewind.ui.wording import count, first_line, joined, moment, printable, shown_path, size, state_text

__all__ = ["beyond_lines", "listed_notes", "preview_page", "result_page"]

_MOST = 20
_FOLD = 8


def preview_page(
    plan: RewindPlan,
    timeline: Timeline,
    workspace: str,
    *,
    parked: Parked | None = None,
    sentence: str = "",
    variables: Sequence[str] = (),
    all_rows: bool = False,
    outputs_stay: bool = True,
) -> Page:
    """Return the preview of *plan*: first what cannot return, then conflicts, then files, then what stays.

    *outputs_stay*: no front end is there that brings back what cells showed.
    """
    most = 0 if all_rows else _MOST
    page = Page(data=plan_data(plan, timeline, parked, variables))
    page.say(plan_sentence(plan, timeline, workspace, sentence), Tone.STRONG)
    if old := old_point(timeline.operation(plan.target).at, time.time()):
        page.say(old, Tone.WARNING)
    _say_stays(page, plan, workspace, most, done=False)
    _say_steps(page, plan, workspace, most)
    say_variables(page, plan.variables, most, done=False)
    say_references(page, plan.references, most)
    _say_secrets(page, plan, workspace)
    _say_kept(page, plan, workspace, most)
    _say_beyond(page, plan, timeline, outputs_stay=outputs_stay)
    if stale := stale_variables(variables):
        page.say(stale, Tone.MUTED)
    if plan.needs_force:
        page.say(f"{plan.needs_force} Add --force if that is meant.", Tone.WARNING)
    if not plan.steps and not plan.taken_back and not plan.brought_back and not plan.variables:
        page.say("There is nothing to change: everything is as it was then.")
    elif parked is not None:
        page.say(
            f"Nothing has changed yet. %rewind confirm {parked.token} does it (until {moment(parked.expires)}), "
            "%rewind cancel drops it."
        )
    return page


def result_page(
    result: RewindResult,
    timeline: Timeline,
    workspace: str,
    *,
    connections: Sequence[str] = (),
    all_rows: bool = False,
    outputs_stay: bool = True,
) -> Page:
    """Return what a move did, and everything that stayed as it was; *outputs_stay* as in a preview."""
    most = 0 if all_rows else _MOST
    plan = result.plan
    page = Page(data=result_data(result, timeline, connections))
    page.say(result_sentence(plan, timeline, workspace), Tone.STRONG)
    _say_stays(page, plan, workspace, most, done=True)
    say_variables(page, plan.variables, most, done=True)
    told = {note.subject for note in result.notes}
    say_references(page, [note for note in plan.references if note.subject not in told], most)
    _say_kept(page, plan, workspace, most)
    listed = {note.subject for note in (*plan.lost, *plan.conflicts, *plan.kept)}
    notes = [note for note in result.notes if note.subject not in listed]
    if notes:
        page.say("To know:", Tone.WARNING).list(listed_notes(notes, workspace), most=most)
    if connections:
        page.say(
            f"Still on the old database file: {', '.join(map(printable, connections))}. Connect again to see it as it "
            "is now.",
            Tone.WARNING,
        )
    _say_beyond(page, plan, timeline, outputs_stay=outputs_stay)
    if stale := stale_variables(result.variables):
        page.say(stale, Tone.MUTED)
    return page


def _say_stays(page: Page, plan: RewindPlan, workspace: str, most: int, *, done: bool) -> None:
    if plan.lost:
        page.say("Could not go back:" if done else "Cannot go back:", Tone.PROBLEM)
        page.list(listed_notes(plan.lost, workspace), most=most)
    if plan.conflicts:
        head = "Conflicts, left alone:" if done else "Conflicts, left alone (--overwrite takes them back too):"
        page.say(head, Tone.WARNING).list(listed_notes(plan.conflicts, workspace), most=most)


def _say_kept(page: Page, plan: RewindPlan, workspace: str, most: int) -> None:
    if plan.kept:
        page.say("Stays as it is:", Tone.MUTED).list(listed_notes(plan.kept, workspace), Tone.MUTED, most=most)


def listed_notes(notes: Sequence[Note], workspace: str) -> list[str]:
    """Return one line per note; a folder is left out where something in it is named."""
    folders = {above for note in notes for above in parents(note.subject)}
    return [
        f"{shown_path(note.subject, workspace)}: {printable(note.reason)}"
        for note in notes
        if note.subject not in folders
    ]


def _say_steps(page: Page, plan: RewindPlan, workspace: str, most: int) -> None:
    moves = [step for step in plan.steps if step.moved_to is not None]
    files = [step for step in plan.steps if step.moved_to is None]
    groups = (
        ("go", "goes", Tone.REMOVED, [step for step in files if step.wanted is None]),
        ("change", "changes", Tone.PLAIN, [step for step in files if step.wanted and step.current]),
        ("return", "returns", Tone.ADDED, [step for step in files if step.current is None]),
    )
    for plural, singular, tone, steps in groups:
        if not steps:
            continue
        number = sum(not _is_directory(step) for step in steps)
        what = count(number, "file") if number else count(len(steps), "folder")
        verb = singular if (number or len(steps)) == 1 else plural
        page.say(f"{what} {verb} ({size(_weight(steps))}):")
        page.list(_step_lines(steps, workspace, fold=most > 0), tone, most=most)
    if moves:
        page.say("Folders move back:").list([move_text(step, workspace) for step in moves], most=most)


def _say_secrets(page: Page, plan: RewindPlan, workspace: str) -> None:
    """Name the secrets that change: no store has them."""
    names = [
        shown_path(step.path, workspace)
        for step in plan.steps
        if any(state is not None and state.is_secret for state in (step.current, step.wanted))
    ]
    if names:
        page.say(f"Excluded from the store as secret, kept in this kernel's memory only: {joined(names)}.", Tone.MUTED)


def _step_lines(steps: Sequence[FileStep], workspace: str, *, fold: bool) -> list[str]:
    files = [step for step in steps if not _is_directory(step)] or list(steps)
    folders: dict[str, list[FileStep]] = {}
    for step in files:
        parts = PurePosixPath(step.path).parts
        folders.setdefault(parts[0] if len(parts) > 1 and not step.path.startswith("/") else "", []).append(step)
    lines = []
    for folder, below in folders.items():
        if fold and folder and len(below) > _FOLD:
            weight = _weight(below)
            lines.append(f"{printable(folder)}/  {count(len(below), 'file')}, {size(weight)}")
        else:
            lines += [_step_line(step, workspace) for step in below]
    return lines


def _weight(steps: Iterable[FileStep]) -> int:
    return sum(state.size for step in steps if (state := step.wanted or step.current) is not None)


def _step_line(step: FileStep, workspace: str) -> str:
    name = shown_path(step.path, workspace)
    now, then = step.current, step.wanted
    if now is None or then is None:
        return f"{name}  {state_text(now or then)}"
    if now.same_content(then) and now.mode != then.mode:
        return f"{name}  mode {now.mode:o} → {then.mode:o}"
    return f"{name}  {state_text(now)} → {state_text(then)}"


def _is_directory(step: FileStep) -> bool:
    states = [state for state in (step.current, step.wanted) if state is not None]
    return all(state.kind is EntryKind.DIRECTORY for state in states)


def _say_beyond(page: Page, plan: RewindPlan, timeline: Timeline, *, outputs_stay: bool) -> None:
    """Say what the cells taken back did beyond what can be seen."""
    lines = beyond_lines(plan, timeline)
    if lines:
        page.say("Not all of it can come back:", Tone.WARNING).list(lines, Tone.WARNING, most=5)
    if outputs_stay and (said := _outputs_stay(plan, timeline)):
        page.say(said, Tone.MUTED)


def beyond_lines(plan: RewindPlan, timeline: Timeline, *, outputs_stay: bool = False) -> list[str]:
    """Return what the cells taken back did beyond what can be seen, and with *outputs_stay* what they still show."""
    if plan.kind not in MOVES:
        return []
    lines = [text for turn in plan.taken_back if (text := _beyond(timeline.operation(turn)))]
    said = _outputs_stay(plan, timeline) if outputs_stay else ""
    return [*lines, said] if said else lines


def _outputs_stay(plan: RewindPlan, timeline: Timeline) -> str:
    turns = [timeline.operation(turn) for turn in plan.taken_back]
    if not turns or plan.kind is not OperationKind.REWIND or "outputs" not in plan.options.only:
        return ""
    return f"Outputs of {cells(turns)} stay visible here; clear or re-run them."


def _beyond(operation: Operation) -> str:
    turn = operation.turn
    if turn is None or turn.verdict is Verdict.PROTECTED:
        return ""
    name = cells([operation])
    if turn.ran:
        return f'{name} ran "{first_line(turn.ran[0])}": what it did outside the workspace cannot come back.'
    if turn.reasons:
        first = turn.reasons[0]
        return f"{name} was seen in part: {printable(first.subject)} ({printable(first.reason)})."
    return f"{name} was seen in part."
