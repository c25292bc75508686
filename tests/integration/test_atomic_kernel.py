"""`%%atomic` in a real kernel: what a failed cell did to files, variables and process state is not there afterwards."""

import time

import pytest

from tests.builders import wait_until

pytestmark = pytest.mark.kernel

SESSION = "__import__('nbrewind').current()"
STATE = (
    "(x, d, a is d['a'], 'y' in globals(), __import__('os').getcwd().rsplit('/', 1)[1],"
    " __import__('os').environ.get('ATOMIC'), __import__('sys').path[0] == 'lib', __import__('random').random())"
)
DAMAGE = """
import os, sys, random, logging, warnings
x.append(2); y = 1; d['b'] = 3; a.append(4)
open('f', 'w').write('2'); os.remove('g'); os.makedirs('new/deep'); open('new/deep/h', 'w').close()
os.environ['ATOMIC'] = 'yes'; sys.path.insert(0, 'lib'); random.seed(5); os.chdir('sub')
"""


@pytest.fixture
def before(kernel, workspace):
    workspace.write({"sub": None})
    kernel.run("import random; random.seed(1); x = [1]; a = [0]; d = {'a': a}")
    kernel.run("open('f', 'w').write('1'); open('g', 'w').write('g')")
    kernel.run("random.seed(1)")
    value = kernel.value(STATE)
    kernel.run("random.seed(1)")
    return value, workspace.tree()


def unchanged(kernel, workspace, before):
    return kernel.value(STATE) == before[0] and workspace.tree() == before[1]


@pytest.mark.parametrize(
    "ending",
    [
        "1/0",
        "raise SystemExit",
        "import asyncio\nawait asyncio.sleep(0)\nraise ValueError('late')",
        "async def fail(): raise KeyError\nawait fail()",
        "get_ipython().run_line_magic('no_such_magic', '')",
        "%no_such_magic",
    ],
)
def test_files_variables_and_process_state_are_as_before(kernel, workspace, before, ending):
    run = kernel.run(f"%%atomic{DAMAGE}{ending}")

    assert run.status == "error" and "was taken back" in run.text, run
    assert unchanged(kernel, workspace, before)
    assert kernel.run("x.append(5)").status == "ok"
    assert kernel.value("(x, In[-1])") == ([1, 5], "x.append(5)")


def come_to_rest(kernel):
    """Wait until requests are carried out again: those that wait behind an error are not."""
    assert wait_until(lambda: kernel.run("1", silent=True).status == "ok", timeout=30)


@pytest.mark.parametrize("wait", ["import time; time.sleep(60)", "import asyncio; await asyncio.sleep(60)"])
def test_an_interrupted_one_leaves_nothing(kernel, workspace, before, wait):
    kernel.client.execute(f"%%atomic{DAMAGE}open('../ready', 'w').close()\n{wait}")
    assert wait_until(lambda: workspace.exists("ready"))
    kernel.manager.interrupt_kernel()
    assert wait_until(lambda: not workspace.exists("ready"), timeout=30)

    come_to_rest(kernel)
    assert unchanged(kernel, workspace, before)


def test_an_interrupt_again_and_again_leaves_all_or_nothing(kernel, workspace, before):
    kernel.client.execute(f"%%atomic{DAMAGE}open('../ready', 'w').close()\nimport time; time.sleep(60)")
    assert wait_until(lambda: workspace.exists("ready"))
    for _ in range(8):
        kernel.manager.interrupt_kernel()
        time.sleep(0.01)

    come_to_rest(kernel)
    if workspace.exists("ready"):
        run = kernel.run("%rewind back 1 --yes")
        assert run.status == "ok", run
    assert unchanged(kernel, workspace, before)


def test_a_syntax_error_and_a_cell_without_effect_take_nothing_else_back(kernel, workspace, before):
    kernel.run("%%atomic\nthis is no python")
    kernel.run("%%atomic\n1/0", store_history=False)

    assert unchanged(kernel, workspace, before)


def test_it_never_takes_back_an_earlier_cell(kernel, workspace, before):
    kernel.run("x.append('mine')")
    kernel.run("%rewind pause")

    run = kernel.run("%%atomic\nx.append('atomic'); 1/0")

    assert "could not be taken back" in run.text, run
    assert kernel.value("x") == [1, "mine", "atomic"]


def test_other_cell_magics_may_stand_before_and_after_it(kernel, workspace, before):
    for code in ("%%time\n%%atomic", "%%atomic\n%%time", "%%capture\n%%atomic", "%%undo_on_error\n%%capture out"):
        kernel.run(f"{code}{DAMAGE}1/0")
        assert unchanged(kernel, workspace, before), code
        kernel.run("random.seed(1)")


def test_one_that_fails_inside_another_cell_says_that_it_stays(kernel, workspace, before):
    run = kernel.run("get_ipython().run_cell('%%atomic\\nx.append(2); 1/0'); x.append(3)")

    assert run.status == "ok" and "inside another" in run.text, run
    assert kernel.value("x") == [1, 2, 3]
    kernel.run("%rewind back 1 --yes")
    assert kernel.value("x") == [1]


def test_one_inside_an_atomic_cell_goes_with_it(kernel, workspace, before):
    run = kernel.run(f"%%atomic{DAMAGE}get_ipython().run_cell('%%atomic\\nx.append(9); 1/0').raise_error()")

    assert run.status == "error" and "was taken back" in run.text, run
    assert unchanged(kernel, workspace, before)


def test_what_cannot_come_back_is_named(kernel, workspace, before):
    kernel.run("gen = (n for n in range(9)); next(gen)")

    run = kernel.run("%%atomic\nnext(gen); x.append(2); 1/0")

    assert "was taken back" in run.text and "gen" in run.text, run
    assert kernel.value("x") == [1]
    assert kernel.value("next(gen)") == 2


def test_the_failed_cell_stays_in_the_list_and_can_be_brought_back(kernel, workspace, before):
    kernel.run("%%atomic\nx.append(2); open('f', 'w').write('2'); 1/0")

    assert kernel.run("%rewind undo").status == "ok"
    assert (kernel.value("x"), workspace.read("f")) == ([1, 2], b"2")
