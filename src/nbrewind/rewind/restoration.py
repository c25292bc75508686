"""Restoration: the plan that brings single files back from a point, in place or beside the present ones. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from itertools import islice

from nbrewind.errors import RefusalReason, RewindRefused, TargetError, clipped
from nbrewind.model import EntryKind, FileState, Operation, OperationId, OperationKind, PlanOptions, RewindPlan
from nbrewind.rewind.draft import Draft
from nbrewind.rewind.evidence import Evidence, Tree, alike, is_outside
from nbrewind.rewind.structure import companions, fit
from nbrewind.rewind.targets import NOTHING_CHANGED, title

__all__ = ["outside_state", "plan_restore"]


def plan_restore(evidence: Evidence, paths: Sequence[str], source: OperationId, options: PlanOptions) -> RewindPlan:
    """Return the plan that brings *paths* back as they were after *source*; nothing is removed but what they replace.

    A directory brings back what was below it then; what was added since stays and is listed. With
    `options.destination` one path is put beside the present one.

    Raises:
        TargetError: a path was not there then.
        RewindRefused: conflict (the destination is taken), no-file-snapshot.
    """
    goal = evidence.timeline.operation(source)
    tree = evidence.tree(goal)
    draft = Draft(remembered=evidence.remembered)
    if options.destination and len(paths) != 1:
        raise TargetError(f"--as takes one path, not {len(paths)}. {NOTHING_CHANGED}")
    for path in paths:
        states = _states_then(evidence, goal, tree, path)
        if options.destination:
            new = options.destination
            if evidence.current(new) is not None and not options.overwrite:
                raise RewindRefused(
                    RefusalReason.CONFLICT,
                    f"Not restored, nothing changed: {clipped(new, 200)} exists already.",
                    hint="--overwrite replaces it; its present bytes are kept and undo brings them back.",
                )
            states = {new + found[len(path) :]: state for found, state in states.items()}
        for found, state in states.items():
            _draft_one(draft, evidence, found, state)
        if not options.destination:
            _list_later(draft, evidence, path, states)
    # `fit` makes missing directories as they were then; beside the present one they are made as usual.
    fit(draft, evidence, None if options.destination else tree)
    if not draft.steps and draft.lost:
        path, reason = next(iter(draft.lost.items()))
        raise RewindRefused(
            RefusalReason.NO_FILE_SNAPSHOT,
            f"Not restored, nothing changed: {clipped(path, 120)} cannot come back, {reason}.",
        )
    head = evidence.timeline.line[-1].id
    return RewindPlan(
        kind=OperationKind.RESTORE,
        head=head,
        target=goal.id,
        options=options,
        steps=draft.ordered,
        kept=draft.listed("kept"),
        lost=draft.listed("lost"),
        conflicts=draft.listed("conflicts"),
    )


def outside_state(evidence: Evidence, goal: Operation, path: str) -> tuple[bool, FileState | None]:
    """Return whether the manifests tell what stood at the absolute *path* after *goal*, and what."""
    known, state = False, None
    for operation in evidence.timeline.operations:
        for change in evidence.changes(operation):
            if change.path != path or change.moved_to is not None:
                continue
            if operation.seq > goal.seq:
                return True, change.before
            known, state = True, change.after
    return known, state


def _states_then(evidence: Evidence, goal: Operation, tree: Tree | None, path: str) -> dict[str, FileState]:
    timeline = evidence.timeline
    if is_outside(path):
        known, state = outside_state(evidence, goal, path)
        if not known:
            raise TargetError(
                f"{clipped(path, 120)} lies outside the workspace, and no cell touched it. {NOTHING_CHANGED}",
                hint="Files outside are known only where a cell changed them.",
            )
        if state is None:
            raise TargetError(f"{clipped(path, 120)} was not there {title(goal, timeline)}. {NOTHING_CHANGED}")
        return {path: state}
    if tree is None:
        raise RewindRefused(
            RefusalReason.NO_FILE_SNAPSHOT,
            f"Not restored, nothing changed: no files were kept {title(goal, timeline)}.",
        )
    state = tree.lookup(path) if path not in ("", ".") else FileState(EntryKind.DIRECTORY, mode=0o755)
    if state is None:
        near = _similar(tree, path)
        hint = (
            f"Did you mean {near}?"
            if near
            else f"%rewind history {clipped(path, 120)} lists the cells that changed it."
        )
        raise TargetError(f"{clipped(path, 120)} was not there {title(goal, timeline)}. {NOTHING_CHANGED}", hint=hint)
    found = {} if path in ("", ".") else {path: state}
    if state.kind is EntryKind.DIRECTORY:
        prefix = "" if path in ("", ".") else path
        found.update((name, below) for name, below in tree.walk(prefix) if name.startswith(prefix + "/") or not prefix)
        return found
    for name in companions(path)[1:]:
        # A database without the journal that belongs to it is another database.
        companion = tree.lookup(name)
        if companion is not None:
            found[name] = companion
    return found


def _draft_one(draft: Draft, evidence: Evidence, path: str, wanted: FileState) -> None:
    now = evidence.current(path)
    if alike(now, wanted):
        return
    draft.bring(path, now, wanted)


def _list_later(draft: Draft, evidence: Evidence, path: str, states: dict[str, FileState]) -> None:
    """Remove a newer journal of a restored database; list what was added to a restored directory."""
    head = evidence.tree(evidence.timeline.line[-1])
    if is_outside(path) or head is None:
        return
    for name in companions(path)[1:]:
        now = head.lookup(name)
        if path in draft.steps and name not in states and now is not None:
            draft.put(name, now, None)
    prefix = "" if path in ("", ".") else path
    if not prefix or (path in states and states[path].kind is EntryKind.DIRECTORY):
        for name, _ in head.walk(prefix):
            if name not in states and (name.startswith(prefix + "/") or not prefix):
                draft.kept[name] = "added later"


def _similar(tree: Tree, path: str) -> str:
    names = [name for name, _ in _few(tree.walk())]
    base = path.rsplit("/", 1)[-1]
    same = [name for name in names if name.rsplit("/", 1)[-1] == base]
    return same[0] if same else next(iter(difflib.get_close_matches(path, names, n=1, cutoff=0.7)), "")


def _few(rows: Iterable[tuple[str, FileState]]) -> Iterable[tuple[str, FileState]]:
    # Only for a suggestion: not worth reading a whole large workspace.
    return islice(rows, 5000)
