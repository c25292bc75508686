"""A session in this process, without a kernel: turns are `with` blocks, and moves are one call."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nbrewind.model import OperationId, PlanOptions, Settings
from nbrewind.session.defaults import Surroundings, make_settings
from nbrewind.session.points import Point
from nbrewind.session.session import RewindResult, Session
from nbrewind.session.turns import TurnEnd, TurnStart
from tests.builders import TestWorkspace

__all__ = ["Book", "attached", "settings_for", "without_override"]


def settings_for(folder: Path, home: Path, **more: Any) -> Settings:
    """Return settings for a notebook in *folder*, with the default store in *home*."""
    around = Surroundings({"JUPYTER_DATA_DIR": str(home / "jupyter")}, str(home), str(folder))
    return make_settings(around, **more)


class Book:
    """A session whose turns are numbered from 1, with short forms of what tests do again and again."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.count = 0

    @contextmanager
    def turn(self, code: str = "a cell") -> Iterator[int]:
        """Make everything inside one turn, and yield its number."""
        self.count += 1
        self.session.begin_turn(TurnStart(code=code, number=self.count))
        try:
            yield self.count
        finally:
            self.session.end_turn(TurnEnd())

    def point(self, number: int) -> Point:
        """Return the row of the turn with that number."""
        self.session.settle()
        return next(point for point in self.session.points() if point.number == number)

    def head(self) -> OperationId:
        """Return the newest operation, after everything was captured."""
        self.session.settle()
        head = self.session.timeline.head
        assert head is not None
        return head

    def to(self, target: str | int, **options: Any) -> RewindResult:
        """Go back to *target* at once."""
        return self.session.rewind(self.session.plan(str(target), PlanOptions(**options)))


@contextmanager
def attached(workspace: TestWorkspace, home: Path, *, notebook: str = "", **settings: Any) -> Iterator[Book]:
    """Attach a session to *workspace*, and close it afterwards."""
    session = Session.attach(settings_for(workspace.root, home, **settings), notebook=notebook, kernel="test")
    try:
        yield Book(session)
    finally:
        session.close()


_DAC_OVERRIDE, _DAC_READ_SEARCH = 1 << 1, 1 << 2


@contextmanager
def without_override() -> Iterator[None]:
    """Make this thread obey permission bits even where it is root's, as those of people do."""
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    before = (ctypes.c_uint32 * 6)()
    assert libc.capget(header, before) == 0
    weak = (ctypes.c_uint32 * 6)(*before)
    weak[0] &= ~(_DAC_OVERRIDE | _DAC_READ_SEARCH)
    assert libc.capset(header, weak) == 0
    try:
        yield
    finally:
        assert libc.capset(header, before) == 0
