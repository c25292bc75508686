from __future__ import annotations

from dataclasses import replace

import pytest

from nbrewind.errors import DamagedObject, RefusalReason, RewindRefused, TargetError
from nbrewind.model import Change, Claim, EntryKind, FileState, OperationKind, PlanOptions, Witness
from nbrewind.rewind.plan import plan_changes, plan_redo, plan_restore, plan_rewind, plan_undo
from tests.unit.rewind.files_model import DIRECTORY, OPTIONS, FilesModel, file


def plan_to(model: FilesModel, target: str, options: PlanOptions = OPTIONS):
    evidence = model.evidence
    return plan_rewind(evidence, model.target(target), options)


def paths(notes):
    return [note.subject for note in notes]


def test_a_hand_edit_of_a_claimed_file_is_a_conflict_that_overwrite_takes():
    model = FilesModel({"a": "0"})
    model.turn({"a": "cell"})
    model.others({"a": "hand"})

    plan = plan_to(model, "start")

    assert plan.steps == ()
    assert paths(plan.conflicts) == ["a"]
    forced = plan_to(model, "start", PlanOptions(overwrite=True))
    assert [step.path for step in forced.steps] == ["a"]
    assert forced.conflicts == ()


def test_a_hand_edit_that_a_later_cell_overwrote_is_no_conflict():
    model = FilesModel({"a": "0"})
    model.turn({"a": "cell"})
    model.others({"a": "hand"})
    model.turn({"a": "cell 2"})

    assert plan_to(model, "start").conflicts == ()
    model.carry_out(plan_to(model, "before 2"))
    assert model.world["a"] == file("hand")


def test_a_file_that_somebody_deleted_after_the_cell_is_a_conflict():
    model = FilesModel({"a": "0"})
    model.turn({"a": "cell"})
    model.others({"a": None})

    assert paths(plan_to(model, "start").conflicts) == ["a"]


def test_an_edit_that_arrived_at_the_wanted_state_is_no_conflict():
    model = FilesModel({"a": "0"})
    model.turn({"a": "cell"})
    model.others({"a": "0"})

    plan = plan_to(model, "start")

    assert plan.steps == plan.conflicts == ()


def test_a_hand_edit_that_an_undo_put_back_is_still_the_persons():
    model = FilesModel({"a": "0"})
    model.turn({"a": "cell"})
    model.others({"a": "hand"})
    model.carry_out(plan_to(model, "start", PlanOptions(overwrite=True)))
    model.carry_out(plan_undo(model.evidence, OPTIONS))

    assert paths(plan_to(model, "start").conflicts) == ["a"]


def test_files_that_a_rewind_without_files_left_go_back_with_the_next():
    model = FilesModel({"a": "0"})
    model.turn({"a": "cell"})
    model.carry_out(plan_to(model, "start", PlanOptions(only=("outputs",))))
    assert model.world["a"] == file("cell")

    model.carry_out(plan_to(model, "start"))

    assert model.world["a"] == file("0")


def test_a_line_that_was_left_can_be_brought_back_by_its_id():
    model = FilesModel({"a": "0"})
    model.turn({"a": "1"})
    model.turn({"a": "2", "b": "2"})
    head = model.head
    model.carry_out(plan_to(model, "1"))
    model.turn({"a": "other"})

    plan = plan_rewind(model.evidence, head, OPTIONS)
    model.carry_out(plan)

    assert model.texts() == {"a": file("2"), "b": file("2")}
    assert len(plan.taken_back) == 1
    assert len(plan.brought_back) == 1


def test_the_sessions_own_notebook_is_kept_and_listed():
    model = FilesModel({"nb.ipynb": "0"})
    model.turn({"nb.ipynb": "1", "a": "1"})

    plan = plan_rewind(
        replace(model.evidence, notebooks=frozenset({"nb.ipynb"})), model.target("start"), PlanOptions(everything=True)
    )

    assert [step.path for step in plan.steps] == ["a"]
    assert paths(plan.kept) == ["nb.ipynb"]


def test_only_outputs_touches_no_file_and_lists_none():
    model = FilesModel({"a": "0"})
    model.turn({"a": "1"})

    plan = plan_to(model, "start", PlanOptions(only=("outputs",)))

    assert plan.steps == plan.kept == ()
    assert len(plan.taken_back) == 1


def test_a_point_without_files_is_refused_and_never_deletes():
    model = FilesModel()
    start = model.head
    model.turn({"a": "1"})
    model.change_operation(start, checkpoint=replace(model.operations[0].checkpoint, files=None))

    with pytest.raises(RewindRefused) as caught:
        plan_to(model, "start")

    assert caught.value.reason is RefusalReason.NO_FILE_SNAPSHOT
    assert plan_to(model, "start", PlanOptions(only=("outputs",))).steps == ()


def test_a_path_that_the_tree_does_not_cover_is_not_deleted_for_that():
    model = FilesModel()
    model.uncovered = "cache"
    model.others({"cache/a": "0"})
    model.turn({"cache/a": "1"})

    plan = plan_to(model, "start")

    assert [(step.path, step.wanted) for step in plan.steps] == [("cache/a", file("0"))]


def test_bytes_that_were_not_kept_are_named_as_lost():
    model = FilesModel()
    model.world["big"] = file("old", missing="too large")
    model.world[".env"] = file("old", missing="secret")
    model.settle()
    before = model.head
    model.turn({"big": "new", ".env": "new"})

    plan = plan_rewind(model.evidence, before, OPTIONS)

    assert plan.steps == ()
    assert {note.subject: note.reason for note in plan.lost} == {
        "big": "its bytes were not kept: too large",
        ".env": "a secret: its bytes of then were in a kernel's memory only, and are not in this one's",
    }


def test_present_bytes_that_cannot_be_archived_are_never_overwritten():
    model = FilesModel({"big": "small"})
    before = dict(model.world)
    model.world["big"] = file("huge", missing="too large")
    model.append(OperationKind.TURN, before)

    plan = plan_rewind(model.evidence, model.operations[0].id, PlanOptions(everything=True, overwrite=True))

    assert plan.steps == ()
    assert paths(plan.lost) == ["big"]


def test_pipes_and_sockets_are_left_alone_and_listed():
    model = FilesModel()
    before = dict(model.world)
    model.world["pipe"] = FileState(EntryKind.SPECIAL)
    model.append(OperationKind.TURN, before)

    plan = plan_rewind(model.evidence, model.operations[0].id, OPTIONS)

    assert plan.steps == ()
    assert paths(plan.kept) == ["pipe"]


def test_a_directory_with_somebody_elses_file_stays():
    model = FilesModel()
    model.turn({"out/mine": "1"})
    model.others({"out/theirs": "2"})

    plan = plan_to(model, "start")
    model.carry_out(plan)

    assert model.texts() == {"out/theirs": file("2")}
    assert set(paths(plan.kept)) == {"out", "out/theirs"}


def test_a_file_that_became_a_directory_and_back():
    model = FilesModel({"out": "f", "d/x": "x"})
    model.turn({"out/x": "1", "d": "now a file"})

    model.carry_out(plan_to(model, "start"))

    assert model.texts() == {"out": file("f"), "d/x": file("x")}


def test_a_file_of_somebody_where_a_directory_has_to_return_is_a_conflict():
    model = FilesModel({"d/x": "x"})
    model.turn({"d": None})
    model.others({"d": "a file of somebody"})

    plan = plan_to(model, "start")
    model.carry_out(plan)

    assert model.texts() == {"d": file("a file of somebody")}
    assert set(paths(plan.conflicts)) == {"d", "d/x"}


def test_modes_alone_are_a_step():
    model = FilesModel({"run.sh": "x"})
    before = dict(model.world)
    model.world["run.sh"] = file("x", mode=0o755)
    model.append(OperationKind.TURN, before)

    plan = plan_rewind(model.evidence, model.operations[0].id, OPTIONS)

    assert [(step.current.mode, step.wanted.mode) for step in plan.steps] == [(0o755, 0o644)]


def test_outside_files_go_back_through_the_manifests_newest_first():
    model = FilesModel({"/else/conf.json": "1"})
    model.turn({"/else/conf.json": "2"})
    model.turn({"/else/conf.json": "3", "/else/new": "n"})

    model.carry_out(plan_to(model, "1"))
    assert model.texts() == {"/else/conf.json": file("2")}
    model.carry_out(plan_to(model, "start"))
    assert model.texts() == {"/else/conf.json": file("1")}
    model.carry_out(plan_undo(model.evidence, OPTIONS))
    model.carry_out(plan_undo(model.evidence, OPTIONS))
    assert model.texts() == {"/else/conf.json": file("3"), "/else/new": file("n")}


def test_an_outside_file_that_somebody_changed_since_is_a_conflict():
    model = FilesModel({"/else/conf.json": "1"})
    model.turn({"/else/conf.json": "2"})
    model.world["/else/conf.json"] = file("theirs")

    assert paths(plan_to(model, "start").conflicts) == ["/else/conf.json"]


def move_folder(model: FilesModel, source: str, destination: str) -> None:
    model.settle()
    before = dict(model.world)
    state = model.world[source]
    model._rename(source, destination)
    change = Change(source, state, None, Claim.OURS, (Witness.JOURNAL,), moved_to=destination)
    numbers = len(model.timeline.turns) + 1
    from nbrewind.model import Turn

    model.append(OperationKind.TURN, before, changes=(change,), turn=Turn("", numbers))


def test_a_folder_outside_that_was_renamed_as_a_whole_moves_back_after_its_files():
    model = FilesModel({"/else/d/f": "0", "/else/d/g": "0"})
    model.turn({"/else/d/f": "1"})
    move_folder(model, "/else/d", "/else/e")
    model.turn({"/else/e/f": "2"})
    last = dict(model.world)

    plan = plan_to(model, "start")
    model.carry_out(plan)

    assert model.texts() == {"/else/d/f": file("0"), "/else/d/g": file("0")}
    assert [step.moved_to for step in plan.steps] == [None, "/else/e"]
    assert plan_changes(plan)[-1].moved_to == "/else/d"

    model.carry_out(plan_undo(model.evidence, OPTIONS))
    assert model.world == last
    model.carry_out(plan_redo(model.evidence, OPTIONS))
    assert model.texts() == {"/else/d/f": file("0"), "/else/d/g": file("0")}


def test_a_renamed_folder_whose_old_name_is_taken_is_named_and_stays():
    model = FilesModel({"/else/d/f": "0"})
    move_folder(model, "/else/d", "/else/e")
    model.world["/else/d"] = DIRECTORY

    plan = plan_to(model, "start")

    assert plan.steps == ()
    assert paths(plan.conflicts) == ["/else/e"]


def test_fifty_deletions_that_the_cells_did_not_create_need_force():
    model = FilesModel()
    model.turn({"a": "1"})
    model.others({f"theirs/{number}": "x" for number in range(50)})
    everything = PlanOptions(everything=True)

    assert "50 files would be deleted" in plan_to(model, "1", everything).needs_force
    assert plan_to(model, "1", replace(everything, force=True)).needs_force == ""


def test_what_the_cells_created_needs_no_force():
    model = FilesModel()
    model.turn({f"mine/{number}": "x" for number in range(80)})

    assert plan_to(model, "start").needs_force == ""


def test_deleting_again_what_a_rewind_brought_back_needs_no_force():
    model = FilesModel({f"raw/{number}": "x" for number in range(60)})
    model.turn({"raw": None})
    model.carry_out(plan_to(model, "start"))

    assert plan_undo(model.evidence, OPTIONS).needs_force == ""


@pytest.mark.parametrize("end", ["-wal", "-journal"])
def test_a_database_goes_back_as_a_whole_or_not_at_all(end):
    model = FilesModel({"app.db": "0"})
    model.turn({"app.db": "1", f"app.db{end}": "1"})

    assert {step.path for step in plan_to(model, "start").steps} == {"app.db", f"app.db{end}"}

    model.others({f"app.db{end}": "theirs"})
    plan = plan_to(model, "start")
    assert plan.steps == ()
    assert set(paths(plan.conflicts)) == {"app.db", f"app.db{end}"}


def test_a_journal_that_nobody_claims_goes_along_with_its_database():
    model = FilesModel({"app.db": "0"})
    model.turn({"app.db": "1"})
    model.others({"app.db-wal": "of the same connection"})

    assert {step.path for step in plan_to(model, "start").steps} == {"app.db", "app.db-wal"}


def test_undo_leaves_a_database_alone_of_which_one_file_was_changed_since():
    model = FilesModel({"app.db": "0"})
    model.turn({"app.db": "1", "app.db-wal": "1"})
    model.carry_out(plan_to(model, "start"))
    model.others({"app.db-wal": "new connection"})

    plan = plan_undo(model.evidence, OPTIONS)

    assert plan.steps == ()
    assert set(paths(plan.kept)) == {"app.db", "app.db-wal"}


def test_a_damaged_manifest_is_refused_with_its_reason():
    model = FilesModel({"a": "0"})
    model.turn({"a": "1"})

    def damaged(operation):
        raise DamagedObject("The manifest of [1] is damaged.")

    with pytest.raises(RewindRefused) as caught:
        plan_rewind(replace(model.evidence, changes_of=damaged), model.operations[0].id, OPTIONS)

    assert caught.value.reason is RefusalReason.DAMAGED


def test_across_a_damaged_record_nothing_is_claimed_and_everything_is_named():
    model = FilesModel({"a": "0", "b": "0"})
    model.turn({"a": "1"})
    model.turn({"b": "1"})
    hole = model.operations[1].id
    model.operations = [known for known in model.operations if known.id != hole]

    plan = plan_to(model, "start")

    assert [step.path for step in plan.steps] == ["b"]
    assert [(note.subject, "damaged" in note.reason) for note in plan.kept] == [("a", True)]


def test_a_plan_names_its_turns_and_has_a_token_of_its_own():
    model = FilesModel()
    first = model.turn({"a": "1"})
    second = model.turn({"a": "2"})

    plan = plan_to(model, "1")

    assert (plan.target, plan.taken_back, plan.head) == (first, (second,), model.head)
    assert plan.token != plan_to(model, "start").token


# -- restore ---------------------------------------------------------------------------------------------------------


def restore(model: FilesModel, path: str, target: str, **options: object):
    evidence = model.evidence
    return plan_restore(evidence, [path], model.target(target), PlanOptions(**options))


def test_restore_brings_one_file_back_whoever_changed_it_and_stays_on_the_line():
    model = FilesModel({"a": "0", "b": "0"})
    model.turn({"a": "1", "b": "1"})
    model.others({"a": "hand"})

    model.carry_out(restore(model, "a", "start"))

    assert model.texts() == {"a": file("0"), "b": file("1")}
    assert [turn.turn.number for turn in model.timeline.turns] == [1]
    model.carry_out(plan_undo(model.evidence, OPTIONS))
    assert model.world["a"] == file("hand")


def test_restore_beside_leaves_the_present_file_alone():
    model = FilesModel({"a": "0"})
    model.turn({"a": "1"})

    model.carry_out(restore(model, "a", "start", destination="old/a"))

    assert model.texts() == {"a": file("1"), "old/a": file("0")}


def test_restore_beside_refuses_a_name_that_is_taken():
    model = FilesModel({"a": "0", "b": "b"})
    model.turn({"a": "1"})

    with pytest.raises(RewindRefused) as caught:
        restore(model, "a", "start", destination="b")
    assert caught.value.reason is RefusalReason.CONFLICT
    model.carry_out(restore(model, "a", "start", destination="b", overwrite=True))
    assert model.world["b"] == file("0")


def test_restore_of_what_was_not_there_suggests_and_deletes_nothing():
    model = FilesModel({"data/sales.csv": "0"})
    model.turn({"new": "1"})

    with pytest.raises(TargetError) as caught:
        restore(model, "sales.csv", "start")
    assert caught.value.hint == "Did you mean data/sales.csv?"
    with pytest.raises(TargetError, match="was not there"):
        restore(model, "new", "start")


@pytest.mark.parametrize("name", ["*", "[a]", ":(top)x", "-wal", " lead", "a\nb", "\udcff"])
def test_odd_names_are_names_and_never_patterns(name):
    model = FilesModel({name: "0", "x": "0", "a": "0"})
    model.turn({name: "1", "x": "1", "a": "1"})

    plan = restore(model, name, "start")

    assert [step.path for step in plan.steps] == [name]


def test_restore_of_a_folder_lists_what_was_added_since_and_keeps_it():
    model = FilesModel({"d/x": "0", "d/y": "0"})
    model.turn({"d/x": None, "d/z": "1"})

    plan = restore(model, "d", "start")
    model.carry_out(plan)

    assert model.texts() == {"d/x": file("0"), "d/y": file("0"), "d/z": file("1")}
    assert paths(plan.kept) == ["d/z"]


def test_restore_of_a_database_takes_its_journal_along():
    model = FilesModel({"app.db": "0"})
    model.turn({"app.db": "1", "app.db-wal": "1"})

    plan = restore(model, "app.db", "start")

    assert {(step.path, step.wanted) for step in plan.steps} == {("app.db", file("0")), ("app.db-wal", None)}


def test_restore_of_an_outside_file_needs_a_cell_that_touched_it():
    model = FilesModel({"/else/a": "0", "/else/b": "0"})
    model.turn({"/else/a": "1"})
    model.turn({"/else/a": "2"})

    assert restore(model, "/else/a", "1").steps[0].wanted == file("1")
    assert restore(model, "/else/a", "start").steps[0].wanted == file("0")
    with pytest.raises(TargetError, match="no cell touched it"):
        restore(model, "/else/b", "start")


def test_restore_of_bytes_that_were_not_kept_is_refused():
    model = FilesModel()
    model.world["big"] = file("old", missing="too large")
    model.settle()
    model.turn({"big": "new"})

    with pytest.raises(RewindRefused, match="too large"):
        restore(model, "big", "before 1")


def test_as_takes_one_path():
    model = FilesModel({"a": "0", "b": "0"})
    model.turn({"a": "1"})

    with pytest.raises(TargetError, match="takes one path"):
        plan_restore(model.evidence, ["a", "b"], model.target("start"), PlanOptions(destination="c"))
