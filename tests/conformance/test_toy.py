from __future__ import annotations

from nbrewind.model import RewindPlan
from nbrewind.resources import Recoverer, Resource
from tests.conformance.contract import ResourceContract
from tests.conformance.toy import ToyResource, recover_toy
from tests.crash.scene import Scene, looks


class TestToy(ResourceContract):
    def lay(self, scene: Scene) -> None:
        scene.put(str(scene.outside / "number"), (b"1", 0o600))

    def make(self, scene: Scene) -> Resource:
        return ToyResource(str(scene.outside / "number"), 2)

    def plan(self, scene: Scene) -> RewindPlan:
        return scene.plan(())

    def recoverer(self, scene: Scene) -> Recoverer:
        return recover_toy

    def standing(self, scene: Scene) -> object:
        return looks(scene.outside)
