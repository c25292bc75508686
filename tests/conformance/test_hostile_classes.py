"""Objects that fail, hang, recurse or lie when they are looked at fail no cell and harm no point, in a real kernel."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import TestKernel
from tests.conformance.hostile_classes import HOSTILE
from tests.conftest import environment_folders
from tests.stores import fsck, stores_below

pytestmark = pytest.mark.kernel

_AROUND = "box = [h, 1]; ok = [1]; same = ok"
_FORGET = "for n in [*globals()]:\n    if n in before or str(n)[:1] == '_': continue\n    del globals()[n]\ndel n"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestKernel]:
    """Return one kernel for all of them; each takes away what it made."""
    home, folder = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("work")
    with pytest.MonkeyPatch.context() as patch:
        for name, place in environment_folders(home).items():
            os.makedirs(place, exist_ok=True)
            patch.setenv(name, place)
        kernel = TestKernel(folder, home)
        kernel.start()
        kernel.load()
    yield kernel
    kernel.stop()
    stores = stores_below(Path(home))
    assert stores and all(fsck(store) == "" for store in stores)


@pytest.fixture
def kernel(shared: TestKernel) -> Iterator[TestKernel]:
    if not shared.alive():
        shared.restart()
    shared.run("before = {'before', *globals()}")
    yield shared
    if shared.run(_FORGET).status != "ok":
        shared.kill()


@pytest.mark.parametrize("code", HOSTILE.values(), ids=[name.replace(" ", "-") for name in HOSTILE])
def test_a_hostile_object_fails_no_cell_and_harms_no_point(code: str, kernel: TestKernel) -> None:
    made = kernel.run(f"{code}\n{_AROUND}")
    changed = kernel.run("box.append(2); ok.append(2)")
    assert (made.status, made.text) == ("ok", "")
    assert (changed.status, changed.text) == ("ok", "")

    back = kernel.run("%rewind back 1 --yes")
    assert back.status == "ok", back
    assert kernel.value("(ok, same is ok)") == ([1], True)
    # What holds it is as it was, or is named.
    assert kernel.value("'box' in globals() and len(box) == 2") or "box" in back.text, back

    undone = kernel.run("%rewind undo")
    if "changed after the preview" in undone.error:
        # The look itself binds a name here: refused once, with nothing changed, and the next look knows it.
        assert "globals()" in code, undone
        undone = kernel.run("%rewind undo")
    assert undone.status == "ok", undone
    assert kernel.value("(ok, same is ok)") == ([1, 2], True)
    assert kernel.value("'box' in globals() and len(box) == 3") or "box" in undone.text, undone
    assert "not protected" not in kernel.run("%rewind status").text.lower()
