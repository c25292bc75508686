from __future__ import annotations

import pytest

from nbrewind.errors import RefusalReason, RewindRefused
from nbrewind.model import OperationKind
from nbrewind.rewind.plan import plan_redo, plan_rewind, plan_undo
from nbrewind.rewind.timeline import Timeline
from tests.unit.rewind.files_model import OPTIONS, FilesModel


def rewind(model: FilesModel, target: str):
    return model.carry_out(plan_rewind(model.evidence, model.target(target), OPTIONS))


@pytest.fixture
def model() -> FilesModel:
    found = FilesModel({"a": "0"})
    for text in "12345":
        found.turn({"a": text})
    return found


def numbers(timeline: Timeline) -> list[int | None]:
    return [turn.turn.number for turn in timeline.turns if turn.turn]


def test_the_line_follows_parents_from_the_head(model):
    rewind(model, "3")
    model.turn({"a": "new"})

    assert numbers(model.timeline) == [1, 2, 3, 4]
    assert [turn.turn.number for turn in model.timeline.taken_back] == [4, 5]


def test_an_empty_log_has_no_head_and_no_line():
    timeline = Timeline([])

    assert timeline.head is None
    assert timeline.line == ()
    assert timeline.left_lines == ()


def test_a_left_line_is_listed_once_with_the_turns_that_the_present_line_lacks(model):
    rewind(model, "3")
    rewind(model, "1")
    model.turn({"a": "new"})

    lines = model.timeline.left_lines

    assert [[turn.turn.number for turn in line.turns] for line in lines] == [[2, 3], [4, 5]]
    assert lines[1].head == next(known.id for known in model.operations if known.turn and known.turn.number == 5)


def test_undo_brings_the_line_back_and_leaves_no_left_line(model):
    rewind(model, "3")
    model.carry_out(plan_undo(model.evidence, OPTIONS))

    assert numbers(model.timeline) == [1, 2, 3, 4, 5]
    assert model.timeline.left_lines == ()


def test_undo_steps_back_through_rewinds_one_by_one_and_redo_forward_again(model):
    first = rewind(model, "4")
    second = rewind(model, "2")

    undone = [model.timeline.undo_target().id]
    model.carry_out(plan_undo(model.evidence, OPTIONS))
    undone.append(model.timeline.undo_target().id)
    model.carry_out(plan_undo(model.evidence, OPTIONS))

    assert undone == [second, first]
    assert model.world["a"].size == 1
    with pytest.raises(RewindRefused, match="no rewind to undo"):
        model.timeline.undo_target()
    model.carry_out(plan_redo(model.evidence, OPTIONS))
    assert numbers(model.timeline) == [1, 2, 3, 4]
    model.carry_out(plan_redo(model.evidence, OPTIONS))
    assert numbers(model.timeline) == [1, 2]
    with pytest.raises(RewindRefused, match="no undo to take forward"):
        model.timeline.redo_target()


def test_a_restore_can_be_undone_like_a_rewind(model):
    from nbrewind.rewind.plan import plan_restore

    restored = model.carry_out(plan_restore(model.evidence, ["a"], model.target("1"), OPTIONS))

    assert model.timeline.undo_target().id == restored
    assert numbers(model.timeline) == [1, 2, 3, 4, 5]


def test_after_a_new_turn_undo_is_refused_and_names_the_cell_and_the_way_back(model):
    head = model.head
    rewind(model, "3")
    model.turn({"a": "new"})

    with pytest.raises(RewindRefused) as caught:
        model.timeline.undo_target()

    assert caught.value.reason is RefusalReason.NEW_TURNS
    assert "[4] ran after that rewind" in caught.value.message
    assert head in caught.value.hint


def test_a_name_or_an_edit_of_somebody_does_not_end_the_undo(model):
    done = rewind(model, "3")
    model.others({"b": "theirs"})
    model.name("here")

    assert model.timeline.undo_target().id == done


def test_undo_never_had_anything_to_undo_offers_to_go_back(model):
    with pytest.raises(RewindRefused) as caught:
        model.timeline.undo_target()

    assert "back 1" in caught.value.hint
    assert caught.value.reason is RefusalReason.UNKNOWN_CHECKPOINT


def test_a_damaged_record_costs_only_itself_on_the_line(model):
    hole = next(known for known in model.operations if known.turn and known.turn.number == 3)
    timeline = Timeline(known for known in model.operations if known.id != hole.id)

    assert numbers(timeline) == [1, 2, 4, 5]
    after = next(known for known in timeline.operations if known.parent == hole.id)
    assert timeline.has_gap_before(after)


def test_an_unknown_operation_is_refused(model):
    with pytest.raises(RewindRefused) as caught:
        model.timeline.operation("no-such-point")

    assert caught.value.reason is RefusalReason.UNKNOWN_CHECKPOINT


def test_names_prefer_the_present_line_and_then_the_later(model):
    first = model.name("here")
    model.turn({"a": "6"})
    second = model.name("here")
    assert model.timeline.names["here"].id == second

    rewind(model, first)

    assert model.timeline.names["here"].id == first


def test_kinds_of_moves_have_a_parent_that_is_not_the_head_before(model):
    done = rewind(model, "2")
    operation = model.timeline.operation(done)

    assert operation.kind is OperationKind.REWIND
    assert operation.parent != operation.previous
