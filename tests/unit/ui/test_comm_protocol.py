"""The protocol: one file for both languages, and a check of requests that agrees with JSON Schema."""

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbrewind.errors import UsageError
from nbrewind.ui.comm.protocol import VERSION, checked
from nbrewind.ui.counter.answers import Answers
from nbrewind.ui.counter.moves import Moves
from tests.front_end import protocol
from tests.sessions import attached

VERBS = protocol()["verbs"]


def test_the_file_is_a_schema_and_every_reference_leads_somewhere():
    parts = [protocol()["request"], protocol()["reply"], *protocol()["pushes"].values(), *protocol()["$defs"].values()]
    parts += [verb[part] for verb in VERBS.values() for part in ("request", "reply")]
    jsonschema.Draft202012Validator.check_schema({"allOf": parts})
    named = set()

    def walk(value):
        if isinstance(value, dict):
            named.update([value["$ref"].removeprefix("#/$defs/")] if "$ref" in value else [])
            for found in value.values():
                walk(found)
        elif isinstance(value, list):
            for found in value:
                walk(found)

    walk(protocol())
    assert named <= protocol()["$defs"].keys()
    assert protocol()["version"] == VERSION and protocol()["request"]["properties"]["verb"]["enum"] == sorted(VERBS)


def test_no_field_of_a_request_is_called_as_the_envelope_is():
    for name, verb in VERBS.items():
        assert not {"id", "verb"} & verb["request"]["properties"].keys(), name


def test_every_verb_of_the_protocol_is_served_and_no_other(workspace, home):
    with attached(workspace, home) as book:
        moves, answers = Moves(book.session), Answers(book.session)
        served = {"hello", "board", "cancel", *answers.verbs, *moves.previews, *moves.moves, *moves.chores}

    assert served == VERBS.keys()
    moving = {name for name, verb in VERBS.items() if verb["moves"]}
    assert moving == {*moves.moves, *moves.chores}


values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5) | st.sampled_from(["files", "abc", "0" * 8]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=4,
)


@st.composite
def messages(draw):
    verb = draw(st.sampled_from(sorted(VERBS)))
    known = VERBS[verb]["request"]
    wanted = [name for name in known["properties"] if name in known["required"] or draw(st.booleans())]
    fields = {name: draw(_of(known["properties"][name]) | values) for name in wanted}
    if draw(st.booleans()) and fields:
        fields.pop(draw(st.sampled_from(sorted(fields))))
    return {"id": "1", "verb": verb, **fields}


def _of(schema):
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema.get("type"):
        case "string":
            return st.sampled_from(["abc", "a", "0123abcd"])
        case "boolean":
            return st.booleans()
        case "integer":
            return st.integers(0, 9)
        case "array":
            return st.lists(_of(schema["items"]), max_size=3)
        case _:
            return st.just({name: "" for name in schema.get("required", ())})


@given(messages())
def test_a_request_is_taken_exactly_where_the_schema_takes_it(message):
    fields = {name: value for name, value in message.items() if name not in ("id", "verb")}
    schema = {**VERBS[message["verb"]]["request"], "$defs": protocol()["$defs"]}
    valid = jsonschema.Draft202012Validator(schema).is_valid(fields)
    held = any("\0" in value for value in fields.values() if isinstance(value, str))
    try:
        checked(message)
        taken = True
    except UsageError as error:
        taken = False
        assert error.message.endswith(".") and len(error.message) < 200

    assert taken == valid or held


@pytest.mark.parametrize("value", [None, 1, "x", [], {}, {"verb": None}, {"id": "1"}, {"verb": {"a": 1}, "id": "1"}])
def test_what_is_no_request_is_refused_with_one_sentence(value):
    with pytest.raises(UsageError) as refused:
        checked(value)

    assert refused.value.message.endswith(".")
