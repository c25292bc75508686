"""Other sessions of the same workspace: whether one had a turn open meanwhile, and what it says is its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nbrewind.capture.reading import JournalReading, read_journals
from nbrewind.capture.span import SpanKind
from nbrewind.errors import StoreError
from nbrewind.model import Change, Claim, Operation, OperationKind, SessionId
from nbrewind.store.layout import SessionPaths, StorePaths
from nbrewind.store.locks import is_held
from nbrewind.store.oplog import read_log

__all__ = ["Neighbours", "Overlap"]

_SLACK_NS = 50_000_000
"""File times come from the kernel's clock tick, which lags behind `time.time_ns`."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """*overlapped*: another session had a turn open; *claims*: paths (as manifests name them) that others changed."""

    overlapped: bool = False
    claims: frozenset[str] = frozenset()


class Neighbours:
    """Looks at the other sessions of a store without a lock of theirs: their journals and logs only grow."""

    def __init__(self, store: StorePaths, session: SessionId) -> None:
        self._store = store
        self._session = session

    def since(self, started_ns: int) -> Overlap:
        """Return what others did since *started_ns*."""
        overlapped, claims = False, set[str]()
        try:
            for paths in self._others():
                if os.path.lexists(paths.turn) and is_held(paths) is not None:
                    for reading in read_journals(paths):
                        overlapped = overlapped or reading.header.kind is SpanKind.TURN
                        claims |= _touched(reading)
                for operation in _logged_since(paths, started_ns - _SLACK_NS):
                    overlapped = overlapped or operation.kind is OperationKind.TURN
                    claims |= {change.path for change in operation.changes if _is_its_own(change)}
        except (OSError, StoreError):
            # What cannot be looked at proves nothing: then nobody's claim is trusted on the scan alone.
            overlapped = True
        return Overlap(overlapped, frozenset(claims))

    def names(self) -> Iterator[tuple[SessionId, str]]:
        """Yield the other sessions that a kernel holds, with their holders."""
        for paths in self._others():
            try:
                holder = is_held(paths)
            except StoreError:
                continue
            if holder is not None:
                yield SessionId(Path(paths.root).name), holder

    def _others(self) -> Iterator[SessionPaths]:
        try:
            found = [entry for entry in os.scandir(self._store.sessions) if entry.name != self._session]
        except OSError:
            return
        for entry in found:
            yield SessionPaths(entry.path)


def _touched(reading: JournalReading) -> set[str]:
    keys = {row.key for row in reading.rows}
    for rename in reading.renames:
        keys |= {rename.source_inside or rename.source, rename.target_inside or rename.target}
    return keys


def _logged_since(paths: SessionPaths, started_ns: int) -> Iterator[Operation]:
    try:
        if Path(paths.log).stat().st_mtime_ns < started_ns:
            return
    except FileNotFoundError:
        return
    for operation in reversed(read_log(paths.log).operations):
        if operation.at * 1e9 < started_ns:
            return
        yield operation


def _is_its_own(change: Change) -> bool:
    return change.claim is Claim.OURS
