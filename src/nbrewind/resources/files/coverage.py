"""What is covered by a rewind: the workspace, what of it is left out, and what lies outside but is kept."""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from nbrewind.model import Settings
from nbrewind.resources.files.range import BUILTIN_EXCLUDES, Matcher, Range

__all__ = ["BUILTIN_EXCLUDES", "Coverage"]

_KERNEL_ROOTS = ("/proc", "/sys", "/dev")
_MEMORY = "/dev/shm"
_LIBRARIES = frozenset({"site-packages", "dist-packages"})
_TEMPORARY_NAME = re.compile(r"(?:tmp[a-z0-9_]{8}|pymp-[a-z0-9_]+)(?:\..*)?\Z", re.DOTALL)


class Coverage:
    """The one place that says whether a path is covered. Pure: real paths come in, nothing is looked up.

    It changes in two ways only: `narrow` turns the focus on, `focus` adds a folder to it, and tells `on_focus`. Each
    gives it a new `matcher`, so that a walk which took the old one sees one range from end to end.
    """

    on_focus: Callable[[str], None] | None = None

    def __init__(self, settings: Settings, notebook_path: str = "") -> None:
        self.settings = settings
        self.workspace = settings.workspace.rstrip("/") or "/"
        self.focus_reason = ""
        self._below = self.workspace.rstrip("/") + "/"
        secrets = "|".join(fnmatch.translate(pattern) for pattern in settings.secrets)
        self._secrets = re.compile(secrets, re.IGNORECASE) if secrets else None
        self._notebook_folder = self.within(posixpath.dirname(notebook_path)) or ""
        self._matcher = Matcher(
            Range(
                exclude=settings.exclude,
                only=None if settings.rewind_paths is None else tuple(map(self._relative, settings.rewind_paths)),
                protect=tuple(filter(None, map(self.within, settings.protect_paths))),
                store=self.within(settings.store_dir) or "",
            )
        )
        if self.workspace in (settings.home, "/"):
            self.narrow("the workspace is the home folder" if self.workspace != "/" else "the workspace is /")
        elif self.workspace in settings.temp_roots:
            self.narrow("the workspace is a folder for temporary files")

    @property
    def matcher(self) -> Matcher:
        """Return the rules in force now; they never change."""
        return self._matcher

    @property
    def range(self) -> Range:
        """Return what is covered now, as a value."""
        return self._matcher.range

    @property
    def focused(self) -> bool:
        """Return whether only single folders are covered; `focus_reason` says why."""
        return self._matcher.range.focus is not None

    def within(self, path: str) -> str | None:
        """Return *path* (absolute, real) relative to the workspace, None if it lies outside."""
        if path == self.workspace:
            return ""
        return path[len(self._below) :].rstrip("/") if path.startswith(self._below) else None

    def excluded(self, rel: str, is_dir: bool) -> str:
        """Return why a path in the workspace is not covered, "" if it is."""
        return self._matcher.reason(rel, is_dir)

    def secret(self, name: str) -> bool:
        """Return whether a file of this name holds secrets, so that its bytes are never stored."""
        return self._secrets is not None and self._secrets.match(name[name.rfind("/") + 1 :]) is not None

    def outside(self, path: str) -> str:
        """Return why a path outside the workspace (absolute, real) is not kept, "" if it is.

        A protected path wins over everything but nbrewind's own data and what is no file on a disk.
        """
        store = self.settings.store_dir
        parts = path.split("/")
        if (store and _at_or_below(path, store)) or parts[-1].startswith(".nbrewind-"):
            return "nbrewind's own data"
        if any(_at_or_below(path, root) for root in _KERNEL_ROOTS) and not _at_or_below(path, _MEMORY):
            return "not a file on a disk"
        if any(_at_or_below(path, root) for root in self.settings.protect_paths):
            return ""
        if not _LIBRARIES.isdisjoint(parts):
            return "an installed library"
        if not frozenset(BUILTIN_EXCLUDES).isdisjoint(parts) or path.endswith((".pyc", "-shm")):
            return "excluded by default"
        return self._below_root(path)

    def narrow(self, reason: str, folders: Iterable[str] = ()) -> None:
        """Cover from now on only the notebook folder's own files and those of *folders*."""
        self.focus_reason = self.focus_reason or reason
        self._set_focus({self._notebook_folder, *folders, *(self.range.focus or ())})

    def focus(self, folder: str) -> bool:
        """Cover the files of *folder* (relative) too; return whether it was not covered before.

        Call it before a cell's effect in it, so that what stands there is noted and not taken for new later. Without a
        focus everything is covered already.
        """
        focus = self.range.focus
        if focus is None or folder in focus:
            return False
        unfocused = Matcher(replace(self.range, focus=None))
        if unfocused.reason(folder, True):
            return False
        self._set_focus({*focus, folder})
        if self.on_focus is not None:
            self.on_focus(folder)
        return True

    def _set_focus(self, folders: set[str]) -> None:
        self._matcher = Matcher(replace(self.range, focus=tuple(sorted(folders))))

    def _relative(self, path: str) -> str:
        rel = self.within(path)
        return path if rel is None else rel or "."

    def _below_root(self, path: str) -> str:
        """Return the reason of the innermost shared or temporary root above *path*."""
        roots = [(root, True) for root in self.settings.temp_roots] + [
            (root, False) for root in self.settings.shared_roots
        ]
        above = [(len(root), temporary, root) for root, temporary in roots if root and _at_or_below(path, root)]
        if not above:
            return ""
        _, temporary, root = max(above)
        if not temporary:
            return "shared by several sessions"
        wanted = [place for place in (self.workspace, *self.settings.protect_paths) if _at_or_below(place, root)]
        if not wanted:
            return "a temporary file"
        # A workspace below a temporary root takes that root in, except for the names that tempfile makes there.
        first = root.rstrip("/") + "/" + path[len(root) :].strip("/").split("/")[0]
        if _TEMPORARY_NAME.match(posixpath.basename(first)) and not any(_at_or_below(p, first) for p in wanted):
            return "a temporary file"
        return ""


def _at_or_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")
