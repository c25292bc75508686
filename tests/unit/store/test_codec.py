from __future__ import annotations

import dataclasses
import json
import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbrewind import model
from nbrewind.errors import DamagedObject
from nbrewind.model import (
    Change,
    Checkpoint,
    Claim,
    EntryKind,
    FileState,
    Operation,
    OperationId,
    OperationKind,
    SessionId,
    Turn,
    Witness,
)
from nbrewind.store.codec import dump_operation, from_json, load_operation, to_json

_texts = st.one_of(st.text(), st.binary(max_size=20).map(os.fsdecode))
st.register_type_strategy(str, _texts)
st.register_type_strategy(float, st.floats(allow_nan=False))


@given(st.from_type(Operation))
def test_every_operation_comes_back_equal(operation: Operation) -> None:
    line = dump_operation(operation)

    assert load_operation(line) == operation
    assert line.isascii()
    assert line.count(b"\n") == 1


@pytest.mark.parametrize(
    "kind",
    [one for name in model.__all__ if dataclasses.is_dataclass(one := getattr(model, name))],
    ids=lambda kind: kind.__name__,
)
def test_every_value_of_the_model_comes_back_equal(kind: type[Any]) -> None:
    @given(st.from_type(kind))
    def check(value: object) -> None:
        assert from_json(kind, to_json(value)) == value

    check()


def test_kinds_come_back_as_members_not_as_texts() -> None:
    change = Change("a", FileState(EntryKind.SYMLINK), None, Claim.EXTERNAL, (Witness.SCAN,))

    again = from_json(Change, to_json(change))

    assert again.before is not None
    assert again.before.kind is EntryKind.SYMLINK
    assert again.claim is Claim.EXTERNAL
    assert again.witnesses[0] is Witness.SCAN
    assert load_operation(dump_operation(_GOOD)).kind is OperationKind.TURN


def test_names_that_are_not_utf8_come_back() -> None:
    change = Change(os.fsdecode(b"caf\xe9/\xff"), None, FileState(EntryKind.FILE))

    assert os.fsencode(from_json(Change, to_json(change)).path) == b"caf\xe9/\xff"


def test_defaults_are_left_out_and_filled_in_again() -> None:
    turn = Turn("x = 1", 3)

    assert json.loads(to_json(turn)) == {"code": "x = 1", "number": 3}
    assert from_json(Turn, '{"code": "x = 1", "number": 3}') == turn


def test_keys_of_a_later_version_are_ignored() -> None:
    assert from_json(Checkpoint, '{"log": 4, "widgets": ["abc"]}') == Checkpoint(log=4)


def test_tuples_of_values_are_values_too() -> None:
    rows = (Change("a", None, None), Change("b", None, FileState(EntryKind.DIRECTORY)))

    assert from_json(tuple[Change, ...], to_json(rows)) == rows


_GOOD = Operation(
    id=OperationId("a"), seq=1, kind=OperationKind.TURN, session=SessionId("s"), at=1.0, checkpoint=Checkpoint()
)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", 7),
        ("id", None),
        ("seq", "1"),
        ("seq", 1.5),
        ("seq", True),
        ("kind", "dance"),
        ("at", "now"),
        ("checkpoint", []),
        ("checkpoint", None),
        ("changes", 5),
        ("changes", {}),
        ("turn", {"code": "x", "number": 1, "ran": "ls"}),
        ("changes", [{"path": ["a"], "before": None, "after": None}]),
        ("turn", {"code": "x"}),
        ("label", {}),
        ("parent", False),
    ],
)
def test_a_field_of_another_type_is_damage_and_not_converted(field: str, value: object) -> None:
    record = json.loads(dump_operation(_GOOD))
    record[field] = value

    with pytest.raises(DamagedObject):
        load_operation(json.dumps(record).encode())


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "7", "{}", '"x"', "[" * 100_000, "\0", "{'a': 1}"])
def test_text_that_is_no_record_is_damage(text: str) -> None:
    with pytest.raises(DamagedObject):
        from_json(Operation, text)


def test_bytes_that_are_not_utf8_are_damage() -> None:
    with pytest.raises(DamagedObject):
        load_operation(b'{"id": "\xff"}')
