"""A front end at the other end of a comm, over a kernel's own channels: what a sidebar does, without a browser.

Every message that comes is held against protocol.json.
"""

from __future__ import annotations

import itertools
import json
import queue
import time
import uuid
from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import Any

import jsonschema
from jupyter_client.blocking.client import BlockingKernelClient

from tests.builders import TestKernel

__all__ = ["FrontEnd", "Refused", "conforms", "protocol"]


@cache
def protocol() -> dict[str, Any]:
    """Return the protocol, as both languages are tested against it."""
    text = resources.files("nbrewind.ui").joinpath("protocol.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def conforms(value: Any, schema: dict[str, Any]) -> None:
    """Fail where *value* is not what a part of the protocol says."""
    validator = jsonschema.Draft202012Validator({**schema, "$defs": protocol()["$defs"]})
    found = jsonschema.exceptions.best_match(validator.iter_errors(value))
    assert found is None, f"{found.json_path}: {found.message}"[:2000]


class Refused(AssertionError):
    """A request that was answered with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['code']} {error['reason']}: {error['message']}")
        self.error = error


class FrontEnd:
    """One client. *subshell* makes the kernel handle its messages in a thread of their own, as JupyterLab asks."""

    __test__ = False

    def __init__(self, kernel: TestKernel, name: str = "", *, subshell: bool = False) -> None:
        self.name = name or uuid.uuid4().hex
        # Not `manager.client()`: that one shares its identity, and a kernel answers only one of the two.
        self.client = BlockingKernelClient(connection_file=kernel.manager.connection_file)
        self.client.load_connection_file()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)
        self.comm = uuid.uuid4().hex
        self.subshell = self._new_subshell() if subshell else None
        self.replies: dict[str, dict[str, Any]] = {}
        self.pushes: list[dict[str, Any]] = []
        self.greetings: list[dict[str, Any]] = []
        self.closed = False
        self.board: dict[str, Any] = {}
        self.seen: list[dict[str, Any]] = []
        self._ids = map(str, itertools.count(1))
        self._verbs = {"hello": "hello"}

    def _new_subshell(self) -> str:
        message = self.client.session.msg("create_subshell_request", {})
        self.client.control_channel.send(message)
        while True:
            reply = self.client.control_channel.get_msg(timeout=30)
            if reply["parent_header"].get("msg_id") == message["header"]["msg_id"]:
                return str(reply["content"]["subshell_id"])

    def _send(self, kind: str, content: dict[str, Any]) -> None:
        message = self.client.session.msg(kind, {"comm_id": self.comm, **content})
        if self.subshell is not None:
            message["header"]["subshell_id"] = self.subshell
        self.client.shell_channel.send(message)

    def hello(self, **more: Any) -> dict[str, Any]:
        """Open the comm, and return what the kernel says."""
        data = {"client": self.name, "version": 1, "front_end": "lab", "patches": True, **more}
        self._send("comm_open", {"target_name": "nbrewind", "data": data})
        return self.reply("hello")

    def send(self, verb: str, **fields: Any) -> str:
        """Send a request and return its id."""
        identifier = next(self._ids)
        self._verbs[identifier] = verb
        self._send("comm_msg", {"data": {"id": identifier, "verb": verb, **fields}})
        return identifier

    def send_raw(self, data: Any) -> None:
        """Send anything at all."""
        self._send("comm_msg", {"data": data})

    def ask(self, verb: str, **fields: Any) -> dict[str, Any]:
        """Send a request and return the data of its reply; an error is raised as `Refused`."""
        return self.reply(self.send(verb, **fields))

    def refusal(self, verb: str, **fields: Any) -> dict[str, Any]:
        """Send a request that is to be refused, and return the error."""
        try:
            data = self.ask(verb, **fields)
        except Refused as refused:
            return refused.error
        raise AssertionError(f"{verb} was not refused: {data}")

    def reply(self, identifier: str | None, timeout: float = 60) -> dict[str, Any]:
        """Return the data of a reply, once it is there."""
        found = self.until(lambda: self.replies.pop(str(identifier), None), timeout=timeout)
        assert found is not None, f"no reply to {identifier}; {self.pushes[-3:]}"
        if not found["ok"]:
            raise Refused(found["error"])
        data: dict[str, Any] = found["data"]
        self._heed(data.get("board"))
        return data

    def push(self, what: str, timeout: float = 60) -> dict[str, Any]:
        """Return the data of the next push of that kind."""

        def there() -> dict[str, Any] | None:
            found = next((push for push in self.pushes if push["push"] == what), None)
            if found is not None:
                self.pushes.remove(found)
            return found

        found = self.until(there, timeout=timeout)
        assert found is not None, f"no {what} came"
        data: dict[str, Any] = found["data"]
        return data

    def until(self, claim: Callable[[], Any], timeout: float = 60) -> Any:
        """Listen until *claim* gives something, and return that; None after *timeout*."""
        end = time.monotonic() + timeout
        while not (found := claim()):
            if time.monotonic() > end:
                return None
            self.listen(0.05)
        return found

    def board_where(self, claim: Callable[[dict[str, Any]], Any], timeout: float = 60) -> dict[str, Any]:
        """Return the board once *claim* holds of it."""
        assert self.until(lambda: self.board and claim(self.board), timeout=timeout), self.board
        return self.board

    def listen(self, seconds: float) -> None:
        """Take in what comes within *seconds*."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                message = self.client.iopub_channel.get_msg(timeout=left)
            except queue.Empty:
                return
            self._take(message)

    def _take(self, message: dict[str, Any]) -> None:
        content, kind = message["content"], message["msg_type"]
        if kind == "comm_open" and content["target_name"] == "nbrewind.hello":
            self.greetings.append(content["data"])
        if content.get("comm_id") != self.comm:
            return
        if kind == "comm_close":
            self.closed = True
        elif kind == "comm_msg":
            data = content["data"]
            self._check(data)
            self.seen.append(data)
            if "reply" in data:
                self.replies[str(data["reply"])] = data
            else:
                self.pushes.append(data)
                if data["push"] == "board":
                    self._heed(data["data"])

    def _check(self, data: dict[str, Any]) -> None:
        if "push" in data:
            assert data.keys() == {"push", "data"}
            conforms(data["data"], protocol()["pushes"][data["push"]])
            return
        conforms(data, protocol()["reply"])
        if data["ok"] and data["reply"] in self._verbs:
            conforms(data["data"], protocol()["verbs"][self._verbs[data["reply"]]]["reply"])

    def run(self, code: str, cell: str | None = None, timeout: float = 60) -> str:
        """Run *code* as the cell with that id, and return the status of the reply."""
        identifier = self.start(code, cell)
        while True:
            reply = self.client.get_shell_msg(timeout=timeout)
            if reply["parent_header"].get("msg_id") == identifier:
                return str(reply["content"]["status"])

    def start(self, code: str, cell: str | None = None) -> str:
        """Run *code* as the cell with that id without waiting for it."""
        content = {"code": code, "silent": False, "store_history": True, "allow_stdin": True, "stop_on_error": True}
        message = self.client.session.msg("execute_request", {**content, "user_expressions": {}})
        if cell is not None:
            message["metadata"]["cellId"] = cell
        self.client.shell_channel.send(message)
        return str(message["header"]["msg_id"])

    def _heed(self, board: dict[str, Any] | None) -> None:
        """Take a board over as the protocol says: new rows in front, the last *keep* of the one before behind."""
        if not board:
            return
        rows = board["rows"]
        if board["keep"]:
            assert board["base"] == self.board["revision"], "a difference from a board that was never sent"
            rows = rows + self.board["rows"][-board["keep"] :]
        self.board = {**board, "rows": rows}

    def close(self) -> None:
        """Close the channels, as a page does that is closed: without a word."""
        self.client.stop_channels()
