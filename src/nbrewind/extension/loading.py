"""Switching nbrewind on and off in a shell: never raising, one line printed, no trace left."""

from __future__ import annotations

import logging
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbrewind.capture.outputs import OutputCollector
from nbrewind.errors import RewindError
from nbrewind.extension.atomic import AtomicCells
from nbrewind.extension.configuration import jupyter_config
from nbrewind.extension.exits import Exits
from nbrewind.extension.front_ends import FrontEnds
from nbrewind.extension.frozen import CellBrake
from nbrewind.extension.greeting import greeting
from nbrewind.extension.history import ShellState
from nbrewind.extension.hooks import CellHooks
from nbrewind.extension.kernel import UserNamespace
from nbrewind.extension.mainloop import MainLoop
from nbrewind.extension.settings import NBRewind, surroundings
from nbrewind.extension.shellstate import watch_files
from nbrewind.model import Settings
from nbrewind.session.current import decline, leave, take
from nbrewind.session.session import Session
from nbrewind.ui import magics
from nbrewind.ui.absence import off_text

__all__ = ["load", "unload"]

_LOG = logging.getLogger("nbrewind")
_ATTRIBUTE = "_nbrewind_loaded"


@dataclass(slots=True)
class _Loaded:
    """Everything that was put into a shell."""

    session: Session
    traits: NBRewind
    hooks: CellHooks
    exits: Exits
    brake: CellBrake
    atomic: AtomicCells
    front_ends: FrontEnds
    namespace: UserNamespace

    def take_out(self, shell: Any) -> None:
        """Undo all of it, in the order in which consumers come before what they use."""
        self.front_ends.uninstall()
        self.hooks.uninstall()
        self.brake.uninstall(shell)
        self.atomic.uninstall(shell)
        self.exits.uninstall()
        self.session.close()
        self.namespace.leave()
        leave(self.session)
        if self.traits in shell.configurables:
            shell.configurables.remove(self.traits)


def load(shell: Any, *, info: Any = None) -> None:
    """Switch on in *shell* and say so in one line. Never raises; a second call changes nothing.

    *info* is that of a cell that is about to run: it is a turn already, and nothing is put into its output.
    """
    if getattr(shell, _ATTRIBUTE, None) is not None:
        return
    try:
        magics.install(shell)
        lines = _load(shell)
    except Exception as error:  # noqa: BLE001  the kernel's start comes first
        lines = [_turned_down(error, None)]
    loaded: _Loaded | None = getattr(shell, _ATTRIBUTE, None)
    if info is not None:
        if loaded is not None:
            loaded.hooks.first(info)
        return
    for line in lines:
        _say(line)


def unload(shell: Any) -> None:
    """Switch off and leave no trace. Never raises; without effect where it is off."""
    loaded: _Loaded | None = getattr(shell, _ATTRIBUTE, None)
    try:
        magics.uninstall(shell)
        # IPython lists every instance of magics there, and never takes one out.
        shell.configurables[:] = [one for one in shell.configurables if not isinstance(one, magics.RewindMagics)]
        leave(None)
        if loaded is not None:
            delattr(shell, _ATTRIBUTE)
            loaded.take_out(shell)
    except Exception:  # noqa: BLE001  unloading must not fail a cell either
        _LOG.error("nbrewind could not be taken out completely.", exc_info=True)


def _load(shell: Any) -> list[str]:
    config = jupyter_config()
    config.merge(shell.config)
    traits, warnings = NBRewind.make(config)
    notebook = _notebook(shell)
    folder = str(Path(notebook).parent) if notebook else str(Path.cwd())
    settings = traits.settings(surroundings(folder, getattr(shell, "ipython_dir", "")), _scope(shell, notebook))
    state = ShellState(shell)
    namespace = UserNamespace(shell)
    try:
        session = Session.attach(settings, notebook=notebook, kernel=_kernel(shell), shell=state, namespace=namespace)
    except Exception as error:  # noqa: BLE001  the kernel's start comes first
        return [*warnings, _turned_down(error, settings)]
    session.main_thread.loop = loop = MainLoop(shell)
    hooks = CellHooks(shell, session, state, OutputCollector(shell), loop.note)
    session.scheduler = lambda job: loop.soon(job, settings.capture_delay)
    loaded = _Loaded(
        session=session,
        traits=traits,
        hooks=hooks,
        exits=Exits(session.close),
        brake=CellBrake(lambda: session.frozen),
        atomic=AtomicCells(),
        front_ends=FrontEnds(shell, session),
        namespace=namespace,
    )
    session.on_rewound(lambda result: namespace.put_back_own())
    session.on_rewound(lambda result: watch_files(shell))
    hooks.install()
    loaded.brake.install(shell)
    loaded.atomic.install(shell)
    loaded.exits.install()
    take(session)
    shell.configurables.append(traits)
    setattr(shell, _ATTRIBUTE, loaded)
    loaded.front_ends.install()
    magics.offer_panels(shell, loaded.front_ends.show_panel, loaded.front_ends.answer)
    return [*warnings, *greeting(session.status(), folder)]


def _turned_down(error: Exception, settings: Settings | None) -> str:
    """Remember why nothing is protected, for `%rewind status`, and return the line that says so."""
    if not isinstance(error, RewindError):
        _LOG.error("nbrewind could not be loaded.", exc_info=True)
        error = RewindError(f"{type(error).__name__}: {error}")
    decline(error, settings)
    return off_text(error)


def _notebook(shell: Any) -> str:
    """Return the absolute path of the notebook, "" where the front end does not tell."""
    told = shell.user_ns.get("__session__") or os.environ.get("JPY_SESSION_NAME") or ""
    if not isinstance(told, str) or not told.endswith(".ipynb"):
        return ""
    path = os.path.realpath(told)
    # A server elsewhere (a gateway) tells a path that means nothing here.
    return path if Path(path).parent.is_dir() else ""


def _scope(shell: Any, notebook: str) -> str:
    """Return front end and kind, as `scopes` names them."""
    if not hasattr(shell, "kernel"):
        return "terminal:ipython"
    if any(name.startswith("VSCODE_") for name in os.environ):
        return "vscode:notebook"
    return "jupyter:notebook" if notebook else "jupyter:kernel"


def _kernel(shell: Any) -> str:
    """Return a name for this kernel that no other has, for people to read too."""
    what = "kernel" if hasattr(shell, "kernel") else "terminal"
    return f"{what} {os.getpid()} since {time.strftime('%Y-%m-%d %H:%M:%S')}"


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
