"""Verification: every point is replayed into a scratch folder by the code of a rewind, and compared by its hashes."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from nbrewind import fs
from nbrewind.errors import RewindError
from nbrewind.model import Change, EntryKind, FilesAddress, FileState, ObjectId, Operation, OperationId
from nbrewind.resources.files.inspection import Inspection
from nbrewind.resources.files.moves import Move, MoveKind
from nbrewind.resources.files.places import Places
from nbrewind.resources.files.staging import Staging
from nbrewind.resources.files.tree import SnapshotTree
from nbrewind.store.layout import SessionPaths
from nbrewind.store.shadow.repository import ShadowRepository

__all__ = ["Replay", "note_findings", "noted_findings", "replaying"]

_MANY: Final = 1000
"""So many files are flushed together, at the end; which never comes here."""
_NAME: Final = "replayed"


class Replay:
    """Brings contents back in a *scratch* folder (None: only reads them), one after the other.

    Each content is replayed once and removed at once, so that there need only be room for the largest.
    """

    def __init__(self, repository: ShadowRepository, scratch: Places | None) -> None:
        self._repository = repository
        self._scratch = scratch
        self._contents: dict[tuple[ObjectId, int], str] = {}
        self._trees: dict[FilesAddress, tuple[str, ...]] = {}

    def problems(self, operation: Operation, changes_of: Callable[[Operation], Iterable[Change]]) -> Iterator[str]:
        """Yield what of the point after *operation* cannot come back, and why."""
        turn, address = operation.turn, operation.checkpoint.files
        texts = (turn.code_at, turn.outputs_at) if turn is not None else ()
        for oid in texts:
            if oid is not None:
                yield from self._tried(lambda oid=oid: self._repository.read_text(oid))  # type: ignore[misc]  # bound now
        if address is not None:
            yield from self._tree(address)
        try:
            states = [state for change in changes_of(operation) for state in (change.before, change.after)]
        except RewindError as error:
            yield error.message
            return
        for state in states:
            if state is not None and (reason := self._content(state)):
                yield f"{state.object}: {reason}"

    def _tried(self, read: Callable[[], object]) -> Iterator[str]:
        try:
            read()
        except RewindError as error:
            yield error.message

    def _tree(self, address: FilesAddress) -> tuple[str, ...]:
        known = self._trees.get(address)
        if known is None:
            known = self._trees[address] = tuple(self._walked(address))
        return known

    def _walked(self, address: FilesAddress) -> Iterator[str]:
        try:
            if self._repository.commit_tree(address.commit) != address.tree:
                yield "its commit holds other files than its record says"
            for path, state in SnapshotTree(self._repository, address).walk():
                if reason := self._content(state):
                    yield f"{path}: {reason}"
        except RewindError as error:
            yield error.message

    def _content(self, state: FileState) -> str:
        if state.object is None or state.kind not in (EntryKind.FILE, EntryKind.SYMLINK):
            return ""
        key = (state.object, state.size)
        reason = self._contents.get(key)
        if reason is None:
            reason = self._contents[key] = next(self._brought_back(state), "")
        return reason

    def _brought_back(self, state: FileState) -> Iterator[str]:
        scratch = self._scratch
        if scratch is None:
            yield from self._tried(lambda: self._repository.verify_content(state))
            return
        move = Move(kind=MoveKind.CREATE, path="file", after=state, temp=_NAME)
        try:
            Staging(scratch, self._repository, _MANY).build(move)
            if not Inspection(scratch, self._repository).stands(_NAME, state):
                yield "what comes back has another hash"
        except RewindError as error:
            yield error.message
        except OSError:
            # No room, or a mode that the temporary folder does not take: the hashes alone then.
            yield from self._tried(lambda: self._repository.verify_content(state))
        finally:
            with suppress(OSError):
                fs.unlink(f"{scratch.workspace}/{_NAME}")


@contextmanager
def replaying(repository: ShadowRepository, roots: Iterable[str]) -> Iterator[Replay]:
    """Yield a replay with a folder of its own below the first of the temporary *roots* that takes one."""
    folder = next(filter(None, map(_made, roots)), "")
    if not folder:
        yield Replay(repository, None)
        return
    try:
        with Places(folder) as scratch:
            yield Replay(repository, scratch)
    finally:
        with suppress(OSError):
            fs.rmdir(folder)


def _made(root: str) -> str:
    folder = f"{root.rstrip('/')}/.nbrewind-verify-{secrets.token_hex(8)}"
    try:
        fs.make_directory(folder, 0o700, exist_ok=False)
    except OSError:
        return ""
    return folder


def note_findings(paths: SessionPaths, damaged: Mapping[OperationId, str]) -> None:
    """Leave what a verification found for lists to show; a store that cannot be written goes without."""
    with suppress(OSError):
        if damaged:
            fs.replace(paths.damaged, json.dumps(damaged, indent=0).encode("ascii") + b"\n", sync=False)
        else:
            fs.unlink(paths.damaged)


def noted_findings(paths: SessionPaths) -> dict[OperationId, str]:
    """Return what the last verification found."""
    try:
        found = json.loads(Path(paths.damaged).read_bytes())
        return {OperationId(str(name)): str(reason) for name, reason in found.items()}
    except (OSError, ValueError, AttributeError):
        return {}
