"""Undo for notebooks: files, variables, outputs and history go back together, and forward again."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbrewind.session.session import Session

__version__ = "0.1.0.dev0"

__all__ = [
    "__version__",
    "attach",
    "current",
    "load_ipython_extension",
    "turn",
    "unload_ipython_extension",
]

# Everything is imported inside the functions: `import nbrewind` in a notebook must cost nothing.


def attach(workspace: str = "", **settings: Any) -> Session:
    """Protect *workspace* (by default the project of the present folder) in a plain script; return its session.

    *settings* are those of `NBRewind`, such as `store_dir`. The session is given back when the process ends.

    Raises:
        SettingError: a setting is unknown or wrong.
        StoreError: the store cannot be opened.
    """
    from nbrewind.extension.scripts import attach as attach_script

    return attach_script(workspace, **settings)


def current() -> Session | None:
    """Return the session of this process, None where nbrewind is not on."""
    from nbrewind.session.current import current as current_session

    return current_session()


def turn(label: str) -> AbstractContextManager[None]:
    """Return a context in which everything is one turn, for plain scripts: `with nbrewind.turn("clean"):`.

    Attaches to the project of the present folder if no session is held yet.

    Raises:
        RewindRefused: (busy) a turn is open already: inside a cell everything is the cell's turn.
    """
    from nbrewind.extension.scripts import turn as script_turn

    return script_turn(label)


def load_ipython_extension(shell: Any) -> None:
    """Switch nbrewind on in *shell*; called by `%load_ext nbrewind`. Never raises, prints one line."""
    from nbrewind.extension.loading import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Switch it off and leave no trace; called by `%unload_ext nbrewind`. Never raises."""
    from nbrewind.extension.loading import unload

    unload(shell)
