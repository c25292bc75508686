"""The files resource: carries the steps of a plan out, on the workspace and on paths outside of it."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Callable, Mapping

from nbrewind import fs
from nbrewind.errors import DamagedObject, MissingObject, RefusalReason, RewindRefused
from nbrewind.model import Change, EntryKind, FileState, FileStep, Note, RewindPlan, Witness
from nbrewind.resources import Recoverer, RewindContext
from nbrewind.resources.files.carrying import Carrying, Signature
from nbrewind.resources.files.finish import Finish
from nbrewind.resources.files.inspection import Inspection, kind_of
from nbrewind.resources.files.moves import Move, MoveKind, Moves
from nbrewind.resources.files.places import Places
from nbrewind.resources.files.preflight import Preflight
from nbrewind.resources.files.rollback import Rollback
from nbrewind.resources.files.steps import Contradiction, itinerary, placed
from nbrewind.resources.files.survey import Survey, renamed, stale
from nbrewind.resources.files.vault import Vault
from nbrewind.resources.obstacles import blaming
from nbrewind.store.codec import from_json, to_json
from nbrewind.store.shadow.repository import ShadowRepository

__all__ = ["FilesResource", "files_recoverer"]

NAME = "files"


def _nothing_open() -> Mapping[str, str]:
    return {}


def _no_links(path: str) -> tuple[str, ...]:
    return ()


class FilesResource:
    """The files of a plan, moved together or not at all.

    Invariant: until `stage` nothing is changed; from then until the commit point everything that stood at a path is at
    the path, beside it, or (rewritten in place) in the archive, and in the archive in any case.
    Layout: while a rewind is in flight, `.nbrewind-<operation>-<n>` beside a path holds what comes or what went.
    Crash rule: the intent names each move with the states on both sides; `Rollback` and `Finish` decide from what
    stands on the disk, so each may be cut short and repeated.

    *writable_files* gives what this process holds open for writing, by real path: "append", "mapped" or "open".
    *linked* gives the names that share one file in the target. Without *outside*, absolute paths are refused.
    *vault* has the bytes of secret files, and gets those that a rewind takes away. *times* are those that folders
    of the workspace get in the end.
    """

    name = NAME

    def __init__(
        self,
        root: str,
        repository: ShadowRepository,
        *,
        writable_files: Callable[[], Mapping[str, str]] = _nothing_open,
        linked: Callable[[str], tuple[str, ...]] = _no_links,
        outside: bool = True,
        vault: Vault | None = None,
        times: Mapping[str, int] | None = None,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> None:
        self._progress = progress
        self._places = Places(root)
        self._times = times or {}
        self._vault = Vault() if vault is None else vault
        self._inspection = Inspection(self._places, repository)
        self._writable_files = writable_files
        self._linked = linked
        self._outside = outside
        self._context: RewindContext | None = None
        self._moves: tuple[Move, ...] = ()
        self._steps: tuple[FileStep, ...] = ()
        self._signatures: dict[str, Signature] = {}
        self._notes: list[Note] = []

    def prepare(self, plan: RewindPlan, context: RewindContext) -> None:
        """Check every step against the disk, verify what is wanted, archive what stands.

        Raises:
            RewindRefused: stale-plan, damaged, no-file-snapshot, outside-workspace, conflict, read-only, disk-full.
        """
        self._context = context
        self._steps = tuple(step for step in plan.steps if step.moved_to is not None or _differs(step))
        for step in self._steps:
            self._check(step)
        survey = self._survey()
        with blaming("The workspace"):
            statuses = survey.statuses()
            added, grouped = survey.groups(lambda path: self._keep(path, survey.present(path), None))
            for step in added:
                statuses[step.path] = self._places.status(survey.present(step.path)) or statuses[step.path]
        facts = survey.facts(statuses, grouped)
        try:
            moves, notes = itinerary((*survey.steps, *added), context.operation, facts)
        except Contradiction as error:
            raise RewindRefused(RefusalReason.CONFLICT, f"{error}. Nothing changed.") from error
        Preflight(moves, self._places, self._inspection.repository, survey.present).check()
        total = len(moves) + len(survey.steps)
        for done, move in enumerate(moves, 1):
            self._verify(move)
            self._progress(done, total)
        for done, step in enumerate(survey.steps, 1 + len(moves)):
            self._progress(done, total)
            if step.moved_to is None and step.current is not None:
                self._archive(step, survey.present(step.path), step.current, statuses[step.path])
        for move in moves:
            self._check_directory(move, survey.present(move.path))
        self._moves = moves
        self._notes = [*survey.notes, *notes]

    def intent(self) -> str:
        """Return every move as JSON."""
        return to_json(Moves(self._moves))

    def changes(self) -> tuple[Change, ...]:
        """Return the plan's steps as changes; a directory that gets its name back as moved away from the other one."""
        witnesses = (Witness.JOURNAL,)
        return tuple(
            Change(step.path, step.current, step.wanted, witnesses=witnesses)
            if step.moved_to is None
            else Change(*_moved(step), witnesses=witnesses, moved_to=renamed(step)[1])
            for step in self._steps
        )

    def stage(self) -> None:
        """Write what comes beside what stands, and look at everything again."""
        carrying = self._carrying()
        carrying.stage()
        self._notes += carrying.notes

    def apply(self) -> None:
        """Exchange, create, remove, rewrite."""
        self._carrying().apply()

    def rollback(self) -> tuple[Note, ...]:
        """Put everything back, by what stands on the disk."""
        return Rollback(self._moves, self._inspection, self._ready()).run()

    def finish(self) -> tuple[Note, ...]:
        """Remove what came out, and the directories that became empty."""
        notes, self._notes = self._notes, []
        notes += Finish(self._moves, self._inspection, self._ready()).run()
        self._set_times()
        return tuple(notes)

    def close(self) -> None:
        """Close the roots."""
        self._places.close()

    def _set_times(self) -> None:
        """Give folders their times. Not in recovery: by then others may have changed their names."""
        for rel, mtime_ns in self._times.items():
            with contextlib.suppress(OSError):
                fd = self._places.open(rel, os.O_RDONLY | os.O_DIRECTORY)
                try:
                    fs.utime_ns(fd, mtime_ns)
                finally:
                    os.close(fd)

    def _survey(self) -> Survey:
        return Survey(
            places=self._places,
            steps=placed(self._steps),
            writable=self._writable_files(),
            linked=self._linked,
            head=self._head,
        )

    def _carrying(self) -> Carrying:
        return Carrying(self._moves, self._inspection, self._signatures, self._vault)

    def _ready(self) -> RewindContext:
        if self._context is None:
            raise AssertionError("BUG: not prepared")
        return self._context

    def _head(self, state: FileState) -> bytes:
        return b"" if state.object is None else next(iter(self._inspection.repository.content(state)), b"")

    def _check(self, step: FileStep) -> None:
        paths = (step.path,) if step.moved_to is None else (step.path, step.moved_to)
        for path in paths:
            if path.startswith("/") and not self._outside:
                raise RewindRefused(RefusalReason.OUTSIDE_WORKSPACE, f"{path} is outside the workspace.")
        for state, what in ((step.current, "stands there now is"), (step.wanted, "stood there then was")):
            if state is None or state.kind is EntryKind.DIRECTORY or state.is_secret:
                continue
            if state.kind is EntryKind.SPECIAL or state.object is None:
                why = state.missing or "a pipe, socket or device"
                text = f"{step.path}: what {what} not kept ({why}). Nothing changed."
                raise RewindRefused(RefusalReason.NO_FILE_SNAPSHOT, text)

    def _verify(self, move: Move) -> None:
        """Read all that is wanted, so that a damaged object is met before anything is touched."""
        for path, state in ((move.path, move.after), *((f"{move.path}/{one.name}", one.state) for one in move.built)):
            # What stands there already is being archived; it is in the repository only when that is durable.
            if state is None or state.kind is EntryKind.DIRECTORY or state is move.before:
                continue
            if not state.is_secret:
                with blaming(path):
                    self._inspection.repository.verify_content(state)
            elif move.kind is not MoveKind.META and not self._vault.holds(self._places.shown(path), state):
                text = f"{path}: a secret, and its bytes of then are not in this kernel's memory. Nothing changed."
                raise RewindRefused(RefusalReason.NO_FILE_SNAPSHOT, text)

    def _archive(self, step: FileStep, present: str, current: FileState, status: os.stat_result) -> None:
        """Keep what stands at the path, and check that it is what the plan says."""
        path = step.path
        if kind_of(status) is not EntryKind.SYMLINK and stat.S_IMODE(status.st_mode) != current.mode:
            raise stale(path, "has other permissions now")
        if current.kind is EntryKind.DIRECTORY:
            return
        if current.is_secret:
            self._remember(step, present, current)
            return
        read_ns = time.time_ns()
        with blaming(path):
            kept = self._keep(path, present, current)
            if not self._inspection.same_content(kept, current):
                raise stale(path, "was changed since")
            again = self._places.status(present)
        if again is None or Signature.of(again) != Signature.of(status):
            raise stale(path, "was changed just now")
        self._signatures[path] = Signature.of(status, read_ns)

    def _remember(self, step: FileStep, present: str, current: FileState) -> None:
        """Keep the present bytes of a secret in memory, for the undo."""
        if not self._inspection.stands(present, current):
            raise stale(step.path, "was changed since")
        with blaming(step.path):
            shown = self._places.shown(step.path)
            kept = self._vault.look(shown, current, lambda: self._places.open(present))
        if not kept and not current.same_content(step.wanted):
            text = f"{step.path}: a secret, and its present bytes cannot be kept in memory. Nothing changed."
            raise RewindRefused(RefusalReason.NO_FILE_SNAPSHOT, text)

    def _keep(self, path: str, present: str, current: FileState | None) -> FileState:
        archive = self._ready().archive
        if current is not None:
            self._heal(current)
        status = self._places.status(present)
        if status is not None and kind_of(status) is EntryKind.SYMLINK:
            return archive.keep_link(path, self._places.target(present), status.st_mtime_ns)
        fd = self._places.open(present)
        try:
            return archive.keep_file(path, fd, previous=current)
        finally:
            os.close(fd)

    def _heal(self, state: FileState) -> None:
        """Read what the repository holds of *state*: a damaged object is then known, and written anew."""
        try:
            self._inspection.repository.verify_content(state)
        except (MissingObject, DamagedObject):
            return

    def _check_directory(self, move: Move, present: str) -> None:
        """Refuse to replace a directory that holds something which no step names."""
        if move.before is None or move.before.kind is not EntryKind.DIRECTORY or not move.temp:
            return
        with blaming(move.path):
            strangers = self._inspection.strangers(present, move.held)
        if strangers:
            text = f"{strangers[0]} stands in a directory that would have to give way. Nothing changed."
            raise RewindRefused(RefusalReason.CONFLICT, text)


def files_recoverer(root: str) -> Recoverer:
    """Return what finishes or puts back file moves in the workspace *root*."""

    def recover(intent: str, committed: bool, context: RewindContext) -> tuple[Note, ...]:
        moves = from_json(Moves, intent).moves
        with Places(root) as places:
            inspection = Inspection(places, context.repository)
            return (Finish if committed else Rollback)(moves, inspection, context).run()

    return recover


def _differs(step: FileStep) -> bool:
    """Return whether *step* changes anything; equal bytes and mode keep their file, whatever the times say."""
    if step.current is None or step.wanted is None:
        return step.current is not step.wanted
    return not step.current.same(step.wanted)


def _moved(step: FileStep) -> tuple[str, FileState | None, None]:
    return renamed(step)[0], step.wanted or step.current, None
