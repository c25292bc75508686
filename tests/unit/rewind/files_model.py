"""A workspace as a list of dictionaries: the model that plans are checked against."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from nbrewind.model import (
    Change,
    Checkpoint,
    Claim,
    EntryKind,
    FilesAddress,
    FileState,
    ObjectId,
    Operation,
    OperationId,
    OperationKind,
    PlanOptions,
    RewindPlan,
    SessionId,
    Turn,
)
from nbrewind.rewind.plan import Evidence, plan_changes
from nbrewind.rewind.targets import resolve
from nbrewind.rewind.timeline import Timeline

DIRECTORY = FileState(EntryKind.DIRECTORY, mode=0o755)
START = 1_700_000_000.0


def file(text: str, mode: int = 0o644, missing: str = "") -> FileState:
    blob = None if missing else ObjectId(hashlib.sha1(text.encode()).hexdigest())
    return FileState(EntryKind.FILE, blob, len(text), mode, missing=missing)


class FlatTree:
    def __init__(self, files: dict[str, FileState]) -> None:
        self.files = files

    def lookup(self, path: str) -> FileState | None:
        return self.files.get(path)

    def walk(self, prefix: str = ""):
        for path, state in sorted(self.files.items()):
            if not prefix or path == prefix or path.startswith(prefix + "/"):
                yield path, state


class FilesModel:
    """Operations as the session would log them, and the world they act on. Paths that begin with / lie outside."""

    def __init__(self, files: dict[str, str] | None = None) -> None:
        self.world: dict[str, FileState] = {}
        self.operations: list[Operation] = []
        self.trees: dict[str, dict[str, FileState]] = {}
        self.manifests: dict[str, tuple[Change, ...]] = {}
        self.uncovered = "no such prefix"
        self.count = 0
        for path, text in (files or {}).items():
            self._write(path, text)
        self.append(OperationKind.ATTACH, {}, parent=None)
        self.manifests[self.head] = ()

    # -- events ---------------------------------------------------------------------------------------------------

    def turn(self, changes: dict[str, str | None], number: int | None = -1, code: str = "") -> OperationId:
        """A cell that writes (text) or deletes (None) paths; a path that ends in / becomes a directory."""
        self.settle()
        before = dict(self.world)
        self._act(changes)
        numbers = [known.turn.number for known in self.timeline.turns if known.turn and known.turn.number]
        count = (max(numbers, default=0) + 1) if number == -1 else number
        return self.append(OperationKind.TURN, before, turn=Turn(code=code or f"cell {count}", number=count))

    def others(self, changes: dict[str, str | None]) -> None:
        """Somebody else changes files; seen only when the session settles."""
        self._act(changes)

    def settle(self, claim: Claim = Claim.EXTERNAL) -> None:
        seen = self.trees[self.head]
        if seen != self._inside():
            self.append(OperationKind.EXTERNAL, seen, claim=claim)

    def name(self, text: str) -> OperationId:
        self.settle()
        return self.append(OperationKind.NAME, self.world, label=text)

    def carry_out(self, plan: RewindPlan) -> OperationId:
        """Do exactly what the plan says, and check that each step finds what it expects."""
        assert plan.head == self.head
        before = dict(self.world)
        previous = self.head
        for step in plan.steps:
            if step.moved_to is not None:
                self._rename(step.moved_to, step.path)
                continue
            assert self.world.get(step.path) == step.current, step
            self.world.pop(step.path, None)
            if step.wanted is not None:
                self.world[step.path] = step.wanted
        self.check_shape()
        parent = previous if plan.kind is OperationKind.RESTORE else plan.target
        return self.append(
            plan.kind, before, parent=parent, previous=previous, undone=plan.undone, changes=plan_changes(plan)
        )

    # -- looking --------------------------------------------------------------------------------------------------

    @property
    def head(self) -> OperationId:
        return self.operations[-1].id

    @property
    def timeline(self) -> Timeline:
        return Timeline(self.operations)

    @property
    def evidence(self) -> Evidence:
        self.settle()
        return Evidence(
            timeline=self.timeline,
            changes_of=lambda operation: self.manifests[operation.id],
            tree_of=lambda operation: FlatTree(self.trees[operation.id]),
            current=self.world.get,
        )

    def target(self, text: str) -> OperationId:
        return resolve(text, self.timeline).operation

    def texts(self) -> dict[str, FileState]:
        return {path: state for path, state in self.world.items() if state.kind is not EntryKind.DIRECTORY}

    def check_shape(self) -> None:
        """Every file stands in directories that stand."""
        for path in self.world:
            above = path.rpartition("/")[0]
            while above:
                assert self.world.get(above, DIRECTORY).kind is EntryKind.DIRECTORY, f"{path} below {above}"
                assert above in self.world or path.startswith("/"), f"{path} without {above}"
                above = above.rpartition("/")[0]

    # -- inside ---------------------------------------------------------------------------------------------------

    def append(
        self,
        kind: OperationKind,
        before: dict[str, FileState],
        *,
        parent: OperationId | str | None = "head",
        previous: OperationId | None = None,
        undone: OperationId | None = None,
        claim: Claim = Claim.OURS,
        turn: Turn | None = None,
        label: str = "",
        changes: tuple[Change, ...] | None = None,
    ) -> OperationId:
        identifier = OperationId(f"op-{self.count:04d}")
        head = self.operations[-1].id if self.operations else None
        if changes is None:
            changes = tuple(
                Change(path, before.get(path), self.world.get(path), claim)
                for path in sorted({*before, *self.world})
                if before.get(path) != self.world.get(path)
            )
        self.trees[identifier] = self._inside()
        self.manifests[identifier] = changes
        made = parent if parent != "head" else head
        above = next((known for known in self.operations if known.id == made), None)
        self.operations.append(
            Operation(
                id=identifier,
                seq=self.count,
                kind=kind,
                session=SessionId("s"),
                at=START + 60 * self.count,
                checkpoint=Checkpoint(FilesAddress(*[ObjectId(f"{self.count:040d}")] * 3), self.count + 1),
                parent=OperationId(made) if made is not None else None,
                grandparent=above.parent if above is not None else None,
                previous=previous or head,
                undone=undone,
                label=label,
                turn=turn,
                change_count=len(changes),
            )
        )
        self.count += 1
        return identifier

    def change_operation(self, identifier: OperationId, **changes: object) -> None:
        self.operations = [replace(known, **changes) if known.id == identifier else known for known in self.operations]

    def _inside(self) -> dict[str, FileState]:
        return {path: state for path, state in self.world.items() if not path.startswith(("/", self.uncovered))}

    def _act(self, changes: dict[str, str | None]) -> None:
        for path, text in changes.items():
            if text is None:
                self._remove(path)
            elif path.endswith("/"):
                self._make_directory(path.rstrip("/"))
            else:
                self._write(path, text)

    def _remove(self, path: str) -> None:
        for found in [known for known in self.world if known == path or known.startswith(path + "/")]:
            del self.world[found]

    def _make_directory(self, path: str) -> None:
        parts = path.split("/")
        for count in range(1, len(parts) + 1):
            above = "/".join(parts[:count])
            if above and (above not in self.world or self.world[above].kind is not EntryKind.DIRECTORY):
                self.world[above] = DIRECTORY

    def _write(self, path: str, text: str) -> None:
        above = path.rpartition("/")[0]
        if above:
            self._make_directory(above)
        self._remove(path)
        self.world[path] = file(text)

    def _rename(self, source: str, destination: str) -> None:
        for path in [known for known in self.world if known == source or known.startswith(source + "/")]:
            self.world[destination + path[len(source) :]] = self.world.pop(path)


OPTIONS = PlanOptions()
