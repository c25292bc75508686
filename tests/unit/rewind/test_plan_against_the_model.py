"""Plans against a list of dictionaries: any sequence of turns, others' edits, rewinds, undos, redos and restores."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbrewind.errors import RewindRefused, TargetError
from nbrewind.model import Claim, EntryKind, OperationKind, PlanOptions
from nbrewind.rewind.plan import plan_redo, plan_restore, plan_rewind, plan_undo
from tests.unit.rewind.files_model import OPTIONS, FilesModel

PATHS = ["a", "b", "d", "d/x", "d/y", "d/e/z", "f/g"]
EVERYTHING = PlanOptions(everything=True, force=True)
OVERWRITE = PlanOptions(overwrite=True)

_change = st.tuples(st.sampled_from(PATHS), st.booleans())
_changes = st.lists(_change, max_size=3)
_acts = st.one_of(
    st.tuples(st.just("turn"), _changes),
    st.tuples(st.just("others"), st.lists(_change, min_size=1, max_size=2)),
    st.tuples(st.just("rewind"), st.integers(0, 40)),
    st.tuples(st.just("overwrite"), st.integers(0, 40)),
    st.tuples(st.just("everything"), st.integers(0, 40)),
    st.tuples(st.just("no files"), st.integers(0, 40)),
    st.tuples(st.just("undo"), st.none()),
    st.tuples(st.just("redo"), st.none()),
    st.tuples(st.just("restore"), st.tuples(st.sampled_from(PATHS), st.integers(0, 40))),
)
_many = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
OPTIONS_OF = {
    "rewind": OPTIONS,
    "overwrite": OVERWRITE,
    "everything": EVERYTHING,
    "no files": PlanOptions(only=("outputs",)),
}


class Player:
    """Plays acts on a model; each text is new, so equal content means equal origin."""

    def __init__(self) -> None:
        self.model = FilesModel({"a": "a0", "d/x": "x0"})
        self.texts = 0

    def texts_for(self, changes, who):
        made = {}
        for path, writes in changes:
            self.texts += 1
            made[path] = f"{who} {self.texts}" if writes else None
        return made

    def play(self, act, argument):
        model = self.model
        if act == "turn":
            model.turn(self.texts_for(argument, "cell"))
        elif act == "others":
            model.others(self.texts_for(argument, "others"))
        elif act in OPTIONS_OF:
            evidence = model.evidence
            target = model.operations[argument % len(model.operations)].id
            model.carry_out(plan_rewind(evidence, target, OPTIONS_OF[act]))
        elif act == "restore":
            evidence = model.evidence
            target = model.operations[argument[1] % len(model.operations)].id
            try:
                plan = plan_restore(evidence, [argument[0]], target, OPTIONS)
            except TargetError:
                return
            model.carry_out(plan)
        else:
            try:
                plan = (plan_undo if act == "undo" else plan_redo)(model.evidence, OPTIONS)
            except RewindRefused:
                return
            model.carry_out(plan)


def named(plan):
    return {note.subject for note in (*plan.conflicts, *plan.kept, *plan.lost)}


@_many
@given(st.lists(_acts, max_size=12), st.integers(0, 40))
def test_every_path_is_at_the_target_afterwards_or_named(acts, where):
    player = Player()
    for act in acts:
        player.play(*act)
    model = player.model
    evidence = model.evidence
    before = dict(model.world)
    target = model.operations[where % len(model.operations)].id
    plan = plan_rewind(evidence, target, OPTIONS)

    model.carry_out(plan)

    wanted = model.trees[target]
    for path in {*wanted, *model.world}:
        assert model.world.get(path) == wanted.get(path) or path in named(plan), path
    for path in named(plan):
        assert model.world.get(path) == before.get(path), path


@_many
@given(st.lists(_acts, max_size=12), st.integers(0, 40))
def test_what_others_wrote_since_the_common_point_is_never_changed(acts, where):
    player = Player()
    for act in acts:
        player.play(*act)
    model = player.model
    evidence = model.evidence
    target = model.timeline.operation(model.operations[where % len(model.operations)].id)
    common = model.timeline.common(model.head, target.id)
    known = set(model.trees[common.id].values())
    theirs = {
        change.after
        for operation in model.operations
        if operation.kind is OperationKind.EXTERNAL
        for change in model.manifests[operation.id]
        if change.after is not None and change.after.kind is EntryKind.FILE
    }
    before = dict(model.world)

    model.carry_out(plan_rewind(evidence, target.id, OPTIONS))

    for path, state in before.items():
        if state in theirs and state not in known:
            assert model.world.get(path) == state, path


@_many
@given(st.lists(_acts.filter(lambda act: act[0] != "others"), max_size=12), st.integers(0, 40))
def test_without_others_the_tree_is_exactly_the_targets_and_nothing_is_listed(acts, where):
    player = Player()
    for act in acts:
        player.play(*act)
    model = player.model
    evidence = model.evidence
    target = model.operations[where % len(model.operations)].id
    plan = plan_rewind(evidence, target, OPTIONS)

    model.carry_out(plan)

    assert model.world == model.trees[target]
    assert not named(plan)


@_many
@given(st.lists(_acts, max_size=12), st.integers(0, 40))
def test_everything_makes_the_tree_exactly_the_targets(acts, where):
    player = Player()
    for act in acts:
        player.play(*act)
    model = player.model
    evidence = model.evidence
    target = model.operations[where % len(model.operations)].id

    model.carry_out(plan_rewind(evidence, target, EVERYTHING))

    assert model.world == model.trees[target]


@_many
@given(st.lists(_acts, max_size=12), st.integers(0, 40), st.sampled_from([OPTIONS, OVERWRITE, EVERYTHING]))
def test_undo_is_the_inverse_of_a_rewind_and_redo_of_the_undo(acts, where, options):
    player = Player()
    for act in acts:
        player.play(*act)
    model = player.model
    evidence = model.evidence
    head = model.head
    before = dict(model.world)
    target = model.operations[where % len(model.operations)].id

    model.carry_out(plan_rewind(evidence, target, options))
    after = dict(model.world)
    model.carry_out(plan_undo(model.evidence, OPTIONS))

    assert model.world == before
    assert model.timeline.operation(model.head).parent == head

    model.carry_out(plan_redo(model.evidence, OPTIONS))

    assert model.world == after


@_many
@given(st.lists(_acts, max_size=8), st.integers(0, 40), st.lists(_change, min_size=1, max_size=3))
def test_edits_made_after_a_rewind_survive_its_undo_and_are_listed(acts, where, edits):
    player = Player()
    for act in acts:
        player.play(*act)
    model = player.model
    evidence = model.evidence
    target = model.operations[where % len(model.operations)].id
    model.carry_out(plan_rewind(evidence, target, OPTIONS))
    rewound = dict(model.world)
    model.others(player.texts_for(edits, "others"))
    edited = {path: state for path, state in model.world.items() if rewound.get(path) != state}
    plan = plan_undo(model.evidence, OPTIONS)

    model.carry_out(plan)

    for path, state in edited.items():
        assert model.world.get(path) == state, path
        changed = any(change.path == path for change in model.manifests[plan.undone])
        if changed and state is not None and state.kind is EntryKind.FILE:
            assert path in named(plan)


@_many
@given(st.lists(_acts, max_size=8), st.sampled_from(PATHS), st.integers(0, 40))
def test_restore_brings_exactly_what_was_there_and_undo_takes_it_back(acts, path, where):
    player = Player()
    for act in acts:
        player.play(*act)
    model = player.model
    evidence = model.evidence
    target = model.operations[where % len(model.operations)].id
    then = model.trees[target]
    before = dict(model.world)
    if path not in then:
        with pytest.raises(TargetError, match="was not there"):
            plan_restore(evidence, [path], target, OPTIONS)
        return
    plan = plan_restore(evidence, [path], target, OPTIONS)

    model.carry_out(plan)

    for found, state in then.items():
        if found == path or found.startswith(path + "/"):
            assert model.world.get(found) == state or found in named(plan)
    for found, state in before.items():
        if not (found == path or found.startswith(path + "/") or path.startswith(found + "/")):
            assert model.world.get(found) == state

    model.carry_out(plan_undo(model.evidence, OPTIONS)) if plan.steps else None

    assert model.world == before


@pytest.mark.parametrize("claim", [Claim.EXTERNAL, Claim.OTHER_SESSION, Claim.UNCLAIMED])
def test_changes_that_are_not_ours_stay_and_are_named(claim):
    model = FilesModel({"a": "a0"})
    model.turn({"a": "a1"})
    model.others({"other/eval.jsonl": "theirs"})
    model.settle(claim)
    model.turn({"a": "a2"})

    plan = plan_rewind(model.evidence, model.target("start"), OPTIONS)

    assert [step.path for step in plan.steps] == ["a"]
    assert {note.subject for note in plan.kept} == {"other", "other/eval.jsonl"}
