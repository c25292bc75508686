"""Two kernels in one workspace: each has a session of its own, and neither takes back what the other did."""

import pytest

from tests.builders import TestKernel, wait_until

pytestmark = pytest.mark.kernel

ROWS = (
    "[(c.path, c.claim.value) for p in __import__('nbrewind').current().points() if p.operation "
    "for c in p.operation.changes]"
)


@pytest.fixture
def other(workspace, home):
    kernel = TestKernel(workspace.root, home)
    kernel.start()
    run = kernel.run("%load_ext nbrewind", silent=True)
    assert run.status == "ok"
    kernel.said = run.text
    yield kernel
    kernel.stop()


def test_each_kernel_has_a_session_of_its_own(kernel, other):
    ids = [k.value("__import__('nbrewind').current().id") for k in (kernel, other)]

    assert ids[0] != ids[1]
    assert "Also at work here" in other.said


def test_neither_takes_back_what_the_other_did(kernel, other, workspace):
    kernel.run("1")
    other.run("1")
    kernel.run("open('mine', 'w').write('1')")
    other.run("open('yours', 'w').write('1')")
    kernel.run("open('mine', 'w').write('2')")

    kernel.run("%rewind to 1 --yes")

    assert not workspace.exists("mine") and workspace.read("yours") == b"1"
    other.run("%rewind to 1 --yes")
    assert not workspace.exists("yours")


def test_what_another_kernel_wrote_during_a_shell_command_is_not_claimed(kernel, other, workspace):
    kernel.run("1")
    kernel.client.execute("!touch started; sleep 2; echo x > by_shell")
    assert wait_until(lambda: workspace.exists("started"))
    other.run("open('yours', 'w').write('1')")
    kernel.client.get_shell_msg(timeout=30)

    rows = dict(kernel.value(ROWS))

    assert rows["yours"] == "other-session"
    kernel.run("%rewind to 1 --yes")
    assert workspace.read("yours") == b"1"


def test_overlapping_turn_of_another_kernel_makes_the_scan_prove_nothing(kernel, other, workspace):
    kernel.run("1")
    other.client.execute("import subprocess, time; open('go', 'w').close(); time.sleep(3)")
    assert wait_until(lambda: workspace.exists("go"))
    kernel.run("!echo x > by_shell")

    assert dict(kernel.value(ROWS))["by_shell"] == "unclaimed"
    other.client.get_shell_msg(timeout=30)


def test_after_a_restart_each_kernel_finds_its_own_line(kernel, other, workspace):
    kernel.run("open('mine', 'w').write('1')")
    session = kernel.value("__import__('nbrewind').current().id")

    kernel.restart()

    assert kernel.value("__import__('nbrewind').current().id") == session
