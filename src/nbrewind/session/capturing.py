"""Capturing: which span comes next, and what happens when it cannot be kept."""

from __future__ import annotations

import threading
import time
from typing import Any

from nbrewind.capture.attribution import Attribution
from nbrewind.capture.span import JournalHeader, SpanKind, SpanRecord
from nbrewind.errors import InconsistentState, RewindError
from nbrewind.model import Note, Verdict
from nbrewind.session.core import LOGGER
from nbrewind.session.keeping import Captured, Keeping
from nbrewind.session.texts import texts_of
from nbrewind.session.variables import NOT_KEPT
from nbrewind.store.layout import new_operation_id

__all__ = ["Captured", "Capturing"]

_RECENT = 16
"""Operations among which a span is looked for that was logged just now."""


class Capturing(Keeping):
    """Takes span after span from the recorder. A span whose capture failed stays until the next try."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._taken: SpanRecord | None = None
        # Turns that ended and wait to be captured.
        self._pending = 0
        # Opening or closing a turn and taking what stood before it exclude each other; nothing slow happens under it.
        self._edge = threading.Lock()

    def _capture_span(self, deadline: float | None = None, *, of_turn: bool = False) -> Captured:
        """Take the oldest span that the recorder has, or the one whose capture failed, and bring it into the log.

        A turn that waits is left alone unless *of_turn*: its variables have to be looked at first.
        After *deadline* (monotonic) files whose first copy was not made yet are left for the next capture.
        """
        recorder = self._parts.recorder
        if recorder is None or not recorder.recording:
            return self._capture(_nothing_recorded(self.workspace), deadline)
        with self._edge:
            if self._taken is None and (self._open is not None or (self._pending and not of_turn)):
                return Captured.NOTHING
            if self._taken is None:
                self._taken = recorder.take()
        captured = self._capture(self._taken, deadline)
        if captured is not Captured.FAILED:
            self._taken = None
        return captured

    def _capture(self, span: SpanRecord, deadline: float | None = None) -> Captured:
        """Bring *span* into the log. On failure it stays with the caller, and protection is shown as degraded."""
        started = self._started.get(span.header.operation_id)
        try:
            # A stop that waited for the log to be written comes out right behind it: then the span is kept already.
            is_logged = any(known.id == span.header.operation_id for known in self.operations[-_RECENT:])
            captured = Captured.LOGGED if is_logged else self._log_span(span, started, deadline)
        except InconsistentState as error:
            self._freeze(error)
            return Captured.FAILED
        except RewindError as error:
            self._degrade(error.message, span.header.number)
            return Captured.FAILED
        except Exception as error:  # noqa: BLE001  a fault of ours degrades protection, and never more
            LOGGER.warning("A turn could not be saved.", exc_info=True)
            self._degrade(f"{type(error).__name__}: {error}", span.header.number)
            return Captured.FAILED
        self._let_go(span)
        self._health.not_protected = None
        return captured

    def _give_up(self) -> bool:
        """Log the span whose capture failed without its files, so that the next cell need not wait for it again.

        Return whether it was a turn.
        """
        span, self._taken = self._taken, None
        if span is None or span.header.kind is not SpanKind.TURN:
            return False
        reason = self._health.not_protected or Note("", "it could not be saved")
        try:
            nothing = Attribution((), (), (Note("", reason.reason),), Verdict.PARTIAL)
            if self._parts.variables is not None:
                self._parts.variables.adopt(NOT_KEPT, of_turn=True)
            self._log_turn(span, None, nothing, texts_of(span, self._secrets(span)), ())
        except (RewindError, OSError):
            # Its journal stays: the next attach makes the operation from it.
            LOGGER.debug("A turn is in its journal only.", exc_info=True)
        else:
            self._let_go(span)
        return True

    def _let_go(self, span: SpanRecord) -> None:
        self._started.pop(span.header.operation_id, None)
        self._late.pop(span.header.operation_id, None)
        if self._parts.recorder is not None:
            try:
                self._parts.recorder.saved(span)
            except OSError:
                LOGGER.debug("A journal could not be removed; the next attach will.", exc_info=True)


def _nothing_recorded(root: str) -> SpanRecord:
    now = time.time_ns()
    header = JournalHeader(operation_id=new_operation_id(), started=now / 1e9, kind=SpanKind.GAP)
    return SpanRecord(header=header, root=root, started_ns=now, ended_ns=now, closed_ns=now)
