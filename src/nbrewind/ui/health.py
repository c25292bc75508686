"""Health: what `status` says, worst first."""

from __future__ import annotations

from dataclasses import asdict

from nbrewind.model import Note
from nbrewind.session.status import Status
from nbrewind.ui.page import Page, Tone
from nbrewind.ui.payload import status_data
from nbrewind.ui.wording import count, folder_name, printable, size

__all__ = ["status_page"]

_MOST = 15


def status_page(status: Status, *, all_rows: bool = False) -> Page:
    """Return the session's health as lines."""
    most = 0 if all_rows else _MOST
    page = Page(data=status_data(status))
    page.say(f"⟲ {folder_name(status.workspace)}: {status.state}", Tone.STRONG)
    if status.frozen is not None:
        page.say(
            f"Cells are held so nothing is overwritten: {_text(status.frozen)}. Restart the kernel and recover, or run "
            "%rewind unfreeze.",
            Tone.PROBLEM,
        )
    if status.not_protected is not None:
        page.say(
            f"Not protected since {printable(status.not_protected.subject)}: {printable(status.not_protected.reason)}",
            Tone.PROBLEM,
        )
    if status.read_only:
        page.say("The store cannot be written: points can be seen, nothing is recorded.", Tone.PROBLEM)
    for head, notes, tone in (
        ("Damaged, all else can be used:", status.damaged, Tone.PROBLEM),
        ("Not covered:", status.not_covered, Tone.WARNING),
        ("Not there, so:", status.missing, Tone.WARNING),
        ("Recovered at the start:", status.recovered, Tone.PLAIN),
        ("Worth knowing:", status.hints, Tone.PLAIN),
        ("Other sessions of this workspace:", status.other_sessions, Tone.MUTED),
    ):
        if notes:
            page.say(head, tone).list([_text(note) for note in notes], tone, most=most)
    if status.first_copy < 1:
        page.say(f"First copy {status.first_copy:.0%}")
    if status.focus:
        page.say(f"Covered in part: {printable(status.focus)}", Tone.WARNING)
    also = "variables, outputs and the session log" if status.variables else "outputs and the session log"
    page.say(f"Covered: {count(status.files, 'file')}, {size(status.bytes)}, {also}.")
    if not status.variables:
        page.say("Variables are not taken back in this session.", Tone.MUTED)
    page.say(f"Points: {status.points:,}, of {count(status.turns, 'cell')}.")
    for token in status.parked:
        page.say(f"Waiting for %rewind confirm {token} (or cancel).")
    kinds = ", ".join(f"{printable(kind)} {size(number)}" for kind, number in status.disk)
    page.say(f"Store: {printable(status.store)}" + (f" ({kinds})" if kinds else ""), Tone.MUTED)
    free = f", {size(status.free_disk)} free" if status.free_disk else ""
    holder = f", held by {printable(status.holder)}" if status.holder else ""
    page.say(f"Session: {status.session}{holder}{free}", Tone.MUTED)
    if all_rows:
        page.say("Settings:", Tone.MUTED)
        page.list([printable(f"{name} = {value!r}") for name, value in asdict(status.settings).items()], Tone.MUTED)
    return page


def _text(note: Note) -> str:
    return f"{printable(note.subject)}: {printable(note.reason)}" if note.reason else printable(note.subject)
