"""What the variables resource needs of the kernel and of its neighbours, declared where it is used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, runtime_checkable

from nbrewind.model import Note
from nbrewind.resources.variables.providers import Provider

__all__ = ["KernelPort", "Sealer", "ShellKernelPort", "StatePort", "StateUndo"]


class KernelPort(Protocol):
    """The live kernel. Called on the kernel's main thread only."""

    def namespace(self) -> dict[str, object]:
        """Return the live user namespace itself, always the same dictionary."""

    def hidden(self) -> frozenset[str]:
        """Return the names in it that are not the user's: In, Out, get_ipython, `_`, `_i1` and the like."""

    def shown(self) -> Mapping[int, int]:
        """Return how many references the kernel itself holds to results it showed, by address.

        That somebody looked at a value ties it to no variable.
        """


@runtime_checkable
class ShellKernelPort(KernelPort, Protocol):
    """The live kernel with what only its shell knows."""

    def callbacks(self) -> Iterable[object]:
        """Return functions of the user's that may run in any cell, or between two, since the shell calls them."""

    def providers(self) -> Iterable[Provider]:
        """Return providers of process state that only the shell knows."""


class StateUndo(Protocol):
    """Puts back process state. *notes* say what could not be restored."""

    notes: tuple[Note, ...]

    def __call__(self) -> None:
        """Put back what stood before the restore."""


class StatePort(Protocol):
    """Process state beside the namespace, by provider. Called on the kernel's main thread only."""

    def capture(self) -> Mapping[str, bytes]:
        """Return each provider's present state, encoded; equal bytes mean that nothing changed."""

    def restore(self, states: Mapping[str, bytes]) -> StateUndo:
        """Make *states* stand, as one step of `apply`; return what puts back the state before.

        Unknown names are skipped.
        """


class Sealer(Protocol):
    """Proves that a record was written by this user: checked before anything of it is unpickled."""

    def seal(self, record: bytes) -> bytes:
        """Return the proof for *record*."""

    def holds(self, record: bytes, seal: bytes) -> bool:
        """Return whether *seal* proves *record*."""
