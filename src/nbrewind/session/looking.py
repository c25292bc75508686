"""Looking: everything that a session shows without changing anything."""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nbrewind.errors import MissingObject, StoreError, TargetError, clipped
from nbrewind.model import Change, EntryKind, FilesAddress, FileState, Note, Operation, OperationId
from nbrewind.resources.files.tree import SnapshotTree
from nbrewind.rewind.evidence import alike
from nbrewind.rewind.restoration import outside_state
from nbrewind.rewind.targets import NOTHING_CHANGED, Target, resolve
from nbrewind.session.core import Core
from nbrewind.session.points import Difference, HistoryRow, Point, make_points
from nbrewind.session.verification import noted_findings
from nbrewind.store.codec import from_json
from nbrewind.store.shadow.repository import ShadowRepository

__all__ = ["Looking", "stored_changes"]

_TREES = 8


class Looking(Core):
    """The reading half of a session; it works on a read-only store as well."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._trees: dict[FilesAddress, SnapshotTree] = {}
        self._stored_changes: dict[OperationId, tuple[Change, ...]] = {}
        self._noted_damage: tuple[int, dict[OperationId, str]] = (0, {})

    def points(self) -> tuple[Point, ...]:
        """Return one row per operation, oldest first: the present line, what was taken back, moves, damaged rows.

        The last cell is saved first if that is still to be done.
        """
        self._finish_capture()
        return make_points(self.timeline, self.damaged, self.changes_of, noted_findings(self._parts.paths))

    def point(self, operation: OperationId) -> Point:
        """Return one row.

        Raises:
            TargetError: there is no such operation.
        """
        for point in self.points():
            if point.id == operation:
                return point
        raise TargetError(
            f"There is no point {clipped(operation)!r}. {NOTHING_CHANGED}", hint="%rewind lists the points."
        )

    def found_damage(self) -> dict[OperationId, str]:
        """Return the points of which something cannot come back, as the last verification found."""
        try:
            stamp = Path(self._parts.paths.damaged).stat().st_mtime_ns
        except OSError:
            return {}
        if self._noted_damage[0] != stamp:
            self._noted_damage = (stamp, noted_findings(self._parts.paths))
        return self._noted_damage[1]

    @property
    def damaged(self) -> tuple[Note, ...]:
        """Return the frames of the log that cannot be read, each with the reason."""
        return self._parts.damaged

    def resolve(self, target: str) -> Target:
        """Return the operation that the words *target* mean, with the sentence that says which cell stays.

        Raises:
            TargetError: with a suggestion.
        """
        self._finish_capture()
        shell = self._parts.shell
        return resolve(target, self.timeline, newest=shell.next_number() - 1 if shell is not None else 0)

    def changes_of(self, operation: Operation) -> tuple[Change, ...]:
        """Return all changes of *operation*, inline or stored as an object.

        Raises:
            MissingObject, DamagedObject: the stored list cannot be read.
        """
        if operation.changes_at is None:
            return operation.changes
        known = self._stored_changes.get(operation.id)
        if known is None:
            known = self._stored_changes[operation.id] = stored_changes(self._parts.repository, operation)
        return known

    def tree(self, operation: Operation) -> SnapshotTree | None:
        """Return the files in force after *operation*; None where no snapshot was made."""
        address = operation.checkpoint.files
        if address is None:
            return None
        known = self._trees.pop(address, None) or SnapshotTree(self._parts.repository, address)
        self._trees[address] = known
        while len(self._trees) > _TREES:
            del self._trees[next(iter(self._trees))]
        return known

    def code_of(self, operation: Operation) -> str:
        """Return the whole code of a turn."""
        return self._text(operation.turn.code, operation.turn.code_at) if operation.turn else ""

    def outputs_of(self, operation: Operation) -> str:
        """Return the whole outputs of a turn as nbformat JSON text."""
        return self._text(operation.turn.outputs, operation.turn.outputs_at) if operation.turn else "[]"

    def _text(self, inline: str, stored: Any) -> str:
        if stored is None:
            return inline
        return self._parts.repository.read_text(stored).decode("utf-8", "surrogatepass")

    def content(self, state: FileState) -> Iterator[bytes]:
        """Yield the kept bytes of *state*, verified.

        Raises:
            MissingObject, DamagedObject: the bytes cannot be given.
        """
        if state.object is None:
            raise MissingObject(f"Its bytes were not kept: {state.missing or 'it is no file'}.")
        yield from self._parts.repository.content(state)

    # -- single paths ---------------------------------------------------------------------------------------------

    def names_of(self, path: str) -> tuple[str, ...]:
        """Return what *path*, as a person types it, can mean in manifests: from the present folder, then the workspace.

        Inside the workspace names are relative to it, outside they are absolute. A present folder outside of the
        workspace (the command line, with `--workspace`) comes last.

        Raises:
            TargetError: no file can have that name.
        """
        typed = os.path.expanduser(path) if path.startswith("~") else path  # noqa: PTH111
        if not _can_be_path(typed):
            raise TargetError(f"{clipped(path)!r} cannot be a path. {NOTHING_CHANGED}")
        found: list[str] = []
        bases = (_cwd(), self.workspace)
        if self._parts.coverage.within(os.path.realpath(bases[0])) is None:
            bases = (self.workspace, bases[0])
        for base in bases:
            # Two slashes in front mean nothing here, and normpath keeps them.
            full = "/" + posixpath.normpath(posixpath.join(base, typed)).lstrip("/")
            try:
                real = posixpath.join(os.path.realpath(posixpath.dirname(full)), posixpath.basename(full))
            except OSError:  # a link that somebody exchanges at this moment: some Pythons raise for it
                real = full
            for candidate in (real, full):
                inside = self._parts.coverage.within(candidate)
                name = candidate if inside is None else inside
                if name not in found:
                    found.append(name)
        return tuple(found)

    def state_at(self, target: str, path: str) -> FileState | None:
        """Return what stood at *path* (as a person types it) at *target*."""
        operation = self.timeline.operation(self.resolve(target).operation)
        return next((state for name in self.names_of(path) if (state := self._state_then(operation, name))), None)

    def _state_then(self, operation: Operation, name: str) -> FileState | None:
        if posixpath.isabs(name):
            return outside_state(self._evidence(), operation, name)[1]
        tree = self.tree(operation)
        return tree.lookup(name) if tree is not None else None

    def cat(self, target: str, path: str) -> Iterator[bytes]:
        """Yield the bytes of *path* at *target*.

        Raises:
            TargetError: no such target, or no file stood there then.
        """
        goal = self.resolve(target)
        state = self.state_at(goal.operation, path)
        if state is None:
            raise TargetError(f"{clipped(path, 200)} was not there {goal.title}. {NOTHING_CHANGED}")
        if state.kind not in (EntryKind.FILE, EntryKind.SYMLINK):
            raise TargetError(f"{clipped(path, 200)} was a {state.kind.value} {goal.title}, not a file.")
        return self.content(state)

    def diff(self, target: str, path: str | None = None) -> tuple[Difference, ...]:
        """Return the paths that differ between *target* and now, only *path* (or what is below it) if given."""
        self._look_at_disk()
        goal = self.timeline.operation(self.resolve(target).operation)
        wanted = None if path is None else self.names_of(path)
        rows = [
            Difference(name, then, now)
            for name, then, now in self._evidence().differing(goal, self.timeline.line[-1])
            if not alike(then, now) and (wanted is None or any(_at_or_below(name, root) for root in wanted))
        ]
        for name in wanted or ():
            if posixpath.isabs(name):
                then, now = self._state_then(goal, name), self.state_now(name)
                if not alike(then, now):
                    rows.append(Difference(name, then, now))
        return tuple(rows)

    def bytes_now(self, path: str) -> bytes:
        """Return the bytes of *path* on the disk now.

        Raises:
            TargetError: there is no such file, or it is larger than `settings.max_file_size`.
        """
        full = Path(self.workspace, path)
        try:
            there = full.lstat()
            if there.st_size > self.settings.max_file_size:
                raise TargetError(f"{clipped(path, 200)} is larger than NBRewind.max_file_size.")
            if stat.S_ISLNK(there.st_mode):
                return os.fsencode(full.readlink())
            if not stat.S_ISREG(there.st_mode):
                raise TargetError(f"{clipped(path, 200)} is no file now.")
            return full.read_bytes()
        except OSError as error:
            raise TargetError(f"{clipped(path, 200)} cannot be read: {error.strerror or error}.") from error

    def history(self, path: str) -> tuple[HistoryRow, ...]:
        """Return the operations that changed *path*, newest first."""
        names = self.names_of(path)
        rows: dict[str, list[HistoryRow]] = {name: [] for name in names}
        for point in reversed(self.points()):
            if point.operation is None:
                continue
            try:
                changes = self.changes_of(point.operation)
            except StoreError:
                continue
            for change in changes:
                if change.path in rows:
                    rows[change.path].append(HistoryRow(point, change))
        # The first meaning of the path that any operation changed.
        return tuple(next(filter(None, rows.values()), ()))

    def _finish_capture(self) -> None:
        """Save the turn that just ended, if that is still to be done."""

    def _look_at_disk(self) -> None:
        """Bring the head up to what is on the disk, where this session may write."""
        raise NotImplementedError

    def _evidence(self) -> Any:
        """Return what plans are computed from."""
        raise NotImplementedError

    def state_now(self, path: str) -> FileState | None:
        """Return what stands at *path* on the disk now, hashed."""
        raise NotImplementedError


def _can_be_path(text: str) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def stored_changes(repository: ShadowRepository, operation: Operation) -> tuple[Change, ...]:
    """Return all changes of *operation*, inline or read from *repository*.

    Raises:
        MissingObject, DamagedObject: the stored list cannot be read.
    """
    if operation.changes_at is None:
        return operation.changes
    return from_json(tuple[Change, ...], repository.read_text(operation.changes_at))


def _cwd() -> str:
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:
        return "/"


def _at_or_below(path: str, root: str) -> bool:
    return not root or path == root or path.startswith(root + "/")
