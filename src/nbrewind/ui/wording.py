"""Wording: how names, sizes, times and counts are written, wherever they are shown."""

from __future__ import annotations

import os
import posixpath
import time
from collections.abc import Iterable
from pathlib import Path

from nbrewind.model import EntryKind, FileState

__all__ = [
    "ago",
    "count",
    "duration",
    "first_line",
    "folder_name",
    "moment",
    "printable",
    "shown_path",
    "size",
    "state_text",
    "typed_bytes",
]

_ESCAPES = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def printable(text: str) -> str:
    r"""Return *text* with everything that would not show, or would steer a terminal, written as an escape.

    Bytes of a file name that are not UTF-8 (surrogate escapes) become `\xff`.
    """
    if text.isprintable() and text.isascii():
        return text
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def folder_name(path: str) -> str:
    """Return the folder *path* as people say it: `~` for their home, printable."""
    home = str(Path("~").expanduser())
    inside = home not in ("", "/", "~") and (path == home or path.startswith(home + "/"))
    return printable("~" + path[len(home) :] if inside else path)


def _escape(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if char in _ESCAPES:
        return _ESCAPES[char]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def typed_bytes(text: str) -> str:
    r"""Return the name that *text* means if its `\xff`, `\n`, `\t` are the escapes that `printable` wrote."""
    out: list[bytes] = []
    rest = os.fsencode(text)
    plain = {ord("n"): b"\n", ord("t"): b"\t", ord("r"): b"\r"}
    while (at := rest.find(b"\\")) >= 0 and at + 1 < len(rest):
        digits = rest[at + 2 : at + 4]
        if (
            rest[at + 1 : at + 2] == b"x"
            and len(digits) == 2
            and all(char in b"0123456789abcdefABCDEF" for char in digits)
        ):
            out += [rest[:at], bytes([int(digits, 16)])]
            rest = rest[at + 4 :]
        elif rest[at + 1] in plain:
            out += [rest[:at], plain[rest[at + 1]]]
            rest = rest[at + 2 :]
        else:
            out.append(rest[: at + 2])
            rest = rest[at + 2 :]
    return os.fsdecode(b"".join([*out, rest]))


def shown_path(path: str, workspace: str) -> str:
    """Return *path* as a person would write it from the workspace: `../shared/conf.json`, not its absolute form."""
    if path.startswith("/") and workspace:
        near = posixpath.relpath(path, workspace)
        if near.split("/").count("..") <= 2:
            path = near
    return printable(path)


def size(number: int) -> str:
    """Return a number of bytes as people read it: `0 B`, `999 B`, `1.2 MB`."""
    if number < 1000:
        return f"{number} B"
    value = float(number)
    for unit in ("kB", "MB", "GB", "TB", "PB"):
        value /= 1000
        if value < 999.5:
            return f"{value:.1f} {unit}" if value < 9.95 else f"{value:.0f} {unit}"
    return f"{value:.0f} PB"


def count(number: int, word: str, plural: str = "") -> str:
    """Return `1 file`, `39 files`."""
    return f"{number:,} {word if number == 1 else plural or word + 's'}"


def moment(at: float, now: float | None = None) -> str:
    """Return the time of day, with the day where it is not today's."""
    if at <= 0:
        return ""
    then, today = time.localtime(at), time.localtime(now)
    if then[:3] == today[:3]:
        return time.strftime("%H:%M", then)
    return time.strftime("%d %b %H:%M" if then[0] == today[0] else "%d %b %Y", then)


def duration(seconds: float) -> str:
    """Return `0.3 s`, `12 s`, `4 min`, `2 h`."""
    if seconds < 10:
        return f"{max(seconds, 0.0):.1f} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def ago(at: float, now: float | None = None) -> str:
    """Return the time of day and how long ago that is, for "when it was done"."""
    return f"{moment(at, now)}"


def first_line(code: str, most: int = 60) -> str:
    """Return the first line of code that says something, cut to *most* characters."""
    lines = [line.strip() for line in code.split("\n") if line.strip()]
    line = next((line for line in lines if not line.startswith("#")), lines[0] if lines else "")
    line = printable(line)
    more = len(lines) > 1 and not line.endswith("…") and len(line) + 2 <= most
    return line[: most - 1] + "…" if len(line) > most else line + (" …" if more else "")


def state_text(state: FileState | None) -> str:
    """Return what stands at a path, in a few characters."""
    if state is None:
        return "—"
    if state.kind is EntryKind.DIRECTORY:
        return "folder"
    if state.kind is EntryKind.SYMLINK:
        return "link"
    if state.kind is EntryKind.SPECIAL:
        return "special"
    return size(state.size) + (f" ({state.missing})" if state.missing else "")


def joined(words: Iterable[str], last: str = "and") -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    found = list(words)
    return found[0] if len(found) == 1 else ", ".join(found[:-1]) + f" {last} {found[-1]}" if found else ""
