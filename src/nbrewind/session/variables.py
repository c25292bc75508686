"""The variables of a session: what a cell may have changed, examined on the main thread and kept by the worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nbrewind.errors import StoreError
from nbrewind.model import Note, ObjectId, Settings
from nbrewind.resources.variables.guard import Guard
from nbrewind.resources.variables.memory import Examined
from nbrewind.resources.variables.names import NameReader
from nbrewind.resources.variables.ports import KernelPort
from nbrewind.resources.variables.providers import Undo
from nbrewind.resources.variables.providers.state import ProcessState, added_providers
from nbrewind.resources.variables.tracker import VariablesSnapshot, VariableTracker
from nbrewind.resources.variables.trust import UserKey
from nbrewind.session.mainthread import is_main
from nbrewind.store.shadow.writer import PackWriter

__all__ = ["NOT_KEPT", "Kept", "Variables"]


@dataclass(frozen=True, slots=True)
class Kept:
    """What was stored of the variables for one span; *snapshot* None where nothing was, and *notes* say why.

    *has_news*: variables or process state are not what the last point holds.
    """

    snapshot: VariablesSnapshot | None = None
    notes: tuple[Note, ...] = ()
    has_news: bool = False


NOT_KEPT = Kept()
_MODULES = "modules"
"""A module that came in is no news by itself: libraries, and nbrewind too, import more when they get to it."""
_STAYS = "stays imported"
_SHOWN = 4


class TrustingKey:
    """The user's key, or the user's word: after `%rewind trust` every store is believed in this kernel."""

    def __init__(self, path: str) -> None:
        self._key = UserKey(path)
        self.trusted = False

    def seal(self, record: bytes) -> bytes:
        """Return the seal for *record*."""
        return self._key.seal(record)

    def holds(self, record: bytes, seal: bytes) -> bool:
        """Return whether *seal* is this user's for *record*, or the store is trusted."""
        return self.trusted or self._key.holds(record, seal)


class States:
    """`StatePort` over all providers."""

    def __init__(self) -> None:
        self.process = ProcessState()
        self.process.add(added_providers())
        self.held: Mapping[str, bytes] | None = None

    def capture(self) -> Mapping[str, bytes]:
        """Return the present states; while *held* is set, those: in a rewind signal handlers are not the user's."""
        return self.process.capture() if self.held is None else self.held

    def restore(self, states: Mapping[str, bytes]) -> Undo:
        """Make *states* stand; return what puts back the ones before."""
        undo = self.process.restore(states)
        undo.notes = _without_modules(undo.notes)
        return undo


def _without_modules(notes: tuple[Note, ...]) -> tuple[Note, ...]:
    """Say once that modules stay imported: with a library come dozens."""
    stay = [note.subject for note in notes if note.reason == _STAYS]
    if len(stay) < 2:
        return notes
    said = ", ".join(stay[:_SHOWN]) + (f" and {len(stay) - _SHOWN} more" if len(stay) > _SHOWN else "")
    return (*(note for note in notes if note.reason != _STAYS), Note("imported modules", f"{said} stay loaded"))


class Variables:
    """Between the kernel's namespace and the captures of a session.

    Order for a turn: `before` (the cell's code is read) → the cell → `after` → `examine` on the main thread, once the
    reply is out → `store` on the worker → `adopt` when the frame is in the log. Invariant: what was not adopted is
    found again by the next examination, because then everything is looked at.
    """

    def __init__(self, port: KernelPort, settings: Settings) -> None:
        self.key = TrustingKey(settings.key_file)
        self.states = States()
        self.tracker = VariableTracker(
            port,
            states=self.states,
            sealer=self.key,
            budget=settings.turn_budget,
            max_size=settings.max_variable_size,
        )
        self.guard = Guard()
        overwritten = self.states.process.overwritten
        self._reader = NameReader(watch=overwritten.watch if overwritten is not None else None)
        # None: everything has to be looked at. Nothing is believed of a kernel that was just attached.
        self._reached: frozenset[str] | None = None
        self._read = False
        self._examined: Examined | None = None
        self._of_turn = False
        self._has_news = False
        self._failed: Note | None = None
        self._is_current = False

    @property
    def address(self) -> ObjectId | None:
        """Where the variables of the newest point are; None where that point has none."""
        return self.tracker.address if self._is_current else None

    @property
    def is_ready(self) -> bool:
        """Return whether the last turn was examined, or that failed."""
        return self._examined is not None or self._failed is not None

    @property
    def waits(self) -> bool:
        """Return whether something was examined and is not stored yet."""
        return self._examined is not None

    # -- a turn ---------------------------------------------------------------------------------------------------

    def before(self, code: str) -> None:
        """Read the transformed cell *code*, which is about to run."""
        reach = self._reader.before(code, self.tracker.namespace)
        self._join(reach.names)
        self._read = True

    def after(self) -> None:
        """Take in what the cell can reach now that it ran."""
        if not self._read:
            self.distrust()
            return
        self._read = False
        self._join(self._reader.after(self.tracker.namespace).names)

    def passed(self, code: str | None) -> None:
        """Take note of a cell that makes no point."""
        if code is not None:
            self._reader.note(code)
        self.distrust()

    def _join(self, names: frozenset[str] | None) -> None:
        if names is None or self._reached is None:
            self._reached = None
        else:
            self._reached |= names

    def distrust(self) -> None:
        """Look at everything next time: code ran that was not read, or a capture failed."""
        self._reached = None

    # -- capture --------------------------------------------------------------------------------------------------

    def examine(self, *, of_turn: bool, everything: bool = False) -> bool:
        """Look at what may have changed, on the main thread; return whether anything did.

        A failure of ours is kept as a note for the span, and never raised. An interrupt is the person's, and goes on.
        """
        if self._examined is not None or not is_main():
            return self._examined is not None
        reached, self._reached = (None if everything else self._reached), frozenset()
        self._failed = None
        late = not of_turn and self._is_current
        try:
            examined = self.tracker.examine(reached, late=late)
        except Exception as error:  # noqa: BLE001  the cell comes first: its point has no variables, and says so
            self._reached = None
            self._failed = Note("variables", f"they could not be kept: {type(error).__name__}: {error}")
            return False
        except BaseException:
            self._reached = None
            raise
        self._examined, self._of_turn = examined, of_turn
        self._has_news = self._differs(examined)
        return self._has_news

    def _differs(self, examined: Examined) -> bool:
        known = self.tracker.known
        process = {name: state for name, (state, _) in known.shelves.process.items() if name != _MODULES}
        now = {name: state for name, state in examined.process.items() if name != _MODULES}
        return (
            not self._is_current
            or examined.rows.keys() != known.rows.keys()
            or any(row is not known.rows[name] for name, row in examined.rows.items())
            or process != now
        )

    def rebound(self) -> bool:
        """Return whether names were bound, bound anew or deleted since the last capture."""
        return self._is_current and self.tracker.bindings() != self.tracker.known.bindings

    def drop(self) -> None:
        """Forget an examination that shows nothing new; all names that it looked at are as they are known."""
        self._examined = None

    def store(self, writer: PackWriter, *, of_turn: bool) -> Kept:
        """Store what was examined for this kind of span.

        Raises:
            StoreError: The store cannot be written; the examination stays for the next try.
        """
        examined = self._examined
        if examined is None or self._of_turn is not of_turn:
            if not of_turn:
                return Kept()
            return Kept(notes=(self._failed or Note("variables", "they were not kept: the next cell came first"),))
        try:
            snapshot = self.tracker.store(examined, writer)
            changed = {change.name for change in snapshot.changes}
            notes = tuple(note for note in examined.notes if note.subject in changed)
            return Kept(snapshot, notes, self._has_news)
        except StoreError as error:
            if type(error).__name__ != "Unstable":
                raise
            self.forget()
            return Kept(notes=(Note("variables", f"they were not kept: {error.message}"),))
        except Exception as error:  # noqa: BLE001  a fault of ours costs the variables of this point only
            self.forget()
            return Kept(notes=(Note("variables", f"they could not be kept: {type(error).__name__}: {error}"),))

    def adopt(self, kept: Kept, *, of_turn: bool) -> None:
        """Believe what is durable now; a turn without variables makes everything be looked at next time."""
        if kept.snapshot is None:
            if of_turn:
                self._is_current = False
                self.forget()
            return
        self.tracker.adopt(kept.snapshot)
        self._examined, self._failed = None, None
        self._is_current = True

    def forget(self) -> None:
        """Drop what was examined: it is not stored, and will be looked at again."""
        self._examined = None
        self._reached = None

    def lose(self) -> None:
        """Believe nothing any more of what the last point holds."""
        self._is_current = False
        self.forget()

    def moved(self, snapshot: VariablesSnapshot | None = None) -> None:
        """Take note that a rewind brought the tracker to where the namespace is."""
        if snapshot is not None:
            self.tracker.known = snapshot.known
        self._examined = None
        self._reached = frozenset()
        self._is_current = True
