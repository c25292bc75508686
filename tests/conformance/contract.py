"""What every resource must do, as tests: a resource's own test class inherits them and says how to make one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nbrewind.errors import RewindError
from nbrewind.model import RewindPlan
from nbrewind.resources import Recoverer, Resource, RewindContext
from nbrewind.resources.archive import Archive
from tests.crash.scene import Scene
from tests.faults import KILLED, ErrorAt, KillAt, counted, installed, open_descriptors, run_forked

__all__ = ["ResourceContract"]


class ResourceContract:
    """The protocol of `nbrewind.resources.Resource`, state by state.

    A subclass gives `make` (a resource with something to do; the first call also lays out its world), `plan`,
    `recoverer`, and `standing` (a comparable value of what stands, everything that others could see).
    """

    def make(self, scene: Scene) -> Resource:
        raise NotImplementedError

    def lay(self, scene: Scene) -> None:
        raise NotImplementedError

    def plan(self, scene: Scene) -> RewindPlan:
        raise NotImplementedError

    def recoverer(self, scene: Scene) -> Recoverer:
        raise NotImplementedError

    def standing(self, scene: Scene) -> object:
        raise NotImplementedError

    @pytest.fixture
    def scene(self, tmp_path: Path) -> Iterator[Scene]:
        scene = Scene(tmp_path)
        self.lay(scene)
        yield scene
        scene.close()

    @pytest.fixture
    def resource(self, scene: Scene) -> Iterator[Resource]:
        resource = self.make(scene)
        yield resource
        resource.close()

    def prepared(self, scene: Scene, resource: Resource) -> RewindContext:
        operation = scene.operation().id
        context = RewindContext(operation, scene.repository, Archive(scene.repository, operation, "archive"))
        resource.prepare(self.plan(scene), context)
        context.archive.finish()
        return context

    def test_prepare_changes_nothing(self, scene: Scene, resource: Resource) -> None:
        before = self.standing(scene)
        self.prepared(scene, resource)

        assert self.standing(scene) == before

    def test_intent_is_json_and_stays_the_same(self, scene: Scene, resource: Resource) -> None:
        self.prepared(scene, resource)
        intent = resource.intent()
        resource.stage()
        resource.apply()

        json.loads(intent)
        assert resource.intent() == intent
        resource.rollback()

    def test_it_says_what_it_changes(self, scene: Scene, resource: Resource) -> None:
        self.prepared(scene, resource)

        assert resource.changes()

    def test_finish_leaves_the_wanted_state_and_twice_is_fine(self, scene: Scene, resource: Resource) -> None:
        before = self.standing(scene)
        self.prepared(scene, resource)
        resource.stage()
        resource.apply()
        resource.finish()
        after = self.standing(scene)
        resource.finish()

        assert self.standing(scene) == after != before

    @pytest.mark.parametrize("reached", ["prepare", "stage", "apply"])
    def test_rollback_puts_all_back_from_any_point_and_twice_is_fine(
        self, scene: Scene, resource: Resource, reached: str
    ) -> None:
        before = self.standing(scene)
        self.prepared(scene, resource)
        if reached != "prepare":
            resource.stage()
        if reached == "apply":
            resource.apply()

        assert resource.rollback() == ()
        assert self.standing(scene) == before
        assert resource.rollback() == ()
        assert self.standing(scene) == before

    @pytest.mark.parametrize("step", ["stage", "apply"])
    def test_rollback_puts_all_back_after_any_failure(self, scene: Scene, step: str) -> None:
        before = self.standing(scene)
        for point in range(self._calls(scene, step)):
            resource = self.make(scene)
            self.prepared(scene, resource)
            if step == "apply":
                resource.stage()
            with pytest.raises((RewindError, OSError)), installed(ErrorAt(point)):
                getattr(resource, step)()
            resource.rollback()
            resource.close()
            assert self.standing(scene) == before

    @pytest.mark.parametrize("committed", [False, True])
    def test_recovery_knows_from_the_intent_alone_what_to_do(self, scene: Scene, committed: bool) -> None:
        before = self.standing(scene)
        resource = self.make(scene)
        context = self.prepared(scene, resource)
        intent = resource.intent()
        resource.stage()
        resource.apply()
        resource.close()
        recover = self.recoverer(scene)

        recover(intent, committed, context)
        recovered = self.standing(scene)
        recover(intent, committed, context)

        assert self.standing(scene) == recovered
        assert (recovered == before) is not committed

    def test_recovery_after_a_kill_anywhere_before_the_commit_point_puts_all_back(self, scene: Scene) -> None:
        before = self.standing(scene)
        resource = self.make(scene)
        context = self.prepared(scene, resource)
        intent = resource.intent()

        def forward() -> None:
            resource.stage()
            resource.apply()

        events = self._events(scene, forward, intent, context)
        for point in range(events):
            assert run_forked(forward, KillAt(point)) == KILLED
            self.recoverer(scene)(intent, False, context)
            assert self.standing(scene) == before
        resource.close()

    def test_no_descriptor_stays_open(self, scene: Scene) -> None:
        open_before = open_descriptors().keys()
        resource = self.make(scene)
        self.prepared(scene, resource)
        resource.stage()
        resource.apply()
        resource.finish()
        resource.close()
        resource.close()
        scene.repository.close()

        assert open_descriptors().keys() <= open_before

    def _calls(self, scene: Scene, step: str) -> int:
        resource = self.make(scene)
        self.prepared(scene, resource)
        if step == "apply":
            resource.stage()
        count = len(counted(getattr(resource, step)).calls)
        resource.rollback()
        resource.close()
        return count

    def _events(self, scene: Scene, forward: Callable[[], None], intent: str, context: RewindContext) -> int:
        events = counted(forward).events
        self.recoverer(scene)(intent, False, context)
        return events
