"""Plans: what a rewind, an undo, a redo or a restore would change, computed without changing anything. Pure."""

from __future__ import annotations

from nbrewind.errors import RefusalReason, RewindRefused
from nbrewind.model import (
    Change,
    Claim,
    EntryKind,
    FileState,
    FileStep,
    Operation,
    OperationId,
    OperationKind,
    PlanOptions,
    RewindPlan,
)
from nbrewind.rewind.claims import PathRecord, Records, passage, read_records
from nbrewind.rewind.draft import Draft
from nbrewind.rewind.evidence import Evidence, Tree, alike, inverse, is_outside, plan_changes
from nbrewind.rewind.restoration import plan_restore
from nbrewind.rewind.structure import fit, keep_groups, settle_groups
from nbrewind.rewind.targets import cells, title

__all__ = ["Evidence", "plan_changes", "plan_redo", "plan_restore", "plan_rewind", "plan_undo"]

OTHERS = {
    Claim.EXTERNAL: "changed by someone else",
    Claim.OTHER_SESSION: "changed by another kernel",
    Claim.UNCLAIMED: "changed while a cell ran, but nothing says that the cell did it",
}
_NOTEBOOK = "this notebook itself; %rewind restore brings a file of it back"
_DAMAGED = "a record on the way is damaged, so nothing says who changed it"
_LATER = "changed after the rewind; your edit stays"


def plan_rewind(evidence: Evidence, target: OperationId, options: PlanOptions) -> RewindPlan:
    """Return the plan that goes to the state after *target*.

    What this session's operations on the way changed goes to its state at *target*; a path that someone else changed
    later is a conflict and stays, unless *options* say otherwise; all other differences stay and are listed.

    Raises:
        RewindRefused: unknown-checkpoint, no-file-snapshot, damaged.
    """
    goal = evidence.timeline.operation(target)
    way = passage(evidence, goal)
    draft = Draft(remembered=evidence.remembered)
    records = Records()
    if "files" in options.only:
        records = read_records(evidence, way)
        wanted = _wanted_tree(evidence, goal, records, options)
        draft.moves = records.moves
        draft.conflicts.update(records.stuck)
        _draft_claimed(draft, evidence, goal, records, wanted, options)
        _draft_rest(draft, evidence, goal, records, options)
        settle_groups(draft, evidence, wanted)
        fit(draft, evidence, wanted)
    return _finished(evidence, draft, options, records, OperationKind.REWIND, goal)


def plan_undo(evidence: Evidence, options: PlanOptions) -> RewindPlan:
    """Return the plan that takes the last rewind, restore or redo back, and nothing that came after it.

    Raises:
        RewindRefused: new-turns, unknown-checkpoint (there is none), damaged.
    """
    return _plan_inverse(evidence, evidence.timeline.undo_target(), OperationKind.UNDO, options)


def plan_redo(evidence: Evidence, options: PlanOptions) -> RewindPlan:
    """Return the plan that takes the last undo back.

    Raises:
        RewindRefused: new-turns, unknown-checkpoint (there is none), damaged.
    """
    return _plan_inverse(evidence, evidence.timeline.redo_target(), OperationKind.REDO, options)


def _plan_inverse(evidence: Evidence, move: Operation, kind: OperationKind, options: PlanOptions) -> RewindPlan:
    before = move.previous if move.previous is not None else move.parent
    if before is None or before not in evidence.timeline:
        raise RewindRefused(RefusalReason.DAMAGED, "Not undone, nothing changed: the record before it is damaged.")
    goal = evidence.timeline.operation(before)
    draft = Draft(remembered=evidence.remembered)
    records = Records()
    for change in map(inverse, reversed(evidence.changes(move))):
        if change.moved_to is not None:
            _draft_move(draft, evidence, change, change.moved_to)
            continue
        record = records.of(change.path)
        record.created = change.before is not None and change.after is None
        now = evidence.current(draft.stands_at(change.path))
        if alike(now, change.after):
            continue
        if not alike(now, change.before) and not options.overwrite:
            draft.kept[change.path] = _LATER
        else:
            draft.bring(change.path, now, change.after)
    wanted = evidence.tree(goal)
    keep_groups(draft, draft.kept)
    fit(draft, evidence, wanted)
    return _finished(evidence, draft, options, records, kind, goal, undone=move.id)


def _draft_move(draft: Draft, evidence: Evidence, change: Change, destination: str) -> None:
    """Plan the rename of a whole directory outside the workspace, if it can be made."""
    if evidence.current(change.path) is None or evidence.current(destination) is not None:
        draft.kept[change.path] = _LATER
        return
    # A manifest's rows stand in the order in which they were made, so the inverse of renames that came last is first.
    draft.moves_first = draft.moves_first or not draft.steps
    draft.moves.append(FileStep(destination, None, change.before, moved_to=change.path))


def _wanted_tree(evidence: Evidence, goal: Operation, records: Records, options: PlanOptions) -> Tree | None:
    wanted = evidence.tree(goal)
    needs_tree = options.everything or any(
        record.claimed and not is_outside(path) for path, record in records.paths.items()
    )
    # A point without a snapshot knows nothing about files: taking "unknown" for "absent" would delete them.
    if wanted is None and needs_tree:
        raise RewindRefused(
            RefusalReason.NO_FILE_SNAPSHOT,
            f"Not rewound, nothing changed: no files were kept {title(goal, evidence.timeline)}.",
            hint="--only outputs,cells goes back without the files.",
        )
    return wanted


def _draft_claimed(
    draft: Draft, evidence: Evidence, goal: Operation, records: Records, wanted: Tree | None, options: PlanOptions
) -> None:
    for path, record in records.paths.items():
        if not record.claimed:
            continue
        if path in evidence.notebooks:
            draft.kept[path] = _NOTEBOOK
            continue
        then = _state_at_goal(path, record, wanted, goal)
        now = evidence.current(path)
        if alike(now, then):
            continue
        if record.is_of_others(now) and not options.overwrite and not options.everything:
            draft.conflicts[path] = "changed by a cell that is taken back, and by someone else later"
        else:
            draft.bring(path, now, then)


def _state_at_goal(path: str, record: PathRecord, wanted: Tree | None, goal: Operation) -> FileState | None:
    told = record.state_at(goal.seq)
    if wanted is None or is_outside(path):
        return told
    found = wanted.lookup(path)
    # Where a turn touched a path that the tree does not cover, "not in the tree" is no reason to delete it; and where
    # the first copy had not reached it, its bytes are those that the turn's journal kept.
    if found is None or (found.object is None and told is not None and told.object is not None):
        return told
    return found


def _draft_rest(draft: Draft, evidence: Evidence, goal: Operation, records: Records, options: PlanOptions) -> None:
    """List every other difference to the target, or plan it too with `everything`."""
    unexplained = _DAMAGED if records.has_gap else "not changed by the cells that are taken back"
    for path, then, now in evidence.differing(goal, evidence.timeline.line[-1]):
        record = records.paths.get(path)
        if path in draft or (record is not None and record.claimed):
            continue
        if path in evidence.notebooks:
            draft.kept[path] = _NOTEBOOK
        elif options.everything:
            draft.bring(path, now, then)
        else:
            draft.kept[path] = OTHERS[record.others] if record is not None and record.others else unexplained
    for path, record in records.paths.items():
        if not record.claimed and is_outside(path) and record.others is not None:
            draft.kept.setdefault(path, OTHERS[record.others])


def _finished(
    evidence: Evidence,
    draft: Draft,
    options: PlanOptions,
    records: Records,
    kind: OperationKind,
    goal: Operation,
    undone: OperationId | None = None,
) -> RewindPlan:
    way = passage(evidence, goal)
    steps = draft.ordered
    doomed = [
        step.path
        for step in steps
        if step.wanted is None
        and step.current is not None
        and step.current.kind is not EntryKind.DIRECTORY
        and not records.of(step.path).created
    ]
    needs_force = ""
    if len(doomed) >= evidence.force_deletions and not options.force:
        owner = cells(way.back) if way.back else "no cell"
        needs_force = f"{len(doomed)} files would be deleted that {owner} did not create."
    head = evidence.timeline.line[-1].id
    return RewindPlan(
        kind=kind,
        head=head,
        target=goal.id,
        undone=undone,
        options=options,
        taken_back=tuple(turn.id for turn in way.back),
        brought_back=tuple(turn.id for turn in way.again),
        steps=steps,
        needs_force=needs_force,
        conflicts=draft.listed("conflicts"),
        kept=draft.listed("kept"),
        lost=draft.listed("lost"),
    )
