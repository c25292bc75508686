"""The edges of turns: IPython's cell events, fenced so that nothing of ours reaches a cell."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from nbrewind.errors import RewindError
from nbrewind.extension.atomic import is_atomic
from nbrewind.extension.cells import is_blank, is_only_magics
from nbrewind.extension.history import ShellState
from nbrewind.model import TurnStatus
from nbrewind.session.turns import TurnEnd, TurnStart

__all__ = ["CellHooks", "TurnPort"]

_LOG = logging.getLogger("nbrewind")
_EVENTS = ("pre_run_cell", "post_run_cell", "post_execute")
_OWN_TARGET = "nbrewind"
_INSIDE = "%%atomic: the cell that failed ran inside another one, which alone can be taken back: %rewind back."


class TurnPort(Protocol):
    """What the hooks need of a session."""

    def begin_turn(self, start: TurnStart, *, wait: bool = True) -> None:
        """Open a turn; raises nothing but an interrupt."""

    def end_turn(self, end: TurnEnd) -> None:
        """Close it. Never raises."""

    def join_turn(self) -> None:
        """Take note of a cell inside the open turn, or beside it."""

    def touch(self) -> None:
        """Take note that a callback ran between two cells."""

    def take_back_turn(self) -> str:
        """Take the turn back that just ended; return the sentence that says so. Raises RewindError."""


class OutputPort(Protocol):
    """What the hooks need of the collector of outputs."""

    def begin(self, number: int | None) -> None:
        """A cell starts to show things."""

    def end(self, error: BaseException | None = None) -> str:
        """Return what it showed as nbformat JSON text."""


@dataclass(frozen=True, slots=True)
class _Cell:
    thread: int
    request: str
    info: Any


class CellHooks:
    """Turns IPython's cell events into turns.

    Only the outermost cell is a turn: cells inside it and a subshell's cell beside it join. A `post` without its `pre`
    (blank cells, the cell that loads us) is passed over. Each callback swallows what it raises: IPython would show it
    in the user's cell. *begun* is called first, in the context of the cell.
    """

    def __init__(
        self,
        shell: Any,
        session: TurnPort,
        state: ShellState,
        outputs: OutputPort,
        begun: Callable[[], None] = lambda: None,
    ) -> None:
        self._shell = shell
        self._begun = begun
        self._session = session
        self._state = state
        self._outputs = outputs
        self._lock = threading.Lock()
        self._running: list[_Cell] = []
        self._turn_is_open = False
        self._failed_inside = False
        self._callbacks: dict[str, Callable[..., None]] = {
            "pre_run_cell": self._fenced(self._pre, _interrupt_soon),
            # The cell that a stop was meant for is over: sent again, it would hit the next one.
            "post_run_cell": self._fenced(self._post, lambda: None),
            "post_execute": self._fenced(self._after_any, lambda: None),
        }

    def install(self) -> None:
        """Register for the events."""
        for event in _EVENTS:
            self._shell.events.register(event, self._callbacks[event])

    def uninstall(self) -> None:
        """Leave the events. Twice is fine."""
        for event in _EVENTS:
            if self._callbacks[event] in self._shell.events.callbacks[event]:
                self._shell.events.unregister(event, self._callbacks[event])

    def first(self, info: Any) -> None:
        """Take a cell whose `pre` came before `install` in the same event."""
        self._callbacks["pre_run_cell"](info)

    @property
    def cell_is_running(self) -> bool:
        """Return whether a cell that IPython told us of is running."""
        return bool(self._running)

    # -- events ---------------------------------------------------------------------------------------------------

    def _pre(self, info: Any) -> None:
        raw = getattr(info, "raw_cell", "") or ""
        if is_blank(raw):
            return
        self._begun()
        keeps = bool(getattr(info, "store_history", True)) and not getattr(info, "silent", False)
        number = self._state.next_number() - 1 if keeps else None
        if number is not None:
            self._state.note_input(number)
        if not self._push(_Cell(threading.get_ident(), self._request(), info)):
            self._session.join_turn()
            return
        self._failed_inside = False
        if is_only_magics(raw, getattr(info, "transformed_cell", None), self._shell):
            self._state.enter("")
            return
        self._state.enter(f"[{number}] is still running." if number is not None else "A cell is still running.")
        self._turn_is_open = True
        start = TurnStart(
            code=raw,
            transformed=getattr(info, "transformed_cell", None),
            number=number,
            cell_id=getattr(info, "cell_id", None),
            started=time.time(),
            only_if_effect=not keeps,
            asked_for=is_atomic(raw),
        )
        try:
            self._session.begin_turn(start)
        except KeyboardInterrupt:
            # The stop was meant for the cell, which starts all the same: open its turn without waiting any more.
            self._session.begin_turn(start, wait=False)
            _interrupt_soon()
        self._outputs.begin(number)

    def _post(self, result: Any) -> None:
        info = getattr(result, "info", None)
        failed_atomic = raised_by(result) is not None and self._is_atomic(getattr(info, "raw_cell", "") or "")
        if not self._pop(info):
            self._failed_inside = self._failed_inside or failed_atomic
            return
        try:
            if self._turn_is_open:
                self._turn_is_open = False
                status, error = outcome(result)
                outputs = self._outputs.end(raised_by(result))
                self._session.end_turn(TurnEnd(status=status, error=error, ended=time.time(), outputs=outputs))
                inside = self._failed_inside
                if failed_atomic or (inside and is_atomic(getattr(info, "raw_cell", "") or "")):
                    self._take_back()
                elif inside:
                    sys.stdout.write(f"{_INSIDE}\n")
        finally:
            self._state.leave()

    def _after_any(self, _: None) -> None:
        """Hear of messages to comms: the callbacks of widgets."""
        if not self._running and threading.current_thread() is threading.main_thread():
            request = self._shell.get_parent() if hasattr(self._shell, "kernel") else {}
            comm = (request.get("content") or {}).get("comm_id", "")
            if comm and self._target(comm) != _OWN_TARGET:
                self._session.touch()

    def _target(self, comm: str) -> str:
        known = getattr(getattr(self._shell.kernel, "comm_manager", None), "comms", {})
        return str(getattr(known.get(comm), "target_name", ""))

    def _is_atomic(self, raw: str) -> bool:
        """Return whether *raw* asks to be taken back, or is what another cell magic makes of the cell that asks."""
        outer = getattr(self._running[0].info, "raw_cell", "") if self._running else ""
        return is_atomic(raw) or (bool(raw.strip()) and is_atomic(outer) and outer.rstrip().endswith(raw.rstrip()))

    def _take_back(self) -> None:
        """Bring back what stood before the cell that failed, and say so in its output."""
        self._state.enter("")
        try:
            said = self._session.take_back_turn()
        except RewindError as error:
            said = f"%%atomic: the cell failed and could not be taken back: {error.message}"
        except KeyboardInterrupt:
            said = "%%atomic: stopped, so what the cell did was not taken back. %rewind back does it."
        sys.stdout.write(f"{said}\n")

    def _push(self, cell: _Cell) -> bool:
        """Note that *cell* runs; return whether it is the outermost."""
        with self._lock:
            # One thread serves one request at a time: a cell of another one ended without our hearing of it.
            self._running = [
                known for known in self._running if known.thread != cell.thread or known.request == cell.request
            ]
            self._running.append(cell)
            return len(self._running) == 1

    def _request(self) -> str:
        """Return the id of the request that this thread serves ("" in a terminal)."""
        try:
            return str(self._shell.get_parent()["header"]["msg_id"])
        except (AttributeError, KeyError, TypeError, LookupError):
            return ""

    def _pop(self, info: Any) -> bool:
        """Take the cell of *info* off; return whether it was the last one running."""
        raw = getattr(info, "raw_cell", "")
        if info is not None and is_blank(raw):
            return False
        me = threading.get_ident()
        with self._lock:
            mine = [index for index, cell in enumerate(self._running) if cell.thread == me]
            same = [index for index in mine if self._running[index].info is info]
            # A cell that died in IPython's own machinery comes back with a new `info` of the same text.
            same = same or [index for index in mine[-1:] if getattr(self._running[index].info, "raw_cell", None) == raw]
            if not same:
                return False
            for index in reversed([index for index in mine if index >= same[-1]]):
                del self._running[index]
            return not self._running

    def _fenced(self, callback: Callable[[Any], None], interrupted: Callable[[], None]) -> Callable[[Any], None]:
        def fenced(argument: Any = None) -> None:
            try:
                callback(argument)
            except KeyboardInterrupt:
                interrupted()
            except Exception:  # noqa: BLE001  the cell comes first
                _LOG.warning("nbrewind could not follow a cell.", exc_info=True)

        return fenced


def raised_by(result: Any) -> BaseException | None:
    """Return what ended a cell, None for one that ran through."""
    for name in ("error_before_exec", "error_in_exec"):
        error = getattr(result, name, None)
        if isinstance(error, BaseException):
            return error
    return None


def outcome(result: Any) -> tuple[TurnStatus, str]:
    """Return how a cell ended, and its error as one line."""
    error = raised_by(result)
    if error is None:
        return TurnStatus.OK, ""
    # An interrupted async cell ends with CancelledError.
    if isinstance(error, KeyboardInterrupt | asyncio.CancelledError):
        return TurnStatus.INTERRUPTED, type(error).__name__
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  a user's exception may not be able to say what it is
        text = ""
    return TurnStatus.ERROR, f"{type(error).__name__}: {text}"[:500]


def _interrupt_soon() -> None:
    """Interrupt again in a moment: a stop that came while our hook ran was meant for the cell."""
    main = threading.main_thread().ident
    if main is not None and threading.current_thread() is threading.main_thread():
        timer = threading.Timer(0.05, signal.pthread_kill, (main, signal.SIGINT))
        timer.daemon = True
        timer.start()
