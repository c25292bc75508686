from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbrewind.errors import RewindError, UsageError
from nbrewind.ui.vocabulary import ALIASES, VERBS
from nbrewind.ui.words import Call, call_of, parse, split


def refused(line: str) -> str:
    with pytest.raises(UsageError) as caught:
        parse(line)
    return f"{caught.value.message} {caught.value.hint}".strip()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("to 3", ["to", "3"]),
        ("restore 'a b.csv' \"c'd\"", ["restore", "a b.csv", "c'd"]),
        ("x a{1}.csv *.csv [a] $HOME", ["x", "a{1}.csv", "*.csv", "[a]", "$HOME"]),
        (r"x b\xff.txt", ["x", r"b\xff.txt"]),
        (r"x a\ b \"q\"", ["x", "a b", '"q"']),
        ("x it's fine", ["x", "it's", "fine"]),
        ('x "" y', ["x", "", "y"]),
        ('x --as="a b"', ["x", "--as=a b"]),
        ("  x \t y \n", ["x", "y"]),
    ],
)
def test_lines_are_split_into_words_without_expanding_anything(line, words):
    assert [word.text for word in split(line)] == words


@given(st.text(alphabet=st.characters(blacklist_categories=()), max_size=60))
def test_any_line_is_a_call_or_one_refusal(line):
    try:
        call = parse(line)
    except RewindError as error:
        assert error.message
    else:
        assert isinstance(call, Call)


def test_an_empty_line_lists():
    assert parse("").verb == "list"
    assert parse("--json") == Call(verb="list", flags=frozenset({"json"}))


@pytest.mark.parametrize(
    ("line", "target"),
    [
        ("to 3", "3"),
        ("3", "3"),
        ("-2", "-2"),
        ("[4]", "[4]"),
        ("to before 3", "before 3"),
        ("before 3", "before 3"),
        ("to -1", "-1"),
        ('to "3"', '"3"'),
        ('to "the right state" --yes', '"the right state"'),
        ("back", "-1"),
        ("back 2", "-2"),
        ("to 5@14:44", "5@14:44"),
        ("to 6  # !rm -rf raw", "6"),
    ],
)
def test_targets_are_read_as_they_are_said(line, target):
    assert parse(line).target == target


def test_options_are_flags_and_values():
    call = parse("to 3 --yes --only files,outputs --everything --overwrite --force --again --json")

    assert call.flags == {"yes", "everything", "overwrite", "force", "again", "json"}
    assert call.only == ("files", "outputs")
    assert parse("to 3 -y").has("yes")


def test_restore_takes_paths_a_point_and_a_new_name():
    call = parse('restore "a b" c --from before 3 --overwrite')
    assert (call.paths, call.target, call.has("overwrite")) == (("a b", "c"), "before 3", True)
    assert parse("restore a --from 3 --as b").destination == "b"
    assert parse("restore a --from=3 --as=b").destination == "b"
    assert parse("files 3 a b") == parse("restore a b --from 3")
    assert parse("restore --from 3 -- --odd -name").paths == ("--odd", "-name")


def test_cat_and_diff_take_a_point_and_a_path():
    assert (parse("cat before 3 a").target, parse("cat before 3 a").paths) == ("before 3", ("a",))
    assert (parse("diff 3").target, parse("diff 3").paths) == ("3", ())


def test_a_name_is_the_rest_of_the_line():
    assert parse('name "the right state"').text == "the right state"
    assert parse("name best so far #1").text == "best so far #1"
    assert parse("checkpoint x --json") == Call(verb="name", text="x", flags=frozenset({"json"}))


@pytest.mark.parametrize("alias", sorted(ALIASES))
def test_other_words_are_accepted(alias):
    assert ALIASES[alias] in VERBS


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("rollback 5", 'Unknown "rollback". Nothing changed. Did you mean: %rewind to 5?'),
        ("lsit", 'Unknown "lsit". Nothing changed. Did you mean: %rewind list?'),
        ("checkotu", 'Unknown "checkotu". Nothing changed.'),
        ("zzzz", 'Unknown "zzzz". Nothing changed. %rewind help lists the words.'),
        ("to", "Say more: %rewind to N. Nothing changed."),
        ("to 3 4", "Too many words: %rewind to N. Nothing changed."),
        ("to the right state", "Too many words: %rewind to N. Nothing changed. Put names and paths with spaces in"),
        ("to 3 --yse", 'Unknown option "--yse". Nothing changed. Did you mean --yes?'),
        ("list --overwrite", "%rewind list does not take --overwrite. Nothing changed."),
        ("to 3 --only file", "--only takes files, variables, outputs, cells, not 'file'. Nothing changed. Did"),
        ("to 3 --only", "--only needs a value"),
        ("restore a", "Say from when: %rewind restore"),
        ("back x", "back takes a number of cells, not 'x'. Nothing changed."),
        ("back 0", "back takes a number of cells"),
        ('to "3', "A quote is not closed"),
        ("name", "Say more: %rewind name"),
        ("cat 3", "Say more: %rewind cat N PATH"),
        ("history", "Say more: %rewind history PATH"),
    ],
)  # fmt: skip
def test_what_cannot_be_taken_says_so_and_suggests(line, said):
    assert refused(line).startswith(said)


def test_words_split_by_a_shell_make_the_same_calls():
    assert call_of("to", ("before", "3")) == parse("to before 3")
    assert call_of("to", ("-1",), frozenset({"yes"})) == parse("to -1 --yes")
    assert call_of("to", ("the right state",)).target == "the right state"
    assert call_of("to", ('"3"',)).target == '"3"'
    with pytest.raises(UsageError, match="Unknown option"):
        call_of("to", ("3", "--yse"))
