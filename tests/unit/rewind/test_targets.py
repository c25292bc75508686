from __future__ import annotations

import re

import pytest

from nbrewind.errors import RewindRefused, TargetError
from nbrewind.model import Turn
from nbrewind.rewind.plan import plan_rewind
from nbrewind.rewind.targets import cells, clock, resolve, title, when
from nbrewind.rewind.timeline import Timeline
from tests.unit.rewind.files_model import OPTIONS, FilesModel


@pytest.fixture
def model() -> FilesModel:
    found = FilesModel({"a": "0"})
    for text in "123456":
        found.turn({"a": text})
    return found


def turn_of(model: FilesModel, number: int, nth: int = 0):
    return [known for known in model.operations if known.turn and known.turn.number == number][nth]


def rewind(model: FilesModel, target: str) -> None:
    model.carry_out(plan_rewind(model.evidence, model.target(target), OPTIONS))


def said(model: FilesModel, text: str) -> str:
    with pytest.raises(TargetError) as caught:
        resolve(text, model.timeline)
    return f"{caught.value.message} {caught.value.hint}".strip()


@pytest.mark.parametrize("text", ["3", "[3]", " 3 ", "In[3]", "in [3]", "Out[3]", "after 3"])
def test_a_number_means_just_after_that_cell(model, text):
    target = resolve(text, model.timeline)

    assert target.operation == turn_of(model, 3).id
    assert target.sentence == "Back to just after [3]. [3] stays; [4] to [6] are taken back."


def test_before_means_what_stood_just_before_the_cell(model):
    target = resolve("before 3", model.timeline)

    assert target.operation == turn_of(model, 2).id
    assert target.sentence == "Back to just after [2]. [2] stays; [3] to [6] are taken back."


def test_before_a_cell_keeps_what_somebody_saved_between(model):
    model.others({"b": "hand"})
    model.turn({"a": "7"})

    target = resolve("before 7", model.timeline)

    assert target.operation == model.operations[-2].id
    assert target.sentence == "Back to just before [7]. [6] stays; [7] is taken back."


def test_minus_k_counts_cells_that_changed_something(model):
    model.turn({})
    model.turn({})

    assert resolve("-1", model.timeline).operation == turn_of(model, 5).id
    assert resolve("-6", model.timeline).operation == model.operations[0].id
    assert "Only 6 cells" in said(model, "-7")


def test_start_is_before_the_first_cell(model):
    target = resolve("start", model.timeline)

    assert target.operation == model.operations[0].id
    assert "[1] to [6] are taken back" in target.sentence


def test_names_are_found_quoted_or_not_and_whatever_their_case(model):
    named = model.name("Clean data")

    for text in ('"Clean data"', "'Clean data'", "Clean data", "clean data"):
        assert resolve(text, model.timeline).operation == named
    assert title(model.timeline.operation(named), model.timeline) == '"Clean data" (just after [6])'


def test_a_quoted_number_is_a_name_and_a_bare_one_is_the_cell(model):
    named = model.name("3")

    assert resolve('"3"', model.timeline).operation == named
    assert resolve("3", model.timeline).operation == turn_of(model, 3).id


def test_an_unknown_name_suggests_the_nearest(model):
    model.name("cleaned")

    assert 'Did you mean "cleaned"?' in said(model, "claned")
    assert "Nothing changed." in said(model, "zzz")


def test_ids_and_their_beginnings_are_targets(model):
    found = model.operations[2].id

    assert resolve(found, model.timeline).operation == found
    assert "points have an id" in said(model, "op-000")


def test_an_unknown_number_names_the_newest(model):
    assert said(model, "12") == "No cell [12]; the newest is [6]. Nothing changed."
    assert said(model, "0") == "No cell [0]; near it are [1] and [2]. Nothing changed."


def test_without_a_cell_or_a_point_that_is_said(model):
    assert "none has run yet" in said(FilesModel(), "1")
    with pytest.raises(TargetError, match="no point yet"):
        resolve("1", Timeline([]))


def test_a_number_that_was_taken_back_says_how_to_bring_it_back(model):
    rewind(model, "3")
    away = turn_of(model, 5)

    assert (
        said(model, "5") == f"[5] was taken back. Nothing changed. Say 5@{clock(when(away))} to bring that line back."
    )
    target = resolve(f"5@{clock(when(away))}", model.timeline)
    assert target.operation == away.id
    assert target.sentence == "Back to just after [5]. [4] and [5] come back."


def test_a_number_that_ran_twice_on_the_line_means_the_later_and_says_so(model):
    model.turn({"a": "again"}, number=3)
    first, second = turn_of(model, 3, 0), turn_of(model, 3, 1)

    target = resolve("3", model.timeline)

    assert target.operation == second.id
    assert target.sentence.startswith(
        f"[3] ran twice: the one of {clock(when(second))} is meant, not {clock(when(first))}."
    )
    assert resolve(f"3@{clock(when(first))}", model.timeline).operation == first.id
    assert re.search(r"did not run at 01:02, but at .*, ", said(model, "3@01:02"))


def test_the_same_minute_asks_for_seconds_and_the_same_second_for_the_id(model):
    first = turn_of(model, 3)
    model.turn({"a": "x"}, number=3)
    second = turn_of(model, 3, 1)
    model.change_operation(second.id, at=first.at + 1)
    assert f"Say 3@{clock(first.at + 1, seconds=True)}" in said(model, f"3@{clock(first.at)}")

    model.change_operation(second.id, at=first.at)
    assert second.id in said(model, f"3@{clock(first.at)}")


def test_now_is_the_head(model):
    assert resolve("now", model.timeline).operation == model.head
    assert "no cell is taken back" in resolve("now", model.timeline).sentence.lower()


@pytest.mark.parametrize("text", ["", "  ", "before", "3 4", "5@", "@14:44", "--", "../../etc/passwd", "\0", "9" * 400])
def test_malformed_targets_are_one_line_and_change_nothing(model, text):
    assert "Nothing changed." in said(model, text)


def test_nothing_lies_before_the_very_first_point(model):
    assert "There is nothing before" in said(model, f"before {model.operations[0].id}")


def test_before_a_cell_whose_record_before_is_damaged_is_refused(model):
    hole = turn_of(model, 3)
    timeline = Timeline(known for known in model.operations if known.id != hole.id)

    with pytest.raises(RewindRefused, match="damaged"):
        resolve("before 4", timeline)


def test_cells_are_said_as_people_say_them(model):
    def turns(*numbers):
        return [type(model.operations[1])(
            id="x", seq=0, kind=model.operations[1].kind, session="s", at=0.0,
            checkpoint=model.operations[1].checkpoint, turn=Turn("", number)) for number in numbers]  # fmt: skip

    assert cells(turns(4)) == "[4]"
    assert cells(turns(4, 5)) == "[4] and [5]"
    assert cells(turns(4, 5, 6)) == "[4] to [6]"
    assert cells(turns(1, 3, 4, 5, 9)) == "[1], [3] to [5] and [9]"
    assert cells(turns(None)) == "a cell without a number"
    assert cells(turns(2, None, None)) == "[2] and 2 cells without a number"
    assert cells([]) == "no cell"
    assert cells(turns(*range(1, 40, 2))).endswith("and 15 more")


@pytest.fixture
def sparse() -> FilesModel:
    """Cells [2], [4] and [5] made points; [1], [3] and [6] held nothing but magics."""
    found = FilesModel({"a": "0"})
    for number in (2, 4, 5):
        found.turn({"a": str(number)}, number=number)
    return found


@pytest.mark.parametrize("text", ["3", "before 3", "[3]"])
def test_a_cell_that_made_no_point_stands_for_the_one_before_it(sparse, text):
    target = resolve(text, sparse.timeline)

    assert target.operation == turn_of(sparse, 2).id
    meant = "[3] made no point of its own; the one before it is meant. Back to just after [2]."
    assert target.sentence.startswith(meant)


def test_a_first_cell_that_made_no_point_stands_for_the_start(sparse):
    assert resolve("1", sparse.timeline).operation == resolve("start", sparse.timeline).operation


def test_a_last_cell_that_made_no_point_stands_for_the_newest_point(sparse):
    assert resolve("6", sparse.timeline, newest=6).operation == turn_of(sparse, 5).id
    assert said(sparse, "6") == "No cell [6]; the newest is [5]. Nothing changed."
    with pytest.raises(TargetError):
        resolve("7", sparse.timeline, newest=6)


def test_to_look_at_a_cell_it_has_to_be_one(sparse):
    with pytest.raises(TargetError, match="No cell"):
        resolve("3", sparse.timeline, exact=True)


def test_after_a_restart_the_newer_kernels_cells_are_meant(sparse):
    for number in (2, 4):
        sparse.turn({"a": f"again {number}"}, number=number)

    assert resolve("3", sparse.timeline).operation == turn_of(sparse, 2, 1).id
    assert resolve("1", sparse.timeline).operation == turn_of(sparse, 5).id
    assert resolve("5", sparse.timeline).operation == turn_of(sparse, 5).id
    assert said(sparse, "9") == "No cell [9]; the newest is [4]. Nothing changed."
