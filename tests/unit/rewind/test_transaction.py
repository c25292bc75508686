from __future__ import annotations

import os
import resource as limits
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nbrewind.errors import InconsistentState, RefusalReason, RewindRefused, RewindRolledBack, StoreError
from nbrewind.model import Change, FileStep, Note, Operation, RewindPlan
from nbrewind.resources import RewindContext
from nbrewind.rewind.intent import Intent, pending_intents, write_intent
from nbrewind.rewind.transaction import RewindTransaction
from tests.crash.scene import Scene, looks
from tests.faults import RAISED, ErrorAt, installed, run_forked


class Recorder:
    """A resource that moves nothing and notes every call; *failing* names the call that raises *error*."""

    def __init__(self, calls: list[str], name: str = "r", failing: str = "", error: Exception | None = None) -> None:
        self.name = name
        self._calls = calls
        self._failing = failing
        self._error = error or RuntimeError("broken")

    def _called(self, what: str) -> None:
        self._calls.append(f"{self.name} {what}")
        if what == self._failing:
            raise self._error

    def prepare(self, plan: RewindPlan, context: RewindContext) -> None:
        self._called("prepare")

    def intent(self) -> str:
        return "{}"

    def changes(self) -> tuple[Change, ...]:
        return (Change(self.name, None, None),)

    def stage(self) -> None:
        self._called("stage")

    def apply(self) -> None:
        self._called("apply")

    def rollback(self) -> tuple[Note, ...]:
        self._called("rollback")
        return (Note(self.name, "rolled back"),)

    def finish(self) -> tuple[Note, ...]:
        self._called("finish")
        return (Note(self.name, "finished"),)

    def close(self) -> None:
        self._calls.append(f"{self.name} close")


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path)
    yield scene
    scene.close()


def run(scene: Scene, *resources: Recorder) -> RewindTransaction:
    transaction = RewindTransaction(scene.log, resources, scene.context())
    transaction.run(scene.plan(()), scene.operation())
    return transaction


def test_all_resources_take_each_step_before_the_next(scene: Scene) -> None:
    calls: list[str] = []

    transaction = run(scene, Recorder(calls, "a"), Recorder(calls, "b"))

    steps = ["prepare", "stage", "apply", "finish", "close"]
    assert calls == [f"{name} {step}" for step in steps for name in "ab"]
    assert [note.reason for note in transaction.notes] == ["finished", "finished"]
    assert pending_intents(scene.paths) == ()


def test_operation_gets_the_changes_of_all_resources_unless_it_has_its_own(scene: Scene) -> None:
    run(scene, Recorder([], "a"), Recorder([], "b"))
    own = replace(scene.operation(), changes=(Change("own", None, None),))
    RewindTransaction(scene.log, [Recorder([], "a")], scene.context()).run(scene.plan(()), own)

    first, second = scene.log.operations
    assert [change.path for change in first.changes] == ["a", "b"]
    assert first.change_count == 2
    assert [change.path for change in second.changes] == ["own"]


@pytest.mark.parametrize(
    ("failing", "outcome"),
    [("prepare", RewindRefused), ("stage", RewindRefused), ("apply", RewindRolledBack)],
)
def test_refusal_after_apply_began_is_a_roll_back(scene: Scene, failing: str, outcome: type[Exception]) -> None:
    calls: list[str] = []
    refusal = RewindRefused(RefusalReason.DISK_FULL, "b: no space.", hint="Free some.")

    with pytest.raises(outcome, match="b: no space") as raised:
        run(scene, Recorder(calls, "a"), Recorder(calls, "b", failing, refusal))

    assert raised.value.hint == "Free some."  # type: ignore[attr-defined]  # both have one
    assert scene.rewound() == 0
    assert pending_intents(scene.paths) == ()
    rolled_back = [call for call in calls if call.endswith("rollback")]
    assert rolled_back == ([] if failing == "prepare" else ["b rollback", "a rollback"])


def test_any_other_failure_is_a_roll_back_that_names_it(scene: Scene) -> None:
    with pytest.raises(RewindRolledBack, match=r"broken\. Everything was put back"):
        run(scene, Recorder([], "a", "stage"))

    assert scene.rewound() == 0


def test_failed_roll_back_is_inconsistent_and_keeps_the_intent(scene: Scene) -> None:
    class Stuck(Recorder):
        def rollback(self) -> tuple[Note, ...]:
            raise OSError(5, "Input/output error")

    calls: list[str] = []
    with pytest.raises(InconsistentState):
        run(scene, Stuck(calls, "a", "apply"))

    assert len(pending_intents(scene.paths)) == 1
    assert calls[-1] == "a close"


def test_failed_append_rolls_back(scene: Scene) -> None:
    calls: list[str] = []
    only_log = ErrorAt(0, 28, calls={"write"})

    class LogOnly(Recorder):
        def apply(self) -> None:
            super().apply()
            from nbrewind import fs

            fs.install_probe(only_log)

    try:
        with pytest.raises(RewindRolledBack):
            run(scene, LogOnly(calls, "a"))
    finally:
        from nbrewind import fs

        fs.install_probe(None)
    assert scene.rewound() == 0
    assert "a rollback" in calls
    run(scene, Recorder([], "a"))
    assert scene.rewound() == 1


def test_failed_flush_of_the_commit_frame_guesses_nothing(scene: Scene) -> None:
    scene.lay({"a": b"1"})
    steps = scene.steps({"a": b"1"}, {"a": b"2"})

    with installed(ErrorAt(0, 5, calls={"fdatasync"})), pytest.raises(InconsistentState):
        scene.run(steps)

    assert len(pending_intents(scene.paths)) == 1
    with pytest.raises(InconsistentState):
        scene.run(steps)
    scene.close()
    scene.open()
    scene.recover()
    assert (scene.path("a").read_bytes() == b"2") is (scene.rewound() == 1)
    assert not scene.litter()


def test_failed_finish_does_not_take_the_rewind_back(scene: Scene) -> None:
    scene.lay({"a": b"1"})
    steps = scene.steps({"a": b"1"}, {"a": b"2"})
    transaction = scene.transaction()

    with installed(ErrorAt(0, 5, forever=True, calls={"unlink"})):
        transaction.run(scene.plan(steps), scene.operation())

    assert scene.path("a").read_bytes() == b"2"
    assert "cleaning up is not finished" in transaction.notes[-1].reason
    assert len(scene.litter()) == 2
    scene.run(scene.steps({"a": b"2"}, {"a": b"3"}))
    assert scene.path("a").read_bytes() == b"3"
    assert not scene.litter()


def test_list_is_written_when_the_archive_is_durable_and_nothing_is_touched(scene: Scene) -> None:
    scene.lay({"a": b"now"})
    seen: list[object] = []

    def write_list(plan: RewindPlan, operation: Operation) -> None:
        seen.append((scene.can_read(b"now"), looks(scene.work), [change.path for change in operation.changes]))
        raise StoreError("no list")

    context = replace(scene.context(), write_list=write_list)
    before = looks(scene.work)
    with pytest.raises(RewindRefused, match="no list"):
        RewindTransaction(scene.log, [scene.resource()], context).run(
            scene.plan(scene.steps({"a": b"now"}, {"a": b"then"})), scene.operation()
        )

    assert seen == [(True, before, ["a"])]
    assert looks(scene.work) == before


def test_damaged_intent_refuses_new_rewinds_and_keeps_everything_readable(scene: Scene) -> None:
    scene.lay({"a": b"1"})
    write_intent(scene.paths, Intent(operation=scene.operation().id, seq=0))
    (path,) = Path(scene.paths.intents).iterdir()
    path.write_bytes(path.read_bytes()[:-1])
    steps = scene.steps({"a": b"1"}, {"a": b"2"})

    with pytest.raises(RewindRefused, match=path.name) as refused:
        scene.run(steps)

    assert refused.value.reason is RefusalReason.DAMAGED
    assert scene.path("a").read_bytes() == b"1"
    assert scene.can_read(b"2")
    assert path.exists()
    (note,) = scene.recover()
    assert path.name in note.reason


def test_immutable_file_refuses_and_changes_nothing(scene: Scene) -> None:
    scene.lay({"a": b"2", "b": b"2"})
    steps = scene.steps({"a": b"2", "b": b"2"}, {"a": b"1", "b": b"1"})
    if subprocess.run(["chattr", "+i", scene.path("b")], capture_output=True, check=False).returncode:
        pytest.skip("this file system, or this user, cannot mark a file as immutable")
    before = looks(scene.work, times=True)
    try:
        with pytest.raises(RewindRefused, match=r"^b: ") as refused:
            scene.run(steps)
        assert refused.value.reason is RefusalReason.READ_ONLY
        assert looks(scene.work, times=True) == before
    finally:
        subprocess.run(["chattr", "-i", scene.path("b")], check=True)
    assert not scene.litter()


def test_file_that_turns_immutable_on_the_way_rolls_everything_back(scene: Scene) -> None:
    scene.lay({"a": b"2", "b": b"2"})
    steps = scene.steps({"a": b"2", "b": b"2"}, {"a": b"1", "b": b"1"})
    before = looks(scene.work, times=True)

    class Refusing(ErrorAt):
        def before(self, call: str, target: str, size: int) -> int | None:
            if call == "exchange" and target.endswith("/b"):
                raise PermissionError(1, "Operation not permitted")
            return None

    with installed(Refusing(0)), pytest.raises(RewindRolledBack, match=r"^b: "):
        scene.run(steps)

    assert looks(scene.work, times=True) == before
    assert not scene.litter()


def test_limit_that_the_system_sets_is_a_full_disk(scene: Scene) -> None:
    scene.lay({"a": b"2" * 10, "b": b"2"})
    steps = scene.steps({"a": b"2" * 10, "b": b"2"}, {"a": b"1" * 300_000, "b": b"1"})
    before = looks(scene.work, times=True)

    def limited() -> None:
        limits.setrlimit(limits.RLIMIT_FSIZE, (200_000, 200_000))
        try:
            scene.run(steps)
        except RewindRefused as refused:
            assert refused.reason is RefusalReason.DISK_FULL
            assert refused.message.startswith("a: ")
            os._exit(0)

    status = run_forked(limited)
    assert status != RAISED
    assert status == 0
    assert looks(scene.work, times=True) == before
    assert not scene.litter()


def test_archive_has_a_name_before_the_intent_does(scene: Scene) -> None:
    scene.lay({"a": b"1"})
    operation = scene.operation()
    names: list[str] = []

    class Watching(ErrorAt):
        def before(self, call: str, target: str, size: int) -> int | None:
            if target.endswith(".intent") and call == "rename":
                names.extend(scene.repository.refs("refs/nbrewind/archive/"))
            return None

    with installed(Watching(0)):
        scene.transaction().run(scene.plan(scene.steps({"a": b"1"}, {"a": b"2"})), operation)

    assert names == [f"refs/nbrewind/archive/{operation.id}"]
    tree = scene.repository.tree(
        scene.repository.commit_tree(scene.repository.refs("refs/nbrewind/archive/")[names[0]])
    )
    assert [entry.name for entry in tree] == [b"000000", b"intent", b"manifest"]


def test_damaged_copy_of_what_stands_is_written_anew(scene: Scene) -> None:
    scene.lay({"a": b"current bytes"})
    step = FileStep("a", scene.state(b"current bytes"), scene.state(b"2"))
    packs = sorted(Path(scene.repository.objects, "pack").glob("*.pack"), key=lambda path: path.stat().st_mtime_ns)
    for path in packs:
        data = path.read_bytes()
        if len(data) < 90 and path is packs[0]:
            path.chmod(0o600)
            path.write_bytes(data[:16] + bytes(byte ^ 0xFF for byte in data[16:24]) + data[24:])
    scene.close()
    scene.open()
    assert not _reads(scene, b"current bytes")

    scene.run((step,))

    assert _reads(scene, b"current bytes")


def _reads(scene: Scene, data: bytes) -> bool:
    try:
        return scene.can_read(data)
    except StoreError:
        return False
