"""Path patterns of the settings `rewind_exclude` and `rewind_paths`."""

from __future__ import annotations

import fnmatch
import re
from typing import Final

__all__ = ["Pattern"]

_ANY: Final = None
_GLOB = re.compile(r"[*?\[]")

_Parts = tuple[str, ...]
_Compiled = tuple[re.Pattern[str] | None, ...]


class Pattern:
    """One pattern, matched component by component against paths relative to the workspace.

    `*`, `?` and `[...]` stay within a component, `**` stands for any number of components, a trailing `/` asks for a
    directory. A pattern without another `/` fits at any depth (with *anchored*: only where it holds a wildcard).
    What fits stands for everything below it too.
    """

    __slots__ = ("_parts", "directory_only", "text")

    def __init__(self, text: str, *, anchored: bool = False) -> None:
        self.text = text
        self.directory_only = text.endswith("/")
        body = text.removeprefix("./").strip("/")
        floating = "/" not in text.rstrip("/") and not (anchored and not _GLOB.search(body))
        parts = [part for part in body.split("/") if part not in ("", ".")]
        if floating:
            parts.insert(0, "**")
        self._parts: _Compiled = tuple(
            _ANY if part == "**" else re.compile(fnmatch.translate(part), re.DOTALL) for part in parts
        )

    @property
    def everything(self) -> bool:
        """Return whether the pattern names the workspace itself."""
        return not self._parts

    def fits(self, parts: _Parts, is_dir: bool) -> bool:
        """Return whether exactly this path is named."""
        return (is_dir or not self.directory_only) and _fits(self._parts, parts, partial=False)

    def may_hold(self, parts: _Parts) -> bool:
        """Return whether something below this directory could be named."""
        return _fits(self._parts, parts, partial=True)


def _fits(pattern: _Compiled, parts: _Parts, *, partial: bool) -> bool:
    if not pattern:
        return not parts
    if not parts:
        return partial or all(part is _ANY for part in pattern)
    first = pattern[0]
    if first is _ANY:
        return _fits(pattern[1:], parts, partial=partial) or _fits(pattern, parts[1:], partial=partial)
    return first.match(parts[0]) is not None and _fits(pattern[1:], parts[1:], partial=partial)
