"""Examining: when variables are looked at, always on the kernel's main thread and never while a cell runs."""

from __future__ import annotations

from contextlib import AbstractContextManager

from nbrewind.capture import hook
from nbrewind.session.beginning import Beginning
from nbrewind.session.mainthread import is_main

__all__ = ["Examining"]


class Examining(Beginning):
    """Looks at the variables of a turn once it is over, and at what changed between two turns."""

    @property
    def _waits_for_main(self) -> bool:
        """Return whether only the kernel's own thread can go on: it alone looks at variables."""
        variables = self._parts.variables
        return variables is not None and not variables.is_ready and not is_main()

    def _examine_waiting(self, timeout: float) -> None:
        """Look at the variables of the only turn that waits, if nothing else goes on for *timeout* seconds."""
        if self._pending == 1 and self._parts.variables is not None and self._mutex.acquire(timeout):
            try:
                with self._fence("The variables could not be examined"), hook.suspended():
                    self._examine_turn()
            finally:
                self._mutex.release()

    def _fence(self, what: str) -> AbstractContextManager[None]:
        raise NotImplementedError

    def _examine_turn(self) -> bool:
        """Look at the variables of the only turn that waits; return whether at all of them."""
        variables = self._parts.variables
        if variables is None or self._pending != 1 or self._open is not None or variables.is_ready or not is_main():
            return False
        self._finish_beginning()
        variables.examine(of_turn=True, everything=self._distrust)
        return self._distrust and variables.waits

    def _examine_gap(self) -> None:
        """Look at what changed between two cells: new bindings and what callbacks reach; before a move, everything."""
        variables = self._parts.variables
        if variables is None or self._health.paused or not (self._distrust or variables.may_differ()):
            return
        if self._distrust:
            # What an earlier look found, and nobody stored, may be older than the namespace.
            variables.forget()
        if not variables.examine(of_turn=False, everything=self._distrust):
            variables.drop()
