"""Claims: what the operations since a common point say about each path, and whose its present state is. Pure.

The disk has one history whatever line the log is on, so manifests are read in log order, not along a line: a file that
a rewind left where it was (a conflict, or `--only outputs`) is still known for what it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from nbrewind.model import Change, Claim, FileState, FileStep, Operation, OperationKind
from nbrewind.rewind.evidence import Evidence, alike, inverse
from nbrewind.rewind.timeline import MOVES

__all__ = ["Passage", "PathRecord", "Records", "passage", "read_records"]


@dataclass(frozen=True, slots=True)
class Passage:
    """The way from the head to a target: the turns *back* to *common*, then those forward *again*, oldest first."""

    common: Operation | None
    target: Operation
    back: tuple[Operation, ...]
    again: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class _Row:
    seq: int
    change: Change
    origin: int
    author: Claim | None


@dataclass(slots=True)
class PathRecord:
    """The rows of one path since the common point, in log order.

    *claimed*: this session changed it. *created*: an operation of this session made it. *others*: whose change was
    seen too.
    """

    rows: list[_Row] = field(default_factory=list)
    claimed: bool = False
    created: bool = False
    others: Claim | None = None

    def see(self, operation: Operation, change: Change, goal: int | None) -> None:
        """Take in a row; *goal* is the `seq` of the point that a rewind, undo or redo went to."""
        author: Claim | None = change.claim
        origin = operation.seq
        if goal is not None:
            # A move restores what somebody made earlier: an edit of a person that an undo put back stays theirs.
            before = next((row for row in reversed(self.rows) if row.seq <= goal), None)
            author, origin = (before.author, before.origin) if before is not None else (None, goal)
        self.rows.append(_Row(operation.seq, change, origin, author))
        if change.claim is Claim.OURS:
            self.claimed = True
            self.created = self.created or (change.before is None and change.after is not None)
        else:
            self.others = change.claim

    def state_at(self, seq: int) -> FileState | None:
        """Return the state after the operation of that *seq*, as the rows tell it."""
        later = next((row for row in self.rows if row.seq > seq), None)
        # The next row's "before" is nearer to the truth: somebody may have changed the path in between unseen.
        if later is not None:
            return later.change.before
        return self.rows[-1].change.after if self.rows else None

    def is_of_others(self, now: FileState | None) -> bool:
        """Return whether the present state *now* is somebody else's: by the rows, or since no row tells of it."""
        if not self.rows:
            return True
        last = self.rows[-1]
        return not alike(now, last.change.after) or last.author not in (Claim.OURS, None)


@dataclass(slots=True)
class Records:
    """All paths with a row since the common point, by their present names.

    *moves* take whole-directory renames outside the workspace back, after all other steps. *stuck* are such
    directories that cannot be moved. *has_gap*: a damaged record lies between.
    """

    paths: dict[str, PathRecord] = field(default_factory=dict)
    moves: list[FileStep] = field(default_factory=list)
    stuck: dict[str, str] = field(default_factory=dict)
    has_gap: bool = False

    def of(self, path: str) -> PathRecord:
        """Return the record of *path*, made at the first call."""
        return self.paths.setdefault(path, PathRecord())

    def follow(self, old: str, new: str) -> None:
        """Take the records below the directory *old* along to its new name."""
        for path in [known for known in self.paths if known.startswith(old + "/")]:
            self.paths[new + path[len(old) :]] = self.paths.pop(path)


def passage(evidence: Evidence, target: Operation) -> Passage:
    """Return the way from the head to *target*."""
    timeline = evidence.timeline
    head = timeline.line[-1].id
    common = timeline.common(head, target.id)
    back, again = timeline.after(common, head), timeline.after(common, target.id)
    return Passage(common, target, _turns(back), _turns(again))


def read_records(evidence: Evidence, way: Passage) -> Records:
    """Return what the manifests since the common point of *way* say, path by path.

    Raises:
        RewindRefused: damaged.
    """
    timeline = evidence.timeline
    since = way.common.seq if way.common is not None else -1
    records = Records()
    renames: list[tuple[int, Change]] = []
    seq = since
    for operation in timeline.operations:
        if operation.seq <= since:
            continue
        records.has_gap = records.has_gap or operation.seq != seq + 1
        seq = operation.seq
        parent = timeline.parent(operation) if operation.kind in MOVES else None
        for change in evidence.changes(operation):
            if change.moved_to is None:
                records.of(change.path).see(operation, change, parent.seq if parent is not None else None)
            elif change.claim is Claim.OURS:
                records.follow(change.path, change.moved_to)
                renames.append((operation.seq, change))
    _plan_moves(evidence, records, [change for at, change in renames if at > way.target.seq])
    return records


def _plan_moves(evidence: Evidence, records: Records, renames: list[Change]) -> None:
    """Plan the inverse of *renames*, newest first, where the source stands and the destination is free."""
    open_renames: list[Change] = []
    for change in renames:
        last = open_renames[-1] if open_renames else None
        if last is not None and (last.path, last.moved_to) == (change.moved_to, change.path):
            open_renames.pop()
        else:
            open_renames.append(change)
    made: set[str] = set()
    gone: set[str] = set()
    for change in map(inverse, reversed(open_renames)):
        source, destination = change.path, change.moved_to
        if destination is None:
            continue
        has_source = source in made or (source not in gone and evidence.current(source) is not None)
        is_free = destination in gone or (destination not in made and evidence.current(destination) is None)
        if has_source and is_free:
            records.moves.append(FileStep(destination, None, change.before, moved_to=source))
            made.add(destination)
            gone.add(source)
        else:
            why = f"{destination} stands again" if has_source else "it is no longer there"
            records.stuck[source] = f"cannot be moved back to {destination}: {why}"


def _turns(operations: tuple[Operation, ...]) -> tuple[Operation, ...]:
    return tuple(operation for operation in operations if operation.kind is OperationKind.TURN)
