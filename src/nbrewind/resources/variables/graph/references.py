"""Objects that cannot be stored: known by a token and held weakly, so that the same object can be put back."""

from __future__ import annotations

import secrets
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

__all__ = ["Lost", "References"]


class Lost:
    """Stands where an object was that can neither be stored nor found alive any more."""

    __slots__ = ("kind",)

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __repr__(self) -> str:
        """Return what a person reads in its place."""
        return f"<lost: {self.kind}>"


class References:
    """Tokens of live objects. Holds no object: a weak reference where the type allows one, else only its address.

    An address proves nothing once the object may have died, so such a token is good only for an object that the
    capture right before a rewind meets again at that address (*seen*), and is dropped when nothing names it any more.
    """

    def __init__(self) -> None:
        self._run = secrets.token_hex(4)
        self._next = 0
        self._tokens: dict[int, tuple[str, int]] = {}
        self._weak: dict[str, weakref.ref[object]] = {}
        self._bare: dict[str, int] = {}
        self._seen: dict[str, object] | None = None

    def token(self, value: object) -> str:
        """Return the token of *value*, a new one if it has none."""
        known = self._tokens.get(id(value))
        if known is not None:
            token = known[0]
            weak = self._weak.get(token)
            if (weak is not None and weak() is value) or (weak is None and known[1] == id(type(value))):
                self._see(token, value)
                return token
        self._next += 1
        token = f"{self._run}-{self._next}"
        self._tokens[id(value)] = (token, id(type(value)))
        try:
            self._weak[token] = weakref.ref(value)
        except TypeError:
            self._bare[token] = id(value)
        self._see(token, value)
        return token

    def _see(self, token: str, value: object) -> None:
        if self._seen is not None:
            self._seen[token] = value

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Hold every object that gets or has a token in the block, for a rewind that follows a full capture."""
        self._seen = {}
        try:
            yield
        finally:
            self._seen = None

    def hold(self) -> dict[str, object]:
        """Return the objects met while watching, by token."""
        return dict(self._seen or {})

    def live(self, token: str, held: dict[str, object]) -> object | None:
        """Return the object of *token* if it is certainly the same and alive; None otherwise."""
        weak = self._weak.get(token)
        if weak is not None:
            return weak()
        return held.get(token)

    def keep_only(self, tokens: Iterable[str]) -> None:
        """Forget the bare addresses of all but *tokens*, and everything that died."""
        wanted = frozenset(tokens)
        self._bare = {token: place for token, place in self._bare.items() if token in wanted}
        self._weak = {token: weak for token, weak in self._weak.items() if weak() is not None}
        alive = self._bare.keys() | self._weak.keys()
        self._tokens = {place: known for place, known in self._tokens.items() if known[0] in alive}
