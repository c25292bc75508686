"""What a rewind moves, behind one protocol: the transaction knows nothing of files or variables.

Order of calls, by `rewind.transaction` alone: `prepare` of every resource → (archive and intent become durable) →
`stage` of every resource → `apply` of every resource → (commit point) → `finish` of every resource. Before the commit
point any exception leads to `rollback` of every resource that was prepared, in reverse order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from nbrewind.model import Change, Note, OperationId, RewindPlan
from nbrewind.resources.archive import Archive
from nbrewind.store.shadow.repository import ShadowRepository

__all__ = ["Recoverer", "Recoverers", "Resource", "RewindContext"]


@dataclass(frozen=True, slots=True)
class RewindContext:
    """What resources get for one rewind: its *operation*, the *repository*, and the *archive* that `prepare` fills.

    *trust* is False where the gc lock could not be had: then nothing found by look-up counts as kept.
    """

    operation: OperationId
    repository: ShadowRepository
    archive: Archive
    trust: bool = True

    def conflicts(self) -> Archive:
        """Return a new archive for bytes of somebody else that stand where ours have to go."""
        return Archive(self.repository, self.operation, "conflicts", trust=self.trust)


class Resource(Protocol):
    """One thing that a rewind moves. *name* is its key in the intent, and stable for ever.

    Invariant: from `prepare` to the commit point nothing that stood before is lost; after `rollback` all stands as
    before `stage`, except what others wrote meanwhile, which stays.
    Crash rule: between the intent and its removal a death may come at any instant, also inside `rollback`, `finish` and
    recovery. The `Recoverer` of the same name gets `intent()` back and nothing else.
    """

    name: str

    def prepare(self, plan: RewindPlan, context: RewindContext) -> None:
        """Check that the plan fits what stands, read and verify all that is wanted, archive all that will change.

        Called first and once. Changes nothing but the archive.

        Raises:
            RewindRefused: the plan cannot be carried out; the message names the path or name.
        """

    def intent(self) -> str:
        """Return, as JSON, all that recovery needs. Called after `prepare`."""

    def changes(self) -> tuple[Change, ...]:
        """Return what the rewind changes, for its operation. Called after `prepare`."""

    def stage(self) -> None:
        """Allocate everything that `apply` needs, beside what stands; then check again that all stands as prepared.

        Called once the intent is durable. The last chance to refuse.

        Raises:
            RewindRefused: no space, no permission, or somebody changed something meanwhile.
        """

    def apply(self) -> None:
        """Make the wanted state stand, durably. Called once, after all resources staged.

        Raises:
            RewindRefused: something came in between; the caller rolls back.
        """

    def rollback(self) -> tuple[Note, ...]:
        """Put back what stood, from any point on, without allocating; return what somebody else changed meanwhile.

        May be called after a failed `stage` or `apply`, and twice.
        """

    def finish(self) -> tuple[Note, ...]:
        """Clean up after the commit point; return what is worth telling. May be called twice."""

    def close(self) -> None:
        """Let go of descriptors. Called last, whatever happened; twice is fine."""


class Recoverer(Protocol):
    """Finishes or puts back a rewind that died, from its intent alone.

    It may itself be killed, and is run again any number of times.
    """

    def __call__(self, intent: str, committed: bool, context: RewindContext) -> tuple[Note, ...]:
        """Finish if *committed*, else put back; return what is worth telling."""


Recoverers = Mapping[str, Recoverer]
