"""The story: the sentences that every front end says about points, plans, results and errors. One place for wording."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nbrewind.errors import InconsistentState, RewindError
from nbrewind.model import Change, Claim, EntryKind, FileStep, Operation, OperationKind, RewindPlan
from nbrewind.rewind.targets import cells, clock, sentence, title, when
from nbrewind.rewind.timeline import Timeline
from nbrewind.ui.wording import count, joined, printable, shown_path

__all__ = [
    "MINUS",
    "changed_text",
    "claim_text",
    "done_before",
    "error_text",
    "files_text",
    "move_text",
    "moved_sentence",
    "old_point",
    "operation_text",
    "plan_sentence",
    "result_sentence",
    "stale_variables",
]


MINUS = "\N{MINUS SIGN}"

_OLD_DAYS = 7
"""From this age on a point may hold what somebody forgot."""


def error_text(error: RewindError) -> str:
    """Return an error as one line: what happened, then what to do."""
    text = error.message if not error.hint else f"{error.message} {error.hint}"
    if isinstance(error, InconsistentState) and "Cells are held" not in text:
        text += " Cells are held so nothing is overwritten: %rewind unfreeze, or restart the kernel to recover."
    return " ".join(printable(part) for part in text.split())


def files_text(number: int) -> str:
    """Return a number of files as a result names them."""
    return count(number, "file") if number else "no file"


def changed_text(changes: Sequence[Change], workspace: str, most: int = 2) -> str:
    """Return what changes did to files, short enough for a row: `sales.csv`, `+2 files, 3 changed`."""
    rows = [change for change in changes if not _is_only_directory(change)] or list(changes)
    if not rows:
        return ""
    if len(rows) <= most:
        return ", ".join(_sign(change) + shown_path(change.path, workspace) for change in rows)
    added = sum(change.before is None for change in rows)
    removed = sum(change.after is None for change in rows)
    changed = len(rows) - added - removed
    parts = [f"+{count(added, 'file')}"] if added else []
    parts += [f"{MINUS}{count(removed, 'file')}"] if removed else []
    parts += [f"{count(changed, 'file')} changed"] if changed else []
    return ", ".join(parts)


def _is_only_directory(change: Change) -> bool:
    states = [state for state in (change.before, change.after) if state is not None]
    return change.moved_to is None and all(state.kind is EntryKind.DIRECTORY for state in states)


def _sign(change: Change) -> str:
    if change.moved_to is not None:
        return "→ "
    return "+" if change.before is None else MINUS if change.after is None else ""


def operation_text(operation: Operation, timeline: Timeline) -> str:
    """Return what a move was, for its row in the list."""
    match operation.kind:
        case OperationKind.REWIND:
            where = timeline.parent(operation)
            return f"⟲ went back to {title(where, timeline)}" if where is not None else "⟲ went back"
        case OperationKind.UNDO:
            return "⟲ undid the rewind"
        case OperationKind.REDO:
            return "⟳ went forward again"
        case OperationKind.RESTORE:
            return "⟲ restored variables" if operation.variables else "⟲ restored files"
        case OperationKind.ATTACH:
            return "kernel started"
        case OperationKind.NAME:
            return f"★ {printable(operation.label)}"
        case OperationKind.EXTERNAL:
            return "between cells"
        case _:
            return ""


def plan_sentence(plan: RewindPlan, timeline: Timeline, workspace: str, target: str = "") -> str:
    """Return the first line of a preview: where it goes and which cell stays."""
    goal = timeline.operation(plan.target)
    if plan.kind is OperationKind.RESTORE and plan.options.names:
        names = [printable(name) for name in plan.options.names]
        new = f" as {printable(plan.options.destination)}" if plan.options.destination else ""
        comes = "comes" if len(names) == 1 else "come"
        return f"{joined(names)} {comes} back from {title(goal, timeline)}{new}. All cells stay."
    if plan.kind is OperationKind.RESTORE:
        return f"{_restored(plan, workspace)} as {_were(plan)} {title(goal, timeline)}. All cells stay."
    said = target or sentence(goal, timeline)
    if plan.kind is OperationKind.UNDO:
        return f"Undo of the last {_undone(plan, timeline)}. {said}"
    if plan.kind is OperationKind.REDO:
        return f"Forward again. {said}"
    return said


def _undone(plan: RewindPlan, timeline: Timeline) -> str:
    undone = timeline.operation(plan.undone) if plan.undone is not None else None
    return "restore" if undone is not None and undone.kind is OperationKind.RESTORE else "rewind"


def _restored(plan: RewindPlan, workspace: str) -> str:
    if plan.options.destination:
        return f"Beside the present one, {shown_path(plan.options.destination, workspace)}"
    paths = [shown_path(path, workspace) for path in plan.options.paths]
    paths = paths or [shown_path(step.path, workspace) for step in plan.steps[:1]]
    return f"{joined(paths)} {'comes' if len(paths) == 1 else 'come'} back"


def _were(plan: RewindPlan) -> str:
    return "they were" if len(plan.options.paths) > 1 else "it was"


def result_sentence(plan: RewindPlan, timeline: Timeline, workspace: str) -> str:
    """Return the one line that tells of a success, with the files in it, and how to take it back."""
    way_back = "%rewind redo goes forward again" if plan.kind is OperationKind.UNDO else "%rewind undo takes this back"
    return f"{moved_sentence(plan, timeline, workspace)} {way_back}."


def moved_sentence(plan: RewindPlan, timeline: Timeline, workspace: str, outputs: int = 0) -> str:
    """Return the one line that tells of a success, for front ends with buttons; *outputs* changed in the document."""
    number, names = _file_count(plan.steps), [printable(change.name) for change in plan.variables]
    parts = [files_text(number)] if number or not (names or outputs) else []
    parts += [names[0] if len(names) == 1 else count(len(names), "variable")] if names else []
    parts += [count(outputs, "output")] if outputs else []
    files = ", ".join(parts)
    goal = timeline.operation(plan.target)
    match plan.kind:
        case OperationKind.RESTORE if plan.options.names:
            new = f" as {printable(plan.options.destination)}" if plan.options.destination else ""
            what = f"Restored from {title(goal, timeline)}: {joined(map(printable, plan.options.names))}{new}."
        case OperationKind.RESTORE:
            what = f"Restored from {title(goal, timeline)}: {_names(plan.steps, workspace)}."
        case OperationKind.UNDO:
            what = f"Undone{_again(plan, timeline)}: {files}."
        case OperationKind.REDO:
            what = f"Forward again{_away(plan, timeline)}: {files}."
        case _:
            what = f"Back to {title(goal, timeline)}: {files}."
    return f"{what} Nothing was thrown away."


def _again(plan: RewindPlan, timeline: Timeline) -> str:
    turns = [timeline.operation(turn) for turn in plan.brought_back]
    return f", {cells(turns)} {'are' if len(turns) > 1 else 'is'} back" if turns else ""


def _away(plan: RewindPlan, timeline: Timeline) -> str:
    turns = [timeline.operation(turn) for turn in plan.taken_back]
    return f", {cells(turns)} {'are' if len(turns) > 1 else 'is'} taken back" if turns else ""


def _names(steps: Sequence[FileStep], workspace: str) -> str:
    files = [step for step in steps if not _only_directory(step)] or list(steps)
    names = [shown_path(step.path, workspace) for step in files]
    return joined(names) if len(names) <= 3 else files_text(len(names))


def _file_count(steps: Iterable[FileStep]) -> int:
    return sum(not _only_directory(step) for step in steps)


def _only_directory(step: FileStep) -> bool:
    states = [state for state in (step.current, step.wanted) if state is not None]
    return step.moved_to is None and all(state.kind is EntryKind.DIRECTORY for state in states)


def move_text(step: FileStep, workspace: str) -> str:
    """Return a renamed directory of a plan as one line."""
    return f"{shown_path(step.moved_to or '', workspace)} → {shown_path(step.path, workspace)}"


def old_point(at: float, now: float) -> str:
    """Return the warning that a point is days old, empty for a recent one; times are seconds since the epoch."""
    days = int((now - at) // 86_400)
    return f"This point is {days} days old." if days >= _OLD_DAYS else ""


def stale_variables(names: Sequence[str]) -> str:
    """Return the sentence that says which variables were left as they are."""
    if not names:
        return ""
    said = ", ".join(printable(name) for name in names)
    return f"Variables stay as they are now: {said}."


def done_before(operation: Operation, timeline: Timeline) -> str:
    """Return what a rewind cell says that is run again."""
    what = operation_text(operation, timeline).lstrip("⟲⟳ ")
    return (
        f"This cell did that already at {clock(when(operation))} ({what}); nothing was done now. "
        "Add --again to do it once more."
    )


def claim_text(claim: Claim) -> str:
    """Return whose change it was, for rows of a list."""
    return {
        Claim.OURS: "",
        Claim.EXTERNAL: "by someone else",
        Claim.OTHER_SESSION: "by another kernel",
        Claim.UNCLAIMED: "not claimed by the cell",
    }[claim]
