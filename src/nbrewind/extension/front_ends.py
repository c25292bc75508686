"""Front ends in pages: sidebars over comms, and panels. Nothing is served, or even loaded, until one is wanted."""

from __future__ import annotations

import logging
import threading
from typing import Any

from nbrewind import __version__
from nbrewind.errors import UsageError
from nbrewind.session.session import Session
from nbrewind.ui.page import Page
from nbrewind.ui.verbs import Desk

__all__ = ["FrontEnds"]

_LOG = logging.getLogger("nbrewind")
_TARGET = "nbrewind"
_HELLO = "nbrewind.hello"
_VERSION = 1


class FrontEnds:
    """Waits for comms of our target. Without a kernel, or with an old one, there are none."""

    def __init__(self, shell: Any, session: Session) -> None:
        self._manager: Any = getattr(getattr(shell, "kernel", None), "comm_manager", None)
        self._session = session
        self._server: Any = None
        self._panels: Any = None
        self._lock = threading.Lock()

    def install(self) -> None:
        """Listen, and tell front ends that are there already that we are here. Never raises."""
        if self._manager is None:
            return
        try:
            self._manager.register_target(_TARGET, self._opened)
            self._greet()
        except Exception:  # noqa: BLE001  without a sidebar there is still %rewind
            _LOG.debug("Front ends cannot be served.", exc_info=True)

    def uninstall(self) -> None:
        """Say goodbye. Twice is fine."""
        with self._lock:
            panels, self._panels = self._panels, None
        if panels is not None:
            panels.close()
        if self._manager is None:
            return
        if self._manager.targets.get(_TARGET) == self._opened:
            self._manager.unregister_target(_TARGET, self._opened)
        with self._lock:
            server, self._server = self._server, None
        if server is not None:
            server.uninstall()

    def show_panel(self, cell: str) -> Page:
        """Return a page with a panel, for the cell of that name.

        Raises:
            UsageError: there is no kernel, or no ipywidgets.
        """
        if self._manager is None:
            raise UsageError("A panel needs a notebook. Nothing changed.", hint="%rewind lists the points here.")
        page: Page = self._with_widgets().open(cell)
        return page

    def answer(self, desk: Desk, token: str) -> Page | None:
        """Return a page with the buttons that answer a preview, None where there can be none. Never raises."""
        try:
            page: Page | None = self._with_widgets().answer(desk, token) if self._manager is not None else None
        except Exception:  # noqa: BLE001  the preview says what to type
            _LOG.debug("A preview has no buttons.", exc_info=True)
            return None
        return page

    def _with_widgets(self) -> Any:
        # Not at the top, as above: who asks for no panel does not pay for the import of widgets.
        from nbrewind.ui.panel.requirement import require_widgets

        require_widgets()
        with self._lock:
            if self._panels is None:
                from nbrewind.ui.panel.panels import Panels

                self._panels = Panels(self._session)
        return self._panels

    def _opened(self, comm: Any, message: dict[str, Any]) -> None:
        with self._lock:
            if self._server is None:
                # Not at the top: a kernel without a sidebar shall not even pay for the import.
                from nbrewind.ui.comm.server import CommServer

                self._server = CommServer(self._session, __version__)
                self._server.install()
        self._server.opened(comm, message)

    def _greet(self) -> None:
        """Open a comm and close it at once: a page that was there before us opens its own on that."""
        from comm import create_comm

        create_comm(target_name=_HELLO, data={"version": _VERSION}).close()
