"""The process: working folder, environment, search path, loaded modules, limits of the interpreter, locale."""

from __future__ import annotations

import gc
import locale
import os
import sys
import sysconfig
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from nbrewind.model import Note
from nbrewind.resources.variables.providers import Undo, decode, encode, note_differences

__all__ = [
    "Environment",
    "Interpreter",
    "LoadedModules",
    "SearchPath",
    "WorkingFolder",
    "search_path",
    "searching",
]


class WorkingFolder:
    """The working folder. One that is gone is left alone and noted."""

    name = "cwd"

    def capture(self) -> bytes:
        """Return the folder's bytes; empty if it was deleted."""
        try:
            return os.getcwdb()
        except FileNotFoundError:
            return b""

    def describe(self, before: bytes, after: bytes) -> tuple[Note, ...]:
        """Return where it was and is."""
        return (Note("working folder", f"{os.fsdecode(before)} → {os.fsdecode(after)}"),) if before != after else ()

    def restore(self, state: bytes) -> Undo:
        """Go there."""
        before = self.capture()
        if not state or state == before:
            return Undo(lambda: None)
        try:
            os.chdir(state)
        except OSError as error:
            return Undo(lambda: None, [Note("working folder", f"{os.fsdecode(state)}: {error.strerror}")])
        return Undo(lambda: self.restore(before))


class Environment:
    """What differs from the environment at load time: values that were there before (keys, passwords) are not kept."""

    name = "environ"

    def __init__(self) -> None:
        self._loaded = dict(os.environ)
        self._last: Any = None
        self._state = encode({})

    def capture(self) -> bytes:
        """Return the names whose values differ, None for those removed."""
        # The mapping decodes every value each time it is read.
        raw: Any = getattr(os.environ, "_data", os.environ)
        if self._last != raw:
            self._last = dict(raw)
            self._state = encode(_difference(self._loaded, dict(os.environ)))
        return self._state

    def describe(self, before: bytes, after: bytes) -> tuple[Note, ...]:
        """Return the names; values may be secret."""
        was, now = (decode(state) or {} for state in (before, after))
        return note_differences(_marked(was), _marked(now), "os.environ[{!r}]")

    def restore(self, state: bytes) -> Undo:
        """Set and remove what differs; C code sees it too."""
        before = self.capture()
        wanted = self._loaded | (decode(state) or {})
        for name, value in _difference(dict(os.environ), {k: v for k, v in wanted.items() if v is not None}).items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
            if name == "TZ":
                time.tzset()
        return Undo(lambda: self.restore(before))


def _difference(base: dict[str, str], present: dict[str, str]) -> dict[str, str | None]:
    return {name: present.get(name) for name in base.keys() | present.keys() if base.get(name) != present.get(name)}


def _marked(difference: dict[str, str | None]) -> dict[str, str]:
    return {name: "=" + value if value is not None else "removed" for name, value in difference.items()}


class SearchPath:
    """`sys.path` and `sys.argv`, restored in place."""

    name = "sys.path"

    def capture(self) -> bytes:
        """Return both lists; what is no text in them is kept by its text."""
        return encode({"path": [_text(one) for one in sys.path], "argv": [_text(one) for one in sys.argv]})

    def describe(self, before: bytes, after: bytes) -> tuple[Note, ...]:
        """Return the entries that differ."""
        was, now = (decode(state) or {"path": [], "argv": []} for state in (before, after))
        notes = note_differences(dict.fromkeys(was["path"], 1), dict.fromkeys(now["path"], 1), "sys.path: {}")
        if was["path"] != now["path"] and not notes:
            notes = (Note("sys.path", "in another order"),)
        return (*notes, Note("sys.argv", "changed")) if was["argv"] != now["argv"] else notes

    def restore(self, state: bytes) -> Undo:
        """Put both lists back."""
        wanted = decode(state)
        if wanted is None:
            return Undo(lambda: None)
        before = list(sys.path), list(sys.argv)
        sys.path[:], sys.argv[:] = wanted["path"], wanted["argv"]
        return Undo(lambda: _put(before))


def _put(lists: tuple[list[str], list[str]]) -> None:
    sys.path[:], sys.argv[:] = lists


def _text(entry: object) -> str:
    return entry if isinstance(entry, str) else os.fsdecode(entry) if isinstance(entry, bytes | os.PathLike) else ""


_PYTHONS_OWN = tuple(
    os.path.realpath(folder) + os.sep for folder in {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
)


def search_path(states: Mapping[str, bytes]) -> list[str]:
    """Return where modules were looked for under *states*, as absolute paths."""
    found = decode(states.get(SearchPath.name, b"")) or {"path": []}
    folder = os.fsdecode(states.get(WorkingFolder.name, b"")) or os.curdir
    return [os.path.join(folder, entry) for entry in found["path"]]


@contextmanager
def searching(folders: Iterable[str]) -> Iterator[None]:
    """Look for modules in *folders* too in the block: a new kernel has not come to the cell that added them."""
    added = [folder for folder in dict.fromkeys(folders) if folder not in sys.path]
    sys.path += added
    try:
        yield
    finally:
        for folder in added:
            if folder in sys.path:
                sys.path.remove(folder)


class LoadedModules:
    """Packages loaded since nbrewind was. They are named only: taking a module out leaves half of it in others."""

    name = "modules"

    def __init__(self) -> None:
        self._before = {name.partition(".")[0] for name in list(sys.modules)}
        self._count = 0
        self._state = encode([])

    def capture(self) -> bytes:
        """Return the names of packages that came."""
        if len(sys.modules) != self._count:
            self._count = len(sys.modules)
            roots = {name.partition(".")[0] for name in list(sys.modules)} - self._before
            self._state = encode(sorted(root for root in roots if not root.startswith("_")))
        return self._state

    def describe(self, before: bytes, after: bytes) -> tuple[Note, ...]:
        """Return the packages that only *after* has."""
        was, now = set(decode(before) or ()), set(decode(after) or ())
        return tuple(Note(name, "imported") for name in sorted(now - was))

    def restore(self, state: bytes) -> Undo:
        """Change nothing; note which of a person's own modules stay loaded: only their files may change under them."""
        stay = set(decode(self.capture()) or ()) - set(decode(state) or ())
        return Undo(lambda: None, [Note(name, "stays imported") for name in sorted(stay) if _is_own(name)])


def _is_own(name: str) -> bool:
    """Return whether the module *name* was loaded from a file that neither Python nor an installer put there."""
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), None)
    if not isinstance(file, str):
        return False
    path = os.path.realpath(file)
    installed = {"site-packages", "dist-packages"} & set(path.split(os.sep))
    return not installed and not path.startswith(_PYTHONS_OWN)


class Interpreter:
    """Limits and switches of the interpreter, the locale and the default time-out of sockets."""

    name = "interpreter"

    def capture(self) -> bytes:
        """Return them by name."""
        return encode(self._present())

    def describe(self, before: bytes, after: bytes) -> tuple[Note, ...]:
        """Return those that differ."""
        return note_differences(decode(before) or {}, decode(after) or {})

    def restore(self, state: bytes) -> Undo:
        """Set those that differ."""
        before, notes = self._present(), []
        for name, value in (decode(state) or {}).items():
            if before.get(name) != value:
                try:
                    _set(name, value)
                except (ValueError, TypeError, RecursionError, locale.Error) as error:
                    notes.append(Note(name, str(error)))
        return Undo(lambda: self.restore(encode(before)), notes)

    def _present(self) -> dict[str, Any]:
        state: dict[str, Any] = {
            "recursion limit": sys.getrecursionlimit(),
            "gc": gc.isenabled(),
            "gc threshold": list(gc.get_threshold()),
            "gc debug": gc.get_debug(),
            "switch interval": sys.getswitchinterval(),
            "bytecode": not sys.dont_write_bytecode,
            "locale": locale.setlocale(locale.LC_ALL),
        }
        socket = sys.modules.get("socket")
        if socket is not None:
            state["socket time-out"] = socket.getdefaulttimeout()
        return state


def _set(name: str, value: Any) -> None:
    match name:
        case "recursion limit":
            sys.setrecursionlimit(value)
        case "gc":
            (gc.enable if value else gc.disable)()
        case "gc threshold":
            gc.set_threshold(*value)
        case "gc debug":
            gc.set_debug(value)
        case "switch interval":
            sys.setswitchinterval(value)
        case "bytecode":
            sys.dont_write_bytecode = not value
        case "locale":
            locale.setlocale(locale.LC_ALL, value)
        case "socket time-out" if "socket" in sys.modules:
            sys.modules["socket"].setdefaulttimeout(value)
        case _:
            pass
