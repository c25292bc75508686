"""From the steps of a plan to ordered moves. Pure: what has to be known of the disk comes in as `Facts`."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import NamedTuple

from nbrewind.model import EntryKind, FileState, FileStep, Note, OperationId
from nbrewind.resources.files.moves import Entry, Move, MoveKind, Phase

__all__ = ["Contradiction", "Facts", "Identity", "Itinerary", "itinerary", "placed"]


class Contradiction(ValueError):
    """Two steps of a plan cannot both come true; *path* is the one that stands in the way."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path


class Identity(NamedTuple):
    """Which file stands at a path, and under how many names."""

    device: int
    inode: int
    links: int


def _no_links(path: str) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the disk and this process say about the paths of a plan.

    *is_directory* answers for parents that are not in the plan. *held_open* is what this kernel holds: "append",
    "mapped" or "open". *together* are members of SQLite groups: they get a new inode even where they are equal.
    *linked* gives the names that share one file in the target.
    """

    identities: Mapping[str, Identity] = field(default_factory=dict)
    held_open: Mapping[str, str] = field(default_factory=dict)
    is_directory: Callable[[str], bool] = os.path.isabs
    together: frozenset[str] = frozenset()
    disposable: frozenset[str] = frozenset()
    linked: Callable[[str], tuple[str, ...]] = _no_links
    directory_mode: int = 0o755


class Itinerary(NamedTuple):
    """The *moves* in the order in which they are made, and what is worth telling about them."""

    moves: tuple[Move, ...]
    notes: tuple[Note, ...]


def itinerary(steps: Iterable[FileStep], operation: OperationId, facts: Facts) -> Itinerary:
    """Return the moves that carry *steps* out.

    Raises:
        Contradiction: a step wants something below a path that another step removes, or the like.
    """
    return _Planner(placed(steps), operation, facts).plan()


def placed(steps: Iterable[FileStep]) -> tuple[FileStep, ...]:
    """Return *steps* with paths as they are once directories have their names back, which happens first."""
    steps = tuple(steps)
    renames = [_rename(step) for step in steps if step.moved_to is not None]
    if not renames:
        return steps
    return tuple(step if step.moved_to else replace(step, path=_placed(step.path, renames)) for step in steps)


class _Planner:
    def __init__(self, steps: tuple[FileStep, ...], operation: OperationId, facts: Facts) -> None:
        self._facts = facts
        self._operation = operation
        self._notes: list[Note] = []
        self._temps = 0
        self._renames = [_rename(step) for step in steps if step.moved_to is not None]
        self._table = {step.path: step for step in steps if step.moved_to is None}
        self._ordered = sorted(self._table)
        self._done: set[str] = set()
        self._names: dict[Identity, list[str]] = {}
        for name, identity in facts.identities.items():
            self._names.setdefault(identity, []).append(name)

    def plan(self) -> Itinerary:
        moves = [*self._comings(), *self._leavings()]
        for path in self._ordered:
            if path not in self._done:
                moves.extend(self._single(path, self._table[path]))
        moves = self._link(sorted(moves, key=lambda move: move.path))
        early = [move for move in moves if move.phase is Phase.EARLY]
        main = [move for move in moves if move.phase is Phase.MAIN]
        late = [move for move in reversed(moves) if move.phase is Phase.LATE]
        return Itinerary((*self._renames, *early, *main, *late), tuple(self._notes))

    def _temp(self) -> str:
        self._temps += 1
        return f".nbrewind-{self._operation}-{self._temps}"

    # Directories that come: built aside as a whole, then one call puts them in place.

    def _comings(self) -> list[Move]:
        fresh = self._fresh_directories()
        ordered = sorted(fresh)
        tops = [path for path in ordered if os.path.dirname(path) not in fresh]
        return [self._coming(top, {path: fresh[path] for path in (top, *_below(top, ordered))}) for top in tops]

    def _fresh_directories(self) -> dict[str, FileState]:
        fresh: dict[str, FileState] = {}
        is_directory = cache(self._facts.is_directory)
        for path, step in self._table.items():
            if step.wanted is None:
                continue
            if step.wanted.kind is EntryKind.DIRECTORY and not _is_directory(step.current):
                fresh[path] = step.wanted
            for parent in _parents(path):
                above = self._table.get(parent)
                if above is None:
                    if not is_directory(parent):
                        fresh.setdefault(parent, FileState(EntryKind.DIRECTORY, mode=self._facts.directory_mode))
                elif above.wanted is None or above.wanted.kind is not EntryKind.DIRECTORY:
                    raise Contradiction(parent, f"is to go, and {path} is to be below it")
        return fresh

    def _coming(self, top: str, fresh: Mapping[str, FileState]) -> Move:
        built = {path: state for path, state in fresh.items() if path != top}
        for path in _below(top, self._ordered):
            step = self._table[path]
            if step.current is not None:
                raise Contradiction(path, f"stands below {top}, which is no directory")
            if step.wanted is not None:
                built[path] = step.wanted
            self._done.add(path)
        self._done.add(top)
        current = self._table[top].current if top in self._table else None
        return Move(
            kind=MoveKind.CREATE if current is None else MoveKind.EXCHANGE,
            path=top,
            before=current,
            after=fresh[top],
            temp=self._temp(),
            built=_entries(top, built),
            inode=self._inode(top),
        )

    # Directories that give way to a file: they leave as a whole.

    def _leavings(self) -> list[Move]:
        tops = [path for path, step in self._table.items() if _is_directory(step.current) and _is_leaf(step.wanted)]
        return [self._leaving(top) for top in sorted(tops)]

    def _leaving(self, top: str) -> Move:
        held: dict[str, FileState] = {}
        for path in _below(top, self._ordered):
            step = self._table[path]
            if step.wanted is not None:
                raise Contradiction(path, f"is to be below {top}, which is to be no directory")
            if step.current is not None:
                held[path] = step.current
            self._done.add(path)
        self._done.add(top)
        step = self._table[top]
        return Move(
            kind=MoveKind.EXCHANGE,
            path=top,
            before=step.current,
            after=step.wanted,
            temp=self._temp(),
            held=_entries(top, held),
            inode=self._inode(top),
        )

    # Everything else moves alone.

    def _single(self, path: str, step: FileStep) -> list[Move]:
        current, wanted = step.current, step.wanted
        if current is None and wanted is None:
            return []
        move = Move(kind=MoveKind.META, path=path, before=current, after=wanted, inode=self._inode(path))
        if current is None:
            return [replace(move, kind=MoveKind.CREATE, temp=self._temp())]
        if wanted is None:
            if current.kind is EntryKind.DIRECTORY:
                return [replace(move, kind=MoveKind.REMOVE_DIRECTORY)]
            return [replace(move, kind=MoveKind.REMOVE, temp=self._temp(), disposable=path in self._facts.disposable)]
        if path not in self._facts.together:
            if current.same(wanted):
                return []
            if current.same_content(wanted):
                return [move]
            names = self._rewritten(path, step)
            if names is not None:
                self._done.update(names)
                return [replace(move, kind=MoveKind.IN_PLACE, names=names)]
        return [replace(move, kind=MoveKind.EXCHANGE, temp=self._temp())]

    def _rewritten(self, path: str, step: FileStep) -> tuple[str, ...] | None:
        """Return the other names of a file that is to be rewritten in place, or None where it is exchanged."""
        current, wanted = step.current, step.wanted
        if current is None or wanted is None or {current.kind, wanted.kind} != {EntryKind.FILE}:
            return None
        identity = self._facts.identities.get(path)
        held = self._facts.held_open.get(path)
        if current.is_secret or wanted.is_secret:
            # Rewriting is made safe by the bytes in the archive, and a secret's never are there.
            if held is not None or (identity is not None and identity.links > 1):
                self._notes.append(Note(path, "a secret gets a new file: who has the old one keeps what it holds now"))
            return None
        others: tuple[str, ...] = ()
        if identity is not None and identity.links > 1:
            group = self._names[identity]
            steps = [self._table.get(name) for name in group]
            alike = all(other is not None and other.wanted is not None and other.wanted.same(wanted) for other in steps)
            if len(group) != identity.links or not alike:
                self._notes.append(Note(path, "link split: another name of the file keeps what it holds now"))
                return None
            others = tuple(sorted(name for name in group if name != path))
        if others or held == "append":
            return others
        if held == "mapped":
            # A mapping that reaches beyond the end of its file kills the process at the next access.
            if wanted.size >= current.size:
                return ()
            self._notes.append(Note(path, "still mapped: the mapping shows what was taken back"))
        elif held is not None:
            self._notes.append(Note(path, "still open here: what is written there goes to what was taken back"))
        return None

    def _inode(self, path: str) -> int:
        return identity.inode if (identity := self._facts.identities.get(path)) is not None else 0

    def _link(self, moves: list[Move]) -> list[Move]:
        """Mark what is to be one file with something that is staged earlier: single files first, then directories."""
        first: dict[tuple[str, ...], tuple[str, FileState]] = {}
        linked: dict[str, Move] = {}
        for move in sorted(moves, key=lambda move: bool(move.built)):
            if move.stages and move.after is not None:
                built = tuple(
                    replace(entry, link_to=self._leader(f"{move.path}/{entry.name}", entry.state, first))
                    for entry in move.built
                )
                move = replace(move, link_to=self._leader(move.path, move.after, first), built=built)
            linked[move.path] = move
        return [linked[move.path] for move in moves]

    def _leader(self, path: str, state: FileState, first: dict[tuple[str, ...], tuple[str, FileState]]) -> str:
        group = tuple(sorted(self._facts.linked(path))) if state.kind is EntryKind.FILE else ()
        if len(group) < 2:
            return ""
        leader, of_leader = first.setdefault(group, (path, state))
        return leader if leader != path and state.same(of_leader) else ""


def _below(top: str, ordered: Sequence[str]) -> Sequence[str]:
    """Return the paths below *top*, which stand together in sorted paths."""
    return ordered[bisect_left(ordered, top + "/") : bisect_left(ordered, top + "0")]


def _placed(path: str, renames: Iterable[Move]) -> str:
    for rename in renames:
        if path.startswith(rename.origin + "/"):
            path = rename.path + path[len(rename.origin) :]
    return path


def _rename(step: FileStep) -> Move:
    if step.moved_to is None:
        raise AssertionError("BUG: not a rename")
    if step.wanted is not None:
        return Move(kind=MoveKind.RENAME, path=step.path, origin=step.moved_to, after=step.wanted)
    return Move(kind=MoveKind.RENAME, path=step.moved_to, origin=step.path, before=step.current)


def _is_directory(state: FileState | None) -> bool:
    return state is not None and state.kind is EntryKind.DIRECTORY


def _is_leaf(state: FileState | None) -> bool:
    return state is not None and state.kind is not EntryKind.DIRECTORY


def _parents(path: str) -> Iterable[str]:
    parent = os.path.dirname(path)
    while parent not in ("", "/"):
        yield parent
        parent = os.path.dirname(parent)


def _entries(top: str, states: Mapping[str, FileState]) -> tuple[Entry, ...]:
    return tuple(Entry(path[len(top) + 1 :], states[path]) for path in sorted(states))
