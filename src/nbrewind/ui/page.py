"""Pages: what a verb has to say, as lines and tables, before it becomes plain text, HTML or JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

__all__ = ["Line", "Page", "Table", "Tone"]


class Tone(StrEnum):
    """How a line is meant. Nothing depends on colour alone: the words say it too."""

    PLAIN = "plain"
    STRONG = "strong"
    MUTED = "muted"
    WARNING = "warning"
    PROBLEM = "problem"
    CODE = "code"
    ADDED = "added"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text; *indent* in steps."""

    text: str
    tone: Tone = Tone.PLAIN
    indent: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under *heads* (empty: no head line). *tones* are those of the rows."""

    rows: tuple[tuple[str, ...], ...]
    heads: tuple[str, ...] = ()
    tones: tuple[Tone, ...] = ()

    def tone(self, row: int) -> Tone:
        """Return the tone of a row."""
        return self.tones[row] if row < len(self.tones) else Tone.PLAIN


@dataclass(slots=True)
class Page:
    """Lines and tables in order, and the same facts as *data* for `--json`.

    *raw* is a file's content, for a command line to give as it is; *value* is what a magic returns;
    *exit_status* is not 0 where something is wrong. *live* is what a notebook shows instead of the text where it can,
    by MIME type, and *below* what stands under that, on its own.
    """

    parts: list[Line | Table] = field(default_factory=list)
    data: Mapping[str, Any] = field(default_factory=dict)
    raw: bytes | None = None
    value: Any = None
    exit_status: int = 0
    live: Mapping[str, Any] = field(default_factory=dict)
    below: Page | None = None

    def say(self, text: str, tone: Tone = Tone.PLAIN, indent: int = 0) -> Page:
        """Add a line (several, where *text* holds line ends) and return the page."""
        for line in text.split("\n"):
            self.parts.append(Line(line, tone, indent))
        return self

    def list(self, lines: Iterable[str], tone: Tone = Tone.PLAIN, *, most: int = 0) -> Page:
        """Add indented lines, at most *most* of them (0: all) and a line that says how many are left out."""
        found = list(lines)
        shown = found if not most or len(found) <= most + 1 else found[:most]
        for line in shown:
            self.say(line, tone, 1)
        if len(shown) < len(found):
            self.say(f"… and {len(found) - len(shown)} more (--all names them, --json too)", Tone.MUTED, 1)
        return self

    def table(self, rows: Sequence[tuple[str, ...]], heads: tuple[str, ...] = (), tones: Sequence[Tone] = ()) -> Page:
        """Add a table, if it has rows."""
        if rows:
            self.parts.append(Table(tuple(rows), heads, tuple(tones)))
        return self
