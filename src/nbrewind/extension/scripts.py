"""nbrewind in plain Python: a session for the present folder, and `turn()`."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from traitlets.config import Config

from nbrewind.extension.configuration import jupyter_config
from nbrewind.extension.exits import Exits
from nbrewind.extension.settings import NBRewind, surroundings
from nbrewind.session.current import current, take
from nbrewind.session.session import Session

__all__ = ["attach", "turn"]


def attach(workspace: str = "", **settings: Any) -> Session:
    """Hold the session of *workspace* until the process ends; the one already held is given where it fits.

    Raises:
        SettingError: a setting is unknown or wrong.
        StoreError: the store cannot be opened.
    """
    config = jupyter_config()
    config.merge(Config({"NBRewind": settings | ({"workspace": workspace} if workspace else {})}))
    traits, warnings = NBRewind.make(config)
    for warning in warnings:
        sys.stderr.write(f"{warning}\n")
    wanted = traits.settings(surroundings(str(Path.cwd())), "script:python")
    held = current()
    if held is not None and held.workspace == wanted.workspace and not settings:
        return held
    session = Session.attach(wanted, kernel=f"{Path(sys.argv[0] or 'python').name} (process {os.getpid()})")
    Exits(session.close).install()
    if held is None:
        take(session)
    return session


def turn(label: str) -> AbstractContextManager[None]:
    """Return the turn *label* of the session that this process holds, attached at the first call."""
    return (current() or attach()).turn(label)
