"""Making moves: stage beside, look again, exchange, and look at what came out."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from nbrewind import fs
from nbrewind.model import EntryKind, FileState, Note
from nbrewind.resources.files import inplace
from nbrewind.resources.files.flushes import flush_directories, set_mode
from nbrewind.resources.files.inspection import Inspection, kind_of
from nbrewind.resources.files.moves import Move, MoveKind, Phase
from nbrewind.resources.files.staging import Staging
from nbrewind.resources.files.survey import stale
from nbrewind.resources.files.vault import Vault
from nbrewind.resources.obstacles import blaming

__all__ = ["Carrying", "Signature"]

# A file system may give equal times to changes that are this far apart (FAT two seconds, NFS by its server).
_SLACK_NS = 2_000_000_000


class Signature(NamedTuple):
    """What the system says about a file, and when (*read_ns*) its bytes were read."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    mode: int
    read_ns: int

    @classmethod
    def of(cls, status: os.stat_result, read_ns: int = 0) -> Signature:
        """Return the signature that *status* gives."""
        times = status.st_mtime_ns, status.st_ctime_ns
        return cls(status.st_dev, status.st_ino, status.st_size, *times, status.st_mode, read_ns)

    def proves(self, status: os.stat_result) -> bool:
        """Return whether *status* proves that the bytes read then stand there now."""
        settled = max(self.mtime_ns, self.ctime_ns) + _SLACK_NS < self.read_ns
        return settled and Signature.of(status, self.read_ns) == self


class Carrying:
    """The forward way of moves. Failures are left to `Rollback`, which looks at the disk.

    Invariant: nothing that somebody else wrote is replaced unseen: what stands is compared right before, and what an
    exchange brought out right after, when it still can go back.
    """

    def __init__(
        self,
        moves: tuple[Move, ...],
        inspection: Inspection,
        signatures: Mapping[str, Signature],
        vault: Vault | None = None,
    ) -> None:
        self._moves = moves
        self._vault = vault
        self.notes: tuple[Note, ...] = ()
        self._inspection = inspection
        self._places = inspection.places
        self._signatures = signatures

    def stage(self) -> None:
        """Make everything ready that needs space, then look again at everything that will change.

        Raises:
            RewindRefused: no space, no permission, or something changed; the message names the path.
        """
        for move in self._of(Phase.EARLY):
            with blaming(move.path):
                self._rename(move) if move.kind is MoveKind.RENAME else self._set_mode(move)
        with blaming("the renamed directories"):
            # Else a power cut could leave what is staged inside under the directory's other name, where nobody looks.
            flush_directories(self._of(Phase.EARLY), self._places)
        stages = [move for move in self._moves if move.stages]
        expected = sum(1 + len(move.built) for move in stages)
        staging = Staging(self._places, self._inspection.repository, expected, self._vault)
        for move in sorted(stages, key=lambda move: bool(move.built)):
            with blaming(move.path):
                staging.build(move)
        with blaming("the staged files"):
            staging.flush()
        self.notes = tuple(staging.notes)
        for move in self._of(Phase.MAIN):
            with blaming(move.path):
                self._look_again(move)
        for move in self._moves:
            if move.kind is MoveKind.IN_PLACE:
                with blaming(move.path), self._open(move) as fd:
                    inplace.reserve(fd, _known(move.before), _known(move.after))

    def apply(self) -> None:
        """Make the moves of the main phase, durably.

        Raises:
            RewindRefused: a move cannot be made, or somebody else was faster.
        """
        act = {
            MoveKind.EXCHANGE: self._exchange,
            MoveKind.CREATE: self._create,
            MoveKind.REMOVE: self._remove,
            MoveKind.IN_PLACE: self._rewrite,
            MoveKind.META: self._set_mode,
        }
        for move in self._of(Phase.MAIN):
            with blaming(move.path):
                act[move.kind](move)
        with blaming("the changed directories"):
            # Before the commit point: a log that says "rewound" must never outlive the names that it talks of.
            flush_directories(self._moves, self._places)

    def _of(self, phase: Phase) -> Iterator[Move]:
        return (move for move in self._moves if move.phase is phase)

    def _look_again(self, move: Move) -> None:
        status = self._places.status(move.path)
        if move.before is None:
            if status is not None:
                raise stale(move.path, "appeared meanwhile")
            return
        if status is None:
            raise stale(move.path, "is gone")
        if move.disposable:
            return
        if not self._is_before(move, move.path, status):
            raise stale(move.path, "was changed meanwhile")
        if kind_of(status) is not EntryKind.SYMLINK and stat.S_IMODE(status.st_mode) != move.before.mode:
            raise stale(move.path, "got other permissions meanwhile")

    def _is_before(self, move: Move, path: str, status: os.stat_result) -> bool:
        before = _known(move.before)
        if kind_of(status) is not before.kind:
            return False
        if before.kind is EntryKind.DIRECTORY:
            return move.kind is MoveKind.META or self._inspection.holds(path, move.held)
        if move.kind is MoveKind.META:
            return True
        signature = self._signatures.get(move.path)
        if signature is not None and signature.proves(status):
            return True
        return self._inspection.stands(path, before)

    def _exchange(self, move: Move) -> None:
        with self._places.parent(move.path) as (parent, name):
            fs.rename_exchange(move.temp, name, a_dir_fd=parent, b_dir_fd=parent)
        self._look_at_what_came_out(move)

    def _create(self, move: Move) -> None:
        with self._places.parent(move.path) as (parent, name):
            fs.rename_noreplace(move.temp, name, src_dir_fd=parent, dst_dir_fd=parent)

    def _remove(self, move: Move) -> None:
        with self._places.parent(move.path) as (parent, name):
            fs.rename_noreplace(name, move.temp, src_dir_fd=parent, dst_dir_fd=parent)
        self._look_at_what_came_out(move)

    def _look_at_what_came_out(self, move: Move) -> None:
        if move.disposable:
            return
        status = self._places.status(move.aside)
        # By its bytes, whatever its times say: somebody may have saved between the last look and the exchange.
        if status is None or not self._is_before(move, move.aside, status):
            raise stale(move.path, "was saved by somebody else just now")

    def _rewrite(self, move: Move) -> None:
        before, after = _known(move.before), _known(move.after)
        with self._open(move) as fd:
            if inplace.appended(fd, before, after, self._inspection.repository) is None:
                raise stale(move.path, "was changed meanwhile")
            inplace.rewrite(fd, after, self._inspection.repository)
            if stat.S_IMODE(os.fstat(fd).st_mode) != after.mode:
                fs.chmod(fd, after.mode)
            if after.mtime_ns:
                fs.utime_ns(fd, after.mtime_ns)
            fs.sync_file(fd)

    def _rename(self, move: Move) -> None:
        with self._places.parent(move.origin) as (source, old), self._places.parent(move.path) as (target, new):
            fs.rename_noreplace(old, new, src_dir_fd=source, dst_dir_fd=target)

    def _set_mode(self, move: Move) -> None:
        if move.phase is Phase.EARLY:
            self._look_again(move)
        set_mode(move.path, _known(move.after).mode, self._places)

    @contextmanager
    def _open(self, move: Move) -> Iterator[int]:
        fd = self._places.open(move.path, os.O_RDWR)
        try:
            yield fd
        finally:
            os.close(fd)


def _known(state: FileState | None) -> FileState:
    if state is None:
        raise AssertionError("BUG: a move without this side")
    return state
