"""Upkeep: what keeping needs of the store around an operation, and how a failure is told."""

from __future__ import annotations

import os
from contextlib import suppress

from nbrewind.errors import InconsistentState, StoreError
from nbrewind.model import FilesAddress, Note, Operation
from nbrewind.session.core import LOGGER
from nbrewind.session.looking import Looking
from nbrewind.session.roots import COPY, roots_of

__all__ = ["Upkeep"]

_LATELY = "the last cell"


class Upkeep(Looking):
    """Room, references and health."""

    def _heed_generation(self) -> None:
        """Forget what was believed stored if somebody dropped objects since."""
        generation = self._parts.gc.generation()
        if generation != self._generation:
            self._parts.repository.forget()
            self._generation = generation

    def _require_room(self) -> None:
        """Raise StoreError where the store's disk is nearly full: the user's own files need the rest."""
        about = os.statvfs(self._parts.store.root)
        if about.f_blocks and about.f_bavail < about.f_blocks * self.settings.min_free_disk:
            raise StoreError(f"The disk is nearly full (less than {self.settings.min_free_disk:.0%} free).")

    def _name_roots(self, operation: Operation) -> None:
        """Name the objects of *operation* for git's collector. Only a cache: the log is the truth."""
        for name, oid in roots_of(operation).items():
            try:
                self._parts.repository.set_ref(name, oid)
            except StoreError:
                LOGGER.debug("A reference could not be written.", exc_info=True)
                return

    def _name_copy(self, files: FilesAddress) -> None:
        """Name a commit that no operation names yet: a part of the first copy, or times and modes alone."""
        with suppress(StoreError):
            self._parts.repository.set_ref(f"{COPY}/{self.id}", files.commit)

    def _degrade(self, reason: str, number: int | None = None) -> None:
        """Say that protection is off since this turn; the first one that was not saved counts."""
        known = self._health.not_protected
        since = known.subject if known is not None else _LATELY
        if since == _LATELY and number is not None:
            since = f"[{number}]"
        self._health.not_protected = Note(since, reason)
        self._stir()

    def _freeze(self, error: InconsistentState) -> None:
        """Hold all cells until the person recovers or says to go on."""
        self._health.frozen = Note("session", error.message)
        self._stir()
