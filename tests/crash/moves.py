"""A rewind of a whole session, files and variables at once, and what must be true after any fault in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nbrewind.errors import InconsistentState, RewindError
from nbrewind.fs.probe import mutate
from nbrewind.model import OperationKind, PlanOptions
from nbrewind.rewind.intent import pending_intents
from nbrewind.session.session import Session
from tests.crash.turns import BEGINS, NUMBER, TurnStage, change_variables, variables_before
from tests.faults import ErrorAt, installed, run_in_child
from tests.stores import fsck, stores_below

__all__ = ["DONE", "INCONSISTENT", "NOT_HIT", "MoveStage"]

DONE, INCONSISTENT, NOT_HIT = "done", "inconsistent", "not hit"
"""Outcomes of a move under errors; the others are the codes of `RewindError`."""
_MOVES = (OperationKind.REWIND, OperationKind.UNDO, OperationKind.REDO, OperationKind.RESTORE)
_FORCE = PlanOptions(force=True)


class MoveStage(TurnStage):
    """The turn of `TurnStage` is in the log, and a kernel that holds its variables takes it back, again and again.

    *before* and *after* are how files stand before and after the turn: *after* is where the move begins.
    """

    def __init__(self, ground: Path) -> None:
        super().__init__(ground)
        self.start = self.save()

    def kernel(self) -> tuple[Session, dict[str, Any]]:
        """Return a session and the namespace of its kernel, as the turn left both."""
        names = variables_before()
        change_variables(names)
        session = self.attach(names)
        assert self.look() == self.after
        return session, names

    def play(self) -> None:
        """Attach and rewind; for a forked child."""
        if not hasattr(self, "after"):
            super().play()  # the turn itself, once, by which the stage is built
            return
        session, _ = self.kernel()
        mutate("user", BEGINS, lambda: None)
        session.rewind(session.plan(f"before {NUMBER}", _FORCE))
        session.close()

    # -- after a death --------------------------------------------------------------------------------------------

    def _checked(self) -> str:
        """Return "before" or "after", once a fresh kernel found either of both, whole, and went to the other one."""
        names: dict[str, object] = {}
        session = self.attach(names)
        rewinds = [one for one in session.operations if one.kind is OperationKind.REWIND]
        files, other = (self.before, self.after) if rewinds else (self.after, self.before)
        assert self.look() == files, self.difference(files)
        assert self.litter() == [], self.litter()
        session.rewind(session.plan_recover())
        assert names == (variables_before() if rewinds else self._variables_after()), names
        assert self.look() == files, self.difference(files)
        if rewinds:
            session.undo()  # the variables' return first
            session.undo()
        else:
            session.rewind(session.plan(f"before {NUMBER}", _FORCE))
        assert self.look() == other, self.difference(other)
        assert names == (self._variables_after() if rewinds else variables_before()), names
        self._sound(session)
        return "after" if rewinds else "before"

    # -- after an error -------------------------------------------------------------------------------------------

    def failed(self, probe: ErrorAt) -> str:
        """Return what the move came to under *probe*, and check that all stands as that says."""
        return run_in_child(lambda: self._failed(probe))

    def _failed(self, probe: ErrorAt) -> str:
        session, names = self.kernel()
        kept = dict(names)
        outcome = DONE
        try:
            with installed(probe):
                session.rewind(session.plan(f"before {NUMBER}", _FORCE))
        except InconsistentState as error:
            assert error.message and session.frozen is not None
            return INCONSISTENT
        except RewindError as error:
            assert error.message
            outcome = error.code
        if not probe.hit:
            return NOT_HIT
        if outcome == DONE:
            # Where cleaning up failed, what came out still stands beside, and the next move takes it away.
            found = self.look()
            assert {path: found.get(path) for path in self.before} == self.before, self.difference(self.before)
            assert found == self.before or pending_intents(session._parts.paths)
            assert names == variables_before(), names
        else:
            assert self.look() == self.after, self.difference(self.after)
            assert names == self._variables_after(), names
            assert all(names[name] is value for name, value in kept.items())
            # What was in the way is gone: the same move works now.
            session.rewind(session.plan(f"before {NUMBER}", _FORCE))
            assert self.look() == self.before, self.difference(self.before)
            assert names == variables_before(), names
        session.undo()
        assert self.look() == self.after, self.difference(self.after)
        assert names == self._variables_after(), names
        self._sound(session)
        return outcome

    # -- parts ----------------------------------------------------------------------------------------------------

    def _variables_after(self) -> dict[str, Any]:
        names = variables_before()
        change_variables(names)
        return names

    def _sound(self, session: Session) -> None:
        assert session.verify() == ()
        lists = Path(session._parts.paths.archive).iterdir()
        listed = sorted(path.stem.partition("-")[2] for path in lists)
        assert listed == sorted(one.id for one in session.operations if one.kind in _MOVES)
        session.close()
        assert self.litter() == [], self.litter()
        (store,) = stores_below(self.home)
        assert fsck(store) == ""
