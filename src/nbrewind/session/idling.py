"""Idling: what is done while no cell runs, in short steps on the kernel's main thread, giving way to cells at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from nbrewind.capture import hook
from nbrewind.model import Note, OperationId, RewindPlan
from nbrewind.resources.variables.ambient import busy_thread
from nbrewind.session.switching import Switching
from nbrewind.session.turns import TurnEnd, TurnStart

__all__ = ["Idling"]

_STEP = 0.02
"""Seconds of one step, about: a cell that comes waits no longer."""
_PAUSE = 0.05


class Idling(Switching):
    """Compares all variables some seconds after the last turn, and lets go of what a rewind took away.

    A ticket is given out for each rest: work for an older one is dropped, so that a queue of cells is never held up.
    """

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._ticket = 0
        self._compares = False
        self._again = False
        self._held: OperationId | None = None
        # Moves whose undo no longer finds the results of cells.
        self._expired: set[OperationId] = set()

    def begin_turn(self, start: TurnStart, *, wait: bool = True) -> None:
        """Open a turn; a comparison under way ends."""
        self._ticket += 1
        super().begin_turn(start, wait=wait)

    def end_turn(self, end: TurnEnd) -> None:
        """Close the turn; a comparison follows when nothing else comes."""
        super().end_turn(end)
        self.rest()

    def rest(self) -> None:
        """Compare all variables after a while, if no cell runs until then. From any thread."""
        variables = self._parts.variables
        if variables is not None and self.settings.idle_delay and not self.is_child:
            self._ticket += 1
            self._compares, self._again = True, False
            variables.comparison.restart()
            self._later(partial(self._compare, self._ticket), self.settings.idle_delay)

    def touch(self) -> None:
        """Take note that a callback of the user's ran on the main thread, outside of any cell."""
        variables = self._parts.variables
        if variables is not None and self._open is None and not self.is_child:
            variables.touch()
            # Messages may come more often than a comparison takes: it is carried on, and followed by another.
            self._again = self._compares
            if not self._compares:
                self.rest()

    def _later(self, job: Callable[[], None], delay: float) -> None:
        self.main_thread.later(job, delay)

    def _compare(self, ticket: int) -> None:
        """Take one step of the comparison, and go on later."""
        variables = self._parts.variables
        if ticket != self._ticket:
            return
        if variables is None or not self.records or self._open is not None:
            self._compares = False
            return
        if self._pending or variables.waits or busy_thread(variables.tracker.namespace) or not self._mutex.acquire(0):
            self._later(partial(self._compare, ticket), self.settings.idle_delay)
            return
        goes_on = False
        try:
            with self._fence("The variables could not be compared"), hook.suspended():
                goes_on, found = variables.compare(_STEP)
                if found:
                    self._capture_span(self._copy_deadline())
        finally:
            self._mutex.release()
        self._compares = goes_on
        if goes_on:
            self._later(partial(self._compare, ticket), _PAUSE)
        elif self._again:
            self.rest()

    # -- the undo of a rewind --------------------------------------------------------------------------------------

    def _hold_for_undo(self, move: OperationId) -> None:
        """Hold what *move* took away for as long as a preview lives; then its undo works with copies alone."""
        self._held = move
        self._later(lambda: self._let_expire(move), self.settings.pending_ttl)

    def _results_gone(self, plan: RewindPlan) -> Iterator[Note]:
        """Yield what *plan* cannot bring back since the move that it undoes was made too long ago."""
        if plan.undone in self._expired and plan.brought_back:
            minutes = max(1, round(self.settings.pending_ttl / 60))
            yield Note("Out", f"results of cells are held for {minutes} min after a rewind; they come when run again")

    def _let_expire(self, move: OperationId) -> None:
        if self._held != move or self._health.closed:
            # A later move holds things of its own, for as long as its own time.
            return
        self._held = None
        self._expired.add(move)
        if self._parts.variables is not None:
            self._parts.variables.guard.release()
        if self._parts.shell is not None:
            self._parts.shell.expire()
