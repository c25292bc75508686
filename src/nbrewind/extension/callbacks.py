"""What cells register with the shell: event callbacks, transformers, formatters, handlers of comms."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from types import MethodType
from typing import Any

from nbrewind.resources.variables.ambient import is_of_user

__all__ = ["Place", "Registrations"]

Place = list[Any] | MutableMapping[Any, Any]
_EVENTS = ("pre_execute", "pre_run_cell", "post_execute", "post_run_cell", "shell_initialized")
_LISTS = ("ast_transformers", "input_transformers_cleanup", "input_transformers_post")
_PRINTERS = ("type_printers", "singleton_printers", "deferred_printers")


class Registrations:
    """The places of a shell in which callbacks stand, found once: the lists and dictionaries stay the same."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self.places: tuple[tuple[str, Place], ...] = tuple(_places(shell))
        # By place: the addresses of what stood there, and the positions of what is the user's.
        self._verdicts: dict[int, tuple[list[int], list[int]]] = {}

    def of_user(self, place: Place) -> list[tuple[object, object]]:
        """Return key and function of what stands in *place* and is the user's; the key is None in a list."""
        values = place if isinstance(place, list) else list(place.values())
        here = list(map(id, values))
        known = self._verdicts.get(id(place))
        if known is None or known[0] != here:
            found = [number for number, one in enumerate(values) if self.is_of_user(one)]
            known = self._verdicts[id(place)] = (here, found)
        if not known[1]:
            return []
        keys = [None] * len(values) if isinstance(place, list) else list(place)
        return [(keys[number], values[number]) for number in known[1]]

    def is_of_user(self, one: object) -> bool:
        """Return whether *one* was made in a cell or in a module of the user's."""
        return is_of_user(one, self._shell.user_ns)

    def callbacks(self) -> Iterator[object]:
        """Yield functions of the user's that may run in any cell, or between two, since the shell calls them."""
        for _, place in self.places:
            for _, one in self.of_user(place):
                yield one
        for one in self._handlers():
            if self.is_of_user(one):
                yield one

    def _handlers(self) -> Iterator[object]:
        shell = self._shell
        if getattr(shell, "custom_exceptions", ()):
            yield getattr(shell, "CustomTB", None)
        manager = getattr(getattr(shell, "kernel", None), "comm_manager", None)
        yield from list(getattr(manager, "targets", {}).values())
        for comm in list(getattr(manager, "comms", {}).values()):
            for handler in (getattr(comm, "_msg_callback", None), getattr(comm, "_close_callback", None)):
                # Those of widgets are the library's own; what a widget calls hangs on the widget.
                if handler is not None and not isinstance(handler, MethodType):
                    yield handler


def _places(shell: Any) -> Iterator[tuple[str, Place]]:
    """Yield the places with names of them for ever."""
    registered = getattr(shell.events, "callbacks", {})
    for event in _EVENTS:
        if event in registered:
            yield f"event {event}", registered[event]
    for name in _LISTS:
        found = getattr(shell, name, None)
        if isinstance(found, list):
            yield name.replace("_", " "), found
    formatter = getattr(shell, "display_formatter", None)
    for kind, one in getattr(formatter, "formatters", {}).items():
        for name in _PRINTERS:
            found = getattr(one, name, None)
            if isinstance(found, MutableMapping):
                yield f"{kind} {name.replace('_', ' ')}", found
