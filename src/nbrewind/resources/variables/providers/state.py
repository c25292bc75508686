"""All providers together: what a turn's checkpoint keeps of the process, and how a rewind puts it back."""

from __future__ import annotations

import importlib.metadata
import logging
from collections.abc import Iterable, Mapping

from nbrewind.model import Note
from nbrewind.resources.variables.providers import ENTRY_POINTS, Provider, Undo
from nbrewind.resources.variables.providers.chance import NumpyRandom, PythonRandom, TorchRandom
from nbrewind.resources.variables.providers.filters import WarningFilters
from nbrewind.resources.variables.providers.hooks import Builtins, Hooks, SignalHandlers
from nbrewind.resources.variables.providers.logs import Loggers
from nbrewind.resources.variables.providers.options import (
    DecimalContext,
    NumpyOptions,
    PandasOptions,
    SklearnOptions,
    TorchOptions,
)
from nbrewind.resources.variables.providers.overwritten import Overwritten
from nbrewind.resources.variables.providers.plotting import MatplotlibOptions
from nbrewind.resources.variables.providers.process import (
    Environment,
    Interpreter,
    LoadedModules,
    SearchPath,
    WorkingFolder,
)

__all__ = ["ProcessState", "added_providers", "built_in_providers"]

_LOG = logging.getLogger("nbrewind")


def built_in_providers() -> list[Provider]:
    """Return the providers of this package, made now: what stands at this moment is what "as loaded" means."""
    return [
        *(WorkingFolder(), Environment(), SearchPath(), LoadedModules(), Interpreter()),
        *(PythonRandom(), NumpyRandom(), TorchRandom()),
        *(WarningFilters(), Loggers(), DecimalContext(), NumpyOptions(), PandasOptions(), MatplotlibOptions()),
        *(TorchOptions(), SklearnOptions(), SignalHandlers(), Builtins(), Overwritten(), Hooks()),
    ]


def added_providers() -> list[Provider]:
    """Return the providers that other packages offer; one that fails is left out and logged."""
    found: list[Provider] = []
    for entry in importlib.metadata.entry_points(group=ENTRY_POINTS):
        try:
            found.append(entry.load()())
        except Exception:  # noqa: BLE001  somebody else's fault costs their provider only
            _LOG.warning("The provider %s could not be loaded.", entry.name, exc_info=True)
    return found


class ProcessState:
    """`StatePort` over a list of providers. A provider that fails costs its own part only, and is named."""

    def __init__(self, providers: Iterable[Provider] | None = None) -> None:
        self._providers = {one.name: one for one in (built_in_providers() if providers is None else providers)}
        self.failed: dict[str, str] = {}

    @property
    def overwritten(self) -> Overwritten | None:
        """The provider to tell before a cell sets attributes (`NameReader(watch=...)`)."""
        found = self._providers.get(Overwritten.name)
        return found if isinstance(found, Overwritten) else None

    def add(self, providers: Iterable[Provider]) -> None:
        """Add *providers*; one of a name that is there already is left out."""
        for one in providers:
            self._providers.setdefault(one.name, one)

    def capture(self) -> dict[str, bytes]:
        """Return each provider's present state; equal bytes mean that nothing changed."""
        states = {}
        for name, provider in self._providers.items():
            try:
                states[name] = provider.capture()
                self.failed.pop(name, None)
            except Exception as error:  # noqa: BLE001  the libraries asked are other people's code
                self.failed[name] = f"{type(error).__name__}: {error}"
        return states

    def describe(self, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> tuple[Note, ...]:
        """Return what differs between two states."""
        notes: list[Note] = []
        for name, provider in self._providers.items():
            if name in before and name in after and before[name] != after[name]:
                try:
                    notes += provider.describe(before[name], after[name])
                except Exception as error:  # noqa: BLE001  as in capture
                    notes.append(Note(name, f"changed ({type(error).__name__})"))
        return tuple(notes)

    def restore(self, states: Mapping[str, bytes]) -> Undo:
        """Make *states* stand, and return what puts back the present ones. Unknown names are skipped.

        What cannot be restored is left and noted: it never fails a rewind.
        """
        undone: list[Undo] = []
        notes: list[Note] = []
        for name, provider in self._providers.items():
            if name in states:
                try:
                    undone.append(provider.restore(states[name]))
                    notes += undone[-1].notes
                except Exception as error:  # noqa: BLE001  as in capture
                    notes.append(Note(name, f"could not be restored ({type(error).__name__}: {error})"))
        return Undo(lambda: self._back(undone), notes)

    def _back(self, undone: list[Undo]) -> None:
        for undo in reversed(undone):
            try:
                undo()
            except Exception:  # noqa: BLE001  the others must still be put back
                _LOG.error("A part of the process state could not be put back.", exc_info=True)
