"""Any sequence of what people and machines do to a session, against a model that is a list of dictionaries.

Real files, a real store. Others' files are in a folder of their own (they never go back), and sometimes ours are edited
by somebody else (then they are a conflict and stay).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from nbrewind.errors import RewindRefused, UsageError
from nbrewind.model import PlanOptions
from nbrewind.session.session import Session
from nbrewind.session.turns import TurnEnd, TurnStart
from tests.faults import KILLED, KillAt, run_forked
from tests.outsider import Outsider
from tests.reliability.effort import LONG, amount
from tests.sessions import settings_for
from tests.stores import fsck

Files = dict[str, str]
_NAMES = st.sampled_from(["a", "b", "sub/a", "sub/deep/c"])
_TEXTS = st.text("xyz", max_size=3).map(lambda text: text * 700)
_EXAMPLES, _STEPS = amount(12, 1000), 20 if not LONG else 35


@dataclass
class Point:
    """A turn of the model: its number, all files before and after it, and the paths that it changed."""

    number: int
    before: Files
    files: Files
    changed: frozenset[str]
    edited: frozenset[str] = frozenset()
    """Paths of ours that somebody else changed between this turn and the next."""


class AnySession(RuleBasedStateMachine):
    """Invariant: what stands is what the model says, whatever happened."""

    outsider: Outsider

    def __init__(self) -> None:
        super().__init__()
        self.base = Path(tempfile.mkdtemp(prefix="session-", dir=_place()))
        self.work, self.home = self.base / "work", self.base / "home"
        self.work.mkdir()
        self.home.mkdir()
        self.files: Files = {}
        self.theirs: Files = {}
        self.line: list[Point] = []
        self.undo: list[tuple[list[Point], Files]] = []
        self.redo: list[tuple[list[Point], Files]] = []
        self.number = 0
        self.open: Files | None = None
        self.session = self._attach()

    def _attach(self) -> Session:
        return Session.attach(settings_for(self.work, self.home, turn_budget=30.0), kernel="model")

    @initialize(text=_TEXTS)
    def first(self, text: str) -> None:
        self.begin()
        self.write("a", text)
        self.end()

    # -- turns ----------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.open is None)
    @rule()
    def begin(self) -> None:
        self.number += 1
        self.session.begin_turn(TurnStart(code=f"turn {self.number}", number=self.number))
        self.open = dict(self.files)

    @precondition(lambda self: self.open is not None)
    @rule(name=_NAMES, text=_TEXTS)
    def write(self, name: str, text: str) -> None:
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.files[name] = text

    @precondition(lambda self: self.open is not None and self.files)
    @rule(data=st.data())
    def delete(self, data: Any) -> None:
        name = data.draw(st.sampled_from(sorted(self.files)))
        (self.work / name).unlink()
        del self.files[name]

    @precondition(lambda self: self.open is not None and self.files)
    @rule(data=st.data(), new=_NAMES)
    def rename(self, data: Any, new: str) -> None:
        name = data.draw(st.sampled_from(sorted(self.files)))
        (self.work / new).parent.mkdir(parents=True, exist_ok=True)
        os.replace(self.work / name, self.work / new)
        self.files[new] = self.files.pop(name)

    @precondition(lambda self: self.open is not None)
    @rule()
    def end(self) -> None:
        self.session.end_turn(TurnEnd())
        self._ended()

    def _ended(self) -> None:
        before, self.open = self.open, None
        assert before is not None
        names = before.keys() | self.files.keys()
        changed = frozenset(name for name in names if before.get(name) != self.files.get(name))
        self.line.append(Point(self.number, before, dict(self.files), changed))
        self.undo, self.redo = [], []

    # -- others ---------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.open is None)
    @rule(name=st.sampled_from(["theirs/x", "theirs/y"]), text=_TEXTS)
    def others_write(self, name: str, text: str) -> None:
        assert self.session.settle()
        self.outsider.write(self.work, {name: text})
        self.theirs[name] = text

    @precondition(lambda self: self.open is None and self.files and not self.undo and not self.redo)
    @rule(data=st.data(), text=_TEXTS)
    def others_edit_ours(self, data: Any, text: str) -> None:
        name = data.draw(st.sampled_from(sorted(self.files)))
        if self.files[name] == text:
            return
        assert self.session.settle()
        self.outsider.write(self.work, {name: text})
        assert self.session.settle()
        self.files[name] = text
        self.line[-1] = replace(self.line[-1], edited=self.line[-1].edited | {name})

    # -- moves ----------------------------------------------------------------------------------------------------

    def _after_going_back(self, place: int) -> Files:
        """Return the files when the first *place* points of the line stay."""
        wanted = self.line[place].before if place < len(self.line) else self.files
        result = dict(self.files)
        for name in {name for point in self.line[place:] for name in point.changed}:
            last = max(at for at, point in enumerate(self.line) if name in point.changed)
            edited = any(name in point.edited for point in self.line[last:])
            if edited and self.files.get(name) != wanted.get(name):
                continue
            if name in wanted:
                result[name] = wanted[name]
            else:
                result.pop(name, None)
        return result

    @precondition(lambda self: self.open is None and self.line)
    @rule(data=st.data())
    def rewind(self, data: Any) -> None:
        place = data.draw(st.integers(0, len(self.line)))
        target = f"before {self.line[place].number}" if place < len(self.line) else str(self.line[-1].number)
        after = self._after_going_back(place)
        try:
            self.session.rewind(self.session.plan(target, PlanOptions(force=True)))
        except (RewindRefused, UsageError):
            # There is nothing to do: all of it stands already.
            assert after == self.files
            return
        self._moved(place, after)

    def _moved(self, place: int, after: Files) -> None:
        self.undo.append((list(self.line), dict(self.files)))
        self.redo = []
        edited = {name for point in self.line[place:] for name in point.edited}
        # What somebody else wrote and the rewind left alone is theirs still, seen from the cells that stay.
        stays = {name for name in edited if after.get(name) == self.files.get(name)}
        self.line, self.files = self.line[:place], after
        if self.line:
            self.line[-1] = replace(self.line[-1], edited=self.line[-1].edited | stays)

    @precondition(lambda self: self.open is None and self.undo)
    @rule()
    def undo_rewind(self) -> None:
        self.session.undo()
        self.redo.append((list(self.line), dict(self.files)))
        self.line, self.files = self.undo.pop()

    @precondition(lambda self: self.open is None and self.redo)
    @rule()
    def redo_rewind(self) -> None:
        self.session.redo()
        self.undo.append((list(self.line), dict(self.files)))
        self.line, self.files = self.redo.pop()

    @precondition(lambda self: self.open is None and self.line)
    @rule(data=st.data())
    def restore_beside(self, data: Any) -> None:
        point = data.draw(st.sampled_from(self.line))
        if not point.files:
            return
        name = data.draw(st.sampled_from(sorted(point.files)))
        assert b"".join(self.session.cat(str(point.number), str(self.work / name))).decode() == point.files[name]

    # -- deaths ---------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.open is None)
    @rule()
    def restart(self) -> None:
        self.session.close()
        self._take_up()

    def _take_up(self) -> None:
        known = len(self.session.operations)
        self.session = self._attach()
        assert len(self.session.operations) > known
        # An attach is an operation: what was rewound before stays as it is, and undo goes on from there.

    @precondition(lambda self: self.open is None and len(self.line) > 1)
    @rule(data=st.data(), point=st.integers(0, 160))
    def killed_rewind(self, data: Any, point: int) -> None:
        place = data.draw(st.integers(0, len(self.line) - 1))
        number, after = self.line[place].number, self._after_going_back(place)
        self.session.close()
        moves = len(_moves(self.session))

        def play() -> None:
            session = self._attach()
            session.rewind(session.plan(f"before {number}", PlanOptions(force=True)))
            session.close()

        status = run_forked(play, KillAt(point))
        self.session = self._attach()
        if len(_moves(self.session)) > moves:
            self._moved(place, after)
        else:
            assert status == KILLED or after == self.files

    @precondition(lambda self: self.open is None)
    @rule(name=_NAMES, text=_TEXTS, point=st.integers(0, 60))
    def killed_turn(self, name: str, text: str, point: int) -> None:
        self.session.close()
        self.number += 1
        path, number = self.work / name, self.number
        path.parent.mkdir(parents=True, exist_ok=True)

        def play() -> None:
            session = self._attach()
            session.begin_turn(TurnStart(code=f"turn {number}", number=number))
            path.write_text(text)
            session.end_turn(TurnEnd())
            session.settle()
            session.close()

        before = dict(self.files)
        run_forked(play, KillAt(point))
        self.session = self._attach()
        if path.exists():
            self.files[name] = path.read_text()
            assert self.files[name] in (text, before.get(name))
        if any(one.turn is not None and one.turn.number == number for one in self.session.operations):
            self.open = before
            self._ended()
        else:
            assert self.files == before

    # -- what must be true ----------------------------------------------------------------------------------------

    @invariant()
    def what_stands_is_what_the_model_says(self) -> None:
        found = {str(path.relative_to(self.work)): path.read_text() for path in self.work.rglob("*") if path.is_file()}
        assert found == self.files | self.theirs

    @invariant()
    def nothing_is_degraded(self) -> None:
        assert self.session.frozen is None
        assert self.session.status().not_protected is None

    def teardown(self) -> None:
        try:
            if self.open is not None:
                self.end()
            self.session.settle()
            for point in self.line:
                for name, text in point.files.items():
                    assert b"".join(self.session.cat(str(point.number), str(self.work / name))).decode() == text
            self.session.close()
            assert fsck(Path(self.session.settings.store_dir)) == ""
        finally:
            self.session.close()
            shutil.rmtree(self.base)


def _moves(session: Session) -> list[str]:
    return [operation.id for operation in session.operations if operation.kind.value in ("rewind", "undo", "redo")]


def _place() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


@contextmanager
def _outsider() -> Iterator[None]:
    AnySession.outsider = Outsider()
    try:
        yield
    finally:
        AnySession.outsider.close()


def test_any_sequence_of_cells_edits_moves_and_deaths_agrees_with_the_model() -> None:
    with _outsider():
        run_state_machine_as_test(
            AnySession,
            settings=settings(
                max_examples=_EXAMPLES,
                stateful_step_count=_STEPS,
                deadline=None,
                # Shrinking takes minutes here; the blob that a failure prints is enough.
                phases=(Phase.generate,),
                suppress_health_check=list(HealthCheck),
            ),
        )
