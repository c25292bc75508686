from __future__ import annotations

from nbrewind.model import RewindPlan
from nbrewind.resources import Recoverer, Resource
from nbrewind.resources.files.restore import files_recoverer
from tests.conformance.contract import ResourceContract
from tests.crash.cases import CASES, lay_out, steps_of
from tests.crash.scene import Scene, looks


class OneCase(ResourceContract):
    name = ""

    def lay(self, scene: Scene) -> None:
        lay_out(CASES[self.name], scene)
        self.steps = steps_of(CASES[self.name], scene)
        scene.writable = {str(scene.work / name): kind for name, kind in CASES[self.name].writable.items()}

    def make(self, scene: Scene) -> Resource:
        return scene.resource()

    def plan(self, scene: Scene) -> RewindPlan:
        return scene.plan(self.steps)

    def recoverer(self, scene: Scene) -> Recoverer:
        return files_recoverer(str(scene.work))

    def standing(self, scene: Scene) -> object:
        return looks(scene.work, times=True), looks(scene.outside, times=True)


class TestContents(OneCase):
    name = "contents"


class TestFolders(OneCase):
    name = "folders"


class TestInPlace(OneCase):
    name = "in place"


class TestSecrets(OneCase):
    name = "secrets"


class TestDatabase(OneCase):
    name = "database"


class TestOutside(OneCase):
    name = "outside"


def test_each_case_has_its_class() -> None:
    assert {cls.name for cls in OneCase.__subclasses__()} == set(CASES)
