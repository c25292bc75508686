"""Whatever a turn does outside the workspace, its journal holds what the folder was like before."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from nbrewind.capture.reading import read_journals, span_of
from tests.builders import hash_tree
from tests.unit.capture.conftest import Rig, undo

NAMES = st.sampled_from(["a", "b", "d", "d/x", "d/y", "e", "e/x", "d/deep", "d/deep/z"])
OPERATIONS = st.one_of(
    st.tuples(st.sampled_from(["write", "append", "remove", "mkdir", "rmdir", "rmtree", "chmod", "truncate"]), NAMES),
    st.tuples(st.sampled_from(["rename", "replace", "link", "symlink", "move", "copy", "copytree"]), NAMES, NAMES),
)


def perform(base: Path, number: int, name: str, *places: str) -> None:
    first = base / places[0]
    second = base / places[-1]
    match name:
        case "write":
            first.write_text(f"written {number}")
        case "append":
            with first.open("a") as file:
                file.write(f"more {number}")
        case "remove":
            first.unlink()
        case "mkdir":
            first.mkdir()
        case "rmdir":
            first.rmdir()
        case "rmtree":
            shutil.rmtree(first)
        case "chmod":
            first.chmod(0o700 if first.is_dir() else 0o640)
        case "truncate":
            os.truncate(first, 1)
        case "rename":
            os.rename(first, second)
        case "replace":
            os.replace(first, second)
        case "link":
            os.link(first, second)
        case "symlink":
            os.symlink(places[0], second)
        case "move":
            shutil.move(first, second)
        case "copy":
            shutil.copy2(first, second)
        case "copytree":
            shutil.copytree(first, second, symlinks=True)


def populate(base: Path) -> None:
    (base / "d" / "deep").mkdir(parents=True)
    for name in ("a", "d/x", "d/deep/z"):
        (base / name).write_text(f"old {name}")
    (base / "b").symlink_to("a")


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@example([("link", "a", "d/y"), ("write", "d/y")])
@given(st.lists(OPERATIONS, max_size=12))
def test_undoing_the_journal_gives_the_initial_tree(operations: list[tuple[str, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        rig = Rig(Path(folder))
        populate(rig.out)
        before = hash_tree(rig.out)
        rig.begin()
        try:
            for number, (name, *places) in enumerate(operations):
                with contextlib.suppress(OSError, shutil.Error):
                    perform(rig.out, number, name, *places)
            record = rig.finish()
        finally:
            rig.recorder.stop()
        (reading,) = read_journals(rig.paths)
        from_disk = span_of(reading, record.root)
        assert from_disk.touches == record.touches and from_disk.renames == record.renames
        assert record.hook_errors == ()

        undo(from_disk)

        assert hash_tree(rig.out) == before
