"""Putting back what stood before a rewind, from what stands on the disk alone."""

from __future__ import annotations

import os
import stat

from nbrewind import fs
from nbrewind.model import EntryKind, FileState, Note
from nbrewind.resources import RewindContext
from nbrewind.resources.files import inplace
from nbrewind.resources.files.flushes import flush_directories, set_mode
from nbrewind.resources.files.inspection import Inspection, kind_of
from nbrewind.resources.files.leftovers import Leftover, Leftovers
from nbrewind.resources.files.moves import Move, MoveKind, Phase

__all__ = ["Rollback"]

_SPECIAL = stat.S_ISUID | stat.S_ISGID
_OWNER_ALL = 0o700
_SOMEBODY = "was changed by somebody else meanwhile and stays as it is now; what stood there is in the archive"


class Rollback:
    """The way back for moves that are staged, half made or made.

    Invariant: every path gets what stood there, except where somebody else wrote meanwhile: that stays, and what they
    wrote over is in the archive. Nothing is allocated, except to keep bytes that nobody else has.
    Crash rule: every decision is taken from what stands on the disk, so that a rollback may be cut short anywhere and
    repeated any number of times, by this process or by recovery.
    """

    def __init__(self, moves: tuple[Move, ...], inspection: Inspection, context: RewindContext) -> None:
        self._moves = moves
        self._inspection = inspection
        self._places = inspection.places
        self._leftovers = Leftovers(inspection, context)
        self._notes: list[Note] = []

    def run(self) -> tuple[Note, ...]:
        """Put everything back and return what somebody else changed meanwhile.

        Raises:
            OSError: Something could not be put back; run again later.
            StoreError: As above.
        """
        back = {
            MoveKind.EXCHANGE: self._exchange,
            MoveKind.CREATE: self._create,
            MoveKind.REMOVE: self._remove,
            MoveKind.IN_PLACE: self._in_place,
            MoveKind.META: self._meta,
            MoveKind.RENAME: self._rename,
        }
        for phase in (Phase.MAIN, Phase.EARLY):
            moves = [move for move in reversed(self._moves) if move.phase is phase]
            for move in moves:
                back[move.kind](move)
                if move.unfinished:
                    self._leftovers.add(Leftover(path=move.unfinished, of=move.path, disposable=True))
            # Before the directories get their old names and modes back: what is left lies inside of them.
            self._notes += self._leftovers.remove()
            flush_directories(moves, self._places)
        return tuple(self._notes)

    def _exchange(self, move: Move) -> None:
        aside = self._places.status(move.aside)
        here = self._places.status(move.path)
        if aside is None:
            if here is not None and not self._is_before(move, here):
                self._notes.append(Note(move.path, _SOMEBODY))
            return
        if self._was_exchanged(move, here, aside):
            self._swap(move, here)
        elif here is not None and not self._is_before(move, here):
            self._notes.append(Note(move.path, _SOMEBODY))
        self._discard(move)

    def _was_exchanged(self, move: Move, here: os.stat_result | None, aside: os.stat_result) -> bool:
        """Return whether what lies aside belongs at the path."""
        if here is None:
            # Somebody removed the path. What they removed is ours, if what stood there lies aside.
            return self._is_before(move, aside, move.aside) or not self._is_staged(move)
        if move.inode and here.st_ino == move.inode:
            return False
        if move.inode and aside.st_ino == move.inode:
            return self._inspection.stands(move.path, move.after)
        if self._is_before(move, here):
            return False
        # Not what stood there lies aside: somebody saved just before the exchange, and theirs goes back as well.
        return self._inspection.stands(move.path, move.after)

    def _swap(self, move: Move, here: os.stat_result | None) -> None:
        with self._places.parent(move.path) as (parent, name):
            if here is None:
                fs.rename_noreplace(move.temp, name, src_dir_fd=parent, dst_dir_fd=parent)
            else:
                fs.rename_exchange(move.temp, name, a_dir_fd=parent, b_dir_fd=parent)

    def _create(self, move: Move) -> None:
        if self._places.status(move.aside) is not None:
            self._discard(move)
            return
        here = self._places.status(move.path)
        if here is None or move.after is None:
            return
        if kind_of(here) is EntryKind.DIRECTORY and move.after.kind is EntryKind.DIRECTORY:
            self._take_apart(move)
        elif self._is_ours(move.path, move.after):
            # Moved away first: what is removed is then certainly what was looked at.
            with self._places.parent(move.path) as (parent, name):
                fs.rename_noreplace(name, move.temp, src_dir_fd=parent, dst_dir_fd=parent)
            if not self._inspection.stands(move.aside, move.after):
                self._swap(move, None)
            self._discard(move)

    def _take_apart(self, move: Move) -> None:
        """Remove what we built, from the inside out; what somebody put there or changed keeps its directories."""
        directories = [entry for entry in move.built if entry.state.kind is EntryKind.DIRECTORY]
        for path in (move.path, *(f"{move.path}/{entry.name}" for entry in directories)):
            status = self._places.status(path)
            if status is not None and status.st_mode & _OWNER_ALL != _OWNER_ALL:
                set_mode(path, _OWNER_ALL, self._places)
        for entry in reversed(move.built):
            path = f"{move.path}/{entry.name}"
            if entry.state.kind is not EntryKind.DIRECTORY:
                if self._is_ours(path, entry.state):
                    with self._places.parent(path) as (parent, name):
                        fs.unlink(name, dir_fd=parent)
            else:
                self._remove_directory(path)
        self._remove_directory(move.path)

    def _remove_directory(self, path: str) -> None:
        status = self._places.status(path)
        if status is None or kind_of(status) is not EntryKind.DIRECTORY:
            return
        if self._places.names(path):
            self._notes.append(Note(path, "somebody put something there meanwhile, so it stays"))
            return
        with self._places.parent(path) as (parent, name):
            fs.rmdir(name, dir_fd=parent)

    def _remove(self, move: Move) -> None:
        if self._places.status(move.aside) is None:
            return
        if self._places.status(move.path) is None:
            self._swap(move, None)
            return
        self._notes.append(Note(move.path, _SOMEBODY))
        self._discard(move)

    def _in_place(self, move: Move) -> None:
        before, after = move.before, move.after
        status = self._places.status(move.path)
        if before is None or after is None or status is None or kind_of(status) is not EntryKind.FILE:
            return
        fd = self._places.open(move.path, os.O_RDWR)
        try:
            extra = inplace.appended(fd, before, after, self._inspection.repository)
            if extra is None:
                self._notes.append(Note(move.path, _SOMEBODY))
                return
            inplace.put_back(fd, before, extra, self._inspection.repository)
            now = os.fstat(fd)
            mode = stat.S_IMODE(now.st_mode)
            if mode != before.mode and mode in (after.mode, after.mode & ~_SPECIAL, before.mode & ~_SPECIAL):
                fs.chmod(fd, before.mode)
            if not extra and before.mtime_ns and now.st_mtime_ns != before.mtime_ns:
                fs.utime_ns(fd, before.mtime_ns)
            # Always, as in `Finish`: after the intent nobody puts anything right.
            fs.sync_file(fd)
        finally:
            os.close(fd)

    def _meta(self, move: Move) -> None:
        status = self._places.status(move.path)
        if move.before is None or move.after is None or status is None or kind_of(status) is not move.before.kind:
            return
        mode = stat.S_IMODE(status.st_mode)
        if mode == move.after.mode and mode != move.before.mode:
            set_mode(move.path, move.before.mode, self._places)

    def _rename(self, move: Move) -> None:
        if self._places.status(move.origin) is None and self._places.status(move.path) is not None:
            with self._places.parent(move.path) as (source, old), self._places.parent(move.origin) as (target, new):
                fs.rename_noreplace(old, new, src_dir_fd=source, dst_dir_fd=target)

    def _is_before(self, move: Move, status: os.stat_result, path: str = "") -> bool:
        if move.before is not None and move.before.kind is EntryKind.DIRECTORY:
            return kind_of(status) is EntryKind.DIRECTORY
        return self._inspection.stands(path or move.path, move.before)

    def _is_staged(self, move: Move) -> bool:
        if move.after is None:
            return False
        return self._inspection.stands(move.aside, move.after) or self._inspection.begins(move.aside, move.after)

    def _is_ours(self, path: str, state: FileState) -> bool:
        """Return whether we made what stands at *path*: by its bytes, and by the time that we gave it."""
        status = self._places.status(path)
        if status is None or (state.mtime_ns and status.st_mtime_ns != state.mtime_ns):
            return False
        return self._inspection.stands(path, state)

    def _discard(self, move: Move) -> None:
        known = tuple(state for state in (move.before, move.after) if state is not None)
        entries = (*move.held, *move.built)
        self._leftovers.add(
            Leftover(
                path=move.aside,
                of=move.path,
                known=known,
                entries=entries,
                partial=True,
                disposable=move.disposable,
            )
        )
