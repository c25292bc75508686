"""Keeping: from the record of a span and a scan to objects, a manifest and a frame of the log."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from enum import Enum
from typing import Any

from nbrewind.capture.attribution import Attribution, attribute
from nbrewind.capture.span import SpanKind, SpanRecord
from nbrewind.model import (
    Change,
    FilesAddress,
    FileState,
    Note,
    ObjectId,
    Operation,
    OperationId,
    OperationKind,
    Turn,
    TurnStatus,
    VariableChange,
    Verdict,
)
from nbrewind.resources.files.scan import Scan
from nbrewind.resources.files.side import NOT_COPIED
from nbrewind.resources.files.snapshot import Snapshot
from nbrewind.rewind.critical import critical
from nbrewind.session.judgement import with_conflicts, with_links
from nbrewind.session.neighbours import Neighbours
from nbrewind.session.notebooks import renamed
from nbrewind.session.outside import Keeper, before_images, outside_changes
from nbrewind.session.texts import Texts, texts_of
from nbrewind.session.turns import TurnStart
from nbrewind.session.upkeep import Upkeep
from nbrewind.session.variables import NOT_KEPT, Kept, Variables
from nbrewind.store.codec import to_json

__all__ = ["Captured", "Keeping"]

_INLINE_CHANGES = 64
# That of a turn which was interrupted goes without saying.
_DIED_FIRST = Kept(notes=(Note("variables", "they were not kept: the kernel ended before the turn was saved"),))


class Captured(Enum):
    """What a capture came to."""

    LOGGED = "logged"
    NOTHING = "nothing"
    FAILED = "failed"


class Keeping(Upkeep):
    """Turns the records of spans into operations. All of it runs under the session's mutex.

    Order: objects durable → frame in the log → tracker adopts → journal and raw copies removed. A death in between
    leaves the journal, from which the next attach makes the same operation.
    """

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._started: dict[OperationId, TurnStart] = {}
        self._late: dict[OperationId, Note] = {}
        self._copying = False
        self._begun = self.readonly
        # Set before a move: hints of what changed are not enough then.
        self._distrust = False
        self._open: TurnStart | None = None
        self._neighbours = Neighbours(self._parts.store, self.id)
        self._other_notebooks: frozenset[str] = frozenset()

    # -- one span -------------------------------------------------------------------------------------------------

    def _log_span(self, span: SpanRecord, started: TurnStart | None, deadline: float | None) -> Captured:
        tracker, repository = self._parts.tracker, self._parts.repository
        is_turn = span.header.kind is SpanKind.TURN
        others = bool(span.ran or span.forked or span.children)
        scan = tracker.scan(force=span.forced(), full=self._distrust, doubtful=others)
        self._follow_notebook(scan)
        variables = self._variables_for(span, started)
        waits = variables is not None and variables.waits
        if not is_turn and span.empty and not waits and not tracker.changed(scan):
            self._copying = False
            return Captured.NOTHING
        with self._parts.gc.try_shared() as trusted:
            self._heed_generation()
            with repository.writer(trust=trusted) as writer:
                keeper = Keeper(writer)
                outside = outside_changes(span, keeper, self._parts.coverage, self.settings)
                images = before_images(span, keeper)
                texts = texts_of(span, self._secrets(span, scan), writer.zblob)
                snapshot = tracker.snapshot(
                    writer,
                    scan,
                    operation_id=span.header.operation_id,
                    label=texts.code.split("\n", 1)[0],
                    force=span.forced(),
                    before_images=images,
                    extra=keeper.blobs,
                    extra_trees=keeper.trees,
                    deadline=deadline,
                    trailers={"Session": self.id, "Parent": self.head or "none"},
                )
                self._parts.secrecy.learn(change.path for change in snapshot.changes if change.after is not None)
                self._remember_secrets(span, (*snapshot.changes, *outside.rows))
                overlap = self._neighbours.since(span.started_ns)
                judged = attribute(
                    span,
                    snapshot.changes,
                    snapshot.ctimes,
                    others_overlapped=overlap.overlapped,
                    other_claims=overlap.claims,
                    seen=scan.signature,
                )
                judged = with_conflicts(with_links(judged, snapshot.links))
                rows = (*judged.turn_changes, *outside.rows)
                later = judged.external_changes if is_turn else (*judged.external_changes, *outside.rows)
                stored = {
                    name: writer.zblob(to_json(found).encode("ascii"))
                    for name, found in (("turn", rows), ("later", later))
                    if len(found) > _INLINE_CHANGES
                }
                kept = variables.store(writer, of_turn=is_turn) if variables is not None else self._lost(span, started)
                if not is_turn and self._open is not None:
                    # A cell began before this was done: what it changes must not be taken for somebody else's.
                    return Captured.NOTHING
                if writer.pending:
                    self._require_room()
                writer.finish()
            notes = (*snapshot.skipped, *outside.notes, *kept.notes)
            judged = judged._replace(turn_changes=rows, external_changes=later)
            # An interrupt between the log and the tracker would make the same operation once more at the next try.
            with critical():
                return self._log_all(span, started, snapshot, judged, texts, stored, notes, kept, variables)

    def _log_all(
        self,
        span: SpanRecord,
        started: TurnStart | None,
        snapshot: Snapshot,
        judged: Attribution,
        texts: Texts,
        stored: dict[str, ObjectId],
        notes: tuple[Note, ...],
        kept: Kept,
        variables: Variables | None,
    ) -> Captured:
        """Append the operations of a span whose objects are durable; the tracker believes them only then."""
        files = (snapshot.address or self._parts.tracker.address) if self.settings.git_anchor else None
        logged: list[Operation] = []
        is_turn = span.header.kind is SpanKind.TURN
        had_effect = bool(judged.turn_changes) or not span.empty or kept.has_news
        if is_turn and not (started is not None and started.only_if_effect and not had_effect):
            logged.append(self._log_turn(span, files, judged, texts, notes, stored.get("turn"), kept))
        if variables is not None and logged and is_turn:
            variables.numbered(span.header.number)
        if variables is not None and (logged or not is_turn):
            variables.adopt(kept, of_turn=is_turn)
        elif variables is not None:
            variables.drop()
        late = kept.snapshot.changes if kept.snapshot is not None and not is_turn else ()
        if judged.external_changes or (kept.has_news and not is_turn):
            operation_id = None if is_turn else span.header.operation_id
            logged.append(self._log_external(files, judged.external_changes, stored.get("later"), operation_id, late))
        # Without progress what is missing is beyond the budget of the first copy, and stays so.
        self._copying = snapshot.address is not None and any(note.reason == NOT_COPIED for note in snapshot.skipped)
        # Also where nothing differs: what was read to find that out need not be read again.
        self._parts.tracker.adopt(snapshot)
        if snapshot.address is not None and not logged:
            self._name_copy(snapshot.address)
        for operation in logged:
            self._name_roots(operation)
        return Captured.LOGGED if logged else Captured.NOTHING

    def _log_turn(
        self,
        span: SpanRecord,
        files: FilesAddress | None,
        judged: Attribution,
        texts: Texts,
        notes: tuple[Note, ...],
        changes_at: ObjectId | None = None,
        kept: Kept = NOT_KEPT,
    ) -> Operation:
        header, outcome = span.header, span.outcome
        late = self._late.get(header.operation_id)
        reasons = texts.clean(dict.fromkeys((*judged.reasons, *notes, *((late,) if late else ()))))
        turn = Turn(
            code=texts.code,
            number=header.number,
            cell_id=header.cell_id,
            status=outcome.status if outcome else TurnStatus.INTERRUPTED,
            error=texts.error,
            started=header.started,
            ended=outcome.ended if outcome else 0.0,
            outputs=texts.outputs,
            code_at=texts.code_at,
            outputs_at=texts.outputs_at,
            ran=texts.ran,
            verdict=Verdict.PARTIAL if reasons else judged.verdict,
            reasons=reasons,
        )
        operation = self._append(
            OperationKind.TURN,
            files=files,
            operation_id=header.operation_id,
            turn=turn,
            changes=() if changes_at else judged.turn_changes,
            changes_at=changes_at,
            change_count=len(judged.turn_changes),
            variables=kept.snapshot.address if kept.snapshot is not None else None,
            variable_changes=kept.snapshot.changes if kept.snapshot is not None else (),
        )
        if self._parts.shell is not None:
            self._parts.shell.expire()
        return operation

    def _log_external(
        self,
        files: FilesAddress | None,
        changes: tuple[Change, ...],
        changes_at: ObjectId | None,
        operation_id: OperationId | None = None,
        variable_changes: tuple[VariableChange, ...] = (),
    ) -> Operation:
        return self._append(
            OperationKind.EXTERNAL,
            files=files,
            operation_id=operation_id,
            changes=() if changes_at else changes,
            changes_at=changes_at,
            change_count=len(changes),
            variables=self._variables_in_force,
            variable_changes=variable_changes,
        )

    def _variables_for(self, span: SpanRecord, started: TurnStart | None) -> Variables | None:
        """Return what keeps the variables of *span*; None for one of a dead kernel, and before the attach is logged."""
        is_turn = span.header.kind is SpanKind.TURN
        return self._parts.variables if (started is not None if is_turn else self._begun) else None

    def _lost(self, span: SpanRecord, started: TurnStart | None) -> Kept:
        """Return what there is of variables without a kernel that has them."""
        ended = span.header.kind is SpanKind.TURN and started is None and span.outcome is not None
        return _DIED_FIRST if ended and self._parts.variables is not None else NOT_KEPT

    # -- parts ----------------------------------------------------------------------------------------------------

    def _files_in_force(self) -> FilesAddress | None:
        return self._parts.tracker.address if self.settings.git_anchor else None

    def _secrets(self, span: SpanRecord, scan: Scan | None = None) -> tuple[str, ...]:
        """Return what must not be stored of the texts of *span*."""
        recorder = self._parts.recorder
        images = recorder.secret_images() if recorder is not None else {}
        return self._parts.secrecy.values(span, images, scan)

    def _follow_notebook(self, scan: Scan) -> None:
        """Go on with the notebook under the name that it has now, where it was renamed."""
        if not self.notebook or os.path.lexists(self.notebook):
            return
        found = frozenset(
            self._absolute(f"{folder}/{name}" if folder else name)
            for folder, listing in scan.folders.items()
            for name in listing.signatures
            if name.endswith(".ipynb")
        )
        if found != self._other_notebooks:
            self._other_notebooks = found
            self.notebook = renamed(self.operations, self.notebook, found) or self.notebook

    def _remember_secrets(self, span: SpanRecord, changes: Iterable[Change]) -> None:
        """Keep in memory what stood in secret files before *span*, and what stands there now."""
        vault, recorder = self._parts.vault, self._parts.recorder
        for path, touched in span.touches.items():
            if touched.secret and touched.before is not None and recorder is not None:
                content = recorder.secret_image(path, span.header.operation_id)
                if content is not None:
                    vault.keep(path, touched.before, content)
        for change in changes:
            if change.after is not None:
                self._remember_secret(change.path, change.after)

    def _remember_secret(self, path: str, state: FileState) -> None:
        if state.is_secret:
            with suppress(OSError):
                self._parts.vault.look(self._absolute(path), state)
