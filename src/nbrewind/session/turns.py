"""A turn as the front end reports it: what is known at its start and at its end."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from nbrewind.model import TurnStatus

__all__ = ["TurnEnd", "TurnStart"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStart:
    """What is known before the cell runs.

    *number* is the number in the brackets, None where the front end keeps none. *only_if_effect* is set where the
    front end keeps no history of the cell (`store_history=False`): it is a turn only if it changed something.
    *transformed* is the cell as Python, None where nobody can tell. *asked_for* is set for `turn()`, which makes a
    point whatever the settings say of cells.
    """

    code: str
    transformed: str | None = None
    number: int | None = None
    cell_id: str | None = None
    started: float = field(default_factory=time.time)
    only_if_effect: bool = False
    asked_for: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnd:
    """What is known after it. *outputs* is nbformat JSON text."""

    status: TurnStatus = TurnStatus.OK
    error: str = ""
    ended: float = field(default_factory=time.time)
    outputs: str = "[]"
