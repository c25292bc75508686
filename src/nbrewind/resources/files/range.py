"""The managed range: which paths below the workspace are covered, as a value that a snapshot keeps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from nbrewind.resources.files.pattern import Pattern

__all__ = ["BUILTIN_EXCLUDES", "Matcher", "Range", "git_refuses"]

BUILTIN_EXCLUDES: Final = (
    ".git",
    ".hg",
    ".svn",
    "node_modules",
    ".venv",
    "venv",
    "__pycache__",
    ".ipynb_checkpoints",
    ".nbrewind",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".hypothesis",
    ".tox",
    ".nox",
    ".eggs",
    ".pixi",
)
"""Directories that are never covered: caches and environments that tools make again, and histories of their own."""

_OWN: Final = ".nbrewind-"
_FIXED: Final = frozenset({".git", ".nbrewind"})
_NTFS_GIT = re.compile(r"(?:\.git|git~1)[ .]*(?:\Z|[:\\])", re.IGNORECASE)
_HFS_IGNORES = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")


def git_refuses(name: str) -> bool:
    """Return whether git's check takes *name* for `.git` on some file system, so that no tree may hold it."""
    if name.isascii():
        if "git" not in name.lower():
            return False
    elif _HFS_IGNORES.sub("", name).lower() == ".git":
        return True
    return any(_NTFS_GIT.match(part) for part in name.split("\\"))


@dataclass(frozen=True, slots=True)
class Range:
    """What is covered, as plain text that can be kept with a snapshot.

    *names* are directories excluded at any depth, *exclude* and *only* the patterns of the settings, *protect* paths
    that are covered whatever an exclude says, *store* the store's own place if it lies in the workspace. *focus*, if
    set, lists the folders whose own files are covered; nothing else is.
    """

    names: tuple[str, ...] = BUILTIN_EXCLUDES
    exclude: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None
    protect: tuple[str, ...] = ()
    store: str = ""
    focus: tuple[str, ...] | None = None


class Matcher:
    """A `Range` ready for questions. Pure: it never looks at the disk."""

    __slots__ = ("_chain", "_exclude", "_focus", "_names", "_only", "_protect", "_store", "range")

    def __init__(self, range_: Range) -> None:
        self.range = range_
        kept = {text[1:].rstrip("/") for text in range_.exclude if text.startswith("!")} - _FIXED
        self._names = frozenset(range_.names) - kept
        self._exclude = tuple(Pattern(text) for text in range_.exclude if not text.startswith("!"))
        self._only = None if range_.only is None else tuple(Pattern(text, anchored=True) for text in range_.only)
        self._protect = tuple(range_.protect)
        self._store = range_.store
        self._focus = None if range_.focus is None else frozenset(range_.focus)
        self._chain = frozenset(above for folder in range_.focus or () for above in _ancestors(folder))

    def reason(self, rel: str, is_dir: bool) -> str:
        """Return why *rel* is not covered, "" if it is."""
        if not rel:
            return ""
        parts = rel.split("/")
        for depth in range(1, len(parts)):
            if why := self.reason_here("/".join(parts[: depth - 1]), parts[depth - 1], True):
                return why
        return self.reason_here("/".join(parts[:-1]), parts[-1], is_dir)

    def reason_here(self, folder: str, name: str, is_dir: bool) -> str:
        """Return why *name* is not covered, given that the folder that holds it is."""
        rel = f"{folder}/{name}" if folder else name
        if rel == self._store or name.startswith(_OWN):
            return "nbrewind's own data"
        if git_refuses(name):
            return "git's own data" if name == ".git" else "a name that git trees cannot hold"
        if not is_dir and name.endswith("-shm"):
            return "SQLite's shared memory"
        if self._protect:
            if any(_at_or_below(rel, root) or (is_dir and _at_or_below(root, rel)) for root in self._protect):
                return ""
            if why := self._excluded_above(folder):
                return why
        return self._excluded(rel, name, is_dir) or self._unlisted(rel, is_dir) or self._unfocused(folder, rel, is_dir)

    def _excluded(self, rel: str, name: str, is_dir: bool) -> str:
        if is_dir and name in self._names:
            return "excluded by default"
        if self._exclude:
            parts = tuple(rel.split("/"))
            if any(pattern.fits(parts, is_dir) for pattern in self._exclude):
                return "excluded by a setting"
        return ""

    def _excluded_above(self, folder: str) -> str:
        # Folders on the way to a protected path are walked though excluded; the rest of what they hold stays out.
        parts = folder.split("/") if folder else []
        for depth in range(len(parts)):
            rel = "/".join(parts[: depth + 1])
            if why := self._excluded(rel, parts[depth], True):
                return why
        return ""

    def _unlisted(self, rel: str, is_dir: bool) -> str:
        if self._only is None:
            return ""
        parts = tuple(rel.split("/"))
        for depth in range(1, len(parts) + 1):
            below = depth < len(parts)
            if any(pattern.fits(parts[:depth], below or is_dir) for pattern in self._only):
                return ""
        if any(pattern.everything or (is_dir and pattern.may_hold(parts)) for pattern in self._only):
            return ""
        return "not in rewind_paths"

    def _unfocused(self, folder: str, rel: str, is_dir: bool) -> str:
        if self._focus is None or (rel in self._focus or rel in self._chain if is_dir else folder in self._focus):
            return ""
        return "outside the focus"


def _ancestors(folder: str) -> list[str]:
    parts = folder.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def _at_or_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root + "/")
