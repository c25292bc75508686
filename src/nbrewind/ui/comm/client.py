"""A client: one front end at the other end of a comm, with what it has been told."""

from __future__ import annotations

import contextvars
import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from nbrewind.ui.board.view import Board

__all__ = ["Client", "Link"]

_LOG = logging.getLogger("nbrewind")
_HERE = 90.0
"""Seconds without a word after which a front end counts as gone: browsers slow hidden tabs down to a poll a minute."""


class Link(Protocol):
    """What is needed of a comm."""

    comm_id: str

    def send(self, data: dict[str, Any]) -> None:
        """Send a message to the other end."""

    def close(self) -> None:
        """Close both ends."""


class Client:
    """One front end.

    Everything is sent in the context of its own last message: the kernel routes the next message of a comm to the
    thread whose message was being handled when the comm last sent something, and ours must never have to wait for a
    cell.
    """

    def __init__(self, link: Link, key: str) -> None:
        self.link = link
        self.key = key
        self.patches = False
        self.seen = time.monotonic()
        self._context = contextvars.copy_context()
        self._board: Board | None = None
        self._lock = threading.RLock()

    @property
    def is_here(self) -> bool:
        """Return whether it said something lately."""
        return time.monotonic() - self.seen < _HERE

    def heard(self) -> None:
        """Take note of a message; called by the thread that handles it."""
        self.seen = time.monotonic()
        self._context = contextvars.copy_context()

    def reply(self, request: str, data: Mapping[str, Any], make: Callable[[], Board] | None = None) -> None:
        """Answer *request* with *data*, and with the board that *make* gives."""
        with self._lock:
            told = dict(data)
            if make is not None:
                told["board"] = self._news(make())
            self.send({"reply": request, "ok": True, "data": told})

    def reply_board(self, request: str, known: str, board: Board) -> None:
        """Answer with the whole board, or that it is the one *known*."""
        with self._lock:
            self._board = board
            data = {"unchanged": True} if board.revision == known else board.data()
            self.send({"reply": request, "ok": True, "data": data})

    def refuse(self, request: str | None, error: Mapping[str, Any]) -> None:
        """Answer *request* with an error."""
        self.send({"reply": request, "ok": False, "error": dict(error)})

    def push_board(self, board: Board) -> None:
        """Send what is new on the board, if anything is."""
        with self._lock:
            if self._board is None or board.revision != self._board.revision:
                self.push("board", self._news(board))

    def push(self, what: str, data: Mapping[str, Any]) -> None:
        """Send something that nobody asked for."""
        self.send({"push": what, "data": dict(data)})

    def forget_board(self) -> None:
        """Send the whole board next time."""
        with self._lock:
            self._board = None

    def send(self, data: dict[str, Any]) -> None:
        """Send *data*; a channel that is gone is no error of anybody."""
        try:
            self._context.copy().run(self.link.send, data)
        except Exception:  # noqa: BLE001  the channel's own errors are of any kind
            _LOG.debug("A front end could not be told.", exc_info=True)

    def close(self) -> None:
        """Close the comm."""
        try:
            self._context.copy().run(self.link.close)
        except Exception:  # noqa: BLE001  as above
            _LOG.debug("A comm could not be closed.", exc_info=True)

    def _news(self, board: Board) -> dict[str, Any]:
        before, self._board = self._board, board
        return board.data(before)
