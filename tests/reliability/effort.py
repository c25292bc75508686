"""How much each program does: little in `make test`, much in `make faults`, which sets NBREWIND_FAULTS."""

from __future__ import annotations

import os

__all__ = ["LONG", "SEED", "amount"]

LONG = bool(os.environ.get("NBREWIND_FAULTS"))
_SCALE = float(os.environ.get("NBREWIND_FAULTS_SCALE", "1"))
SEED = int(os.environ.get("NBREWIND_FAULTS_SEED", "20"))
"""Where random choices begin: fixed in `make test`; `make faults` takes the day, and a failure names its choices."""


def amount(short: int, long: int) -> int:
    """Return how often to do something: *short* in `make test`, *long* times the scale in `make faults`."""
    return max(1, round(long * _SCALE)) if LONG else short
