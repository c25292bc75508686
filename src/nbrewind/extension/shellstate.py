"""Process state that only the shell knows: aliases, configuration, folders visited, callbacks, autoreload's mode."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from types import MethodType
from typing import Any, Final

from nbrewind.extension.callbacks import Place, Registrations
from nbrewind.model import Note
from nbrewind.resources.variables.providers import Provider, Undo, decode, encode, note_differences
from nbrewind.resources.variables.providers.live import LiveObjects, Lost

__all__ = ["shell_providers", "watch_files"]


def shell_providers(shell: Any, registrations: Registrations) -> list[Provider]:
    """Return the providers for *shell*, which know it as it is now."""
    return [Aliases(shell), Folders(shell), Autoreload(shell), Callbacks(registrations)]


class _Simple:
    """A provider whose state is a dictionary of plain values."""

    name: str

    def capture(self) -> bytes:
        """Return the present state."""
        return encode(self._get())

    def describe(self, before: bytes, after: bytes) -> tuple[Note, ...]:
        """Return what differs."""
        return note_differences(decode(before) or {}, decode(after) or {}, f"{self.name} {{}}")

    def restore(self, state: bytes) -> Undo:
        """Make *state* stand."""
        before = self.capture()
        if not state or state == before:
            return Undo(lambda: None)
        self._set(decode(state))
        return Undo(lambda: self._set(decode(before)))

    def _get(self) -> dict[str, Any]:
        raise NotImplementedError

    def _set(self, state: dict[str, Any]) -> None:
        raise NotImplementedError


class Aliases(_Simple):
    """`%alias`: the commands that differ from those at load time."""

    name = "%alias"

    def __init__(self, shell: Any) -> None:
        self._manager = shell.alias_manager
        self._loaded = dict(self._manager.aliases)

    def _get(self) -> dict[str, Any]:
        now = dict(self._manager.aliases)
        if now == self._loaded:
            return {}
        names = now.keys() | self._loaded.keys()
        return {name: now.get(name) for name in names if now.get(name) != self._loaded.get(name)}

    def _set(self, state: dict[str, Any]) -> None:
        now = dict(self._manager.aliases)
        wanted = {name: command for name, command in (self._loaded | state).items() if command is not None}
        for name in now.keys() - wanted.keys():
            self._manager.undefine_alias(name)
        for name, command in wanted.items():
            if now.get(name) != command:
                self._manager.soft_define_alias(name, command)


class Folders(_Simple):
    """The folders that `%cd` remembers, `%bookmark` aside: those are files of the profile."""

    name = "%dhist"

    def __init__(self, shell: Any) -> None:
        self._shell = shell

    def _get(self) -> dict[str, Any]:
        return {"folders": [os.fspath(one) for one in self._shell.user_ns.get("_dh", ())]}

    def _set(self, state: dict[str, Any]) -> None:
        folders = self._shell.user_ns.get("_dh")
        if isinstance(folders, list):
            # IPython compares its entries as paths here and as texts there; both are kept as it made them.
            kind = type(folders[0]) if folders else str
            folders[:] = [kind(one) for one in state.get("folders", ())]


class Autoreload(_Simple):
    """The mode of `%autoreload` and the modules of `%aimport`."""

    name = "%autoreload"
    _SWITCHES: Final = ("enabled", "check_all", "autoload_obj", "hide_errors")

    def __init__(self, shell: Any) -> None:
        self._shell = shell

    def _get(self) -> dict[str, Any]:
        reloader = _reloader(self._shell)
        if reloader is None:
            return {}
        found: dict[str, Any] = {name: bool(getattr(reloader, name, False)) for name in self._SWITCHES}
        return found | {"modules": sorted(reloader.modules), "skipped": sorted(reloader.skip_modules)}

    def _set(self, state: dict[str, Any]) -> None:
        reloader = _reloader(self._shell)
        if reloader is None:
            return
        for name in self._SWITCHES:
            setattr(reloader, name, state.get(name, False))
        for name, key in (("modules", "modules"), ("skip_modules", "skipped")):
            found = getattr(reloader, name)
            found.clear()
            found.update(dict.fromkeys(state.get(key, ()), True))


def _reloader(shell: Any) -> Any:
    return getattr(shell.magics_manager.registry.get("AutoreloadMagics"), "_reloader", None)


def watch_files(shell: Any) -> None:
    """Let autoreload look again at modules whose files a move changed: it takes an older file for one that it knows."""
    reloader = _reloader(shell)
    times = getattr(reloader, "modules_mtimes", None)
    if not isinstance(times, dict):
        return
    for name, known in list(times.items()):
        module = sys.modules.get(name)
        with suppress(Exception):  # a module's `__file__` may be anything
            _, found = reloader.filename_and_mtime(module)
            if found is not None and found != known:
                times[name] = -1.0


class Callbacks:
    """What cells registered with the shell. What came since goes, what went comes back where it is still alive."""

    name = "shell callbacks"

    def __init__(self, registrations: Registrations) -> None:
        self._registrations = registrations
        self._live = LiveObjects()

    def capture(self) -> bytes:
        """Return the places in which functions of the user's stand, with tokens of those."""
        return encode(self._present())

    def describe(self, before: bytes, after: bytes) -> tuple[Note, ...]:
        """Return the places that differ."""
        was, now = decode(before) or {}, decode(after) or {}
        return tuple(Note(name, "changed") for name in sorted(was | now) if was.get(name) != now.get(name))

    def restore(self, state: bytes) -> Undo:
        """Take out what came and put back what went."""
        wanted: dict[str, list[list[str]]] = decode(state) or {}
        undone: list[Callable[[], None]] = []
        notes: list[Note] = []
        present = self._present()
        for name, place in self._registrations.places:
            if wanted.get(name, []) != present.get(name, []):
                undone.append(_putting_back(place))
                self._restore(name, place, wanted.get(name, []), notes)
        return Undo(lambda: [act() for act in undone], notes)

    def _present(self) -> dict[str, list[list[str]]]:
        found: dict[str, list[list[str]]] = {}
        for name, place in self._registrations.places:
            for key, value in self._registrations.of_user(place):
                found.setdefault(name, []).append(self._token(key, value))
        return found

    def _restore(self, name: str, place: Place, wanted: list[list[str]], notes: list[Note]) -> None:
        kept = [pair for pair in _items(place) if not self._registrations.is_of_user(pair[1])]
        for token in wanted:
            try:
                kept.append(self._found(token))
            except (Lost, AttributeError):
                notes.append(Note(name, f"{token[-1].rpartition(':')[2]} is gone"))
        _fill(place, kept)

    def _token(self, key: object, value: object) -> list[str]:
        """Return tokens of key and function; a method, which lives no longer than a call, is named by its object."""
        owner, method = (value.__self__, value.__name__) if isinstance(value, MethodType) else (value, "")
        return [self._live.token(key), method, self._live.token(owner)]

    def _found(self, token: list[str]) -> tuple[object, object]:
        key, method, owner = token
        value = self._live.value(owner)
        return self._live.value(key), getattr(value, method) if method else value


def _items(place: Place) -> list[tuple[object, object]]:
    return [(None, value) for value in place] if isinstance(place, list) else list(place.items())


def _fill(place: Place, items: list[tuple[object, object]]) -> None:
    if isinstance(place, list):
        place[:] = [value for _, value in items]
    else:
        place.clear()
        place.update(items)


def _putting_back(place: Place) -> Callable[[], None]:
    before = _items(place)
    return lambda: _fill(place, before)
