"""Cleaning up after the commit point, from what stands on the disk alone."""

from __future__ import annotations

import errno
import os
import stat

from nbrewind import fs
from nbrewind.model import EntryKind, Note
from nbrewind.resources import RewindContext
from nbrewind.resources.files import inplace
from nbrewind.resources.files.flushes import flush_directories, set_mode
from nbrewind.resources.files.inspection import Inspection, kind_of
from nbrewind.resources.files.leftovers import Leftover, Leftovers
from nbrewind.resources.files.moves import Move, MoveKind, Phase

__all__ = ["Finish"]

_SPECIAL = stat.S_ISUID | stat.S_ISGID
"""The kernel takes these bits away from a file that is cut or written."""
_NOT_EMPTY = (errno.ENOTEMPTY, errno.EEXIST)


class Finish:
    """The rest of moves that are made: what came out goes, tails are cut, empty directories and last modes follow.

    Invariant: only bytes that are in the archive are removed; others are kept as conflict copies first.
    Crash rule: as for `Rollback`, every decision is taken from what stands on the disk.
    """

    def __init__(self, moves: tuple[Move, ...], inspection: Inspection, context: RewindContext) -> None:
        self._moves = moves
        self._inspection = inspection
        self._places = inspection.places
        self._leftovers = Leftovers(inspection, context)
        self._notes: list[Note] = []

    def run(self) -> tuple[Note, ...]:
        """Clean up and return what is worth telling.

        Raises:
            OSError: Something could not be removed; run again later.
            StoreError: Somebody's bytes could not be kept; they stay where they are.
        """
        for move in self._moves:
            if move.temp:
                self._discard(move)
            elif move.kind is MoveKind.IN_PLACE:
                self._complete(move)
            elif move.kind is MoveKind.META and move.phase is not Phase.LATE:
                self._assure_mode(move)
        self._notes += self._leftovers.remove()
        for move in self._moves:
            if move.kind is MoveKind.REMOVE_DIRECTORY:
                self._remove_directory(move)
        for move in self._moves:
            if move.kind is MoveKind.META and move.phase is Phase.LATE:
                self._assure_mode(move)
        flush_directories(self._moves, self._places)
        return tuple(self._notes)

    def _discard(self, move: Move) -> None:
        self._leftovers.add(
            Leftover(
                path=move.aside,
                of=move.path,
                known=(move.before,) if move.before is not None else (),
                entries=move.held,
                disposable=move.disposable,
            )
        )

    def _complete(self, move: Move) -> None:
        before, after = move.before, move.after
        status = self._places.status(move.path)
        if before is None or after is None or status is None or kind_of(status) is not EntryKind.FILE:
            return
        fd = self._places.open(move.path, os.O_RDWR)
        try:
            extra = inplace.appended(fd, before, after, self._inspection.repository)
            if extra is None:
                return
            inplace.complete(fd, after, extra)
            mode = stat.S_IMODE(os.fstat(fd).st_mode)
            if mode != after.mode and mode == after.mode & ~_SPECIAL:
                fs.chmod(fd, after.mode)
            # Cutting moves the time; asked of the file, since a death may have come between the two.
            if after.mtime_ns and not extra and os.fstat(fd).st_mtime_ns != after.mtime_ns:
                fs.utime_ns(fd, after.mtime_ns)
            # Always: the intent is about to go, and a death may have come between an earlier change and its flush.
            fs.sync_file(fd)
        finally:
            os.close(fd)

    def _assure_mode(self, move: Move) -> None:
        status = self._places.status(move.path)
        if move.before is None or move.after is None or status is None or kind_of(status) is not move.after.kind:
            return
        # Another mode than the one that stood there is somebody's wish.
        if stat.S_IMODE(status.st_mode) == move.before.mode:
            set_mode(move.path, move.after.mode, self._places)

    def _remove_directory(self, move: Move) -> None:
        status = self._places.status(move.path)
        if status is None or kind_of(status) is not EntryKind.DIRECTORY:
            return
        with self._places.parent(move.path) as (parent, name):
            try:
                fs.rmdir(name, dir_fd=parent)
            except OSError as error:
                if error.errno not in _NOT_EMPTY:
                    raise
                self._notes.append(Note(move.path, "holds something that the rewind leaves alone, so it stays"))
