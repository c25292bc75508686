"""One rewind over all resources: everything moves, or nothing does."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

from nbrewind.errors import InconsistentState, RewindError, RewindRefused, RewindRolledBack
from nbrewind.model import Note, ObjectId, Operation, RewindPlan
from nbrewind.resources import Recoverers, Resource, RewindContext
from nbrewind.resources.archive import Archive
from nbrewind.resources.obstacles import blaming, refusal
from nbrewind.rewind.critical import critical
from nbrewind.rewind.intent import Intent, remove_intent, write_intent
from nbrewind.rewind.recovery import recover_session
from nbrewind.store.layout import SessionPaths
from nbrewind.store.oplog import OperationLog
from nbrewind.store.shadow.repository import ShadowRepository

__all__ = ["RewindTransaction", "TransactionContext"]

_LOGGER = logging.getLogger(__name__)


def _no_list(plan: RewindPlan, operation: Operation) -> None:
    """Write no readable list of what is taken back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionContext:
    """What a transaction works with. The caller holds the session's lock, and with *trust* the gc lock, shared.

    *write_list* writes the readable list of what was taken back; *recoverers* put an older rewind in order first.
    """

    paths: SessionPaths
    repository: ShadowRepository
    trust: bool = True
    write_list: Callable[[RewindPlan, Operation], None] = _no_list
    recoverers: Recoverers = field(default_factory=dict)


class RewindTransaction:
    """Carries one plan out over unlike resources.

    Outcomes: it returns (all resources stand as wanted and the log says so), or it raises `RewindRefused` (nothing was
    changed), `RewindRolledBack` (everything was put back), or `InconsistentState` (unknown; the intent stays, and the
    next attach finds out).
    Order: prepare all; archive durable; list; intent durable; stage all; apply all; **append to the log, the commit
    point**; finish all in the same order; intent removed.
    Crash rule: before the intent nothing happened; with the intent recovery asks the log, and nothing else, whether to
    finish or to put back.
    """

    def __init__(self, log: OperationLog, resources: Sequence[Resource], context: TransactionContext) -> None:
        self._log = log
        self._resources = tuple(resources)
        self._context = context
        self.notes: tuple[Note, ...] = ()

    def run(self, plan: RewindPlan, operation: Operation) -> Operation:
        """Carry *plan* out and return *operation* as it is in the log.

        An operation without changes gets those of the resources. Afterwards `notes` says what is worth telling.

        Raises:
            RewindRefused: Nothing was changed.
            RewindRolledBack: Something failed half-way; everything stands as before.
            InconsistentState: Putting back failed, or the log does not know whether the rewind is in it.
        """
        self._begin()
        archive = Archive(self._context.repository, operation.id, "archive", trust=self._context.trust)
        context = RewindContext(operation.id, self._context.repository, archive, self._context.trust)
        try:
            operation = self._prepare(plan, operation, context)
            # From here on a signal waits: an interrupt between two moves would be one more way to fail.
            with critical():
                return self._move(plan, operation, archive)
        finally:
            archive.abort()
            for resource in self._resources:
                resource.close()

    def _begin(self) -> None:
        """Put an older rewind in order that a death, or a full disk, left unfinished."""
        if self._log.refuses:
            raise InconsistentState(
                f"The session log takes nothing more ({self._log.refuses}).", hint="Restart the kernel to recover."
            )
        self.notes = recover_session(
            self._context.paths, self._log, self._context.repository, self._context.recoverers, strict=True
        )

    def _prepare(self, plan: RewindPlan, operation: Operation, context: RewindContext) -> Operation:
        for resource in self._resources:
            resource.prepare(plan, context)
        if not operation.changes and operation.changes_at is None:
            changes = tuple(change for resource in self._resources for change in resource.changes())
            operation = replace(operation, changes=changes, change_count=len(changes))
        with blaming("The archive of what would be taken back"):
            context.archive.keep_intent(self._intent(operation, None).text)
            # Durable before anything else happens: from the first move on it may be the only place of those bytes.
            context.archive.finish()
            # Named before the intent: after a death another kernel may collect before this session is recovered.
            context.archive.publish()
        operation = replace(operation, archive=context.archive.commit)
        with blaming("The list of what would be taken back"):
            self._context.write_list(plan, operation)
        return operation

    def _intent(self, operation: Operation, archive: ObjectId | None) -> Intent:
        return Intent(
            operation=operation.id,
            seq=operation.seq,
            archive=archive,
            trust=self._context.trust,
            resources=tuple((resource.name, resource.intent()) for resource in self._resources),
        )

    def _move(self, plan: RewindPlan, operation: Operation, archive: Archive) -> Operation:
        try:
            write_intent(self._context.paths, self._intent(operation, archive.commit))
        except OSError as error:
            # Nothing was done, so an intent that cannot be removed either does no harm: it is put in order later.
            with contextlib.suppress(OSError):
                remove_intent(self._context.paths, operation.id)
            raise refusal("The intent of the rewind could not be written", error) from error
        try:
            for resource in self._resources:
                resource.stage()
        except BaseException as error:  # noqa: BLE001 - whatever it was, what is half done is put back first
            self._put_back(operation, error, untouched=True)
        try:
            for resource in self._resources:
                resource.apply()
            self._log.append(operation)
        except InconsistentState:
            # The frame may be on the disk or not. Neither way is right until somebody reads it again.
            raise
        except BaseException as error:  # noqa: BLE001 - as above
            self._put_back(operation, error, untouched=False)
        self._finish(operation)
        return operation

    def _put_back(self, operation: Operation, error: BaseException, *, untouched: bool) -> NoReturn:
        """Roll everything back, in reverse order, and raise what came of it."""
        notes: list[Note] = []
        try:
            for resource in reversed(self._resources):
                notes += resource.rollback()
            remove_intent(self._context.paths, operation.id)
        except Exception as failure:
            _LOGGER.info("A rewind could not be put back", exc_info=True)
            raise InconsistentState(
                f"{_said(error)} Putting back failed too: {_said(failure)}",
                hint="Restart the kernel to recover; nothing is lost.",
            ) from failure
        self.notes += tuple(notes)
        if not isinstance(error, Exception) or (untouched and isinstance(error, RewindRefused)):
            raise error
        hint = error.hint if isinstance(error, RewindError) else ""
        raise RewindRolledBack(f"{_said(error)} Everything was put back.", hint=hint) from error

    def _finish(self, operation: Operation) -> None:
        """Clean up. What fails here no longer changes the outcome: the next rewind or attach cleans up again."""
        try:
            for resource in self._resources:
                self.notes += resource.finish()
            remove_intent(self._context.paths, operation.id)
        except Exception as error:
            _LOGGER.info("A rewind could not clean up", exc_info=True)
            self.notes += (Note("", f"cleaning up is not finished and goes on with the next rewind: {_said(error)}"),)


def _said(error: BaseException) -> str:
    text = error.message if isinstance(error, RewindError) else f"{error or type(error).__name__}"
    return text if text.endswith((".", "!", "?")) else f"{text}."
