"""A failing disk while a cell runs and is saved: the cell never notices, protection degrades visibly, and recovers."""

from __future__ import annotations

import errno
import json
import os
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path

import pytest

from nbrewind.model import EntryKind
from nbrewind.resources.files.mounts import mount_of
from nbrewind.session.session import Session
from tests.faults import Call, Counter, ErrorAt, installed, open_descriptors
from tests.reliability.effort import LONG
from tests.sessions import Book, settings_for

_NUMBERS = ("ENOSPC", "EIO", "EACCES", "EDQUOT", "EMFILE", "EROFS", "EINTR") if LONG else ("ENOSPC", "EIO", "EACCES")


class Sight(Enum):
    """What one sees of a turn: as soon as its cell is over, and once its capture was tried again."""

    SAVED = "saved at once"
    MADE_UP_FOR = "degraded until the next try"
    PARTIAL = "degraded, and the turn says so for good"
    FROZEN = "held until a restart"


_SIGHTS = {
    "begin": Sight.SAVED,
    "journal": Sight.PARTIAL,
    "images": Sight.PARTIAL,
    "objects": Sight.MADE_UP_FOR,
    "log": Sight.MADE_UP_FOR,
    "flush of the log": Sight.FROZEN,
    "after": Sight.SAVED,
}
"""What one error shows, by where it comes. Before the journal and after the log a turn needs nothing."""


def stages(calls: Sequence[Call]) -> Iterator[str]:
    """Yield for each of *calls* to what part of a turn it belongs: a key of `_SIGHTS`."""
    logged = max(at for at, call in enumerate(calls) if call.target.endswith("/log"))
    for at, call in enumerate(calls):
        name = os.path.basename(call.target)
        if at > logged:
            yield "after"
        elif name == "log":
            yield "log" if call.name == "write" else "flush of the log"
        elif name == "turn" or name.startswith("turn-"):
            yield "journal"
        elif "/images" in call.target:
            yield "images"
        elif "/shadow/" in call.target:
            yield "objects"
        else:
            assert name == "gc.lock", call
            yield "begin"


@dataclass(frozen=True)
class Outcome:
    """What a forked child saw. *saved* is whether the turn with the fault is in the log with all its files.

    *at_once* is why protection is shown as degraded before anything is tried again, empty if it is not.
    """

    hit: bool = False
    calls: tuple[tuple[str, str], ...] = ()
    raised: str = ""
    at_once: str = ""
    frozen: bool = False
    saved: bool = False
    degraded: str = ""
    recovered: str = ""
    leaked: str = ""
    litter: str = ""


def cell(work: Path, outside: Path) -> None:
    """Do what the cell does: change, add, remove and rename, inside and outside."""
    (work / "a").write_text("a second")
    (work / "new").write_text("n second")
    (work / "gone").unlink()
    (work / "old name").rename(work / "new name")
    (work / "folder").mkdir()
    (outside / "o").write_text("o second")


AFTER = {"a": "a second", "new": "n second", "new name": "renamed"}


class Play:
    """A workspace and a place outside of it, each time anew."""

    def __init__(self, ground: Path) -> None:
        self.ground, self.count = ground, 0

    def fresh(self) -> None:
        self.count += 1
        base = self.ground / str(self.count)
        self.work, self.outside, self.home = base / "work", base / "outside", base / "home"
        for folder in (self.work, self.outside, self.home):
            folder.mkdir(parents=True)
        for name, text in {"a": "a first", "gone": "g first", "old name": "renamed"}.items():
            (self.work / name).write_text(text)
        (self.outside / "o").write_text("o first")
        # Files of just now are copied once more before they change: whether these are must not depend on the machine.
        time.sleep(2 * mount_of(str(base)).slack_ns / 1e9)

    def book(self) -> Book:
        settings = settings_for(self.work, self.home, shared_roots=("/proc",), turn_budget=30.0)
        return Book(Session.attach(settings, kernel="test"))

    def turn(self, book: Book) -> None:
        """Run the cell as one turn, and try once to save it."""
        with book.turn("the cell"):
            cell(self.work, self.outside)

    def outcome(self, probe: ErrorAt) -> Outcome:
        """Run the cell under *probe*, then one more turn without; all in this process."""
        book = self.book()
        book.session.settle()
        before = open_descriptors()
        raised, at_once = "", ""
        try:
            with installed(probe):
                self.turn(book)
                at_once = _degraded(book)
                book.session.settle()
        except BaseException:  # noqa: BLE001  whatever it is, a cell would have seen it
            raised = traceback.format_exc()
        session = book.session
        status = session.status()
        saved, degraded = _is_saved(book, 1), _degraded(book)
        recovered = _recovered(book, self.work) if status.frozen is None else ""
        book.session.close()
        leaked = sorted(set(open_descriptors().values()) - set(before.values()))
        leaked = [name for name in leaked if str(self.ground) in name]
        if status.frozen is not None:
            # Only a restart helps; what a new kernel does is checked by the caller in the same way.
            recovered = _recovered(self.book(), self.work)
        return Outcome(
            hit=probe.hit,
            raised=raised,
            at_once=at_once,
            frozen=status.frozen is not None,
            saved=saved,
            degraded=degraded,
            recovered=recovered,
            leaked=", ".join(leaked),
        )

    def next_kernel(self) -> Outcome:
        """Attach once more, and return what is left of spans that are in the log."""
        self.book().session.close()
        sessions = [path for path in self.home.rglob("sessions/*") if path.is_dir()]
        assert sessions
        left = [path for session in sessions for path in (*session.glob("turn*"), *session.glob("images/*"))]
        return Outcome(litter=" ".join(map(str, left + list(self.work.rglob(".nbrewind-*")))))

    def counted(self) -> Outcome:
        """Run the cell without any fault and return what changes of the disk that makes."""
        book, counter = self.book(), Counter()
        book.session.settle()
        with installed(counter):
            self.turn(book)
        assert _degraded(book) == ""
        return Outcome(calls=tuple((call.name, call.target) for call in counter.calls))


def _degraded(book: Book) -> str:
    """Return why a person sees that the turn is not, or not wholly, protected. Tries nothing again."""
    status = book.session.status()
    note = status.frozen or status.not_protected
    if note is not None:
        return note.reason
    turns = (operation.turn for operation in book.session.operations)
    return next((turn.reasons[0].reason for turn in turns if turn is not None and turn.reasons), "")


def _is_saved(book: Book, number: int) -> bool:
    """Return whether the turn is in the log, complete, and gives back what it left."""
    point = next((point for point in book.session.points() if point.number == number), None)
    if point is None or point.operation is None or point.reasons:
        return False
    tree = book.session.tree(point.operation)
    if tree is None:
        return False
    found = {
        path: b"".join(book.session.content(state)).decode()
        for path, state in tree.walk()
        if state.kind is EntryKind.FILE
    }
    return found == AFTER and point.changed_something


def _recovered(book: Book, work: Path) -> str:
    """Return what keeps the next turns from being protected and taken back; empty if nothing does."""
    book.count = 10
    with book.turn("the next"):
        (work / "a").write_text("a third")
    book.session.settle()
    if not book.session.settle():
        return "it cannot settle"
    if book.session.status().not_protected is not None:
        return f"not protected: {book.session.status().not_protected}"
    with book.turn("one more"):
        (work / "a").write_text("a fourth")
    book.to(11)
    if (work / "a").read_text() != "a third":
        return "the rewind brought something else back"
    if book.session.verify():
        return f"damaged: {book.session.verify()}"
    return ""


def _in_child(function: Callable[[], Outcome]) -> Outcome:
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        status = 70
        try:
            os.close(reader)
            found = function()
            os.write(writer, json.dumps(asdict(found)).encode())
            status = 0
        except BaseException:  # noqa: BLE001  a forked child reports whatever ended it
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    return Outcome(**json.loads(data))


def seen(found: Outcome) -> Sight:
    """Return what one saw of the turn, at once and later."""
    if found.frozen:
        return Sight.FROZEN
    if not found.at_once:
        assert found.saved, found
        return Sight.SAVED
    return Sight.MADE_UP_FOR if found.saved else Sight.PARTIAL


def failed_at(play: Play, probe: ErrorAt) -> Outcome:
    """Run the cell under *probe* anew, check what must hold whatever fails, and return what was seen."""
    play.fresh()
    found = _in_child(lambda: play.outcome(probe))
    assert found.hit, probe
    assert found.raised == "", (probe, found.raised)
    assert {path.name: path.read_text() for path in play.work.iterdir() if path.is_file()} == {
        **AFTER,
        "a": "a third",
    }, probe
    assert (play.outside / "o").read_text() == "o second"
    assert found.saved or found.degraded, (probe, "lost in silence")
    assert found.recovered == "", (probe, found)
    assert found.leaked == "", (probe, found)
    assert _in_child(play.next_kernel).litter == "", (probe, found)
    return found


def cell_of(play: Play) -> list[tuple[str, str]]:
    """Return for each change of the disk that the cell brings about its stage and its name."""
    play.fresh()
    calls = [Call(*one) for one in _in_child(play.counted).calls]
    return list(zip(stages(calls), (call.name for call in calls), strict=True))


def chosen(steps: Sequence[tuple[str, str]]) -> list[int]:
    """Return the points to fail: the last of each kind of change, or all of them."""
    return list(range(len(steps))) if LONG else sorted({step: at for at, step in enumerate(steps)}.values())


@pytest.mark.parametrize("name", _NUMBERS)
def test_one_error_never_fails_the_cell_and_is_seen_until_it_is_made_up_for(ground: Path, name: str) -> None:
    play = Play(ground)
    steps = cell_of(play)
    assert {stage for stage, _ in steps} == _SIGHTS.keys()
    for point in chosen(steps):
        found = failed_at(play, ErrorAt(point, getattr(errno, name)))
        assert seen(found) is _SIGHTS[steps[point][0]], (point, steps[point], found)


@pytest.mark.parametrize("name", _NUMBERS)
def test_disk_that_fails_from_then_on_never_fails_the_cell_and_is_seen(ground: Path, name: str) -> None:
    play = Play(ground)
    steps = cell_of(play)
    for point in chosen(steps):
        found = failed_at(play, ErrorAt(point, getattr(errno, name), forever=True))
        assert bool(found.at_once) is (steps[point][0] != "after"), (point, steps[point], found)
