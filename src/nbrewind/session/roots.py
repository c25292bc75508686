"""Which objects have to be kept, by the names of the references that keep them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from nbrewind.errors import StoreError
from nbrewind.model import ObjectId, Operation, SessionId
from nbrewind.resources.archive import reference
from nbrewind.rewind.intent import pending_intents, read_intent
from nbrewind.store.layout import SessionPaths, StorePaths, is_id
from nbrewind.store.oplog import read_log
from nbrewind.store.payload import NEEDS_ZSTANDARD
from nbrewind.store.reading import LogReading
from nbrewind.store.shadow.maintenance import PREFIX
from nbrewind.store.shadow.repository import ShadowRepository

__all__ = ["COPY", "all_roots", "roots_of"]

_ARCHIVE, _CONFLICTS = "refs/nbrewind/archive", "refs/nbrewind/conflicts"

COPY = "refs/nbrewind/copy"
"""Below it each session keeps the commit of a first copy that no operation names yet."""


def roots_of(operation: Operation) -> dict[str, ObjectId]:
    """Return reference names with their objects, from the log alone.

    All file contents hang on the commit and its side manifest.
    """
    found: dict[str, ObjectId] = {}
    files, turn = operation.checkpoint.files, operation.turn
    if files is not None:
        found[f"refs/nbrewind/points/{operation.id}"] = files.commit
        found[f"refs/nbrewind/side/{operation.id}"] = files.side
    for name, oid in (("variables", operation.checkpoint.variables), ("notebook", operation.checkpoint.notebook)):
        if oid is not None:
            found[f"refs/nbrewind/{name}/{operation.id}"] = oid
    if turn is not None and turn.code_at is not None:
        found[f"refs/nbrewind/code/{operation.id}"] = turn.code_at
    if turn is not None and turn.outputs_at is not None:
        found[f"refs/nbrewind/outputs/{operation.id}"] = turn.outputs_at
    if operation.changes_at is not None:
        found[f"refs/nbrewind/changes/{operation.id}"] = operation.changes_at
    if operation.archive is not None:
        found[f"{_ARCHIVE}/{operation.id}"] = operation.archive
    return found


def all_roots(store: StorePaths, repository: ShadowRepository) -> dict[str, ObjectId]:
    """Return what all sessions of *store* name, read anew: logs, intents, and what references alone name.

    Where a record of a log is damaged, everything that any reference names is kept.

    Raises:
        StoreError: A log or an intent cannot be read; nothing may be dropped.
    """
    wanted: dict[str, ObjectId] = {}
    is_damaged = False
    for session in _sessions(store):
        paths = store.session(session)
        # Before the log: an intent that goes meanwhile is in the log by then, or its rewind was put back.
        wanted.update(_pending_archives(paths, repository))
        reading = _reading(paths, session)
        for operation in reading.operations:
            wanted.update(roots_of(operation))
        is_damaged = is_damaged or bool(reading.damaged)
    for prefix in (PREFIX,) if is_damaged else (_ARCHIVE, _CONFLICTS, COPY):
        wanted = repository.refs(prefix) | wanted
    return wanted


def _sessions(store: StorePaths) -> list[SessionId]:
    try:
        return [SessionId(folder.name) for folder in Path(store.sessions).iterdir() if is_id(folder.name)]
    except OSError as error:
        raise StoreError(f"The sessions in {store.root} cannot be listed: {error.strerror or error}.") from error


def _pending_archives(paths: SessionPaths, repository: ShadowRepository) -> Iterator[tuple[str, ObjectId]]:
    for operation in pending_intents(paths):
        try:
            archive = read_intent(paths, operation).archive
        except StoreError:
            # What references name is kept anyway, and so is the archive of an intent that its copy stands in for.
            if operation in pending_intents(paths) and reference(operation) not in repository.refs(_ARCHIVE):
                raise
            continue
        if archive is not None:
            yield f"{_ARCHIVE}/{operation}", archive


def _reading(paths: SessionPaths, session: SessionId) -> LogReading:
    """Return what the log of *session* holds.

    Raises:
        StoreError: It cannot be read. What it named is unknown then.
    """
    try:
        if not Path(paths.log).stat().st_size and not _was_used(paths):
            return LogReading()
    except FileNotFoundError:
        if not _was_used(paths):
            return LogReading()
    except OSError as error:
        raise StoreError(f"The log of session {session} cannot be read: {error.strerror or error}.") from error
    hint = f"If that session is not wanted any more, remove {paths.root}."
    try:
        reading = read_log(paths.log)
    except StoreError as error:
        raise StoreError(error.message, hint=hint) from error
    if any(damage.reason == NEEDS_ZSTANDARD for damage in reading.damaged):
        raise StoreError(f"The log of session {session} is {NEEDS_ZSTANDARD}.")
    if not reading.operations and reading.header is None:
        raise StoreError(f"The log of session {session} is empty or damaged from its beginning.", hint=hint)
    return reading


def _was_used(paths: SessionPaths) -> bool:
    """Return whether there is more of a session than one that just begins has."""
    return any(os.path.lexists(path) for path in (paths.archive, paths.intents, paths.turn, paths.images))
