"""The log as a rewind sees it: at the commit point the operation gets the checkpoint of what really stands."""

from __future__ import annotations

from collections.abc import Callable

from nbrewind.model import Operation
from nbrewind.store.frames import Damage
from nbrewind.store.oplog import OperationLog

__all__ = ["SealingLog"]


class SealingLog(OperationLog):
    """*log*, whose next `append` first lets *seal* put the checkpoint into the operation.

    The objects of a rewind's checkpoint are written between the last move and the commit point. What *seal* raises is
    a failure before the commit point like any other, so everything is put back.
    """

    def __init__(self, log: OperationLog, seal: Callable[[Operation], Operation]) -> None:
        self._log = log
        self._seal = seal
        self.paths = log.paths
        self.header = log.header
        self.sealed: Operation | None = None

    @property
    def damaged(self) -> tuple[Damage, ...]:  # type: ignore[override]  # an attribute there
        """What the log cannot tell."""
        return self._log.damaged

    @property
    def operations(self) -> tuple[Operation, ...]:
        """All operations that can be read."""
        return self._log.operations

    @property
    def next_seq(self) -> int:
        """The `seq` that the next operation gets."""
        return self._log.next_seq

    @property
    def refuses(self) -> str:
        """Why nothing can be appended any more."""
        return self._log.refuses

    def append(self, operation: Operation, *, sync: bool = True) -> None:
        """Seal *operation* and add it.

        Raises:
            StoreError, InconsistentState: as `OperationLog.append`.
        """
        sealed = self._seal(operation)
        self._log.append(sealed, sync=sync)
        self.sealed = sealed

    def sync(self) -> None:
        """Flush the log.

        Raises:
            InconsistentState: as `OperationLog.sync`.
        """
        self._log.sync()

    def close(self) -> None:
        """Do nothing: the log goes on."""
