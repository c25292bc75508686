"""Variables in the story: one line for each that a cell or a move changes, and what cannot come back."""

from __future__ import annotations

from collections.abc import Sequence

from nbrewind.errors import TargetError, clipped
from nbrewind.model import Note, OperationKind, VariableChange, VariableState
from nbrewind.rewind.targets import title
from nbrewind.rewind.timeline import MOVES
from nbrewind.session.points import Line
from nbrewind.session.recall import VariableRow
from nbrewind.session.session import Session
from nbrewind.ui.page import Page, Tone
from nbrewind.ui.payload import point_data, variable_data
from nbrewind.ui.wording import count, first_line, moment, printable, size

_TIMES = "\N{MULTIPLICATION SIGN}"

__all__ = [
    "change_text",
    "say_references",
    "say_variables",
    "variable_differences",
    "variable_facts",
    "variable_history",
    "variable_text",
]


def variable_text(state: VariableState | None) -> str:
    """Return what a name is bound to, as a person reads it: `list of 4: [1, 2, 3, 4]`."""
    if state is None:
        return "nothing"
    kind = state.type.rpartition(".")[2]
    text = kind
    if state.shape is not None:
        text += f" {_TIMES.join(map(str, state.shape)) or 'of one'}"
    elif state.length is not None and kind not in ("str", "bytes"):
        text += f" of {state.length}"
    text += f" {state.dtype}" if state.dtype else ""
    if state.text and kind not in ("module", "type"):
        text = printable(state.text) if kind in ("int", "float", "bool", "str", "NoneType") else (
            f"{text}: {printable(state.text)}"
        )  # fmt: skip
    if state.size >= 1 << 20:
        text += f" ({size(state.size)})"
    return text if state.how == "value" else f"{text}, not copied"


def change_text(change: VariableChange) -> str:
    """Return one line for a change."""
    name = printable(change.name)
    since = f"[{change.since}]" if change.since is not None else "the start"
    late = f" (uncertain since {since}: found late)" if change.uncertain else ""
    if change.before is None:
        return f"{name}  {variable_text(change.after)}{late}"
    if change.after is None:
        return f"{name}  was {variable_text(change.before)}{late}"
    before, after = variable_text(change.before), variable_text(change.after)
    return f"{name}  {f'{before} → {after}' if before != after else f'{after}, changed inside'}{late}"


def say_variables(page: Page, changes: Sequence[VariableChange], most: int, *, done: bool) -> None:
    """Say which variables a move brings back, changes and takes away."""
    came = [change for change in changes if change.before is None]
    went = [change for change in changes if change.after is None]
    other = [change for change in changes if change.before is not None and change.after is not None]
    words = ("was taken away", "is as it was", "is back") if done else ("goes", "changes", "returns")
    plural = ("were taken away", "are as they were", "are back") if done else ("go", "change", "return")
    for index, (tone, rows) in enumerate(((Tone.REMOVED, went), (Tone.PLAIN, other), (Tone.ADDED, came))):
        if rows:
            verb = words[index] if len(rows) == 1 else plural[index]
            page.say(f"{count(len(rows), 'variable')} {verb}:").list(map(change_text, rows), tone, most=most)


def say_references(page: Page, notes: Sequence[Note], most: int) -> None:
    """Say which variables cannot be copied, so that a move keeps the object as it is now."""
    if notes:
        page.say("Keep their present state:", Tone.WARNING)
        page.list([f"{printable(note.subject)}: {printable(note.reason)}" for note in notes], Tone.WARNING, most=most)


def variable_differences(page: Page, session: Session, target: str, name: str = "") -> int:
    """Add which variables differ between *target* and now; return how many."""
    changes = session.variable_differences(target, name)
    page.data = {**page.data, "variables": [variable_data(change) for change in changes]}
    if changes:
        page.say("Variables:").list(map(change_text, changes), most=40)
    return len(changes)


def variable_facts(session: Session, target: str, name: str) -> Page:
    """Return what the log tells of the variable *name* at the point *target*; nothing is loaded.

    Raises:
        TargetError: it was not bound then, as far as is known.
    """
    timeline = session.timeline
    goal = timeline.operation(session.resolve(target).operation)
    for operation in timeline.ancestors(goal.id):
        # A move brings back what its parent had: what it changed is told from where it came, not from there.
        found = [one for one in operation.variables if one.name == name and operation.kind not in MOVES]
        if found and found[0].after is not None:
            page = Page(data={"variable": name, "target": goal.id, "change": variable_data(found[0])})
            page.say(f"{printable(name)}, {title(goal, timeline)}: {variable_text(found[0].after)}", Tone.STRONG)
            return page.say("Its value is loaded in a kernel only: %rewind get there.", Tone.MUTED)
        if found:
            break
    raise TargetError(f"{clipped(name)} was not bound {title(goal, timeline)}. Nothing changed.")


def variable_history(page: Page, rows: Sequence[VariableRow], name: str) -> Page:
    """Add the cells that changed the variable *name*, newest first."""
    page.data = {
        **page.data,
        "variable": name,
        "changes": [{"point": point_data(row.point), "change": variable_data(row.change)} for row in rows],
    }
    page.say(f"The variable {printable(name)} was changed by:", Tone.STRONG)
    table, tones = [], []
    for row in rows:
        point = row.point
        number = f"[{point.number}]" if point.number is not None else ""
        what = first_line(point.code) if point.code else _MOVED.get(point.kind, point.kind.value)
        away = "taken back" if point.line is Line.TAKEN_BACK else ""
        table.append((number, what, change_text(row.change), moment(point.at), away))
        tones.append(Tone.MUTED if away else Tone.PLAIN)
    return page.table(table, tones=tones)


_MOVED = {
    OperationKind.EXTERNAL: "between cells",
    OperationKind.REWIND: "⟲ went back",
    OperationKind.UNDO: "⟲ undid the rewind",
    OperationKind.REDO: "⟳ went forward again",
    OperationKind.RESTORE: "⟲ restored variables",
}
