"""Recording: turns in, operations out. The cell comes first; whatever fails here becomes a visible reason."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from nbrewind.capture import hook
from nbrewind.capture.span import JournalHeader, SpanKind, TurnOutcome
from nbrewind.errors import InconsistentState, RefusalReason, RewindError, RewindRefused
from nbrewind.model import Note, OperationId, TurnStatus
from nbrewind.rewind.critical import critical
from nbrewind.session.capturing import Captured
from nbrewind.session.core import LOGGER
from nbrewind.session.examining import Examining
from nbrewind.session.turns import TurnEnd, TurnStart
from nbrewind.store.layout import new_operation_id

__all__ = ["Recording"]

_REMEMBERED_FOR = 5.0
"""Seconds between two notes of what need not be read by the next kernel, at least."""

Scheduler = Callable[[Callable[[], None]], bool]
"""Runs a job a little after the reply; returns False where nothing can be run later."""


class Recording(Examining):
    """The writing half of a session: opens and closes turns, and decides when a capture runs.

    Invariant: when `begin_turn` returns, everything before the cell is in the log, or the coming turn is partial and
    says so. A capture runs in the background after the reply, or inline at the next barrier, whichever comes first.
    """

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._cells = 0
        # The turn that began last, None if it is not recorded.
        self._newest: OperationId | None = None
        self.scheduler: Scheduler | None = None

    # -- edges of a turn ------------------------------------------------------------------------------------------

    @property
    def turn_is_open(self) -> bool:
        """Return whether a turn is open in this process."""
        return self._open is not None and not self.is_child

    @property
    def records(self) -> bool:
        """Return whether turns are recorded now."""
        health = self._health
        return not (
            self._parts.recorder is None
            or self.is_child
            or health.paused
            or health.closed
            or health.frozen
            or not self.settings.recording
        )

    def begin_turn(self, start: TurnStart, *, wait: bool = True) -> None:
        """Finish the last capture, log what changed since, and open the turn's journal.

        Without *wait* nothing is finished first, and the turn says so. Raises nothing but the user's own interrupt.
        """
        with self._fence("The turn could not be opened"):
            variables = self._parts.variables
            self._newest = None
            if variables is not None:
                variables.guard.release()
            if not self.records or self._parts.recorder is None or (wait and not self._is_due(start)):
                if variables is not None:
                    variables.passed(start.transformed)
                return
            if self._open is not None:
                # An unfinished one: its end never came.
                self.end_turn(TurnEnd(status=TurnStatus.INTERRUPTED))
            late = not (wait and self.settle(self.settings.turn_budget))
            if late and self._taken is not None and self._give_up():
                self._pending -= 1
            header = JournalHeader(
                operation_id=new_operation_id(),
                code=start.code,
                number=start.number,
                cell_id=start.cell_id,
                started=start.started,
                parent=self.head,
                kind=SpanKind.TURN,
            )
            self._started[header.operation_id] = start
            self._newest = header.operation_id
            if late:
                failed = self._health.not_protected
                self._late[header.operation_id] = Note(
                    "",
                    f"the cell before it could not be saved: {failed.reason}"
                    if failed is not None
                    else f"the capture before it took over {self.settings.turn_budget:g} s",
                )
            if variables is not None and start.transformed is not None:
                variables.before(start.transformed)
            with self._edge:
                self._open = start
                self._parts.recorder.begin(header)
            self._stir()

    def _is_due(self, start: TurnStart) -> bool:
        """Return whether this cell makes a point. What the others do counts as done between two cells."""
        if start.asked_for:
            return True
        self._cells += 1
        if self.settings.turns == "named":
            return False
        return self.settings.every_n_turns < 2 or self._cells % self.settings.every_n_turns == 0

    def join_turn(self) -> None:
        """Take note of a cell that runs inside the open turn, or beside it in a subshell: nobody reads its code."""
        if self._parts.variables is not None and not self.is_child:
            self._parts.variables.distrust()

    def end_turn(self, end: TurnEnd) -> None:
        """Close the turn; its capture runs soon, or now without a scheduler. Never raises."""
        with self._fence("The turn could not be closed"):
            if self._open is None or self._parts.recorder is None or self.is_child:
                self._open = None
                return
            # A stop in here would leave a turn that is neither open nor waits to be captured.
            with critical():
                # Another thread that settles must see it open, or waiting for its capture: never in between.
                with self._edge:
                    self._open = None
                    self._parts.recorder.end(
                        TurnOutcome(status=end.status, error=end.error, ended=end.ended, outputs=end.outputs)
                    )
                    self._pending += 1
                if self._parts.variables is not None:
                    self._parts.variables.after()
                self._stir()
                comes_later = self.scheduler is not None and self.scheduler(self.capture_soon)
            if not comes_later:
                self.settle()

    def capture_soon(self) -> None:
        """Capture the turn that just ended in the background; called by the scheduler, a moment after the reply."""
        self._examine_waiting(0.0)
        if self._pending and not self._worker.submit(self._capture_in_background):
            self.settle(0.0)

    def _capture_in_background(self) -> None:
        with self._fence("The turn could not be saved"), hook.suspended(), self._mutex:
            # A cell that began meanwhile took the capture over, or will be waited for at its end.
            if self._pending and self._open is None:
                self._capture_pending()
        if self._copying and self._begun:
            self._copy_in_background()
        if self._open is None and not self._health.closed and not self.is_child:
            # Without the lock: a cell that comes waits for nothing.
            with self._fence("The signatures could not be kept"), hook.suspended():
                self._parts.tracker.remember(pause=_REMEMBERED_FOR)

    # -- the barrier ----------------------------------------------------------------------------------------------

    def settle(self, timeout: float | None = None) -> bool:
        """Finish the last capture and log what changed since; return whether that was done within *timeout*."""
        if self.readonly or self._health.closed or self.is_child:
            return True
        if self._pending and self._waits_for_main:
            with suppress(RewindRefused):
                self.main_thread.run(lambda: self._examine_waiting(1.0))
        if not self._mutex.acquire(-1 if timeout is None else timeout):
            return False
        try:
            with hook.suspended():
                return self._settle()
        finally:
            self._mutex.release()

    def _settle(self) -> bool:
        """Bring the log up to the disk. One scan serves the end of a turn and the start of the next."""
        if self._open is not None:
            return True
        self._finish_beginning()
        looked = False
        if self._pending:
            looked = self._examine_turn()
            self._capture_pending()
            if self._pending or looked or not self._distrust or self._parts.variables is None:
                return not self._pending
        self._examine_gap()
        return self._capture_span(self._copy_deadline()) is not Captured.FAILED and not self._pending

    def _capture_pending(self) -> None:
        self._finish_beginning()
        while self._pending:
            self._examine_turn()
            if self._pending == 1 and self._waits_for_main:
                # The next barrier is there.
                return
            is_turn = self._taken is None or self._taken.header.kind is SpanKind.TURN
            if self._capture_span(self._copy_deadline(), of_turn=True) is Captured.FAILED:
                return
            self._pending -= is_turn
            self._stir()

    def _may_copy(self) -> bool:
        return self._open is None and not self._pending

    def _finish_capture(self) -> None:
        if self._pending or not self._begun:
            self.settle(self.settings.turn_budget)

    def _look_at_disk(self) -> None:
        if not self.readonly:
            self.settle()

    @contextmanager
    def turn(self, label: str) -> Iterator[None]:
        """Return a context in which everything is one turn, for plain scripts: `with session.turn("clean"):`.

        Raises:
            RewindRefused: (busy) a turn is open already.
        """
        if self.turn_is_open:
            raise RewindRefused(RefusalReason.BUSY, "A turn is open already: everything in it is that turn's.")
        self.begin_turn(TurnStart(code=label, asked_for=True))
        status, error = TurnStatus.OK, ""
        try:
            yield
        except KeyboardInterrupt:
            status, error = TurnStatus.INTERRUPTED, "KeyboardInterrupt"
            raise
        except BaseException as raised:
            status, error = TurnStatus.ERROR, f"{type(raised).__name__}: {raised}"[:500]
            raise
        finally:
            self.end_turn(TurnEnd(status=status, error=error, ended=time.time()))

    @contextmanager
    def _fence(self, what: str) -> Iterator[None]:
        """Let nothing of ours out: protection degrades, and status says why."""
        try:
            yield
        except InconsistentState as error:
            self._freeze(error)
        except RewindError as error:
            self._degrade(error.message)
        except Exception as error:  # noqa: BLE001  the cell comes first
            LOGGER.warning("%s.", what, exc_info=True)
            self._degrade(f"{what}: {type(error).__name__}: {error}")
