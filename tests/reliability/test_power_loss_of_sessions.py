"""A power cut at any instant of a whole session: attach, turns, a rewind, an undo, a name.

What the user's cells write counts as flushed here, so that the only unflushed bytes are ours.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import islice
from pathlib import Path

import pytest

from nbrewind.errors import RewindError
from nbrewind.model import EntryKind, FileState, Operation
from nbrewind.session.session import Session
from tests.crash.scene import looks
from tests.crash.test_mutants import without_flush
from tests.reliability.disk import Cut, Event, Recorder, Trace, recorded
from tests.reliability.effort import SEED, amount
from tests.sessions import Book, settings_for

_STATES = amount(80, 15000)
Acknowledged = tuple[str, dict[str, bytes], list[str]]
"""A step's name, what stands in the workspace after it, and the ids in the log."""


class Play:
    """A session in *base*, played once under a recorder; knows all contents that any path ever had."""

    def __init__(self, base: Path) -> None:
        self.work, self.outside, self.home = base / "work", base / "outside", base / "home"
        for folder in (self.work, self.outside, self.home):
            folder.mkdir()
        (self.work / "a").write_bytes(b"a first" * 300)
        (self.work / "d").mkdir()
        (self.work / "d" / "b").write_bytes(b"b first")
        (self.outside / "o").write_bytes(b"o first" * 200)

    @property
    def roots(self) -> list[Path]:
        return [self.work, self.outside, self.home]

    def attach(self) -> Session:
        """Take the session up as a fresh kernel does."""
        return Session.attach(
            settings_for(self.work, self.home, turn_budget=30.0, shared_roots=("/proc",)), kernel="test"
        )

    def run(self, recorder: Recorder) -> None:
        """Play the session."""
        book = Book(self.attach())

        def acknowledge(step: str) -> None:
            assert book.session.settle()
            assert book.session.status().not_protected is None
            recorder.mark((step, _contents(self.work), [one.id for one in book.session.operations]))

        acknowledge("attached")
        with book.turn("first"):
            self._write(recorder, {"a": b"a second" * 400, "n": b"n second"}, {"o": b"o second" * 300})
        acknowledge("turn 1")
        with book.turn("second"):
            (self.work / "d" / "b").unlink()
            recorder.given()
            self._write(recorder, {"a": b"a third", "d/c": b"c third" * 900}, {"o": b"o third"})
        acknowledge("turn 2")
        book.session.name("two turns")
        acknowledge("name")
        book.to(1)
        acknowledge("rewind")
        book.session.undo()
        acknowledge("undo")

    def _write(self, recorder: Recorder, inside: dict[str, bytes], outside: dict[str, bytes]) -> None:
        for folder, files in ((self.work, inside), (self.outside, outside)):
            for name, data in files.items():
                (folder / name).write_bytes(data)
                recorder.given()


def _contents(folder: Path) -> dict[str, bytes]:
    return {name: row[2] for name, row in looks(folder).items()}


def check(play: Play, trace: Trace, cut: Cut, known: dict[str, set[bytes]]) -> str:
    """Take the session up after *cut* and return the last acknowledged step; fail on anything lost or wrong."""
    marks: list[Acknowledged] = trace.marks(cut)
    following: list[Acknowledged] = trace.marks(Cut(len(trace.steps), 0, ordered=False))[len(marks) :]
    standing = _contents(play.work)
    session = play.attach()
    try:
        found = [operation.id for operation in session.operations]
        step, contents, ids = marks[-1] if marks else ("nothing", {}, [])
        assert set(ids) <= set(found), "an acknowledged operation is gone"
        assert session.damaged == ()
        now = _contents(play.work)
        if step in ("name", "rewind") and following:
            # A move was under way: before, or after it.
            assert now in (contents, following[0][1])
        else:
            assert now == (standing if step != "undo" else contents)
        assert not [name for name in looks(play.work) if ".nbrewind-" in name]
        for operation in session.operations:
            _check_contents(session, operation, known)
    finally:
        session.close()
    return step


def _check_contents(session: Session, operation: Operation, known: dict[str, set[bytes]]) -> None:
    """Check that what is said to be kept is kept, and is something that once stood at that path."""
    states: list[tuple[str, FileState]] = []
    tree = session.tree(operation)
    if tree is not None:
        states += tree.walk()
    for change in session.changes_of(operation):
        states += [(change.path, state) for state in (change.before, change.after) if state is not None]
    for path, state in states:
        if state.kind is EntryKind.FILE and state.object is not None:
            data = b"".join(session.content(state))
            assert data in known[Path(path).name], (operation.kind, path, data[:40])


def _known(trace: Trace) -> dict[str, set[bytes]]:
    """Return every content that any file of the user had, by its name."""
    contents: dict[int, set[bytes]] = defaultdict(set)
    names = set(trace.start.names.items())
    for inode, node in trace.start.nodes.items():
        contents[inode].add(node.content)
    for step in trace.steps:
        if isinstance(step, Event):
            names |= {(name, inode) for name, inode in step.names.items() if inode is not None}
            for inode, (_, after) in step.nodes.items():
                contents[inode].add(after.content)
    known: dict[str, set[bytes]] = defaultdict(set)
    for (_, name), inode in names:
        known[name] |= contents[inode]
    return known


def test_what_a_session_acknowledged_survives_a_power_cut(ground: Path) -> None:
    play = Play(ground)
    trace = recorded(play.run, play.roots)
    known = _known(trace)
    found: Counter[str] = Counter()
    for cut in islice(trace.cuts(SEED), _STATES):
        trace.lay(cut)
        try:
            found[check(play, trace, cut, known)] += 1
        except BaseException as error:
            error.add_note(trace.story(cut))
            raise
    assert found.keys() >= {"nothing", "attached", "turn 1", "turn 2", "undo"}


@pytest.mark.parametrize("part", ["/incoming/", "/log"])
def test_missing_flush_of_a_turn_is_found(ground: Path, monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    play = Play(ground)
    without_flush(part)(monkeypatch)
    trace = recorded(play.run, play.roots)
    monkeypatch.undo()
    known = _known(trace)

    with pytest.raises((AssertionError, OSError, RewindError)):
        for cut in islice(trace.cuts(SEED), 600):
            trace.lay(cut)
            check(play, trace, cut, known)
