"""Content made ready beside the place where it will stand, so that the move itself allocates nothing."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator

from nbrewind import fs
from nbrewind.errors import DamagedObject, MissingObject
from nbrewind.model import EntryKind, FileState, Note
from nbrewind.resources.files.belongings import give_back, hand_on
from nbrewind.resources.files.moves import Move, unfinished
from nbrewind.resources.files.places import Places
from nbrewind.resources.files.vault import Vault
from nbrewind.store.shadow.chunks import ZEROS
from nbrewind.store.shadow.repository import ShadowRepository

__all__ = ["Staging"]

_SINGLE_FLUSHES = 50
_SMALLEST_HOLE = 1 << 16


class Staging:
    """Files, links and directories under temporary names in the directories where they are wanted.

    What replaces a file gets its owner, group and attributes, what comes back where nothing stands the owner and group
    that it had; `notes` says what of them cannot be kept.

    Invariant: what is staged was created by us (`O_EXCL`), nobody else can read it until its bytes are complete, and it
    has its final mode and time before it is moved. After `flush` it survives a power cut.
    Crash rule: a death leaves a beginning of the wanted bytes, which recovery recognises and removes.
    """

    def __init__(self, places: Places, repository: ShadowRepository, expected: int, vault: Vault | None = None) -> None:
        self._places = places
        self._repository = repository
        self._vault = Vault() if vault is None else vault
        # Above some fifty files one flush of the whole file system is cheaper than one for each.
        self._together = expected > _SINGLE_FLUSHES
        self._devices: dict[int, str] = {}
        self._staged: dict[str, str] = {}
        self.notes: list[Note] = []

    def build(self, move: Move) -> None:
        """Make the content of *move* ready at its temporary name; what it links to was built before."""
        if move.after is None:
            raise AssertionError("BUG: nothing to stage")
        if move.after.kind is EntryKind.DIRECTORY:
            self._tree(move, move.after)
        else:
            self._leaf_or_link(move.path, move.aside, move.after, move.link_to, move.before)

    def flush(self) -> None:
        """Make everything staged durable, where that was not done file by file."""
        for path in self._devices.values():
            fd = self._places.open(path, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fs.sync_filesystem(fd)
            finally:
                os.close(fd)
        self._devices.clear()

    def _tree(self, move: Move, state: FileState) -> None:
        directories = [(move.aside, state)]
        self._directory(move.aside)
        for entry in move.built:
            path = f"{move.aside}/{entry.name}"
            if entry.state.kind is EntryKind.DIRECTORY:
                self._directory(path)
                directories.append((path, entry.state))
            else:
                self._leaf_or_link(f"{move.path}/{entry.name}", path, entry.state, entry.link_to)
        # The final modes come last and from the inside out: a directory may be one that takes no new names.
        for path, wanted in reversed(directories):
            fd = self._places.open(path, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fs.chmod(fd, wanted.mode)
                self._settle(fd, path)
            finally:
                os.close(fd)

    def _directory(self, path: str) -> None:
        with self._places.parent(path) as (parent, name):
            fs.make_directory(name, 0o700, exist_ok=False, dir_fd=parent)

    def _leaf_or_link(
        self, of: str, path: str, state: FileState, link_to: str, present: FileState | None = None
    ) -> None:
        if link_to:
            with (
                self._places.parent(self._staged[link_to]) as (source, old),
                self._places.parent(path) as (target, new),
            ):
                fs.link(old, new, src_dir_fd=source, dst_dir_fd=target)
        else:
            replaces = present is not None and present.kind is EntryKind.FILE
            if state.is_secret:
                self._secret(of, path, state, replaces)
            else:
                self._leaf(of, path, state, lambda: self._repository.content(state), replaces)
            self._staged[of] = path

    def _secret(self, of: str, path: str, state: FileState, replaces: bool) -> None:
        content = self._vault.read(self._places.shown(of), state)
        if content is None:
            raise MissingObject(f"The bytes that {of} had are not in this kernel's memory any more.")
        first = unfinished(path)
        self._leaf(of, first, state, lambda: iter((content,)), replaces)
        with self._places.parent(first) as (source, old), self._places.parent(path) as (target, new):
            fs.rename_noreplace(old, new, src_dir_fd=source, dst_dir_fd=target)

    def _leaf(
        self, of: str, path: str, state: FileState, content: Callable[[], Iterator[bytes]], replaces: bool
    ) -> None:
        with self._places.parent(path) as (parent, name):
            if state.kind is EntryKind.SYMLINK:
                fs.symlink(os.fsdecode(b"".join(content())), name, dir_fd=parent)
                if state.mtime_ns:
                    fs.utime_ns(name, state.mtime_ns, dir_fd=parent)
                return
            fd = fs.create_file(name, 0o600, dir_fd=parent)
        try:
            _fill(fd, state, content())
            if replaces:
                self._hand_on(of, fd)
            elif state.owner:
                self.notes += [Note(of, why) for why in give_back(state.owner, fd)]
            if state.mode != stat.S_IMODE(os.fstat(fd).st_mode):
                fs.chmod(fd, state.mode)
                self._look_at_mode(fd, of, state)
            if state.mtime_ns:
                fs.utime_ns(fd, state.mtime_ns)
            self._settle(fd, path)
        finally:
            os.close(fd)

    def _hand_on(self, replaced: str, fd: int) -> None:
        try:
            present = self._places.open(replaced)
        except OSError:
            self.notes.append(Note(replaced, "its owner and attributes could not be read, so they are not kept"))
            return
        try:
            self.notes += [Note(replaced, why) for why in hand_on(present, fd)]
        finally:
            os.close(present)

    def _look_at_mode(self, fd: int, path: str, state: FileState) -> None:
        # Where the file's group is none of ours, the kernel drops the set-group-ID bit without a word.
        mode = stat.S_IMODE(os.fstat(fd).st_mode)
        if mode != state.mode:
            self.notes.append(Note(path, f"its mode is {mode:o}: the system does not let it be {state.mode:o}"))

    def _settle(self, fd: int, path: str) -> None:
        if self._together:
            self._devices.setdefault(os.fstat(fd).st_dev, os.path.dirname(path))
        else:
            fs.sync_file(fd)


def _fill(fd: int, state: FileState, content: Iterator[bytes]) -> None:
    position = end = 0
    for data in content:
        if not _is_hole(data):
            fs.pwrite(fd, data, position)
            end = position + len(data)
        position += len(data)
    if position != state.size:
        raise DamagedObject(f"The stored content has {position} bytes instead of {state.size}.")
    if end != position:
        fs.truncate(fd, position)


def _is_hole(data: bytes) -> bool:
    return len(data) >= _SMALLEST_HOLE and (data is ZEROS or data == ZEROS[: len(data)])
