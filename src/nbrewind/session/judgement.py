"""What is added to the attribution of a span once the whole snapshot is known. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from nbrewind.capture.attribution import Attribution
from nbrewind.model import Change, Claim

__all__ = ["with_conflicts", "with_links"]

_AGAIN = "changed again after the cell ended"


def with_links(judged: Attribution, groups: Collection[tuple[str, ...]]) -> Attribution:
    """Let all names of one file be ours where one of them is: a write through one name shows under each."""
    if not groups:
        return judged
    ours = {change.path for change in judged.turn_changes if change.claim is Claim.OURS}
    linked = {path for group in groups if not ours.isdisjoint(group) for path in group}

    def owned(change: Change) -> Change:
        if change.claim is Claim.UNCLAIMED and change.path in linked and change.after is not None:
            return replace(change, claim=Claim.OURS)
        return change

    return judged._replace(turn_changes=tuple(map(owned, judged.turn_changes)))


def with_conflicts(judged: Attribution) -> Attribution:
    """Say of a path that changed in the turn and again after it that the turn's own end state is not known.

    Only the last bytes were seen: taken for the turn's, a rewind would overwrite what somebody else wrote.
    """
    again = {change.path for change in judged.external_changes if change.claim is not Claim.OURS}
    if not again:
        return judged
    return judged._replace(
        turn_changes=tuple(
            replace(change, after=replace(change.after, object=None, missing=_AGAIN))
            if change.path in again and change.claim is Claim.OURS and change.after is not None
            else change
            for change in judged.turn_changes
        )
    )
