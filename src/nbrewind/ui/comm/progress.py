"""Progress of a move: told to who asked for it once it takes long, and the way to stop it before anything is moved."""

from __future__ import annotations

import time

from nbrewind.ui.comm.client import Client

__all__ = ["Progress"]

_QUIET = 0.5
"""Seconds for which a move says nothing."""
_PAUSE = 0.2


class Progress:
    """Called for each file that is made ready. All that is moved comes after the last of them."""

    def __init__(self, client: Client, request: str) -> None:
        self._client = client
        self._request = request
        self._told = time.monotonic() + _QUIET - _PAUSE
        self._stopped = False
        self._may_stop = True

    def __call__(self, done: int, total: int) -> None:
        """Tell how far it is.

        Raises:
            KeyboardInterrupt: the person asked to stop; nothing was changed.
        """
        if self._stopped:
            raise KeyboardInterrupt
        self._may_stop = done < total
        now = time.monotonic()
        if now - self._told > _PAUSE:
            self._told = now
            data = {"of": self._request, "text": "Making files ready", "done": done, "total": total}
            self._client.push("progress", {**data, "cancel": self._may_stop})

    def stop(self, client: Client, request: str) -> bool:
        """Stop the move of *client*'s *request*; return whether that is still possible."""
        if client is not self._client or request != self._request or not self._may_stop:
            return False
        self._stopped = True
        return True
