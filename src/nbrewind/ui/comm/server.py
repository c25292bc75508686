"""The server: one comm per front end, each request answered once, and everyone told what is new.

Which thread a request arrives in is not predictable (a subshell's, or the main one, even in the middle of an async
cell). What only looks is answered where it arrives; what plans or moves goes to the main thread, and is refused while a
cell runs. Whatever fails here is an answer to who asked, and nothing to anybody else.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from nbrewind.errors import RewindError, UsageError
from nbrewind.session.mainthread import is_main
from nbrewind.session.session import RewindResult, Session
from nbrewind.session.worker import Worker
from nbrewind.ui.board.previews import changed_paths
from nbrewind.ui.board.view import BoardMaker
from nbrewind.ui.comm.client import Client
from nbrewind.ui.comm.progress import Progress
from nbrewind.ui.comm.protocol import VERSION, checked, checked_hello
from nbrewind.ui.counter.answers import Answers
from nbrewind.ui.counter.faults import fault_data, unexpected_data
from nbrewind.ui.counter.herald import Herald
from nbrewind.ui.counter.moves import Moves
from nbrewind.ui.counter.request import Request

__all__ = ["CommServer"]

_LOG = logging.getLogger("nbrewind")
_MOST_CLIENTS = 32
_LONG = frozenset({"confirm", "undo", "redo", "free_space"})
"""Requests that may take long: in a thread of their own, so that a subshell goes on hearing `cancel`."""


class CommServer:
    """Serves a session to front ends. Without any, it does nothing at all."""

    def __init__(self, session: Session, version: str) -> None:
        self._session = session
        self._version = version
        self._clients: dict[str, Client] = {}
        self._lock = threading.Lock()
        self._board = BoardMaker(session)
        self._answers = Answers(session)
        self._moves = Moves(session)
        self._herald = Herald(self._push_boards)
        self._errands = Worker()
        self._mover: Client | None = None
        self._progress: Progress | None = None
        self._ends: list[Callable[[], None]] = []

    def install(self) -> None:
        """Serve from now on."""
        self._session.front_end = self._has_document
        self._ends += [self._session.watch(self._stirred), self._session.on_rewound(self._rewound)]

    def uninstall(self) -> None:
        """Say goodbye and leave. Twice is fine."""
        if self._session.front_end == self._has_document:
            self._session.front_end = None
        while self._ends:
            self._ends.pop()()
        self._herald.close()
        with self._lock:
            clients, self._clients = list(self._clients.values()), {}
        for client in clients:
            client.push("bye", {"text": "nbrewind was switched off in this kernel."})
            client.close()

    # -- clients --------------------------------------------------------------------------------------------------

    def _here(self) -> list[Client]:
        with self._lock:
            return [client for client in self._clients.values() if client.is_here]

    def _has_document(self) -> bool:
        return any(client.patches for client in self._here())

    def opened(self, comm: Any, message: dict[str, Any]) -> None:
        """Take a client up: its comm carries the hello as data."""
        client = Client(comm, "")
        try:
            request = checked_hello(message["content"].get("data"))
        except RewindError as error:
            client.refuse("hello", fault_data(error))
            client.close()
            return
        comm.on_msg(lambda received: self._received(client, received))
        comm.on_close(lambda received: self._closed(client))
        self._handle(client, request)

    def _admit(self, client: Client, request: Request) -> None:
        client.key = request.text("client")
        client.patches = request.has("patches") or request.text("front_end") in ("lab", "notebook")
        client.forget_board()
        with self._lock:
            before = self._clients.pop(client.key, None)
            self._clients[client.key] = client
            crowd = list(self._clients.values())[:-_MOST_CLIENTS]
            for one in crowd:
                del self._clients[one.key]
        for gone in (before, *crowd):
            if gone is not None and gone is not client:
                gone.close()

    def _closed(self, client: Client) -> None:
        with self._lock:
            if self._clients.get(client.key) is client:
                del self._clients[client.key]

    # -- requests -------------------------------------------------------------------------------------------------

    def _received(self, client: Client, message: dict[str, Any]) -> None:
        data = message.get("content", {}).get("data")
        try:
            client.heard()
            request = checked(data)
        except RewindError as error:
            said = data.get("id") if isinstance(data, dict) else None
            client.refuse(said if isinstance(said, str) and len(said) <= 80 else None, fault_data(error))
            return
        except KeyboardInterrupt:
            client.refuse(None, unexpected_data(KeyboardInterrupt()))
            return
        if request.verb in _LONG and not is_main() and self._errands.submit(lambda: self._handle(client, request)):
            return
        self._handle(client, request)

    def _handle(self, client: Client, request: Request) -> None:
        """Answer *request*, whatever happens."""
        try:
            self._answer(client, request)
        except RewindError as error:
            client.refuse(request.id, fault_data(error))
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  the top handler of this front end
            # Not louder: what is logged here would be shown below somebody's cell.
            _LOG.debug("The request %s failed.", request.verb, exc_info=True)
            client.refuse(request.id, unexpected_data(error))

    def _answer(self, client: Client, request: Request) -> None:
        verb, moves = request.verb, self._moves
        if verb == "hello":
            self._hello(client, request)
        elif verb == "board":
            self._answer_board(client, request)
        elif verb == "cancel":
            client.reply(request.id, self._cancel(client, request))
        elif verb in self._answers.verbs:
            client.reply(request.id, self._answers.verbs[verb](request))
        elif verb in moves.previews:
            client.reply(request.id, self._session.on_main_thread(lambda: moves.previews[verb](request)))
        elif verb in moves.moves:
            self._move(client, request)
        elif verb in moves.chores:
            client.reply(request.id, {"text": moves.chore(request)}, self._board.board)
        else:
            raise UsageError(f"{verb} is not served here.")

    def _hello(self, client: Client, request: Request) -> None:
        self._admit(client, request)
        if request.text("path"):
            self._answers.heed_path(request.text("path"))
        patch = self._moves.patch() if client.patches else None
        client.reply(
            request.id, {"version": VERSION, "nbrewind": self._version, "patch": patch}, self._board.board
        )  # fmt: skip

    def _answer_board(self, client: Client, request: Request) -> None:
        other = request.text("session")
        if other and other != self._session.id:
            client.reply(request.id, self._answers.board_of(other).data())
        else:
            client.reply_board(request.id, request.text("revision"), self._board.board())

    def _cancel(self, client: Client, request: Request) -> dict[str, Any]:
        if request.text("of"):
            progress = self._progress
            stopped = progress is not None and progress.stop(client, request.text("of"))
            text = "It is being stopped." if stopped else "It cannot be stopped any more."
            return {"cancelled": stopped, "text": text}
        dropped = self._moves.cancel(request.text("token"))
        text = "Dropped. Nothing changed." if dropped else "There was nothing to drop. Nothing changed."
        return {"cancelled": dropped, "text": text}

    def _move(self, client: Client, request: Request) -> None:
        def act() -> dict[str, Any]:
            # Only here, on the main thread: one move at a time.
            self._mover, self._progress = client, Progress(client, request.id)
            self._session.progress = self._progress
            try:
                return self._moves.moves[request.verb](request)
            finally:
                self._session.progress = self._progress = self._mover = None

        data = self._moves.on_main_thread(act)
        if "operation" in data:
            client.reply(request.id, data, self._board.board)
        else:
            client.reply(request.id, data)

    # -- news -----------------------------------------------------------------------------------------------------

    def _stirred(self) -> None:
        if self._clients:
            self._herald.stir()

    def _push_boards(self) -> None:
        clients = self._here()
        if clients and not self._session.is_child:
            board = self._board.board()
            for client in clients:
                client.push_board(board)

    def _rewound(self, result: RewindResult) -> None:
        """Tell everyone but the one who asked, whose answer says it already."""
        others = [client for client in self._here() if client is not self._mover]
        if others:
            self._herald.tell(lambda: self._tell_move(others, result))
            self._herald.stir()

    def _tell_move(self, clients: list[Client], result: RewindResult) -> None:
        paths = changed_paths(result.plan.steps)
        patch = self._moves.patch(result) if any(client.patches for client in clients) else None
        for client in clients:
            if patch is not None and client.patches:
                client.push("patch", patch)
            if paths:
                client.push("files", {"paths": paths})
