"""One wrong bit anywhere in a small, full store: no exception escapes, what is whole is given, the damage is named.

The store holds every kind of file: a log with turns, moves and a name, packs and indexes, references, a journal with a
before-image of a turn that a kill interrupted, and the intent of a rewind that a kill interrupted.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
from collections import Counter, defaultdict
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from nbrewind.errors import RewindError, StoreError
from nbrewind.model import EntryKind, Operation, OperationId, SessionId, Settings
from nbrewind.session.session import Session
from nbrewind.session.turns import TurnStart
from tests.builders import hash_tree
from tests.faults import KILLED, installed, run_forked
from tests.reliability.effort import SEED, amount
from tests.sessions import Book, settings_for

_FLIPS = amount(int(os.environ.get("S", 150)), 10_000)
_ATTACHES = amount(int(os.environ.get("S", 50)), 2_000)
_OUTSIDE = ("outside at first", "outside after the first", "outside in the middle")
Contents = dict[str, bytes]


@dataclass
class Specimen:
    """A full store, what its points hold, and a copy that is damaged again and again."""

    ground: Path
    settings: Settings = field(init=False)
    known: dict[SessionId, dict[OperationId, Contents]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        (self.ground / "work").mkdir()
        (self.ground / "outside").mkdir()
        (self.ground / "outside" / "o").write_text("outside at first")
        self.settings = settings_for(
            self.ground / "work", self.ground, store_dir=str(self.ground / "store"), shared_roots=("/proc",)
        )
        assert run_forked(self._fill) == 0
        for identifier in Session.stored(self.settings):
            with closing(Session.open(self.settings, identifier)) as session:
                self.known[identifier] = {one.id: contents(session, one) for one in session.operations}
        assert len(self.known) == 2
        self.saved = self.ground / "saved"
        self.saved.mkdir()
        for name in ("store", "work", "outside"):
            subprocess.run(["cp", "-a", str(self.ground / name), str(self.saved / name)], check=True)
        store = self.ground / "store"
        self.files: dict[str, list[Path]] = defaultdict(list)
        for path in sorted(store.rglob("*")):
            if path.is_file() and path.stat().st_size:
                self.files[kind_of(path.relative_to(store))].append(path)
        assert self.files.keys() >= {"refs", "pack", "idx", "intent", "image", "list", "journal", "log", "format"}

    def _fill(self) -> None:
        work, outside = self.ground / "work", self.ground / "outside"
        book = Book(self.attach("one"))
        with book.turn("the first"):
            (work / "a").write_text("a first " * 50)
            (work / "folder").mkdir()
            (work / "folder" / "b").write_text("b first")
            (outside / "o").write_text("outside after the first")
        with book.turn("the second, with many words " * 300):
            (work / "a").write_text("a second " * 3000)
            (work / "c").write_bytes(bytes(range(256)) * 40)
            (work / "link").symlink_to("a")
        book.session.name("named")
        with book.turn("the third"):
            (work / "folder" / "b").unlink()
            for number in range(70):
                (work / f"many-{number}").write_text(f"{number}")
        book.to("named")
        book.session.undo()
        book.session.close()
        # In another notebook a turn that a kill interrupts, then here a rewind that a kill interrupts.
        assert run_forked(self._interrupted_turn) == KILLED
        assert run_forked(self._interrupted_rewind) == KILLED

    def attach(self, notebook: str) -> Session:
        """Attach as the kernel of one of the two notebooks."""
        return Session.attach(self.settings, notebook=f"{self.ground}/work/{notebook}.ipynb", kernel="specimen")

    def _interrupted_turn(self) -> None:
        book = Book(self.attach("two"))
        with book.turn("whole"):
            (self.ground / "work" / "other").write_text("other")
        book.session.begin_turn(TurnStart(code="interrupted", number=2))
        (self.ground / "outside" / "o").write_text("outside in the middle")
        (self.ground / "work" / "other").write_text("other in the middle")
        os.kill(os.getpid(), signal.SIGKILL)

    def _interrupted_rewind(self) -> None:
        book = Book(self.attach("one"))
        book.session.settle()
        place = str(self.ground / "work")
        with installed(KillAtExchange(place)):
            book.to("named")

    def reset(self) -> None:
        """Make store and files what they were."""
        for name in ("store", "work", "outside"):
            shutil.rmtree(self.ground / name)
            subprocess.run(["cp", "-a", str(self.saved / name), str(self.ground / name)], check=True)


@dataclass
class KillAtExchange:
    """Kills this process when the third file of a rewind has been moved to its place below *place*."""

    place: str
    seen: int = 0

    def before(self, call: str, target: str, size: int) -> int | None:
        return None

    def torn(self, call: str, target: str) -> None:
        pass

    def after(self, call: str, target: str) -> None:
        self.seen += call in ("exchange", "noreplace") and target.startswith(self.place)
        if self.seen == 3:
            os.kill(os.getpid(), signal.SIGKILL)


def contents(session: Session, operation: Operation) -> Contents:
    """Return every byte that a point says to hold.

    Raises:
        StoreError: Some cannot be read.
    """
    tree = session.tree(operation)
    found = {"code": session.code_of(operation).encode(), "outputs": session.outputs_of(operation).encode()}
    found |= {f"change {place}": change.path.encode() for place, change in enumerate(session.changes_of(operation))}
    for path, state in tree.walk() if tree is not None else ():
        if state.kind in (EntryKind.FILE, EntryKind.SYMLINK):
            found[f"file {path}"] = b"".join(session.content(state))
    return found


def flip(path: Path, bit: int) -> None:
    """Turn one bit of the file over."""
    fd = os.open(path, os.O_RDWR)
    byte = os.pread(fd, 1, bit // 8)[0]
    os.pwrite(fd, bytes([byte ^ (1 << bit % 8)]), bit // 8)
    os.close(fd)


def chosen(specimen: Specimen, chance: random.Random) -> tuple[str, Path, int]:
    """Return a kind of file, one of that kind, and a bit of it; those of its first and last bytes more often."""
    kind = chance.choice(sorted(specimen.files))
    path = chance.choice(specimen.files[kind])
    size = path.stat().st_size
    edge = chance.randrange(min(size, 64))
    byte = chance.choice((chance.randrange(size), edge, size - 1 - edge))
    return kind, path, byte * 8 + chance.randrange(8)


def kind_of(path: Path) -> str:
    """Return what sort of file of a store it is."""
    if path.parts[0] == "shadow":
        return "refs" if "refs" in path.parts else path.suffix[1:] or "git file"
    if path.parts[0] != "sessions":
        return path.name
    names = {"intents": "intent", "images": "image", "archive": "list"}
    return "journal" if path.name.startswith("turn") else names.get(path.parent.name, path.name)


def look(specimen: Specimen, where: str, *, harmless: bool) -> str:
    """Read everything of the damaged store and return what came of it; fail on a wrong byte or a silent loss.

    *harmless* damage loses nothing at all.
    """
    outcome = {look_at(specimen, session, where) for session in specimen.known}
    assert not harmless or outcome <= {"whole", "named"}, where
    return ", ".join(sorted(outcome - {"whole"})) or "whole"


def look_at(specimen: Specimen, identifier: SessionId, where: str) -> str:
    """Read everything of one session."""
    try:
        session = Session.open(specimen.settings, identifier)
    except StoreError as error:
        return f"refused: {type(error).__name__}"
    known = specimen.known[identifier]
    with closing(session):
        points = session.points()
        verified = session.verify()
        found = {operation.id: operation for operation in session.operations}
        lost = set(known) - set(found)
        assert len(lost) <= 1, (where, "more than one frame is gone")
        assert not lost or session.damaged, (where, "a point is gone in silence")
        assert set(found) <= set(known), where
        failed = 0
        for one, operation in found.items():
            try:
                assert contents(session, operation) == known[one], (where, "a wrong byte")
            except StoreError:
                failed += 1
                assert verified, (where, "verify names nothing")
        assert {point.id for point in points} >= set(found)
        return "lost a frame" if lost else "lost objects" if failed else "named" if verified else "whole"


@pytest.fixture
def specimen(ground: Path) -> Specimen:
    return Specimen(ground)


def test_wrong_bit_is_never_read_as_right_and_never_hidden(specimen: Specimen) -> None:
    chance = random.Random(SEED)
    outcomes: Counter[str] = Counter()
    for _ in range(_FLIPS):
        kind, path, bit = chosen(specimen, chance)
        right = path.read_bytes()
        flip(path, bit)
        where = f"bit {bit} of {path.relative_to(specimen.ground)}"
        try:
            outcomes[f"{kind}: {look(specimen, where, harmless=kind == 'idx')}"] += 1
        except BaseException as error:
            error.add_note(where)
            raise
        # Not the bit back: a verification mends what it can.
        path.write_bytes(right)
    print("\n".join(f"{count:6} {name}" for name, count in sorted(outcomes.items())))  # noqa: T201  counts as run


def test_kernel_starts_beside_any_wrong_bit_and_what_is_whole_goes_back(specimen: Specimen) -> None:
    chance = random.Random(SEED)
    outcomes: Counter[str] = Counter()
    for _ in range(_ATTACHES):
        kind, path, bit = chosen(specimen, chance)
        flip(path, bit)
        where = f"bit {bit} of {path.relative_to(specimen.ground)}"
        try:
            outcomes[f"{kind}: {use(specimen, chance.choice(('one', 'two')))}"] += 1
        except BaseException as error:
            error.add_note(where)
            raise
        specimen.reset()
    print("\n".join(f"{count:6} {name}" for name, count in sorted(outcomes.items())))  # noqa: T201  counts as run


def check_outside(session: Session) -> None:
    """Check that what is said to have stood outside stood there; the bytes went through journals and raw copies."""
    for operation in session.operations:
        with suppress(StoreError):
            for change in session.changes_of(operation):
                for state in (change.before, change.after):
                    if change.path.endswith("/outside/o") and state is not None and state.object is not None:
                        assert b"".join(session.content(state)).decode() in _OUTSIDE


def use(specimen: Specimen, notebook: str) -> str:
    """Attach, make a turn and take it back, as a kernel does; return what came of it."""
    try:
        session = specimen.attach(notebook)
    except StoreError as error:
        return f"refused: {type(error).__name__}"
    with closing(session):
        book = Book(session)
        book.count = 50
        before = hash_tree(specimen.settings.workspace)
        with book.turn("after the damage"):
            (specimen.ground / "work" / "a").write_text("after the damage")
            (specimen.ground / "work" / "later").write_text("later")
        session.settle()
        status = session.status()
        known = specimen.known.get(session.id, {})
        named = bool(status.damaged or [note for note in status.recovered if "not" in note.reason])
        assert named or known.keys() <= {operation.id for operation in session.operations}, "lost in silence"
        check_outside(session)
        if status.not_protected is not None:
            return f"not protected: {status.not_protected.reason[:60]}"
        try:
            book.to("before 51")
        except RewindError as error:
            after = hash_tree(specimen.settings.workspace)
            assert after[b"a"] != before.get(b"a")
            assert b"later" in after
            return f"rewind refused: {type(error).__name__}: {error.message[:70]}"
        assert hash_tree(specimen.settings.workspace) == before
        session.undo()
        return "works, damage named" if named else "works"
