"""The ledger of a span: its journal as far as the disk takes it, without what stands in secret files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from nbrewind.capture.journal import TurnJournal, is_veiled, veiled
from nbrewind.capture.span import JournalHeader, Rename, Touched, TurnOutcome
from nbrewind.model import Note
from nbrewind.store.layout import SessionPaths

__all__ = ["Ledger"]

_HIDDEN_COMMAND: Final = "a command about a secret file"


class Ledger:
    """Writes the rows of one span, and never raises: what the disk refuses goes to *refused*.

    *hide* takes known secrets out of a text. From the first touch of a secret file on, code, commands, errors and
    outputs are left out altogether: they may hold what the file will hold. Not thread-safe: its span is.
    """

    def __init__(
        self,
        paths: SessionPaths,
        header: JournalHeader,
        hide: Callable[[str], str],
        refused: Callable[[OSError], None],
    ) -> None:
        self._paths = paths
        self._header = header
        self._hide = hide
        self._refused = refused
        self._journal: TurnJournal | None = None
        self._secret = False

    def open(self, header: JournalHeader) -> None:
        """Put *header* on the disk."""
        self._secret = self._secret or is_veiled(header)
        shown = self._header = veiled(header) if self._secret else replace(header, code=self._hide(header.code))
        try:
            if self._journal is None:
                self._journal = TurnJournal.create(self._paths, shown)
            else:
                self._journal.begin(shown)
        except OSError as error:
            self._refused(error)

    def touch(self, touched: Touched) -> None:
        """Note a path that is about to change."""
        if touched.secret and not self._secret:
            self._secret = True
            self._header = veiled(self._header)
            self._write(lambda journal: journal.veil(_HIDDEN_COMMAND))
        self._write(lambda journal: journal.touch(touched))

    def rename(self, rename: Rename) -> None:
        """Note a rename that is about to happen."""
        self._write(lambda journal: journal.rename(rename))

    def ran(self, text: str) -> None:
        """Note a child process that is about to start."""
        self._write(lambda journal: journal.ran(_HIDDEN_COMMAND if self._secret else self._hide(text)))

    def skip(self, note: Note) -> None:
        """Note what could not be seen or kept."""
        self._write(lambda journal: journal.skip(note))

    def end(self, outcome: TurnOutcome) -> None:
        """Note that the cell ended."""
        error = outcome.error.partition(":")[0] if self._secret else self._hide(outcome.error)
        outputs = "[]" if self._secret else self._hide(outcome.outputs)
        shown = replace(outcome, error=error, outputs=outputs)
        self._write(lambda journal: journal.end(shown, with_outputs=not self._secret))

    def close(self) -> str:
        """Close the journal and return where it is then, "" if there is none."""
        if self._journal is None:
            return ""
        try:
            return self._journal.close()
        except OSError as error:
            self._refused(error)
            return self._journal.path

    def _write(self, add: Callable[[TurnJournal], None]) -> None:
        try:
            if self._journal is None:
                self._journal = TurnJournal.create(self._paths, self._header)
            add(self._journal)
        except OSError as error:
            self._refused(error)
