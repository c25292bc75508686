import atexit

import pytest
from IPython.core.interactiveshell import InteractiveShell

from nbrewind.extension.cells import is_blank, is_only_magics


@pytest.fixture(scope="module")
def transform():
    shell = InteractiveShell.instance()
    yield shell.transform_cell
    shell.atexit_operations()
    atexit.unregister(shell.atexit_operations)
    InteractiveShell.clear_instance()


@pytest.mark.parametrize(
    "cell",
    [
        "%rewind",
        "%rewind to 3 --yes",
        "# back\n%rewind to 3\n\n%rewind confirm\n",
        "  %rewind undo",
        "%load_ext nbrewind",
        "%load_ext nbrewind\n%rewind name 'start'  # here",
        "%unload_ext nbrewind\n%reload_ext nbrewind",
        "%rewind restore \\\n  a.csv --from 3",
        '%rewind to "x = 1; y"',
        "%rewind?",
    ],
)
def test_cell_of_own_magics_is_no_turn(transform, cell):
    assert is_only_magics(cell, transform(cell))


@pytest.mark.parametrize(
    "cell",
    [
        "",
        "# %rewind",
        "x = 1",
        "%rewind to 3\nx = 1",
        "x = %rewind get df --from 3",
        '"""\n%rewind to 3\n"""',
        "if True:\n    %rewind undo",
        "%load_ext autoreload  # nbrewind",
        "%load_ext nbrewind autoreload",
        "%time %rewind undo",
        "!echo rewind",
        "%%bash\n%rewind",
        "get_ipython().run_line_magic('rewind', str(1/0))",
        "def (: rewind",
        "%%atomic\n%rewind undo",
    ],
)
def test_any_other_cell_is_a_turn(transform, cell):
    try:
        transformed = transform(cell)
    except SyntaxError:
        transformed = cell
    assert not is_only_magics(cell, transformed)


def test_blank_cells_are_blank():
    assert is_blank("") and is_blank(" \n\t") and is_blank(None)
    assert not is_blank("#")
