"""Examining: when variables are looked at, always on the kernel's main thread and never while a cell runs."""

from __future__ import annotations

import threading
from typing import Any

from nbrewind.session.beginning import Beginning

__all__ = ["Examining", "is_main"]


class Examining(Beginning):
    """Looks at the variables of a turn once it is over, and at what changed between two turns."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._pending = 0

    def _examine_turn(self) -> bool:
        """Look at the variables of the only turn that waits; return whether at all of them."""
        variables = self._parts.variables
        if variables is None or self._pending != 1 or self._open is not None or variables.is_ready or not is_main():
            return False
        self._finish_beginning()
        variables.examine(of_turn=True, everything=self._distrust)
        return self._distrust

    def _examine_gap(self) -> None:
        """Look at what changed between two cells: names that were bound; before a move, everything."""
        variables = self._parts.variables
        if variables is None or self._health.paused or not (self._distrust or variables.rebound()):
            return
        if not variables.examine(of_turn=False, everything=self._distrust):
            variables.drop()


def is_main() -> bool:
    """Return whether this is the kernel's own thread."""
    return threading.current_thread() is threading.main_thread()
