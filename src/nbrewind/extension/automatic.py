"""Loading for every notebook of a user, as `nbrewind enable` asks: with the first cell, and not in batch runs."""

from __future__ import annotations

import logging
from typing import Any

__all__ = ["load_ipython_extension", "unload_ipython_extension"]

_LOG = logging.getLogger("nbrewind")
_ATTRIBUTE = "_nbrewind_waiting"


class _Waiting:
    """Waits for the first cell: only its request tells whether anybody is there."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell

    def install(self) -> None:
        self._shell.events.register("pre_run_cell", self.first_cell)

    def uninstall(self) -> None:
        if self.first_cell in self._shell.events.callbacks["pre_run_cell"]:
            self._shell.events.unregister("pre_run_cell", self.first_cell)

    def first_cell(self, info: Any) -> None:
        """Load, and let this cell be a turn already; say nothing into its output."""
        try:
            if not getattr(info, "store_history", True) or getattr(info, "silent", False):
                return
            self.uninstall()
            if not is_batch(self._shell):
                # Not at the top: a batch run shall not even pay for the import.
                from nbrewind.extension.loading import load

                load(self._shell, info=info)
        except Exception:  # noqa: BLE001  the cell comes first
            _LOG.error("nbrewind could not be loaded.", exc_info=True)


def is_batch(shell: Any) -> bool:
    """Return whether nobody is there: `nbconvert --execute` and its like, or a script given to `ipython`."""
    if hasattr(shell, "kernel"):
        request = shell.get_parent() or {}
        return (request.get("content") or {}).get("allow_stdin") is False
    from IPython.terminal.ipapp import TerminalIPythonApp

    if not TerminalIPythonApp.initialized():
        return True
    app = TerminalIPythonApp.instance()
    return bool(getattr(app, "something_to_run", False)) and not getattr(app, "interact", True)


def load_ipython_extension(shell: Any) -> None:
    """Wait for the first cell of *shell*. Never raises, prints nothing."""
    if getattr(shell, _ATTRIBUTE, None) is None:
        waiting = _Waiting(shell)
        setattr(shell, _ATTRIBUTE, waiting)
        waiting.install()


def unload_ipython_extension(shell: Any) -> None:
    """Wait no more, and switch off what was loaded."""
    waiting = shell.__dict__.pop(_ATTRIBUTE, None)
    if waiting is not None:
        waiting.uninstall()
    from nbrewind.extension.loading import unload

    unload(shell)
