"""What a plan is computed from: the timeline, manifests, trees and the state on the disk, all handed in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from nbrewind.errors import RefusalReason, RewindRefused, StoreError
from nbrewind.model import Change, EntryKind, FileState, Operation, RewindPlan
from nbrewind.rewind.draft import never_remembered
from nbrewind.rewind.timeline import Timeline

__all__ = ["Evidence", "Tree", "alike", "inverse", "is_outside", "parents", "plan_changes"]


class Tree(Protocol):
    """The files of one checkpoint. Directories are entries too."""

    def lookup(self, path: str) -> FileState | None:
        """Return what stood at *path*."""

    def walk(self, prefix: str = "") -> Iterable[tuple[str, FileState]]:
        """Yield every path below *prefix* (all by default) with its state."""


Difference = tuple[str, FileState | None, FileState | None]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that a plan may look at. The head's tree must be that of the disk: settle before planning.

    *difference* yields the paths in which the trees of two operations differ; without it the trees are walked.
    *notebooks* are the names of the session's own document, now and before it was renamed, relative to the workspace.
    *remembered* as for `Draft`.
    """

    timeline: Timeline
    changes_of: Callable[[Operation], tuple[Change, ...]]
    tree_of: Callable[[Operation], Tree | None]
    current: Callable[[str], FileState | None]
    difference: Callable[[Operation, Operation], Iterable[Difference]] | None = None
    notebooks: frozenset[str] = frozenset()
    remembered: Callable[[str, FileState], bool] = never_remembered
    force_deletions: int = 50

    def changes(self, operation: Operation) -> tuple[Change, ...]:
        """Return the manifest of *operation*.

        Raises:
            RewindRefused: damaged.
        """
        try:
            return self.changes_of(operation)
        except StoreError as error:
            raise RewindRefused(
                RefusalReason.DAMAGED, f"Not rewound, nothing changed: {error.message}", hint=error.hint
            ) from error

    def tree(self, operation: Operation | None) -> Tree | None:
        """Return the files of *operation*; None where no snapshot was made.

        Raises:
            RewindRefused: damaged.
        """
        if operation is None or operation.checkpoint.files is None:
            return None
        try:
            return self.tree_of(operation)
        except StoreError as error:
            raise RewindRefused(
                RefusalReason.DAMAGED, f"Not rewound, nothing changed: {error.message}", hint=error.hint
            ) from error

    def differing(self, first: Operation, second: Operation) -> Iterator[Difference]:
        """Yield the paths in which *first* and *second* differ, with both states."""
        if self.difference is not None:
            yield from self.difference(first, second)
            return
        trees = self.tree(first), self.tree(second)
        if trees[0] is None or trees[1] is None:
            return
        states = dict(trees[0].walk()), dict(trees[1].walk())
        for path in sorted({**states[0], **states[1]}):
            before, after = states[0].get(path), states[1].get(path)
            if not alike(before, after):
                yield path, before, after

    def below(self, path: str) -> Iterator[str]:
        """Yield the covered paths that stand below the directory *path* now."""
        head = self.timeline.line[-1] if self.timeline.line else None
        tree = self.tree(head)
        if tree is None or is_outside(path):
            return
        for found, _ in tree.walk(path):
            if found.startswith(path + "/"):
                yield found


def is_outside(path: str) -> bool:
    """Return whether *path* lies outside the workspace."""
    return path.startswith("/")


def parents(path: str) -> list[str]:
    """Return the directories above *path*, topmost first."""
    parts = path.split("/")
    return [joined for count in range(1, len(parts)) if (joined := "/".join(parts[:count]))]


def alike(first: FileState | None, second: FileState | None) -> bool:
    """Return whether two states are known to be equal. Where bytes were not kept, size and time have to say so."""
    if first is None or second is None:
        return first is second
    if first.same(second):
        return True
    if first.kind is EntryKind.SPECIAL and second.kind is EntryKind.SPECIAL:
        return True
    return bool(first.missing and second.missing) and first == second


def inverse(change: Change) -> Change:
    """Return the change that takes *change* back."""
    if change.moved_to is not None:
        return Change(change.moved_to, change.before, change.after, change.claim, moved_to=change.path)
    return Change(change.path, change.after, change.before, change.claim)


def plan_changes(plan: RewindPlan) -> tuple[Change, ...]:
    """Return what carrying out *plan* changes, as the manifest of its operation.

    A step with `moved_to` brings the directory that stands there now to its path, so its row says "moved from there".
    """
    return tuple(
        Change(step.path, step.current, step.wanted)
        if step.moved_to is None
        else Change(step.moved_to, step.wanted, None, moved_to=step.path)
        for step in plan.steps
    )
