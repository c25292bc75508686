"""The timeline: what the operation log says about lines, numbers, names, undo and redo. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from nbrewind.errors import RefusalReason, RewindRefused, clipped
from nbrewind.model import Operation, OperationId, OperationKind

__all__ = ["MOVES", "LeftLine", "Timeline", "has_effect"]

MOVES = frozenset({OperationKind.REWIND, OperationKind.UNDO, OperationKind.REDO})
"""Operations whose parent is not the head before them."""


def has_effect(operation: Operation) -> bool:
    """Return whether *operation* recorded a change of files or variables."""
    return bool(operation.changes or operation.change_count or operation.changes_at or operation.variables)


@dataclass(frozen=True, slots=True)
class LeftLine:
    """A line that a move left: its last operation, its turns that the present line lacks, and when it was left."""

    head: OperationId
    turns: tuple[Operation, ...]
    left_at: float


class Timeline:
    """A view of operations in log order.

    Invariant: the last operation is the head, and the present line is the chain of parents from it. Where a damaged
    frame took a parent away, the chain goes on at the grandparent, and `gaps` names the operation that follows the
    hole.
    """

    def __init__(self, operations: Iterable[Operation]) -> None:
        self.operations: tuple[Operation, ...] = tuple(operations)
        self._by_id = {operation.id: operation for operation in self.operations}
        self.head: OperationId | None = self.operations[-1].id if self.operations else None
        self.line: tuple[Operation, ...] = self.line_of(self.head) if self.head is not None else ()
        self._on_line = frozenset(operation.id for operation in self.line)
        self.turns: tuple[Operation, ...] = tuple(
            operation for operation in self.line if operation.kind is OperationKind.TURN
        )

    def operation(self, identifier: str) -> Operation:
        """Return the operation of that id.

        Raises:
            RewindRefused: unknown-checkpoint.
        """
        found = self._by_id.get(OperationId(identifier))
        if found is None:
            raise RewindRefused(
                RefusalReason.UNKNOWN_CHECKPOINT,
                f"There is no point {clipped(identifier)!r}.",
                hint="%rewind lists the points.",
            )
        return found

    def __contains__(self, identifier: object) -> bool:
        """Return whether there is an operation of that id."""
        return identifier in self._by_id

    def is_on_line(self, identifier: OperationId) -> bool:
        """Return whether the operation lies on the present line."""
        return identifier in self._on_line

    def parent(self, operation: Operation) -> Operation | None:
        """Return the operation before *operation* on its line; across a hole the next one that can be read."""
        for identifier in (operation.parent, operation.grandparent):
            if identifier is not None and identifier in self._by_id:
                return self._by_id[identifier]
        return None

    def has_gap_before(self, operation: Operation) -> bool:
        """Return whether the record of *operation*'s parent is damaged."""
        return operation.parent is not None and operation.parent not in self._by_id

    def ancestors(self, identifier: OperationId) -> Iterator[Operation]:
        """Yield the operation and all before it on its line, newest first."""
        operation: Operation | None = self.operation(identifier)
        seen: set[OperationId] = set()
        while operation is not None and operation.id not in seen:
            seen.add(operation.id)
            yield operation
            operation = self.parent(operation)

    def line_of(self, identifier: OperationId) -> tuple[Operation, ...]:
        """Return the line that ends at the operation, oldest first."""
        return tuple(self.ancestors(identifier))[::-1]

    def common(self, first: OperationId, second: OperationId) -> Operation | None:
        """Return the newest operation that lies on both lines."""
        before = {operation.id for operation in self.ancestors(first)}
        return next((operation for operation in self.ancestors(second) if operation.id in before), None)

    def after(self, base: Operation | None, identifier: OperationId) -> tuple[Operation, ...]:
        """Return the operations after *base* on the line that ends at *identifier*, oldest first."""
        found: list[Operation] = []
        for operation in self.ancestors(identifier):
            if base is not None and operation.id == base.id:
                break
            found.append(operation)
        return tuple(found[::-1])

    @property
    def left_lines(self) -> tuple[LeftLine, ...]:
        """Return the lines that were left and hold turns which the present line lacks, newest first."""
        covered: set[OperationId] = set()
        lines: list[LeftLine] = []
        for move in reversed(self.operations):
            end = move.previous
            if move.kind not in MOVES or end is None or end not in self._by_id or end in covered:
                continue
            away = [found for found in self.ancestors(end) if found.id not in self._on_line]
            fresh = [found for found in away if found.id not in covered]
            covered.update(found.id for found in away)
            turns = tuple(found for found in reversed(fresh) if found.kind is OperationKind.TURN)
            if turns:
                lines.append(LeftLine(head=end, turns=turns, left_at=move.at))
        return tuple(lines)

    @property
    def taken_back(self) -> tuple[Operation, ...]:
        """Return the turns that are not on the present line, in log order."""
        return tuple(
            operation
            for operation in self.operations
            if operation.kind is OperationKind.TURN and operation.id not in self._on_line
        )

    @property
    def names(self) -> dict[str, Operation]:
        """Return the named points of all lines; where a name was given twice, the present line and then the later."""
        found: dict[str, Operation] = {}
        for operation in self.operations:
            if operation.kind is not OperationKind.NAME or not operation.label:
                continue
            known = found.get(operation.label)
            if known is None or self.is_on_line(operation.id) or not self.is_on_line(known.id):
                found[operation.label] = operation
        return found

    def last_turn(self, identifier: OperationId) -> Operation | None:
        """Return the newest turn on the line that ends at the operation."""
        return next((found for found in self.ancestors(identifier) if found.kind is OperationKind.TURN), None)

    def undo_target(self) -> Operation:
        """Return the operation that an undo takes back: the last rewind, restore or redo not yet undone.

        Raises:
            RewindRefused: new-turns, where a turn ran since; unknown-checkpoint, where there never was one.
        """
        undo, _ = self._stacks()
        if undo:
            return undo[-1]
        self._refuse("undo", "undone", (OperationKind.REWIND, OperationKind.RESTORE, OperationKind.REDO))
        raise RewindRefused(
            RefusalReason.UNKNOWN_CHECKPOINT,
            "There is no rewind to undo. Nothing changed.",
            hint="%rewind back 1 goes one turn back.",
        )

    def redo_target(self) -> Operation:
        """Return the undo that a redo takes back.

        Raises:
            RewindRefused: new-turns, where a turn ran since; unknown-checkpoint, where there never was one.
        """
        _, redo = self._stacks()
        if redo:
            return redo[-1]
        self._refuse("redo", "redone", (OperationKind.UNDO,))
        raise RewindRefused(
            RefusalReason.UNKNOWN_CHECKPOINT, "There is no undo to take forward again. Nothing changed."
        )

    def _stacks(self) -> tuple[list[Operation], list[Operation]]:
        undo: list[Operation] = []
        redo: list[Operation] = []
        for operation in self.operations:
            match operation.kind:
                case OperationKind.TURN:
                    undo, redo = [], []
                case OperationKind.REWIND | OperationKind.RESTORE:
                    undo.append(operation)
                    redo = []
                case OperationKind.UNDO:
                    undo = [known for known in undo if known.id != operation.undone]
                    redo.append(operation)
                case OperationKind.REDO:
                    redo = [known for known in redo if known.id != operation.undone]
                    undo.append(operation)
                case _:
                    pass
        return undo, redo

    def _refuse(self, verb: str, participle: str, kinds: tuple[OperationKind, ...]) -> None:
        later: Operation | None = None
        for operation in reversed(self.operations):
            if operation.kind is OperationKind.TURN:
                later = operation
            elif operation.kind in kinds and later is not None:
                cell = f"[{later.turn.number}]" if later.turn and later.turn.number is not None else "a cell"
                that = "rewind" if verb == "undo" else "undo"
                raise RewindRefused(
                    RefusalReason.NEW_TURNS,
                    f"Not {participle}, nothing changed: {cell} ran after that {that}.",
                    hint=f"What was left is kept: %rewind to {operation.previous} brings it back.",
                )
            elif operation.kind in MOVES or operation.kind is OperationKind.RESTORE:
                return
