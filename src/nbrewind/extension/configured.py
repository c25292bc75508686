"""What `%config` changed: traits of the shell's configurable objects, watched from load time on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from nbrewind.model import Note
from nbrewind.resources.variables.providers import Undo, decode, encode, note_differences

__all__ = ["Configured"]

_OWN = "NBRewind"


class Configured:
    """Traits that are not as they were; plain values only, what else there is stays and is named.

    A trait that nobody has set yet has a value only once it is asked for, so none is asked: the object tells of each
    change, and what was before is kept then.
    """

    name = "%config"

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._watched: dict[int, Any] = {}
        self._before: dict[tuple[str, str], Any] = {}
        self._leaving: list[Callable[[], None]] = []
        self._watch()

    def leave(self) -> None:
        """Watch no longer. Twice is fine."""
        while self._leaving:
            with suppress(Exception):  # an observer that is not there any more
                self._leaving.pop()()

    def _watch(self) -> None:
        for one in self._shell.configurables:
            kind = type(one).__name__
            if id(one) not in self._watched and kind not in (_OWN, "RewindMagics"):
                set_already = frozenset(getattr(one, "_trait_values", ()))
                names = [name for name in one.trait_names(config=True) if not name.startswith("_")]
                self._watched[id(one)] = one
                # traitlets takes no names for all names, what an object remembers of a cell's run among them.
                if names:
                    note = self._noting(set_already)
                    one.observe(note, names=names)
                    self._leaving.append(partial(one.unobserve, note, names))

    def _noting(self, set_already: frozenset[str]) -> Callable[[Any], None]:
        def note(change: Any) -> None:
            key = (type(change.owner).__name__, change.name)
            if key not in self._before:
                # Of a trait that was never asked for, traitlets tells another value than it would have had.
                known = change.name in set_already
                with suppress(Exception):  # a default that is computed may fail
                    trait = change.owner.traits()[change.name]
                    self._before[key] = change.old if known else trait.default(change.owner)

        return note

    def capture(self) -> bytes:
        """Return the traits that are not as they were, by object and name."""
        if len(self._shell.configurables) != len(self._watched):
            self._watch()
        if not self._before:
            return b"{}"
        changed: dict[str, Any] = {}
        for (kind, name), before in self._before.items():
            now = self._value(kind, name)
            if now != _plain(before):
                changed[f"{kind}.{name}"] = now
        return encode(changed)

    def describe(self, before: bytes, after: bytes) -> tuple[Note, ...]:
        """Return the traits that differ."""
        return note_differences(decode(before) or {}, decode(after) or {}, "%config {}")

    def restore(self, state: bytes) -> Undo:
        """Set the traits that differ."""
        before = self.capture()
        if not state or state == before:
            return Undo(lambda: None)
        notes: list[Note] = []
        self._set(decode(state), notes)
        return Undo(lambda: self._set(decode(before), []), notes)

    def _set(self, wanted: dict[str, Any], notes: list[Note]) -> None:
        for (kind, name), before in list(self._before.items()):
            plain = wanted.get(f"{kind}.{name}", _plain(before))
            if plain == self._value(kind, name):
                continue
            one = self._object(kind)
            try:
                setattr(one, name, _value(plain))
            except Exception as error:  # noqa: BLE001  a trait's own check, or what observes it
                notes.append(Note(f"%config {kind}.{name}", str(error)))

    def _object(self, kind: str) -> Any:
        return next((one for one in self._watched.values() if type(one).__name__ == kind), None)

    def _value(self, kind: str, name: str) -> Any:
        return _plain(getattr(self._object(kind), name, None))


def _plain(value: Any) -> Any:
    """Return something for JSON that says which kind of container it was."""
    if value is None or type(value) in (int, float, str, bool):
        return value
    if isinstance(value, list | tuple):
        return {"list" if isinstance(value, list) else "tuple": [_plain(one) for one in value]}
    if isinstance(value, set | frozenset):
        return {"set": sorted(map(repr, value)), "of": sorted(one for one in value if isinstance(one, str))}
    if isinstance(value, dict):
        return {"dict": [[_plain(key), _plain(one)] for key, one in value.items()]}
    return {"other": type(value).__name__}


def _value(plain: Any) -> Any:
    if not isinstance(plain, dict):
        return plain
    if "list" in plain:
        return [_value(one) for one in plain["list"]]
    if "tuple" in plain:
        return tuple(_value(one) for one in plain["tuple"])
    if "set" in plain:
        return set(plain["of"])
    if "dict" in plain:
        return {_value(key): _value(one) for key, one in plain["dict"]}
    raise ValueError(f"{plain.get('other', 'this')} cannot be kept")
