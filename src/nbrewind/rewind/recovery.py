"""After a death or a failure in the middle of a rewind: finish it or put it back."""

from __future__ import annotations

import contextlib

from nbrewind import fs
from nbrewind.errors import DamagedObject, RewindError, StoreError
from nbrewind.model import Note, OperationId
from nbrewind.resources import Recoverers, RewindContext
from nbrewind.resources.archive import Archive
from nbrewind.resources.obstacles import refusal
from nbrewind.rewind.critical import critical
from nbrewind.rewind.intent import Intent, pending_intents, read_intent, recalled_intent, remove_intent
from nbrewind.store.layout import SessionPaths
from nbrewind.store.oplog import OperationLog
from nbrewind.store.shadow.repository import ShadowRepository

__all__ = ["recover_session"]


def recover_session(
    paths: SessionPaths,
    log: OperationLog,
    repository: ShadowRepository,
    recoverers: Recoverers,
    *,
    strict: bool = False,
) -> tuple[Note, ...]:
    """Finish or put back every rewind that left an intent; return what is worth telling, also of what could not be.

    The caller holds the session's lock. May be killed anywhere and run again. An intent that cannot be carried out
    stays: everything remains readable, and no rewind runs until it is gone.

    Raises:
        RewindRefused: (damaged) with *strict*, where an intent stays.
    """
    notes: list[Note] = []
    with contextlib.suppress(OSError):
        fs.sweep_temporaries(paths.intents)
    pending = pending_intents(paths)
    if pending:
        # A frame that is only in the page cache must not decide: it could be gone after what it decided is done.
        log.sync()
    for operation in pending:
        try:
            with critical():
                notes += _recover(paths, log, repository, recoverers, operation)
        except (OSError, RewindError) as error:
            refused = refusal("An earlier rewind is not yet put in order, so nothing changed", error)
            refused.hint = getattr(error, "hint", "") or refused.hint
            if strict:
                raise refused from error
            notes.append(Note(operation, f"this rewind could not be put in order: {refused.message}"))
    return tuple(notes)


def _recover(
    paths: SessionPaths,
    log: OperationLog,
    repository: ShadowRepository,
    recoverers: Recoverers,
    operation: OperationId,
) -> tuple[Note, ...]:
    intent = _intent(paths, repository, operation)
    committed = _is_committed(log, intent)
    missing = sorted(name for name, _ in intent.resources if name not in recoverers)
    if missing:
        raise StoreError(f"Nothing here can recover {', '.join(missing)}.")
    archive = Archive(repository, operation, "archive", trust=intent.trust)
    archive.commit = intent.archive
    context = RewindContext(operation, repository, archive, intent.trust)
    archive.publish()
    notes: list[Note] = []
    for name, part in intent.resources if committed else reversed(intent.resources):
        notes += recoverers[name](part, committed, context)
    remove_intent(paths, operation)
    what = "a rewind that was interrupted is finished" if committed else "a rewind that was interrupted is put back"
    return (Note(operation, what), *notes)


def _intent(paths: SessionPaths, repository: ShadowRepository, operation: OperationId) -> Intent:
    """Return the intent of *operation*, where it is damaged from the copy in the archive.

    Raises:
        StoreError: Neither can be read.
    """
    try:
        return read_intent(paths, operation)
    except DamagedObject:
        with contextlib.suppress(StoreError):
            return recalled_intent(repository, operation)
        raise


def _is_committed(log: OperationLog, intent: Intent) -> bool:
    """Return whether the log holds the operation.

    Raises:
        DamagedObject: A frame that may be this one is damaged, and nothing tells which it was.
    """
    if any(one.id == intent.operation for one in log.operations):
        return True
    if any(damage.id == intent.operation for damage in log.damaged):
        return True
    # Each number is used once. If the log went on and nothing readable has this one, a damaged frame had it.
    told = {one.seq for one in log.operations} | {damage.ordinal for damage in log.damaged if damage.id}
    if intent.seq < log.next_seq and intent.seq not in told:
        raise DamagedObject(
            f"The log is damaged where it would say whether {intent.operation} was carried out.",
            hint="Everything is kept; verify the store.",
        )
    return False
