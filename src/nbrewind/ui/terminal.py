"""The terminal: pages printed for people, for pipes, or as JSON."""

from __future__ import annotations

import sys

import click
from rich.console import Console
from rich.text import Text

from nbrewind.ui.page import Line, Page, Tone
from nbrewind.ui.payload import to_json
from nbrewind.ui.render import plain_table, to_plain
from nbrewind.ui.wording import printable

__all__ = ["emit", "show"]

_TONES = {
    Tone.PLAIN: "",
    Tone.STRONG: "bold",
    Tone.MUTED: "dim",
    Tone.WARNING: "yellow",
    Tone.PROBLEM: "bold red",
    Tone.CODE: "",
    Tone.ADDED: "green",
    Tone.REMOVED: "red",
}


def show(page: Page, as_json: bool, raw: bool = False) -> None:
    """Print *page*, in colours where it is a terminal, as JSON, or (*raw*) the file's bytes as they are."""
    if as_json:
        emit(to_json(page.data))
        return
    if raw and page.raw is not None:
        sys.stdout.buffer.write(page.raw)
        sys.stdout.buffer.flush()
        return
    if not sys.stdout.isatty():
        emit(to_plain(page).replace("%rewind", "nbrewind"))
        return
    console = Console(highlight=False, soft_wrap=True)
    for part in page.parts:
        if isinstance(part, Line):
            text = "  " * part.indent + printable(part.text).replace("%rewind", "nbrewind")
            console.print(Text(text, style=_TONES[part.tone]))
            continue
        for place, row in enumerate(plain_table(part)):
            console.print(Text(row.replace("%rewind", "nbrewind"), style=_TONES[part.tone(place - bool(part.heads))]))


def emit(text: str) -> None:
    """Print *text*, with escapes where the terminal's encoding lacks a character."""
    encoding = sys.stdout.encoding or "utf-8"
    click.echo(text.encode(encoding, "backslashreplace").decode(encoding))
