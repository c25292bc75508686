"""A stop (Ctrl-C, the stop button) at an inconvenient moment."""

import pytest

from tests.sessions import attached


def test_a_stop_right_after_a_turn_was_logged_does_not_log_it_again(workspace, home, monkeypatch):
    with attached(workspace, home) as book:
        session = book.session
        log_all = session._log_all

        def stopped(*arguments):
            log_all(*arguments)
            raise KeyboardInterrupt

        monkeypatch.setattr(session, "_log_all", stopped)
        with pytest.raises(KeyboardInterrupt), book.turn():
            workspace.write({"a": "1"})
        monkeypatch.undo()
        with book.turn():
            workspace.write({"b": "1"})
        session.settle()

        turns = [operation.turn.number for operation in session.operations if operation.turn is not None]
        assert turns == [1, 2]
        assert [change.path for change in session.operations[-1].changes] == ["b"]
