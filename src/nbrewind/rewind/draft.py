"""A plan in the making: the steps so far, and what is left alone and why."""

from __future__ import annotations

from dataclasses import dataclass, field

from nbrewind.model import EntryKind, FileState, FileStep, Note

__all__ = ["Draft"]


@dataclass(slots=True)
class Draft:
    """Steps by path, whole-directory *moves* outside the workspace, and the reasons for what stays.

    *moves* are made after the other steps, or before them where *moves_first*.
    """

    steps: dict[str, FileStep] = field(default_factory=dict)
    moves: list[FileStep] = field(default_factory=list)
    moves_first: bool = False
    conflicts: dict[str, str] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)

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
        elif wanted is not None and wanted.kind is not EntryKind.DIRECTORY and wanted.object is None:
            self.lost[path] = f"its bytes were not kept: {wanted.missing or 'no reason given'}"
        elif current is not None and current.kind is EntryKind.FILE and current.missing:
            self.lost[path] = f"its present bytes cannot be archived, so it stays: {current.missing}"
        else:
            self.put(path, current, wanted)

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
