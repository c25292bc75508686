"""Which moves the open document has not agreed to yet: one small file of the session, for the time after a restart.

A move is noted before its commit point, by the head that it starts from: whether it came true is for the log to say.
"""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from nbrewind import fs
from nbrewind.model import OperationId

__all__ = ["DocumentRecord", "NotedMove"]

_LOG = logging.getLogger("nbrewind")
_MOST = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedMove:
    """A move that started from the head *previous* and concerns the document's *outputs* or *texts*."""

    previous: OperationId
    outputs: bool = True
    texts: bool = False
    agreed: bool = False


class DocumentRecord:
    """The moves that concern the document, oldest first.

    Crash rule: the file is replaced whole, and a note of a move that the log does not have means nothing.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._moves: tuple[NotedMove, ...] | None = None

    @property
    def moves(self) -> tuple[NotedMove, ...]:
        """All that is noted, agreed or not."""
        if self._moves is None:
            self._moves = _read(self._path)
        return self._moves

    def note(self, move: NotedMove) -> None:
        """Add *move*; a note that cannot be written is kept in memory."""
        self._write((*(known for known in self.moves if known.previous != move.previous), move)[-_MOST:])

    def drop(self, previous: OperationId) -> None:
        """Forget the move that started from *previous*: it did not come true."""
        self._write(tuple(known for known in self.moves if known.previous != previous))

    def agree(self, previous: frozenset[OperationId]) -> None:
        """Take note that the document agrees to the moves that started from these heads."""
        self._write(tuple(replace(known, agreed=known.agreed or known.previous in previous) for known in self.moves))

    def _write(self, moves: tuple[NotedMove, ...]) -> None:
        if moves == self.moves:
            return
        self._moves = moves
        text = json.dumps({"version": 1, "moves": [asdict(move) for move in moves]})
        try:
            fs.replace(self._path, text.encode("utf-8"), sync=False)
        except OSError:
            _LOG.debug("The moves of the document could not be noted.", exc_info=True)


def _read(path: str) -> tuple[NotedMove, ...]:
    try:
        return tuple(_move(raw) for raw in json.loads(Path(path).read_bytes())["moves"])
    except (OSError, ValueError, KeyError, TypeError):
        return ()


def _move(raw: dict[str, Any]) -> NotedMove:
    return NotedMove(
        previous=OperationId(str(raw["previous"])),
        outputs=bool(raw.get("outputs")),
        texts=bool(raw.get("texts")),
        agreed=bool(raw.get("agreed")),
    )
