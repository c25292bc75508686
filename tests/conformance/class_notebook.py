"""A notebook in this process over a real session: its namespace is `__main__`, as in a kernel."""

from __future__ import annotations

import copy
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from nbrewind.session.core import RewindResult
from nbrewind.session.session import Session
from tests.sessions import Book, settings_for

__all__ = ["ClassNotebook", "opened"]


class ClassNotebook:
    """Runs cells as turns of a session, looks at what they made, and goes back to the first."""

    def __init__(self) -> None:
        main = types.ModuleType("__main__")
        sys.modules["__main__"] = main
        self.names: dict[str, Any] = main.__dict__
        self._own = frozenset(self.names)
        self.book: Book

    def namespace(self) -> dict[str, Any]:
        return self.names

    def shown(self) -> dict[int, int]:
        return {}

    def hidden(self) -> frozenset[str]:
        return self._own

    def callbacks(self) -> tuple[object, ...]:
        return ()

    def providers(self) -> tuple[Any, ...]:
        return ()

    def run(self, code: str) -> None:
        with self.book.turn(code):
            exec(compile(code, "<cell>", "exec", dont_inherit=True), self.names)

    def look(self, expression: str) -> Any:
        return copy.deepcopy(eval(expression, self.names))

    def look_as_was(self, expression: str) -> Any:
        """Look while `x` is bound again to what `other` still is."""
        self.names["x"] = self.names["other"]
        try:
            return self.look(expression)
        finally:
            self.names["x"] = None

    def free(self, code: str) -> None:
        """Run *code* if what it speaks of is there."""
        with suppress(NameError, AttributeError):
            exec(code, self.names)

    def back(self) -> RewindResult:
        return self.book.to(1)

    def clear(self) -> None:
        for name in [name for name in self.names if name not in self._own]:
            del self.names[name]


@contextmanager
def opened(folder: Path, home: Path) -> Iterator[ClassNotebook]:
    """Yield a notebook in the workspace *folder*."""
    notebook = ClassNotebook()
    session = Session.attach(settings_for(folder, home), notebook="", kernel="test", namespace=notebook)
    notebook.book = Book(session)
    try:
        yield notebook
    finally:
        notebook.clear()
        session.close()
