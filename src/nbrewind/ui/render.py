"""Rendering: a page as plain text and as HTML, both at once for a notebook. Everything is escaped text."""

from __future__ import annotations

import html
from typing import Any

from nbrewind.ui.page import Line, Page, Table, Tone
from nbrewind.ui.wording import printable

__all__ = ["plain_table", "to_bundle", "to_html", "to_plain"]

# Only the host's own colours, so that dark and high-contrast themes work; without them the text inherits.
_STYLES = {
    Tone.PLAIN: "",
    Tone.STRONG: "font-weight:600",
    Tone.MUTED: "opacity:0.75",
    Tone.WARNING: "color:var(--jp-warn-color0,#b35900)",
    Tone.PROBLEM: "color:var(--jp-error-color1,#c62828);font-weight:600",
    Tone.CODE: "",
    Tone.ADDED: "color:var(--jp-success-color0,#2e7d32)",
    Tone.REMOVED: "color:var(--jp-error-color0,#b71c1c)",
}
_INDENT = "  "


def to_bundle(page: Page) -> dict[str, Any]:
    """Return what a notebook displays for *page*: HTML where it can, plain text everywhere."""
    return {"text/plain": to_plain(page), "text/html": to_html(page), **page.live}


def to_plain(page: Page) -> str:
    """Return *page* as text whose every character can be printed."""
    lines: list[str] = []
    for part in page.parts:
        if isinstance(part, Line):
            lines.append((_INDENT * part.indent + printable(part.text)).rstrip())
        else:
            lines += plain_table(part)
    return "\n".join(lines)


def plain_table(table: Table) -> list[str]:
    """Return a table as aligned lines, the heads first."""
    rows = [tuple(map(printable, row)) for row in ([table.heads] if table.heads else []) + list(table.rows)]
    columns = max(map(len, rows))
    widths = [max((len(row[column]) for row in rows if column < len(row)), default=0) for column in range(columns)]
    return ["  ".join(cell.ljust(widths[place]) for place, cell in enumerate(row)).rstrip() for row in rows]


def to_html(page: Page) -> str:
    """Return *page* as HTML without scripts, links, images or attributes made of data."""
    parts = [_html_line(part) if isinstance(part, Line) else _html_table(part) for part in page.parts]
    return '<div class="nbrewind" style="line-height:1.45">' + "".join(parts) + "</div>"


def _html_line(line: Line) -> str:
    style = _STYLES[line.tone] + (f";padding-left:{1.5 * line.indent}em" if line.indent else "")
    text = html.escape(printable(line.text)) or "&nbsp;"
    if line.tone in (Tone.CODE, Tone.ADDED, Tone.REMOVED):
        # pre-wrap keeps the spaces of code and diffs.
        style += ";font-family:var(--jp-code-font-family,monospace);white-space:pre-wrap"
    return f'<div style="{style.lstrip(";")}">{text}</div>'


def _html_table(table: Table) -> str:
    head = "".join(f'<th style="text-align:left">{html.escape(printable(cell))}</th>' for cell in table.heads)
    rows = [f"<tr>{head}</tr>"] if head else []
    for place, row in enumerate(table.rows):
        cells = "".join(
            f'<td style="text-align:left;{_STYLES[table.tone(place)]}">{html.escape(printable(cell))}</td>'
            for cell in row
        )
        rows.append(f"<tr>{cells}</tr>")
    return f'<table style="margin-left:0">{"".join(rows)}</table>'
