from __future__ import annotations

import atexit
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from nbrewind.session import current
from nbrewind.ui import magics
from tests.builders import TestWorkspace
from tests.sessions import Book, attached


@pytest.fixture
def shell(home: Path) -> Iterator[InteractiveShell]:
    found = InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}))
    magics.install(found)
    yield found
    magics.uninstall(found)
    close(found)


def close(shell: InteractiveShell) -> None:
    atexit.unregister(shell.atexit_operations)
    shell.atexit_operations()
    InteractiveShell.clear_instance()


@pytest.fixture
def book(workspace: TestWorkspace, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Book]:
    monkeypatch.chdir(workspace.root)
    with attached(workspace, home) as found:
        current.take(found.session)
        yield found
        current.leave(found.session)


def rewind(shell: InteractiveShell, line: str, capsys: pytest.CaptureFixture[str]) -> str:
    shell.run_line_magic("rewind", line)
    return capsys.readouterr().out


def test_the_magic_prints_the_page(shell, book, workspace, capsys):
    with book.turn("write()"):
        workspace.write({"a": "1"})

    out = rewind(shell, "", capsys)

    assert next(line for line in out.split("\n") if line.startswith("[1]")).split()[:3] == ["[1]", "write()", "+a"]


def test_a_refusal_is_one_line_that_stops_a_queue(shell, book, capsys):
    result = shell.run_cell("%rewind to 12\nreached = 1")

    out = capsys.readouterr()
    assert isinstance(result.error_in_exec, UsageError)
    assert "reached" not in shell.user_ns
    assert "No cell [12]; none has run yet. Nothing changed." in out.out + out.err
    assert "Traceback" not in out.out + out.err


def test_names_in_braces_and_dollars_are_not_expanded(shell, book, workspace, capsys):
    shell.user_ns["x"] = "WRONG"
    with book.turn("one"):
        workspace.write({"a{x}.csv": "1", "$x": "1"})
    with book.turn("two"):
        workspace.write({"a{x}.csv": "2", "$x": "2"})

    result = shell.run_cell("%rewind restore a{x}.csv $x --from 1")

    assert result.success, capsys.readouterr()
    assert workspace.read("a{x}.csv") == workspace.read("$x") == b"1"


def test_json_is_printed_for_results_and_errors(shell, book, workspace, capsys):
    with book.turn("one"):
        workspace.write({b"odd\xff": "1"})

    assert json.loads(rewind(shell, "--json", capsys))["points"][-1]["number"] == 1
    with pytest.raises(UsageError):
        shell.run_line_magic("rewind", "to 12 --json")
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "target"


def test_a_terminal_without_our_characters_gets_escapes(shell, book, workspace, monkeypatch):
    with book.turn("one"):
        workspace.write({"Zürich": "1"})
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)

    shell.run_line_magic("rewind", "")

    stream.flush()
    assert b"Z\\xfcrich" in stream.buffer.getvalue()


def test_without_a_session_it_says_how_to_turn_it_on(shell):
    with pytest.raises(UsageError, match="%load_ext nbrewind"):
        shell.run_line_magic("rewind", "")
    shell.run_line_magic("rewind", "help")


def test_a_fault_of_ours_is_one_line_too(shell, book, monkeypatch, caplog):
    monkeypatch.setattr(type(book.session), "points", lambda self: 1 / 0)

    with pytest.raises(UsageError, match="nbrewind failed: ZeroDivisionError"):
        shell.run_line_magic("rewind", "")


def test_uninstall_leaves_no_trace_and_puts_back_what_had_the_name(home):
    shell = InteractiveShell.instance()
    try:
        before = dict(shell.magics_manager.magics["line"])
        chains = {key: list(chain.chain) for key, chain in shell.strdispatchers["complete_command"].strs.items()}
        shell.magics_manager.magics["line"]["rewind"] = own = lambda line: "theirs"

        magics.install(shell)
        magics.install(shell)
        magics.uninstall(shell)
        magics.uninstall(shell)

        assert shell.magics_manager.magics["line"] == {**before, "rewind": own}
        after = shell.strdispatchers["complete_command"].strs
        assert {key: list(chain.chain) for key, chain in after.items()} == chains
        assert not [name for name in vars(shell) if "nbrewind" in name]
        del shell.magics_manager.magics["line"]["rewind"]
    finally:
        close(shell)


def complete(shell: InteractiveShell, line: str) -> list[str]:
    with provisionalcompleter():
        return [found.text for found in shell.Completer.completions(line, len(line))]


def test_tab_offers_verbs_numbers_with_their_code_names_and_paths_that_differ(shell, book, workspace):
    with book.turn("!rm -rf raw"):
        workspace.write({"same": "1", "other": "1"})
    with book.turn("clean()"):
        workspace.write({"other": "2"})
    book.session.name("right state")

    assert "restore" in complete(shell, "%rewind re")
    assert "1  # !rm -rf raw" in complete(shell, "%rewind to ")
    assert '"right state"' in complete(shell, "%rewind to ")
    assert complete(shell, "%rewind to 2") == ["2  # clean()"]
    assert "other" in complete(shell, "%rewind diff 1 ")
    assert "same" not in complete(shell, "%rewind diff 1 ")
    assert "--everything" in complete(shell, "%rewind to 1 --e")


def test_a_completed_number_with_its_code_is_a_target(shell, book, workspace, capsys):
    with book.turn("x = 'it is'"):
        workspace.write({"a": "1"})
    with book.turn("y"):
        workspace.write({"a": "2"})

    rewind(shell, "to 1  # x = 'it is' --yes", capsys)
    assert workspace.read("a") == b"2"
    rewind(shell, "to 1 --yes  # !rm", capsys)
    assert workspace.read("a") == b"1"
