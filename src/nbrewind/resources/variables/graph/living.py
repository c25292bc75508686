"""Objects that stay the same objects but have a state that can be put back: files, databases, widgets, signals.

Streams name `living` with the token and the state. While loading nothing is changed: `settle` does that, as one step of
`apply`, after the files of the rewind are in their places.
"""

from __future__ import annotations

import io
import os
import sqlite3
import sys
from collections.abc import Callable
from typing import Any

from nbrewind.resources.variables.graph import rebuild
from nbrewind.resources.variables.graph.reducing import Reducing

__all__ = ["reduce_database", "reduce_file", "reduce_widget", "revived", "settle"]

_STANDARD = ("stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__")
_END = -1


def reduce_file(pickler: Reducing, file: Any) -> Any:
    """Reduce an open file to itself with its position; a standard stream to itself."""
    for name in _STANDARD:
        if getattr(sys, name, None) is file:
            return rebuild.living, (pickler.quiet_reference(file), "standard", name)
    state = _file_state(file)
    if state is None:
        return pickler.by_reference(file)
    return rebuild.living, (pickler.quiet_reference(file), "file", state)


def _file_state(file: Any) -> tuple[Any, ...] | None:
    if type(file) not in (io.TextIOWrapper, io.BufferedReader, io.BufferedWriter, io.BufferedRandom, io.FileIO):
        return None
    try:
        name, mode, closed = file.name, file.mode, file.closed
        if not isinstance(name, (str, os.PathLike)) or not isinstance(mode, str):
            return None
        path = os.path.abspath(os.fspath(name))
        reads_only = not any(letter in mode for letter in "wax+")
        # Asking a text file for its place flushes it: what the user's program has not written yet is not ours to write.
        place = file.tell() if not closed and (reads_only or type(file) is not io.TextIOWrapper) else _END
        encoding = (file.encoding, file.errors) if type(file) is io.TextIOWrapper else (None, None)
        return path, mode, *encoding, place, closed
    except (OSError, ValueError, AttributeError):
        return None


def reduce_database(pickler: Reducing, database: sqlite3.Connection) -> Any:
    """Reduce a database in memory to itself with its content; any other to itself."""
    try:
        files = [row[2] for row in database.execute("PRAGMA database_list")]
        if any(files):
            return pickler.by_reference(database)
        state = (_content(database), database.isolation_level)
    except sqlite3.Error:
        return pickler.by_reference(database)
    return rebuild.living, (pickler.quiet_reference(database), "database", state)


def _content(database: sqlite3.Connection) -> bytes:
    try:
        return database.serialize()
    except sqlite3.OperationalError:
        # So SQLite answers for one in which nothing was ever made.
        blank = sqlite3.Connection(":memory:")
        blank.executescript("create table a(b); drop table a;")
        return blank.serialize()


def reduce_widget(pickler: Reducing, widget: Any) -> Any:
    """Reduce a widget to itself, since a front end shows it, with what can be set."""
    return rebuild.living, (pickler.quiet_reference(widget), "widget", widget.get_state())


def revived(kind: str, state: Any) -> object | None:
    """Return a new object for one that is dead; None where that cannot be."""
    if kind == "standard":
        found: object | None = getattr(sys, state, None)
        return found
    if kind == "database":
        return sqlite3.Connection(":memory:", isolation_level=state[1])
    if kind == "file" and not state[-1]:
        made: object | None = _blank_file(*state[:4])
        return made
    if kind == "signal":
        signal: object = state[0]() if state[2] is None else state[0](state[2])
        return signal
    return None


def _blank_file(path: str, mode: str, encoding: str | None, errors: str | None) -> Any:
    """Return a file object over nothing; `settle` gives it its file once that is in its place."""
    if any(letter in mode for letter in "wax+"):
        return None
    # It lives on in a variable.
    made: Any = open(os.devnull, "rb") if "b" in mode else open(os.devnull, encoding=encoding, errors=errors)  # noqa: SIM115
    raw: Any = getattr(getattr(made, "buffer", made), "raw", made)
    raw.name = path
    return made


def settle(value: Any, kind: str, state: Any) -> Callable[[], object] | None:
    """Give *value* its *state*; return what undoes it, None where the state it has now stays.

    Raises:
        OSError: A file that it was opened from is not there.
    """
    if kind == "database":
        return _settle_database(value, state[0])
    if kind == "file":
        return _settle_file(value, *state)
    if kind == "widget":
        return _settle_widget(value, state)
    if kind == "signal":
        return _settle_signal(value, state[1])
    return lambda: None


def _settle_database(database: sqlite3.Connection, content: bytes) -> Callable[[], object] | None:
    try:
        before = _content(database)
        if database.in_transaction:
            database.rollback()
        database.deserialize(content)
    except sqlite3.Error:
        return None
    return lambda: database.deserialize(before)


def _settle_file(
    file: Any, path: str, mode: str, encoding: str | None, errors: str | None, place: int, closed: bool
) -> Callable[[], object] | None:
    if closed or file.closed:
        return (lambda: None) if closed == file.closed else None
    if any(letter in mode for letter in "wax+") or not file.seekable():
        # The file itself went back, and what is written next goes to its end.
        return lambda: None
    before = file.tell()
    if os.path.exists(path) and not os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
        number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.dup2(number, file.fileno(), inheritable=False)
        finally:
            os.close(number)
    file.seek(place)
    return lambda: file.seek(before)


def _settle_signal(value: Any, state: dict[str, Any]) -> Callable[[], object]:
    # Not by its methods: who holds its lock might never let go, and who waits sees it when next it looks.
    space = vars(value)
    before = {key: space[key] for key in state if key in space}
    space.update(state)
    return lambda: space.update(before)


def _settle_widget(widget: Any, state: dict[str, Any]) -> Callable[[], object] | None:
    before = widget.get_state()
    changed = {key: one for key, one in state.items() if key in before and before[key] != one and key[:1] != "_"}
    widget.set_state(changed)
    return lambda: widget.set_state({key: before[key] for key in changed})
