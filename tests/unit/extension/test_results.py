import atexit
from sys import getrefcount

import pytest
from IPython.core.interactiveshell import InteractiveShell

from nbrewind.extension.kernel import UserNamespace


@pytest.fixture
def shell():
    shell = InteractiveShell()
    yield shell
    shell.atexit_operations()
    atexit.unregister(shell.atexit_operations)


def test_references_of_results_that_were_shown_are_counted_to_the_last_one(shell):
    for cell in ("rows = [[i] for i in range(6)]", "rows[1]", "rows[1]", "rows[2:4]", "x = rows[4:5]", "x", "rows[5]"):
        assert shell.run_cell(cell, store_history=True).success
    rows = shell.user_ns["rows"]

    shown = UserNamespace(shell).shown()

    # One is that of the list, one that of the call: what remains are the user's, here `x`.
    rest = [getrefcount(rows[number]) - 2 - shown.get(id(rows[number]), 0) for number in range(6)]
    assert rest == [0, 0, 0, 0, 1, 0]
    assert getrefcount(rows) - 3 == shown.get(id(rows), 0) == 0
