"""The variables of a session: what a cell may have changed, examined on the main thread and kept by the worker."""

from __future__ import annotations

from dataclasses import dataclass, replace

from nbrewind.errors import StoreError
from nbrewind.model import Note, ObjectId, Settings, VariableChange
from nbrewind.resources.variables.comparison import Comparison
from nbrewind.resources.variables.guard import Guard
from nbrewind.resources.variables.memory import Examined
from nbrewind.resources.variables.names import NameReader
from nbrewind.resources.variables.ports import KernelPort, ShellKernelPort
from nbrewind.resources.variables.rows import differing
from nbrewind.resources.variables.tracker import VariablesSnapshot, VariableTracker
from nbrewind.session.mainthread import is_main
from nbrewind.session.states import States, TrustingKey
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


class Variables:
    """Between the kernel's namespace and the captures of a session.

    Order for a turn: `before` (the cell's code is read) → the cell → `after` → `examine` on the main thread, once the
    reply is out → `store` on the worker → `adopt` when the frame is in the log. Invariant: what was not adopted is
    found again by the next examination, because then everything is looked at.
    """

    def __init__(self, port: KernelPort, settings: Settings) -> None:
        self.key = TrustingKey(settings.key_file)
        self.states = States()
        shell = port if isinstance(port, ShellKernelPort) else None
        self.states.process.add(shell.providers() if shell is not None else ())
        self.tracker = VariableTracker(
            port,
            states=self.states,
            sealer=self.key,
            budget=settings.turn_budget,
            max_size=settings.max_variable_size,
        )
        self.guard = Guard()
        self.comparison = Comparison(self.tracker)
        overwritten = self.states.process.overwritten
        self._reader = NameReader(
            roots=shell.callbacks if shell is not None else tuple,
            watch=overwritten.watch if overwritten is not None else None,
        )
        # None: everything has to be looked at. Nothing is believed of a kernel that was just attached.
        self._reached: frozenset[str] | None = None
        self._read = False
        self._examined: Examined | None = None
        self._of_turn = False
        self._has_news = False
        self._failed: Note | None = None
        self._touched = False
        self._is_current = False
        # The number of the newest turn in the log, and of that after which each name was last looked at.
        self._newest: int | None = None
        self._looked: dict[str, int | None] = {}

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

    def touch(self) -> None:
        """Take note that a callback ran between two cells: what it can reach is looked at before the next one."""
        self._touched = True

    def _reach_of_callbacks(self) -> frozenset[str] | None:
        touched, self._touched = self._touched, False
        return self._reader.around(self.tracker.namespace).names if touched else frozenset()

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
        if not of_turn:
            self._join(self._reach_of_callbacks())
        sure, self._reached = self._reached, frozenset()
        self._failed = None
        late = not of_turn and self._is_current
        try:
            examined = self.tracker.examine(None if everything else sure, late=late, sure=sure if everything else None)
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

    def compare(self, seconds: float) -> tuple[bool, bool]:
        """Take one step of the full comparison; return whether there are more, and whether something differs.

        What differs waits to be stored, as uncertain.
        """
        if not self._is_current or self._examined is not None:
            return False, False
        # In a loop's callback the options that are context variables may be others.
        self.states.held = self.tracker.known.process
        try:
            examined = self.comparison.step(seconds)
        finally:
            self.states.held = None
        if examined is None:
            return False, False
        found = self._differs(examined)
        if found:
            self._examined, self._of_turn, self._has_news = examined, False, True
        else:
            self._look(examined)
        return True, found

    def _look(self, examined: Examined) -> None:
        self._looked.update(dict.fromkeys(examined.looked, self._newest))

    def numbered(self, number: int | None) -> None:
        """Take note that the turn *number* is in the log."""
        self._newest = number if number is not None else self._newest

    def _differs(self, examined: Examined) -> bool:
        known = self.tracker.known
        process = {name: state for name, (state, _) in known.shelves.process.items() if name != _MODULES}
        now = {name: state for name, state in examined.process.items() if name != _MODULES}
        return (
            not self._is_current
            or examined.rows.keys() != known.rows.keys()
            or bool(differing(known.rows, examined.rows))
            or process != now
        )

    def may_differ(self) -> bool:
        """Return whether names were bound, bound anew or deleted since the last capture, or a callback ran."""
        return self._is_current and (self._touched or self.tracker.bindings() != self.tracker.known.bindings)

    def drop(self) -> None:
        """Forget an examination that shows nothing new; all names that it looked at are as they are known."""
        if self._examined is not None:
            self._look(self._examined)
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
            snapshot = replace(snapshot, changes=tuple(map(self._dated, snapshot.changes)))
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

    def _dated(self, change: VariableChange) -> VariableChange:
        return replace(change, since=self._looked.get(change.name)) if change.uncertain else change

    def adopt(self, kept: Kept, *, of_turn: bool) -> None:
        """Believe what is durable now; a turn without variables makes everything be looked at next time."""
        if kept.snapshot is None:
            if of_turn:
                self._is_current = False
                self.forget()
            return
        self.tracker.adopt(kept.snapshot)
        if self._examined is not None:
            self._look(self._examined)
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
