"""The journal as a witness: whether a touched path counts, and what stood there."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from nbrewind.model import FileState, OperationId, Settings
from nbrewind.resources.files.signature import Signature, signature

__all__ = ["CoverageView", "Located", "TrackerView", "Witnessing"]


class CoverageView(Protocol):
    """What is covered; `resources.files.coverage.Coverage` is one. All paths are real."""

    def within(self, path: str) -> str | None:
        """Return *path* relative to the workspace, None outside."""

    def excluded(self, rel: str, is_dir: bool) -> str:
        """Return why a path of the workspace does not count, "" if it does."""

    def outside(self, path: str) -> str:
        """Return why a path outside the workspace does not count, "" if it does."""

    def secret(self, name: str) -> bool:
        """Return whether the bytes of a file of this name must not be stored."""

    def focus(self, folder: str) -> bool:
        """Cover *folder* from now on, where only some folders are; return whether it was not covered before."""


class TrackerView(Protocol):
    """What the shadow repository holds; `resources.files.tracker.FileTracker` is one."""

    def held(self, rel: str, signature: Signature, /) -> FileState | None:
        """Return the state at *rel* if it was stored when its stat was just *signature*, and safely before."""


@dataclass(frozen=True, slots=True)
class Located:
    """A path that counts. *inside* is relative to the workspace, None outside of it."""

    inside: str | None
    secret: bool


class Witnessing:
    """What capture asks the files resource, and where it leaves the bytes of secrets."""

    def __init__(
        self,
        tracker: TrackerView,
        coverage: CoverageView,
        settings: Settings,
        keep_secret: Callable[[OperationId, str, bytes], None],
        hide: Callable[[str], str] = str,
    ) -> None:
        self._tracker = tracker
        self._coverage = coverage
        self._store = settings.store_dir.rstrip("/")
        self.root = settings.workspace
        self.keep_secret = keep_secret
        self.hide = hide

    def locate(self, path: str, *, directory: bool = False) -> Located | None:
        """Return where *path* lies, None if it does not count: our own, excluded, shared or temporary."""
        if path == self._store or path.startswith(f"{self._store}/") or os.path.basename(path).startswith(".nbrewind-"):
            return None
        inside = self._coverage.within(path)
        if inside is None:
            return None if self._coverage.outside(path) else Located(None, self._coverage.secret(path))
        if not inside:
            return None
        # A cell that opens a file brings its folder into the focus, if that alone left it out.
        excluded = self._coverage.excluded(inside, directory)
        if excluded and self._coverage.focus(os.path.dirname(inside)):
            excluded = self._coverage.excluded(inside, directory)
        if excluded:
            return None
        return Located(inside, self._coverage.secret(inside))

    def held(self, inside: str, found: os.stat_result) -> FileState | None:
        """Return the stored state of what stands at *inside*, None if the shadow repository may not hold just that."""
        return self._tracker.held(inside, signature(found))
