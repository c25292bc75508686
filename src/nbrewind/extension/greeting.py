"""The line that loading prints."""

from __future__ import annotations

from pathlib import Path

from nbrewind.resources.files.side import NOT_COPIED
from nbrewind.session.status import Status
from nbrewind.ui.wording import count, printable, size

__all__ = ["greeting"]

_MOST = 3
_ORDINARY = ("excluded by default", "git's own data", "SQLite's shared memory")


def greeting(status: Status, folder: str) -> list[str]:
    """Return the line that says what is on; a second one only where something is not covered or was found."""
    if status.state == "off":
        lines = [
            "nbrewind is loaded and records nothing here (NBRewind.scopes). %rewind still goes back to earlier points."
        ]
    else:
        what = f"{count(status.files, 'file')}, {size(status.bytes)}"
        too = "variables, outputs" if status.settings.variables else "outputs"
        lines = [f"nbrewind is on: {_shown(status.workspace, folder)} ({what}), {too}. Go back: %rewind"]
    more = [printable(f"{note.subject} {note.reason}.") for note in status.recovered if note.subject]
    if status.focus:
        more.append(f"Covered in part: {printable(status.focus)}.")
    passing = (NOT_COPIED,) if status.first_copy < 1 else ()
    missing = [note for note in status.not_covered if note.reason not in (*_ORDINARY, *passing)]
    if missing:
        named = ", ".join(f"{printable(note.subject)} ({printable(note.reason)})" for note in missing[:_MOST])
        rest = f" and {len(missing) - _MOST} more" if len(missing) > _MOST else ""
        more.append(f"Not covered: {named}{rest}.")
    if status.other_sessions:
        more.append(f"Also at work here: {printable(status.other_sessions[0].reason)}.")
    more += [
        printable(f"{note.subject} is not there: {note.reason}.") for note in status.missing if note.subject == "git"
    ]
    if more:
        lines.append(" ".join([*more, "%rewind status"]))
    return lines


def _shown(workspace: str, folder: str) -> str:
    """Return the workspace as seen from the notebook's folder."""
    here, root = Path(folder).resolve(), Path(workspace)
    return f"./{printable(root.name)}" if root == here or root in here.parents else printable(workspace)
