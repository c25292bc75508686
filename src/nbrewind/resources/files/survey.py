"""What the disk and this kernel say about the paths of a plan, gathered before anything is archived."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from nbrewind.errors import RefusalReason, RewindRefused
from nbrewind.model import EntryKind, FileState, FileStep, Note
from nbrewind.resources.files.inspection import kind_of
from nbrewind.resources.files.places import Places
from nbrewind.resources.files.sqlite import COMPANIONS, SHARED_MEMORY, database_of
from nbrewind.resources.files.steps import Facts, Identity

__all__ = ["Survey", "renamed", "stale"]

_SQLITE = b"SQLite format 3\0"
_KEPT = ("", *COMPANIONS)
_DEFAULT_UMASK = 0o022


def stale(path: str, why: str) -> RewindRefused:
    """Return the refusal for a *path* that no longer is as the plan says."""
    return RewindRefused(RefusalReason.STALE_PLAN, f"{path} {why}.", hint="Look at the preview again.")


@dataclass(slots=True)
class Survey:
    """The paths of *steps* as they stand: their status, SQLite groups, and what this kernel holds open.

    *present* turns a path of the plan into where that stands now: below a directory that is to get its name back, it
    still has the other name.
    """

    places: Places
    steps: tuple[FileStep, ...]
    writable: Mapping[str, str]
    linked: Callable[[str], tuple[str, ...]]
    head: Callable[[FileState], bytes]
    notes: list[Note] = field(default_factory=list)
    _renames: list[tuple[str, str]] = field(init=False)

    def __post_init__(self) -> None:
        """Gather the renames, last first."""
        self._renames = [renamed(step) for step in reversed(self.steps) if step.moved_to is not None]

    def present(self, path: str) -> str:
        """Return where what belongs to *path* stands before directories got their names back."""
        for origin, target in self._renames:
            if path == target or path.startswith(target + "/"):
                path = origin + path[len(target) :]
        return path

    def statuses(self) -> dict[str, os.stat_result]:
        """Return the status of every path that the plan says stands now.

        Raises:
            RewindRefused: (stale-plan) something else stands, or nothing, or where nothing should.
        """
        found: dict[str, os.stat_result] = {}
        for step in self.steps:
            origin, _ = renamed(step)
            current = step.current if not origin else step.current or step.wanted
            status = self.places.status(self.present(origin or step.path))
            if status is None or current is None:
                if status is not None or current is not None:
                    raise stale(step.path, "is there now" if status is not None else "is gone")
            elif kind_of(status) is not current.kind:
                raise stale(step.path, "is of another kind now")
            elif not origin:
                found[step.path] = status
        return found

    def facts(self, statuses: Mapping[str, os.stat_result], together: Iterable[FileStep]) -> Facts:
        """Return what planning the moves needs; *together* are the steps that `groups` added or named."""
        held: dict[str, str] = {}
        for path in statuses:
            kind = self.writable.get(self.places.shown(self.present(path)))
            if kind is not None:
                held[path] = kind
        grouped = {step.path: step for step in together}
        return Facts(
            identities={path: Identity(s.st_dev, s.st_ino, s.st_nlink) for path, s in statuses.items()},
            held_open=held,
            is_directory=self._is_directory,
            together=frozenset(grouped),
            disposable=frozenset(path for path in grouped if path.endswith(SHARED_MEMORY)),
            linked=self.linked,
            directory_mode=0o777 & ~_umask(),
        )

    def groups(self, keep: Callable[[str], FileState]) -> tuple[list[FileStep], list[FileStep]]:
        """Return the steps that SQLite databases add to the plan, and all steps of their groups.

        A database moves with its journal and its write-ahead log, each to a new inode: a connection that has the old
        ones open then goes on in files that have no name, and cannot mix old pages into the new database. *keep*
        archives a file that the plan does not name and returns its state.
        """
        planned = {step.path: step for step in self.steps if step.moved_to is None}
        bases = {database_of(path) for path, step in planned.items() if _changes_bytes(step)}
        added: list[FileStep] = []
        grouped: list[FileStep] = []
        for base in sorted(bases):
            if not self._is_database(base, planned.get(base)):
                continue
            for path in (base + suffix for suffix in _KEPT):
                step = planned.get(path)
                if step is None and self._is_file(path):
                    state = keep(path)
                    step = FileStep(path, state, state)
                    added.append(step)
                if step is not None:
                    grouped.append(step)
            if self._is_file(base + SHARED_MEMORY) and base + SHARED_MEMORY not in planned:
                memory = FileState(EntryKind.FILE, missing="never kept")
                added.append(FileStep(base + SHARED_MEMORY, memory, None))
                grouped.append(added[-1])
            if any(self.places.shown(base + suffix) in self.writable for suffix in (*_KEPT, SHARED_MEMORY)):
                text = "a connection of this kernel still has the old database open: connect again"
                self.notes.append(Note(base, text))
        return added, grouped

    def _is_database(self, base: str, step: FileStep | None) -> bool:
        if self._is_file(base):
            fd = self.places.open(self.present(base))
            try:
                return os.pread(fd, len(_SQLITE), 0) == _SQLITE
            finally:
                os.close(fd)
        wanted = step.wanted if step is not None else None
        if wanted is None or wanted.kind is not EntryKind.FILE:
            return False
        return self.head(wanted)[: len(_SQLITE)] == _SQLITE

    def _is_file(self, path: str) -> bool:
        status = self.places.status(self.present(path))
        return status is not None and kind_of(status) is EntryKind.FILE

    def _is_directory(self, path: str) -> bool:
        status = self.places.status(self.present(path))
        return status is not None and kind_of(status) is EntryKind.DIRECTORY


def renamed(step: FileStep) -> tuple[str, str]:
    """Return from where to where a directory gets its name back; empty for another step."""
    if step.moved_to is None:
        return "", ""
    return (step.moved_to, step.path) if step.wanted is not None else (step.path, step.moved_to)


def _changes_bytes(step: FileStep) -> bool:
    if step.current is None or step.wanted is None:
        return step.current is not step.wanted
    return not step.current.same_content(step.wanted)


def _umask() -> int:
    """Return the umask without changing it, since other threads create files too."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            for line in status:
                if line.startswith("Umask:"):
                    return int(line.split()[1], 8)
    except (OSError, ValueError, IndexError):
        pass
    return _DEFAULT_UMASK
