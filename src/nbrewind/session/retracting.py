"""Retracting: the turn that just ended is taken back as if it had not run (`%%atomic`)."""

from __future__ import annotations

from nbrewind.errors import RefusalReason, RewindRefused
from nbrewind.model import PlanOptions
from nbrewind.session.moving import Moving

__all__ = ["Retracting"]


class Retracting(Moving):
    """Takes back no turn but the one that ended last, and only if it was recorded."""

    def take_back_turn(self) -> str:
        """Take the turn that just ended back, files and variables; In and Out go on. Return a sentence about it.

        Raises:
            RewindError: it stays as it is.
        """
        return self.on_main_thread(self._take_back)

    def _take_back(self) -> str:
        if self._newest is None:
            raise RewindRefused(RefusalReason.UNKNOWN_CHECKPOINT, "nothing is recorded now.")
        if not self.settle():
            failed = self._health.not_protected
            raise RewindRefused(RefusalReason.BUSY, failed.reason if failed is not None else "it is not saved yet.")
        last = self.timeline.last_turn(self.head) if self.head is not None else None
        if last is None or last.id != self._newest:
            # Only where the front end keeps no history of the cell.
            return "%%atomic: the cell failed; it had changed nothing."
        if last.parent is None:
            raise RewindRefused(RefusalReason.UNKNOWN_CHECKPOINT, "there is no point before it.")
        plan = self.plan(last.parent, PlanOptions(only=("files", "variables"), force=True))
        result = self.rewind(plan)
        left = [note.subject for note in result.notes if note.subject != "imported modules"]
        more = f" Except: {', '.join(left)}." if left else ""
        return f"%%atomic: the cell failed, so what it did to files and variables was taken back.{more}"
