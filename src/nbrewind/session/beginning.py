"""The beginning of a session in a process: what a death left, what changed meanwhile, and the first copy."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from nbrewind.capture import hook
from nbrewind.capture.reading import discard, read_journals, span_of, sweep_images, sweep_journals
from nbrewind.errors import RewindError
from nbrewind.model import Note, OperationKind
from nbrewind.session.capturing import Captured, Capturing
from nbrewind.session.core import LOGGER
from nbrewind.session.worker import Worker

__all__ = ["Beginning"]

_AT_ONCE = 0.25
"""Seconds that loading spends on the first copy; the rest goes on in the background."""
_SLICE = 0.2
"""Seconds of one background step: a cell that begins waits no longer for it."""
_QUICK = 64 << 20
"""Bytes that are read again at once when a session is taken up; more is read in the background."""


class Beginning(Capturing):
    """Brings a session's log up to the present, and makes the first copy.

    Invariant: the `attach` operation comes before the first turn. Its checkpoint is what stood before that turn; files
    that were not copied by then are listed as such, and their journal's before-images take the copy's place.
    """

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._worker = Worker(self._stir)
        self._first_number = 1
        self._marks_attach = False
        self._found: tuple[Note, ...] = ()

    def begin(self, *, attach: bool) -> None:
        """Put in order what a death left, and log the attach where *attach*; a first copy may go on in the background.

        Raises:
            StoreError: the log cannot be written.
        """
        self._marks_attach = attach
        shell = self._parts.shell
        self._first_number = shell.next_number() if shell is not None else 1
        with self._mutex, hook.suspended():
            if self._parts.variables is not None and attach:
                self._parts.variables.examine(of_turn=False, everything=True)
            is_known = self._parts.tracker.address is not None
            if is_known and self._is_large():
                self._worker.submit(self._begin_in_background)
                return
            self._take_up()
            if not is_known:
                self._capture_span(time.monotonic() + _AT_ONCE)
            if self._copying and self._worker.submit(self._copy_in_background):
                return
            self._finish_beginning()

    # -- what a death left ----------------------------------------------------------------------------------------

    def _take_up(self) -> None:
        """Log the turns that a death interrupted, then what changed while no kernel was attached."""
        parts = self._parts
        logged = {operation.id for operation in self.operations}
        for reading in read_journals(parts.paths):
            if reading.header.operation_id in logged:
                discard(parts.paths, reading)
                continue
            captured = self._capture(span_of(reading, self.workspace))
            if captured is Captured.LOGGED and reading.interrupted:
                where = f"[{reading.header.number}]" if reading.header.number is not None else "a cell"
                self._found += (Note(where, "was interrupted when its kernel ended; it can be taken back"),)
        with suppress(OSError):
            sweep_images(parts.paths)
            sweep_journals(parts.paths)
        if parts.tracker.address is not None:
            self._capture_span()

    def _begin_in_background(self) -> None:
        try:
            with hook.suspended(), self._mutex:
                self._take_up()
                self._finish_beginning()
        except Exception as error:  # noqa: BLE001  nobody above in this thread
            LOGGER.warning("The session could not be taken up.", exc_info=True)
            self._degrade(error.message if isinstance(error, RewindError) else str(error))

    def _finish_beginning(self) -> None:
        """Log the attach, once. Called at the latest by the first barrier, with what is copied by then."""
        if self._begun:
            return
        if self._copying:
            self._copy_until(time.monotonic() + self.settings.first_copy_wait)
        self._begun = True
        self._stir()
        missing = self._parts.tracker.missing
        self._parts.secrecy.learn(note.subject for note in missing)
        for note in missing:
            state = self._parts.tracker.state(note.subject)
            if state is not None:
                self._remember_secret(note.subject, state)
        if self._marks_attach:
            self._keep_first_variables()
            operation = self._append(
                OperationKind.ATTACH, files=self._files_in_force(), variables=self._variables_in_force
            )
            self._name_roots(operation)

    def _keep_first_variables(self) -> None:
        """Store what the kernel held when nbrewind was switched on; a failure leaves the attach without variables."""
        variables = self._parts.variables
        if variables is None or not variables.waits:
            return
        try:
            with self._parts.gc.try_shared() as trusted, self._parts.repository.writer(trust=trusted) as writer:
                kept = variables.store(writer, of_turn=False)
                writer.finish()
        except (RewindError, OSError):
            LOGGER.warning("The variables could not be kept.", exc_info=True)
            variables.forget()
            return
        variables.adopt(kept, of_turn=False)

    # -- the first copy -------------------------------------------------------------------------------------------

    def _copy_in_background(self) -> None:
        """Go on with the first copy in short steps; give way to a cell, and go on when it is done."""
        while self._copying and not self._health.closed and not self.is_child:
            with hook.suspended(), self._mutex:
                if not self._may_copy() or self._capture_span(time.monotonic() + _SLICE) is Captured.FAILED:
                    break
            # Let a waiting barrier in: a lock that is taken again at once is never given away.
            time.sleep(0.005)
        with hook.suspended(), self._mutex:
            if not self._copying and not self._health.closed:
                self._finish_beginning()

    def _copy_until(self, deadline: float) -> None:
        before = None
        while self._copying and time.monotonic() < deadline and self._parts.tracker.address != before:
            before = self._parts.tracker.address
            if self._capture_span(deadline) is Captured.FAILED:
                return

    def _may_copy(self) -> bool:
        """Return whether a step of the first copy may run: no turn is open, or waits for its own capture."""
        raise NotImplementedError

    def _copy_deadline(self) -> float | None:
        """Return until when a capture between two cells may make first copies; None when all is copied."""
        return time.monotonic() + _SLICE if self._copying else None

    def _is_large(self) -> bool:
        scan = self._parts.tracker.scan()
        return sum(listing.size for listing in scan.folders.values()) > _QUICK
