"""Loggers: levels, handlers, filters, propagation."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Iterator
from typing import Any, Final

from nbrewind.model import Note
from nbrewind.resources.variables.providers import Undo, decode, encode, note_differences
from nbrewind.resources.variables.providers.live import LiveObjects, Lost

__all__ = ["Loggers"]

_OURS: Final = "nbrewind"
_LOADED: Final = "loaded:"


class Loggers:
    """Every logger that is not as `getLogger` makes it, the level below which all are silent, and handlers' levels."""

    name = "logging"

    def __init__(self) -> None:
        self._live = LiveObjects()
        # What stood there when nbrewind was loaded: by its place the next kernel has its own of it.
        self._loaded: dict[str, Any] = {}
        for name, logger in _loggers():
            for number, handler in enumerate(logger.handlers):
                self._loaded[f"{name}/{number}"] = handler
                if handler.formatter is not None:
                    self._loaded[f"{name}/{number}/formatter"] = handler.formatter
        self._places = {id(one): place for place, one in self._loaded.items()}
        self._last: list[Any] = []
        self._alive: list[weakref.ref[Any]] = []
        self._state = b""

    def capture(self) -> bytes:
        """Return the settings by logger; handlers are named, not copied."""
        present = _identities()
        # An identity means the same object only while that lives.
        if present != self._last or any(reference() is None for reference in self._alive):
            self._last, self._state = present, self._encoded()
            self._alive = [weakref.ref(one) for _, logger in _loggers() for one in (*logger.handlers, *logger.filters)]
        return self._state

    def _encoded(self) -> bytes:
        loggers, handlers = {}, {}
        for name, logger in _loggers():
            if logger.handlers or logger.level or logger.filters or not logger.propagate or logger.disabled:
                loggers[name] = self._of(logger)
                for handler in logger.handlers:
                    handlers[self._token(handler)] = [handler.level, self._token(handler.formatter)]
        return encode({"loggers": loggers, "handlers": handlers, "disable": logging.root.manager.disable})

    def describe(self, before: bytes, after: bytes) -> tuple[Note, ...]:
        """Return the loggers that differ."""
        was, now = (decode(state) or {"loggers": {}, "disable": 0} for state in (before, after))
        notes = note_differences(was["loggers"], now["loggers"], "logger {}")
        return notes if was["disable"] == now["disable"] else (*notes, Note("logging.disable", "changed"))

    def restore(self, state: bytes) -> Undo:
        """Put levels, handlers and filters back; a handler that is gone is left out and noted."""
        wanted = decode(state)
        if wanted is None or state == self.capture():
            return Undo(lambda: None)
        held = [(logger, _held(logger)) for _, logger in _loggers()]
        levels = [(one, one.level, one.formatter) for _, logger in _loggers() for one in logger.handlers]
        disable, notes = logging.root.manager.disable, []
        present = dict(_loggers())
        for name in wanted["loggers"]:
            if name not in present and name:
                present[name] = logging.getLogger(name)
        for name, logger in present.items():
            settings = wanted["loggers"].get(name) or [logging.NOTSET, True, False, [], []]
            notes += self._put(name, logger, settings)
        self._put_handlers(wanted["handlers"])
        _disable(wanted["disable"])
        return Undo(lambda: _back(held, levels, disable), notes)

    def _of(self, logger: logging.Logger) -> list[Any]:
        handlers = [self._token(one) for one in logger.handlers]
        return [
            logger.level,
            logger.propagate,
            logger.disabled,
            handlers,
            [self._token(f) for f in logger.filters],
        ]

    def _put(self, name: str, logger: logging.Logger, settings: list[Any]) -> list[Note]:
        level, propagate, disabled, handlers, filters = settings
        notes: list[Note] = []
        logger.propagate, logger.disabled = propagate, disabled
        if logger.level != level:
            logger.setLevel(level)
        logger.handlers[:] = self._values(handlers, f"logger {name or 'root'}", notes)
        logger.filters[:] = self._values(filters, f"logger {name or 'root'}", notes)
        return notes

    def _values(self, tokens: list[str], subject: str, notes: list[Note]) -> list[Any]:
        values = []
        for token in tokens:
            try:
                values.append(self._value(token))
            except Lost as lost:
                notes.append(Note(subject, f"{lost.args[0]} is gone"))
        return values

    def _token(self, one: Any) -> str:
        place = self._places.get(id(one))
        return f"{_LOADED}{place}" if place is not None else self._live.token(one)

    def _value(self, token: str) -> Any:
        if not token.startswith(_LOADED):
            return self._live.value(token)
        found = self._loaded.get(token.removeprefix(_LOADED))
        if found is None:
            raise Lost("what the earlier kernel had there")
        return found

    def _put_handlers(self, handlers: dict[str, list[Any]]) -> None:
        for token, (level, formatter) in handlers.items():
            try:
                handler = self._value(token)
                handler.setLevel(level)
                handler.setFormatter(self._value(formatter))
            except Lost:
                continue  # noted where its logger is


def _loggers() -> Iterator[tuple[str, logging.Logger]]:
    yield "", logging.root
    for name, logger in list(logging.root.manager.loggerDict.items()):
        if isinstance(logger, logging.Logger) and name != _OURS:
            yield name, logger


def _identities() -> list[Any]:
    """Return what tells cheaply whether any logger changed."""
    found: list[Any] = [logging.root.manager.disable]
    for name, logger in _loggers():
        if logger.handlers or logger.level or logger.filters or not logger.propagate or logger.disabled:
            handlers = [(id(one), one.level, id(one.formatter)) for one in logger.handlers]
            filters = [id(one) for one in logger.filters]
            found.append((name, logger.level, logger.propagate, logger.disabled, handlers, filters))
    return found


def _held(logger: logging.Logger) -> tuple[Any, ...]:
    return logger.level, logger.propagate, logger.disabled, list(logger.handlers), list(logger.filters)


def _back(held: list[Any], levels: list[Any], disable: int) -> None:
    for logger, (level, propagate, disabled, handlers, filters) in held:
        logger.propagate, logger.disabled = propagate, disabled
        logger.handlers[:], logger.filters[:] = handlers, filters
        if logger.level != level:
            logger.setLevel(level)
    for handler, level, formatter in levels:
        handler.setLevel(level)
        handler.setFormatter(formatter)
    _disable(disable)


def _disable(level: int) -> None:
    manager: Any = logging.root.manager
    manager.disable = level
    manager._clear_cache()  # loggers remember which levels they let through
