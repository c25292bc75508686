from __future__ import annotations

from nbrewind.model import (
    Checkpoint,
    EntryKind,
    FileState,
    FileStep,
    Operation,
    OperationId,
    OperationKind,
    RewindPlan,
    SessionId,
    VariableChange,
)
from nbrewind.rewind.timeline import Timeline
from nbrewind.ui.story import moved_sentence

_START = OperationId("a")
_TIMELINE = Timeline(
    (Operation(id=_START, seq=0, kind=OperationKind.ATTACH, session=SessionId("s"), at=0.0, checkpoint=Checkpoint()),)
)
_FILE = FileStep("sales.csv", None, FileState(EntryKind.FILE))


def told(*, files: int = 0, variables: int = 0, outputs: int = 0) -> str:
    plan = RewindPlan(
        kind=OperationKind.REWIND,
        head=_START,
        target=_START,
        steps=(_FILE,) * files,
        variables=tuple(VariableChange(f"v{number}", None, None) for number in range(variables)),
    )
    return moved_sentence(plan, _TIMELINE, "/w", outputs).split(": ", 1)[1].split(".")[0]


def test_a_success_names_what_moved_and_nothing_that_did_not() -> None:
    assert told(files=2, variables=1, outputs=3) == "2 files, v0, 3 outputs"
    assert told(variables=7) == "7 variables"
    assert told(outputs=1) == "1 output"
    assert told() == "no file"
