"""A turn that has every kind of effect in it, played again and again, and what must be true after any death in it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbrewind.fs.probe import mutate
from nbrewind.model import Operation, OperationId, PlanOptions
from nbrewind.resources.variables.providers import Provider
from nbrewind.session.session import Session
from nbrewind.session.turns import TurnEnd, TurnStart
from tests.crash.scene import looks
from tests.faults import run_in_child
from tests.sessions import settings_for
from tests.stores import fsck, stores_below

__all__ = ["BEGINS", "NOTHING", "NUMBER", "OVER", "TurnStage", "change_variables", "variables_before"]

BEGINS, OVER = "the turn begins", "the turn is over"
NOTHING = "nothing"
"""The outcome where the turn is not in the log; the others are what `TurnStatus` has."""

NUMBER = 2
_CODE = "x.append(3); del name; y = {'rows': x}; change_files()"
Look = dict[str, tuple[Any, ...]]


@dataclass
class Namespace:
    """`KernelPort` of a kernel whose namespace is a dictionary."""

    names: dict[str, object] = field(default_factory=dict)

    def namespace(self) -> dict[str, object]:
        return self.names

    def shown(self) -> dict[int, int]:
        return {}

    def hidden(self) -> frozenset[str]:
        return frozenset()

    def callbacks(self) -> tuple[object, ...]:
        return ()

    def providers(self) -> tuple[Provider, ...]:
        return ()


def variables_before() -> dict[str, Any]:
    """Return what the kernel holds before the turn."""
    return {"x": [1, 2], "name": "before"}


def change_variables(names: dict[str, Any]) -> None:
    """Change, take away and add a variable."""
    names["x"].append(3)
    del names["name"]
    names["y"] = {"rows": names["x"]}


def effects(work: Path, outside: Path) -> Iterator[Callable[[], object]]:
    """Yield all that the cell does to files, one effect after the other."""
    for folder in (work, outside):
        file: list[Any] = []
        yield lambda folder=folder, file=file: file.append(open(folder / "truncated", "w"))  # type: ignore[misc]
        yield lambda file=file: (file[0].write("half"), file[0].flush())  # type: ignore[misc]
        yield lambda file=file: (file[0].write(" whole"), file[0].close())  # type: ignore[misc]
        yield lambda folder=folder: _append(folder / "appended", "more\n")  # type: ignore[misc]
        yield (folder / "gone").unlink
        yield lambda folder=folder: (folder / "new").write_text("new")  # type: ignore[misc]
        yield lambda folder=folder: os.rename(folder / "old name", folder / "new name")  # type: ignore[misc]
        yield lambda folder=folder: os.replace(folder / "new", folder / "replaced")  # type: ignore[misc]
        yield lambda folder=folder: os.rename(folder / "folder", folder / "moved")  # type: ignore[misc]
        yield lambda folder=folder: (folder / "moved" / "in it").write_text("in it, now")  # type: ignore[misc]
        yield lambda folder=folder: (folder / "mode").chmod(0o640)  # type: ignore[misc]
        yield lambda folder=folder: shutil.rmtree(folder / "tree")  # type: ignore[misc]
        yield (folder / "made").mkdir
        yield lambda folder=folder: os.truncate(folder / "cut", 3)  # type: ignore[misc]
    yield lambda: os.rename(work / "leaves", outside / "left")
    yield lambda: os.rename(outside / "comes", work / "come")


def _append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def _lay_out(folder: Path) -> None:
    for name in ("truncated", "appended", "gone", "old name", "replaced", "mode", "cut", "leaves", "comes"):
        (folder / name).write_text(f"{name} in {folder.name}\n" * 50)
    for path in (folder / "folder" / "in it", folder / "tree" / "deep" / "leaf", folder / "tree" / "link"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to("leaf") if path.name == "link" else path.write_text(f"{path.name} in {folder.name}")


class TurnStage:
    """One workspace, always at the same place, with one turn in its log and a second one to be played and killed."""

    def __init__(self, ground: Path, *, variables: bool = True) -> None:
        self.base = ground / "scene"
        self.work, self.outside, self.home = (self.base / name for name in ("work", "outside", "home"))
        self._ground, self._variables = ground, variables
        self._count = 0
        for folder in (self.work, self.outside, self.home):
            folder.mkdir(parents=True)
        _lay_out(self.work)
        _lay_out(self.outside)
        run_in_child(self._first_turn)
        self.before = self.look()
        self.start = self.save()
        run_in_child(self.play)
        self.after = self.look()
        assert self.after != self.before

    # -- playing --------------------------------------------------------------------------------------------------

    def attach(self, names: dict[str, object] | None = None) -> Session:
        """Take the session up, as a fresh kernel does."""
        settings = settings_for(self.work, self.home, turn_budget=30.0, shared_roots=("/proc",))
        port = Namespace(names if names is not None else {}) if self._variables else None
        return Session.attach(settings, kernel="test", namespace=port)

    def play(self) -> None:
        """Attach, run the cell and save it; for a forked child. The effects of the cell are points of the sweep too."""
        names = variables_before()
        session = self.attach(names)
        mutate("user", BEGINS, lambda: None)
        session.begin_turn(TurnStart(code=_CODE, transformed=_CODE, number=NUMBER))
        change_variables(names)
        for at, effect in enumerate(effects(self.work, self.outside)):
            mutate("user", f"effect {at}", effect)
        session.end_turn(TurnEnd())
        mutate("user", OVER, lambda: None)
        session.close()

    def next_kernel(self) -> None:
        """Attach with nothing in memory; for a forked child."""
        self.attach().close()

    def _first_turn(self) -> None:
        session = self.attach({})
        session.begin_turn(TurnStart(code="first", transformed="first = 1", number=1))
        for folder in (self.work, self.outside):
            (folder / "truncated").write_text("written by the first turn\n" * 60)
        session.end_turn(TurnEnd())
        session.close()

    # -- the folder -----------------------------------------------------------------------------------------------

    def look(self) -> Look:
        """Return what stands now, in the workspace and outside, with the times of files."""
        return {
            f"{folder.name}/{name}": row
            for folder in (self.work, self.outside)
            for name, row in looks(folder, times=True).items()
        }

    def save(self) -> Path:
        """Keep a copy of everything, and return where."""
        self._count += 1
        return _copied(self.base, self._ground / f"template-{self._count}")

    def set(self, template: Path | None = None) -> None:
        """Make everything what it was when *template* was saved, at the start if none is given."""
        shutil.rmtree(self.base)
        _copied(template or self.start, self.base)

    # -- what must be true ----------------------------------------------------------------------------------------

    def check(self) -> str:
        """Return the turn's status or `NOTHING`, after a fresh kernel found it, took it back and brought it again."""
        return run_in_child(self._checked)

    def _checked(self) -> str:
        standing = self.look()
        names: dict[str, object] = {}
        session = self.attach(names)
        assert self.look() == standing, "attaching changed files"
        assert self.litter() == [], self.litter()
        turn = next((one for one in session.operations if one.turn is not None and one.turn.number == NUMBER), None)
        assert [one for one in session.operations if one.turn is not None and one.turn.number == 1]
        if turn is None:
            assert standing == self.before, self.difference(self.before)
            assert session.status().recovered == ()
            outcome = NOTHING
        else:
            outcome = self._taken_back(session, turn, names, standing)
        assert session.verify() == ()
        session.close()
        assert self.litter() == [], self.litter()
        (store,) = stores_below(self.home)
        assert fsck(store) == ""
        return outcome

    def _taken_back(self, session: Session, turn: Operation, names: dict[str, object], standing: Look) -> str:
        assert turn.turn is not None
        assert session.status().not_protected is None
        assert turn.turn.code == _CODE or turn.turn.code_at
        self._move(session, f"before {NUMBER}")
        assert self.look() == self.before, self.difference(self.before)
        assert not self._variables or names == variables_before(), names
        session.undo()
        assert self.look() == standing, self.difference(standing)
        kept = turn.checkpoint.variables is not None
        if self._variables and kept:
            self._move(session, str(NUMBER))
            after = variables_before()
            change_variables(after)
            assert names == after, names
        assert not (self._variables and turn.turn.status.value == "ok") or kept or turn.turn.reasons
        return turn.turn.status.value

    def _move(self, session: Session, target: str) -> OperationId:
        return session.rewind(session.plan(target, PlanOptions(force=True))).operation.id

    def litter(self) -> list[str]:
        """Return everything of ours that should not be there between two turns."""
        found = [str(path) for folder in (self.work, self.outside) for path in folder.rglob(".nbrewind-*")]
        (store,) = stores_below(self.home)
        found += map(str, store.rglob("*.tmp"))
        found += map(str, (store / "shadow" / "incoming").glob("*"))
        for session in (store / "sessions").iterdir():
            found += map(str, (*session.glob("turn*"), *session.glob("images/*"), *session.glob("intents/*")))
        return found

    def difference(self, expected: Look) -> list[tuple[str, str, str]]:
        """Return where what stands now is not *expected*."""
        found = self.look()
        return [
            (path, str(found.get(path))[:90], str(expected.get(path))[:90])
            for path in sorted({*found, *expected})
            if found.get(path) != expected.get(path)
        ]

    @contextmanager
    def explained(self, *probes: object) -> Iterator[None]:
        """Add to a failure inside the block what the faults were."""
        try:
            yield
        except BaseException as error:
            error.add_note(repr(probes))
            raise


def _copied(source: Path, target: Path) -> Path:
    # Times, modes and hard links are a part of what has to come back.
    subprocess.run(["cp", "-a", str(source), str(target)], check=True)
    return target
