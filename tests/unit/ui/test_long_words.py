"""Whatever is typed, by whatever way, an answer is one line that can be read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbrewind.errors import RewindError, TargetError, clipped
from nbrewind.ui.cli import main
from nbrewind.ui.comm import protocol
from nbrewind.ui.render import to_plain
from nbrewind.ui.story import error_text
from nbrewind.ui.verbs import Desk
from nbrewind.ui.words import parse
from tests.builders import TestWorkspace
from tests.sessions import Book, attached

WIDTH = 420
LONG = {
    "a word": "x" * 10_000,
    "many words": "many words " * 900,
    "a number": "9" * 10_000,
    "an id": "01abc" * 2_000,
    "a path": "folder/" * 1_400,
    "lines": "line\n" * 2_000,
    "not ascii": "é" * 10_000,
}
LINES = (
    "{}",
    "to {}",
    "to '{}'",
    "to before {}",
    "before {}",
    "back {}",
    "to 1 --{}",
    "to 1 --only {}",
    "to 1 {}",
    "confirm {}",
    "show {}",
    "cat 1 '{}'",
    "cat {} f",
    "diff {}",
    "diff 1 '{}'",
    "history '{}'",
    "restore '{}' --from 1",
    "restore f --from '{}'",
    "restore f --from 1 --as '{}'",
    "restore {} --from 1 --only variables",
    "get '{}' --from 1",
    "get x --from '{}'",
    "recover '{}'",
    "name '{}'",
    "help '{}'",
    "to '{}",
)
COMMANDS = (
    ("{}",),
    ("to", "{}"),
    ("to", "--{}"),
    ("back", "{}"),
    ("show", "{}"),
    ("cat", "1", "{}"),
    ("diff", "1", "{}"),
    ("history", "{}"),
    ("restore", "{}", "--from", "1"),
    ("restore", "f", "--from", "{}"),
    ("list", "--session", "{}"),
    ("list", "--workspace", "{}"),
    ("list", "--store", "{}"),
    ("export", "{}"),
    ("help", "{}"),
    ("enable", "--profile", "{}"),
    ("list", "--{}"),
    ("list", "{}"),
)


@pytest.fixture
def book(workspace: TestWorkspace, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Book]:
    monkeypatch.chdir(workspace.root)
    with attached(workspace, home) as found:
        with found.turn("write()"):
            workspace.write({"f": "1"})
        found.head()
        yield found


@pytest.mark.parametrize("kind", LONG)
def test_magic_answers_anything_long_with_one_short_line(book: Book, kind: str) -> None:
    for pattern in LINES:
        line = pattern.format(LONG[kind])
        try:
            said = to_plain(Desk(session=book.session, user_names={}).run(parse(line)))
        except RewindError as error:
            said = error_text(error)
            assert len(str(error)) <= WIDTH, pattern
        assert max(map(len, said.split("\n"))) <= WIDTH, pattern


@pytest.mark.parametrize("kind", LONG)
def test_command_line_answers_anything_long_with_one_short_line(
    book: Book, kind: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    book.session.close()
    for words in COMMANDS:
        with pytest.raises(SystemExit) as ended:
            main([word.format(LONG[kind]) for word in words])
        out, err = map(os.fsdecode, capsysbinary.readouterr())
        # A short look at a very long path may be empty; an error is said.
        assert (ended.value.code == 0) or err, words
        assert max(map(len, (out + err).split("\n"))) <= WIDTH, words


@pytest.mark.parametrize("kind", LONG)
def test_api_and_comm_quote_a_short_piece(book: Book, kind: str) -> None:
    long, session = LONG[kind], book.session
    calls = (
        lambda: session.resolve(long),
        lambda: session.parked(long),
        lambda: session.plan(long),
        lambda: session.plan_restore([long], session.head or ""),
        lambda: session.variable(session.head or "", long),
        lambda: protocol.checked({"verb": long}),
    )
    for call in calls:
        with pytest.raises(RewindError) as caught:
            call()
        assert len(caught.value.message + caught.value.hint) <= WIDTH


def test_clipped_text_keeps_both_ends_in_one_line() -> None:
    assert clipped("short") == "short"
    assert clipped("a\nb\tc") == "a b c"
    assert clipped("begin" + "x" * 1000 + "end") == f"begin{'x' * 34}…{'x' * 17}end"
    assert len(clipped("x" * 10_000, 30)) == 30


def test_error_keeps_paths_of_a_usual_length_whole() -> None:
    path = "/data/" + "folder/" * 20 + "file.csv"

    assert path in TargetError(f"{path} was not there.").message
