"""Looks: the verbs that show a file as it was, what differs, and who changed it. Nothing changes."""

from __future__ import annotations

import base64

from nbrewind.errors import clipped
from nbrewind.model import FileState
from nbrewind.rewind.targets import Target, resolve
from nbrewind.session.points import Difference
from nbrewind.session.session import Session
from nbrewind.ui.comparison import compare
from nbrewind.ui.listing import history_page
from nbrewind.ui.page import Page, Tone
from nbrewind.ui.payload import difference_data
from nbrewind.ui.variables import variable_differences, variable_history
from nbrewind.ui.wording import printable, shown_path, size, state_text, typed_bytes
from nbrewind.ui.words import Call

__all__ = ["cat_page", "diff_page", "provenance_page", "typed_path"]


def typed_path(session: Session, target: str, path: str) -> str:
    r"""Return *path*, with `\xff` read as the byte that it was shown for where no such name was there."""
    raw = typed_bytes(path)
    if raw != path and session.state_at(target, path) is None:
        return raw
    return path


def cat_page(session: Session, call: Call) -> Page:
    """Return a file as it was then; binary data only for the command line (`raw`)."""
    target = resolve(call.target, session.timeline, anywhere=True).operation
    path = typed_path(session, target, call.paths[0])
    content = b"".join(session.cat(target, path))
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


def _the_same(session: Session, goal: Target, path: str | None) -> str:
    if path is None:
        return f"Every file is now as it was {goal.title}."
    name = printable(clipped(path, 120))
    if session.state_at(goal.operation, path) is None:
        return f"{name} was not there {goal.title}, and is not there now."
    return f"{name} is now as it was {goal.title}."


def diff_page(session: Session, call: Call) -> Page:
    """Return which files differ between a point and now, or how one does."""
    goal = resolve(call.target, session.timeline, anywhere=True)
    if call.paths and session.state_at(goal.operation, call.paths[0]) is None:
        page = Page(data={"target": goal.operation, "title": goal.title, "files": []})
        if variable_differences(page, session, goal.operation, call.paths[0]):
            return page
        if session.has_variable(goal.operation, call.paths[0]):
            return page.say(f"{printable(call.paths[0])} is now as it was {goal.title}.")
    path = typed_path(session, goal.operation, call.paths[0]) if call.paths else None
    rows = session.diff(goal.operation, path)
    page = Page(data={"target": goal.operation, "title": goal.title, "files": [difference_data(row) for row in rows]})
    if path is None and not rows and variable_differences(page, session, goal.operation):
        return page
    if not rows:
        return page.say(_the_same(session, goal, path))
    if path is None or len(rows) > 1:
        page.say(f"Since {goal.title}:", Tone.STRONG)
        page.list([_line(row, session.workspace) for row in rows], most=0 if call.has("all") else 40)
        if path is None:
            variable_differences(page, session, goal.operation)
        return page
    row = rows[0]
    page.say(f"{shown_path(row.path, session.workspace)}, {goal.title} → now:", Tone.STRONG)
    if row.then is not None and row.now is not None and row.then.same_content(row.now):
        return page.say(f"mode {row.then.mode:o} → {row.now.mode:o}")
    if any(state is not None and state.missing for state in (row.then, row.now)):
        return page.say(_line(row, session.workspace))
    now = None if row.now is None else session.bytes_now(row.path)
    return compare(page, row.path, _then(session, row.then), now)


def _then(session: Session, state: FileState | None) -> bytes | None:
    return None if state is None else b"".join(session.content(state))


def _line(row: Difference, workspace: str) -> str:
    return f"{shown_path(row.path, workspace)}  {state_text(row.then)} → {state_text(row.now)}"


def provenance_page(session: Session, call: Call) -> Page:
    """Return the cells that changed a path."""
    path = call.paths[0]
    rows = session.history(path)
    if not rows and (raw := typed_bytes(path)) != path:
        rows = session.history(raw)
    named = session.variable_history(path)
    if named and not rows:
        return variable_history(Page(data={"path": path, "history": []}), named, path)
    page = history_page(rows, path, session.timeline, session.workspace)
    return variable_history(page, named, path) if named else page
