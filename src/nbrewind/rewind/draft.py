"""A plan in the making: the steps so far, and what is left alone and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from nbrewind.model import EntryKind, FileState, FileStep, Note
from nbrewind.resources.files.vault import LARGEST_SECRET

__all__ = ["Draft", "never_remembered"]


def never_remembered(path: str, state: FileState) -> bool:
    """Say that no secret's bytes are in memory."""
    return False


@dataclass(slots=True)
class Draft:
    """Steps by path, whole-directory *moves* outside the workspace, and the reasons for what stays.

    *moves* are made after the other steps, or before them where *moves_first*. *remembered* tells whether the bytes of
    a secret are in memory.
    """

    steps: dict[str, FileStep] = field(default_factory=dict)
    moves: list[FileStep] = field(default_factory=list)
    moves_first: bool = False
    conflicts: dict[str, str] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)
    remembered: Callable[[str, FileState], bool] = never_remembered

    def __contains__(self, path: object) -> bool:
        """Return whether *path* is decided."""
        return any(path in rows for rows in (self.steps, self.conflicts, self.kept, self.lost))

    def stands_at(self, path: str) -> str:
        """Return where *path* is found now, before the moves that come first."""
        if self.moves_first:
            for move in reversed(self.moves):
                if move.moved_to is not None and path.startswith(move.path + "/"):
                    path = move.moved_to + path[len(move.path) :]
        return path

    def put(self, path: str, current: FileState | None, wanted: FileState | None) -> None:
        """Plan to bring *path* from *current* to *wanted*."""
        self.steps[path] = FileStep(path, current, wanted)

    def bring(self, path: str, current: FileState | None, wanted: FileState | None) -> None:
        """Plan *path*, unless its bytes of then are not kept or its bytes of now could not be."""
        if any(state is not None and state.kind is EntryKind.SPECIAL for state in (current, wanted)):
            self.kept[path] = "a pipe, socket or device is left alone"
        elif reason := self._obstacle(path, current, wanted):
            self.lost[path] = reason
        else:
            self.put(path, current, wanted)

    def _obstacle(self, path: str, current: FileState | None, wanted: FileState | None) -> str:
        if wanted is not None and wanted.kind is not EntryKind.DIRECTORY and wanted.object is None:
            if not wanted.is_secret:
                return f"its bytes were not kept: {wanted.missing or 'no reason given'}"
            if not wanted.same_content(current) and not self.remembered(path, wanted):
                return "a secret: its bytes of then were in a kernel's memory only, and are not in this one's"
        if current is None or current.kind is not EntryKind.FILE or not current.missing:
            return ""
        if not current.is_secret:
            return f"its present bytes cannot be archived, so it stays: {current.missing}"
        if current.size > LARGEST_SECRET and not current.same_content(wanted):
            return "a secret too large to keep in memory, so it stays"
        return ""

    @property
    def ordered(self) -> tuple[FileStep, ...]:
        """Return the steps, parents first; whole moves stand where they have to be made."""
        files = tuple(self.steps[path] for path in sorted(self.steps, key=lambda path: path.split("/")))
        return (*self.moves, *files) if self.moves_first else (*files, *self.moves)

    def listed(self, name: str) -> tuple[Note, ...]:
        """Return what stays as `lost`, `conflicts` or `kept`; a path is named once, by its gravest reason."""
        graver = {"lost": (), "conflicts": (self.lost,), "kept": (self.lost, self.conflicts)}[name]
        rows: dict[str, str] = getattr(self, name)
        return tuple(Note(path, rows[path]) for path in sorted(rows) if not any(path in other for other in graver))
