"""In, Out, the prompt number and IPython's history session follow the moves of a session."""

from __future__ import annotations

import asyncio
import builtins
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from nbrewind.model import OperationId
from nbrewind.session.shell import ShellMove

__all__ = ["ShellState"]

_LOG = logging.getLogger("nbrewind")
_UNDERSCORES = ("_", "__", "___")
_CACHED = re.compile(r"_(i?)([1-9][0-9]*)\Z")


@dataclass(slots=True)
class _Guard:
    """What a rewind took out of In and Out. It holds the user's objects, so it lives only until the undo expires."""

    first: int
    parsed: list[str]
    raw: list[str]
    positions: dict[int, int]
    outputs: dict[int, Any]
    records: tuple[dict[int, Any], ...]
    names: dict[str, Any] = field(default_factory=dict)


class ShellState:
    """`ShellPort` over a live IPython shell.

    `In` is not indexed by number (IPython leaves out `exit` and pasted cells), so `note_input` records before each
    cell where its input will stand. All changes are in place: `In`, `_ih` and the history's list are one object.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._positions: dict[int, int] = {}
        self._guards: dict[OperationId, _Guard] = {}
        self._inside = ""
        self._waiting: list[Callable[[], None]] = []

    # -- cells ----------------------------------------------------------------------------------------------------

    def note_input(self, number: int) -> None:
        """Record where the input of cell *number* is going to stand; called before the cell is stored."""
        history = self._shell.history_manager
        if history is not None:
            self._positions[number] = len(history.input_hist_parsed)

    def enter(self, sentence: str) -> None:
        """Take note that a cell runs; *sentence* says why files may not be moved from inside it ("" if they may)."""
        self._inside = sentence or " "

    def leave(self) -> None:
        """Apply what waited for the cell's end: after the reply in a kernel, at once elsewhere."""
        self._inside = ""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        try:
            # The reply is built from the counter after this hook: changed now, it would renumber the cell itself.
            asyncio.get_running_loop().call_soon(_run_all, waiting)
        except RuntimeError:
            _run_all(waiting)

    # -- ShellPort ------------------------------------------------------------------------------------------------

    def next_number(self) -> int:
        """Return the number that the next prompt has."""
        return int(self._shell.execution_count)

    def bound_names(self) -> frozenset[str]:
        """Return the names in the user's namespace that are not IPython's own."""
        hidden = self._shell.user_ns_hidden
        return frozenset(name for name in list(self._shell.user_ns) if isinstance(name, str) and name not in hidden)

    def may_move(self) -> str:
        """Return why files may not be moved now, or ""."""
        return self._inside.strip()

    def follow(self, move: ShellMove) -> None:
        """Bring In, Out and counters to *move*: at once, or after the reply of the running cell."""
        if self._inside:
            self._waiting.append(lambda: self._follow(move))
        else:
            _run_all([lambda: self._follow(move)])

    def expire(self) -> None:
        """Drop the objects held for an undo."""
        self._guards.clear()

    # -- the change itself ----------------------------------------------------------------------------------------

    def _follow(self, move: ShellMove) -> None:
        history = self._shell.history_manager
        if history is None:
            self._shell.execution_count = move.next_number
            return
        # The line numbers are used again, and (session, line) is the key of the history table.
        with suppress(Exception):
            history.writeout_cache()
            history.new_session()
        back = self._guards.pop(move.undone, None) if move.undone else None
        self._guards[move.operation] = self._cut(move.cut_from)
        if back is not None:
            self._put_back(back, move.next_number)
        self._fill_in(move)
        self._shell.execution_count = move.next_number
        self._set_shortcuts()

    def _cut(self, first: int) -> _Guard:
        history, user_ns, hidden = self._shell.history_manager, self._shell.user_ns, self._shell.user_ns_hidden
        later = [position for number, position in self._positions.items() if number >= first]
        start = min(later, default=len(history.input_hist_parsed) if self._positions else first)
        start = max(1, min(start, len(history.input_hist_parsed)))
        guard = _Guard(
            first=first,
            parsed=history.input_hist_parsed[start:],
            raw=history.input_hist_raw[start:],
            positions={number: place - start for number, place in self._positions.items() if number >= first},
            outputs=_take(user_ns.get("_oh", {}), first),
            records=tuple(_take(record, first) for record in self._records()),
        )
        del history.input_hist_parsed[start:]
        del history.input_hist_raw[start:]
        for number in guard.positions:
            del self._positions[number]
        for name in [name for name in list(user_ns) if isinstance(name, str)]:
            cached = _CACHED.match(name)
            # A name like `_12` that the person bound by hand is a variable of theirs.
            if cached and int(cached[2]) >= first and _is_cached(name, user_ns[name], cached, guard):
                guard.names[name] = user_ns.pop(name)
                hidden.pop(name, None)
        return guard

    def _put_back(self, guard: _Guard, next_number: int) -> None:
        history, user_ns, hidden = self._shell.history_manager, self._shell.user_ns, self._shell.user_ns_hidden
        wanted = sorted(number for number in guard.positions if number < next_number)
        start = len(history.input_hist_parsed)
        end = max((guard.positions[number] for number in wanted), default=-1) + 1
        history.input_hist_parsed.extend(guard.parsed[:end])
        history.input_hist_raw.extend(guard.raw[:end])
        self._positions.update({number: start + guard.positions[number] for number in wanted})
        for kept, record in zip((guard.outputs, *guard.records), (user_ns["_oh"], *self._records()), strict=True):
            record.update({number: value for number, value in kept.items() if number < next_number})
        for name, value in guard.names.items():
            cached = _CACHED.match(name)
            if cached and int(cached[2]) < next_number:
                user_ns.setdefault(name, value)
                hidden[name] = value

    def _fill_in(self, move: ShellMove) -> None:
        """Write the inputs of the line in force that this kernel never ran: cells of an earlier kernel."""
        history, user_ns = self._shell.history_manager, self._shell.user_ns
        for number, code in move.inputs:
            if number in self._positions or number >= move.next_number or not self._positions_are_known(number):
                continue
            for inputs in (history.input_hist_parsed, history.input_hist_raw):
                inputs.extend([""] * (number - len(inputs)))
                inputs.append(code)
            self._positions[number] = len(history.input_hist_parsed) - 1
            user_ns[f"_i{number}"] = self._shell.user_ns_hidden[f"_i{number}"] = code

    def _positions_are_known(self, number: int) -> bool:
        return number >= len(self._shell.history_manager.input_hist_parsed)

    def _set_shortcuts(self) -> None:
        history, user_ns, hidden = self._shell.history_manager, self._shell.user_ns, self._shell.user_ns_hidden
        last = [*reversed(history.input_hist_raw[1:][-4:]), "", "", "", ""]
        history._i00, history._i, history._ii, history._iii = last[:4]
        for name, value in zip(("_i", "_ii", "_iii"), last[1:4], strict=True):
            user_ns[name] = hidden[name] = value
        hook, out = self._shell.displayhook, user_ns.get("_oh", {})
        values = [out[number] for number in sorted(out, reverse=True)[:3]]
        values += [""] * (3 - len(values))
        for name, value in zip(_UNDERSCORES, values, strict=True):
            own = name in user_ns and user_ns[name] is not getattr(hook, name, None)
            own = own and user_ns[name] is not hidden.get(name)
            setattr(hook, name, value)
            if not own and not hasattr(builtins, "_"):
                user_ns[name] = hidden[name] = value

    def _records(self) -> Iterator[dict[int, Any]]:
        """Yield what IPython keeps per number besides `Out`."""
        history = self._shell.history_manager
        for name in ("output_hist_reprs", "outputs", "exceptions"):
            record = getattr(history, name, None)
            yield record if isinstance(record, dict) else {}


def _take(record: dict[int, Any], first: int) -> dict[int, Any]:
    return {number: record.pop(number) for number in [number for number in record if number >= first]}


def _is_cached(name: str, value: Any, cached: re.Match[str], guard: _Guard) -> bool:
    number = int(cached[2])
    if cached[1]:
        return isinstance(value, str)
    return number in guard.outputs and guard.outputs[number] is value


def _run_all(waiting: list[Callable[[], None]]) -> None:
    for act in waiting:
        try:
            act()
        except Exception:  # noqa: BLE001  the move itself is done; In and Out are a derived view
            _LOG.warning("In and Out could not follow the rewind.", exc_info=True)
