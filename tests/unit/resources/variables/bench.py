"""An in-process notebook: a dictionary for a namespace, a real shadow repository, cells run by `exec`."""

from __future__ import annotations

import ast
import builtins
from pathlib import Path
from typing import Any

from nbrewind.model import ObjectId, OperationId, OperationKind, RewindPlan
from nbrewind.resources import RewindContext
from nbrewind.resources.archive import Archive
from nbrewind.resources.variables.guard import Guard
from nbrewind.resources.variables.restore import VariablesResource
from nbrewind.resources.variables.tracker import VariablesSnapshot, VariableTracker
from nbrewind.store.shadow.repository import ShadowRepository


class Notebook:
    """Runs cells, captures after each, and goes back. `points[k]` is the checkpoint after cell k (0: empty)."""

    def __init__(self, folder: Path, **keywords: Any) -> None:
        self.ns: dict[str, object] = {"__name__": "__main__", "__builtins__": builtins}
        self.fixed = frozenset(self.ns)
        self.results: dict[int, int] = {}
        folder.mkdir(exist_ok=True)
        self.repository = ShadowRepository.open(str(folder / "shadow"))
        self.tracker = VariableTracker(self, **keywords)
        self.guard = Guard()
        self.points: list[ObjectId] = []
        self.last: VariablesSnapshot = self.capture(None)
        self.notes: tuple[Any, ...] = ()

    def namespace(self) -> dict[str, object]:
        return self.ns

    def hidden(self) -> frozenset[str]:
        return self.fixed

    def shown(self) -> dict[int, int]:
        return self.results

    def run(self, code: str, reached: frozenset[str] | None = None, **keywords: Any) -> VariablesSnapshot:
        exec(compile(code, "<cell>", "exec", dont_inherit=True), self.ns)
        return self.capture(reached, **keywords)

    def capture(self, reached: frozenset[str] | None, **keywords: Any) -> VariablesSnapshot:
        examined = self.tracker.examine(reached, **keywords)
        with self.repository.writer() as writer:
            self.last = self.tracker.store(examined, writer)
            writer.finish()
        self.tracker.adopt(self.last)
        assert self.last.address is not None
        self.points.append(self.last.address)
        return self.last

    def resource(self, point: int, **keywords: Any) -> tuple[VariablesResource, RewindContext]:
        context = RewindContext(
            OperationId("rewind"), self.repository, Archive(self.repository, OperationId("rewind"), "archive")
        )
        return VariablesResource(self.tracker, self.repository, self.points[point], self.guard, **keywords), context

    def back(self, point: int, **keywords: Any) -> VariablesResource:
        resource, context = self.resource(point, **keywords)
        resource.prepare(plan(), context)
        context.archive.finish()
        resource.stage()
        resource.apply()
        self.notes = resource.finish()
        resource.close()
        return resource


def plan() -> RewindPlan:
    return RewindPlan(kind=OperationKind.REWIND, head=OperationId("a"), target=OperationId("b"))


def names_in(code: str) -> frozenset[str]:
    return frozenset(node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name))
