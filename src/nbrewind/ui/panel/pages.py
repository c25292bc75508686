"""Pages of the panel: previews, rows and messages as HTML in which all that was stored is escaped text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from nbrewind.ui.page import Page, Tone
from nbrewind.ui.render import to_html
from nbrewind.ui.wording import count

__all__ = ["error_html", "head_html", "offer_html", "preview_html", "row_html", "said_html"]

_GROUPS = (("files", "Files"), ("variables", "Variables"), ("outputs", "Outputs"), ("cells", "Cell text"))
_TONES = {"added": Tone.ADDED, "removed": Tone.REMOVED, "problem": Tone.PROBLEM, "kept": Tone.MUTED}
_SIGNS = {"added": "+", "removed": "-", "changed": "~", "problem": "!", "kept": "="}
_STATES = {"warning": Tone.WARNING, "problem": Tone.PROBLEM}
_MOST = 40


def head_html(board: Mapping[str, Any]) -> str:
    """Return the line above the list: which session this is, and how it is."""
    tone = _STATES.get(board["status"]["tone"], Tone.MUTED)
    title = " · ".join(filter(None, (board["notebook"], board["workspace"])))
    page = Page().say(title, Tone.STRONG).say(f"{board['status']['text']}   {board['state_text']}", tone)
    page.list(board["status"]["reasons"][:3], Tone.MUTED)
    return to_html(page)


def said_html(text: str, notes: Sequence[str] = ()) -> str:
    """Return what came of something."""
    return to_html(Page().say(text, Tone.STRONG).list(notes, Tone.MUTED)) if text else ""


def error_html(error: Mapping[str, Any]) -> str:
    """Return a refusal: what it is, and the way out."""
    page = Page().say(str(error["message"]), Tone.PROBLEM)
    return to_html(page.say(str(error["hint"]), Tone.MUTED) if error.get("hint") else page)


def offer_html(text: str) -> str:
    """Return a quiet line."""
    return to_html(Page().say(text, Tone.MUTED)) if text else ""


def row_html(row: Mapping[str, Any]) -> str:
    """Return what the list has no room for: the code in full, how long it took, why something is missing."""
    page = Page()
    if row["full"]:
        page.say(row["full"], Tone.CODE)
    facts = [f"took {row['duration']:g} s" if row["duration"] else "", ", ".join(row["variables"])]
    if told := " · ".join(filter(None, facts)):
        page.say(told, Tone.MUTED)
    page.list(row["reasons"], Tone.WARNING)
    return f"<details><summary>This cell in full</summary>{to_html(page)}</details>" if page.parts else ""


def preview_html(preview: Mapping[str, Any]) -> str:
    """Return a preview: first what cannot go back, then conflicts, then what changes, then what stays."""
    page = Page().say(preview["sentence"], Tone.STRONG)
    if preview["empty"]:
        page.say("There is nothing to change: everything is as it was then.", Tone.MUTED)
    _section(page, "Cannot go back", preview["lost"], Tone.PROBLEM)
    _section(page, "Changed by someone else later", preview["conflicts"], Tone.WARNING)
    if preview["needs_force"]:
        page.say(preview["needs_force"], Tone.WARNING)
    for key, name in _GROUPS:
        if key == "cells" and key not in preview["only"]:
            continue
        _group(page, name, preview["groups"][key])
    _section(page, "Stays as it is", preview["kept"], Tone.MUTED)
    page.list(preview["notes"], Tone.MUTED)
    return to_html(page)


def _section(page: Page, title: str, items: Sequence[Mapping[str, Any]], tone: Tone) -> None:
    if items:
        page.say(f"{title}:", tone)
        page.list(_lines(items), tone)


def _group(page: Page, name: str, items: Sequence[Mapping[str, Any]]) -> None:
    if not items:
        return
    page.say(name, Tone.STRONG)
    for item in items[:_MOST]:
        line = f"{_SIGNS.get(item['tone'], '')} {item['name']}  {item['text']}"
        page.say(line, _TONES.get(item["tone"], Tone.CODE), 1)
    if len(items) > _MOST:
        page.say(f"… and {count(len(items) - _MOST, 'other')}", Tone.MUTED, 1)


def _lines(items: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for item in items:
        yield ": ".join(filter(None, (item["name"], item["text"])))
