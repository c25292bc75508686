"""Structure: steps that fit into the tree of directories, and databases that move with their journals. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from nbrewind.model import EntryKind, FileState
from nbrewind.rewind.draft import Draft
from nbrewind.rewind.evidence import Evidence, Tree, alike, is_outside, parents

__all__ = ["SQLITE_COMPANIONS", "companions", "fit", "keep_groups", "settle_groups"]

SQLITE_COMPANIONS = ("-journal", "-wal")
"""A database is consistent only together with these; `-shm` is never kept."""


def companions(path: str) -> tuple[str, ...]:
    """Return the names that would form one SQLite database with *path*, *path* among them."""
    base = next((path[: -len(end)] for end in (*SQLITE_COMPANIONS, "-shm") if path.endswith(end)), path)
    return (base, *(base + end for end in SQLITE_COMPANIONS))


def settle_groups(draft: Draft, evidence: Evidence, wanted: Tree | None) -> None:
    """Make every SQLite database with a journal go back as a whole, or stay as a whole."""
    seen: set[str] = set()
    for path in sorted({*draft.steps, *draft.conflicts, *draft.lost}):
        group = companions(path)
        if group[0] in seen or is_outside(path):
            continue
        now = {name: evidence.current(name) for name in group}
        then = {name: wanted.lookup(name) if wanted else None for name in group}
        if not any(now[name] or then[name] for name in group[1:]):
            continue
        seen.add(group[0])
        stays = next((name for name in group if name in draft.conflicts or name in draft.lost), None)
        for name in group:
            if stays is not None:
                if draft.steps.pop(name, None) is not None:
                    draft.conflicts[name] = f"belongs to a database of which {stays} has to stay"
            elif name not in draft.steps and not alike(now[name], then[name]):
                draft.put(name, now[name], then[name])
                draft.kept.pop(name, None)


def keep_groups(draft: Draft, staying: Mapping[str, str]) -> None:
    """Leave a SQLite database alone as a whole where one of its files is among *staying*."""
    for path in tuple(staying):
        for name in companions(path):
            if draft.steps.pop(name, None) is not None:
                draft.kept[name] = f"belongs to a database of which {path} has to stay"


def fit(draft: Draft, evidence: Evidence, wanted: Tree | None) -> None:
    """Add the directories that steps need, and drop steps for which something of others stands in the way."""
    for path in sorted(draft.steps, key=lambda path: path.count("/")):
        if path in draft.steps and draft.steps[path].wanted is not None:
            _make_room_above(draft, evidence, wanted, path)
    _leave_full_directories(draft, evidence)
    # A directory that stays may have been meant to become a file, or to vanish together with the one above it.
    for path in sorted(draft.steps, key=lambda path: path.count("/")):
        if path in draft.steps and draft.steps[path].wanted is not None:
            _make_room_above(draft, evidence, wanted, path)


def _make_room_above(draft: Draft, evidence: Evidence, wanted: Tree | None, path: str) -> None:
    missing: list[str] = []
    for above in reversed(parents(path)):
        if is_outside(path) and any(above == move.path or above.startswith(move.path + "/") for move in draft.moves):
            break
        step = draft.steps.get(above)
        if step is not None and step.wanted is None and step.current is not None:
            if step.current.kind is EntryKind.DIRECTORY:
                del draft.steps[above]
                break
            missing.append(above)
            continue
        state = step.wanted if step is not None else evidence.current(above)
        if state is None:
            missing.append(above)
        elif state.kind is EntryKind.DIRECTORY:
            if step is None or step.current is not None:
                break
        else:
            _stand_back(draft, path, above)
            return
    for above in missing:
        state = None if wanted is None or is_outside(above) else wanted.lookup(above)
        if state is None or state.kind is not EntryKind.DIRECTORY:
            state = FileState(EntryKind.DIRECTORY, mode=0o755)
        draft.put(above, evidence.current(above), state)
        draft.conflicts.pop(above, None)
        draft.kept.pop(above, None)


def _stand_back(draft: Draft, path: str, above: str) -> None:
    """Leave *path* alone because *above* is not, and will not be, a directory."""
    del draft.steps[path]
    draft.conflicts[path] = f"{above} stands in its way"


def _leave_full_directories(draft: Draft, evidence: Evidence) -> None:
    """Drop the removal or replacement of directories that hold something which stays."""
    doomed = [
        step.path
        for step in draft.steps.values()
        if step.current is not None
        and step.current.kind is EntryKind.DIRECTORY
        and (step.wanted is None or step.wanted.kind is not EntryKind.DIRECTORY)
    ]
    for path in sorted(doomed, key=lambda path: path.count("/"), reverse=True):
        staying = next((found for found in evidence.below(path) if not _vanishes(draft, found)), None)
        if staying is None:
            continue
        wanted = draft.steps.pop(path).wanted
        if wanted is None:
            draft.kept[path] = f"not empty: {staying} stays"
        else:
            draft.conflicts[path] = f"{staying} stands in its way"


def _vanishes(draft: Draft, path: str) -> bool:
    step = draft.steps.get(path)
    return step is not None and step.wanted is None
