"""Deaths of real kernels: the next one lists what was there, and brings the files back."""

import os
import signal

import pytest

from tests.builders import wait_until

pytestmark = pytest.mark.kernel

POINTS = "[(p.kind.value, p.number, p.status.value) for p in __import__('nbrewind').current().points()]"


def again(kernel):
    """Start a new kernel in the place of the dead one."""
    kernel.stop()
    kernel.start()
    run = kernel.run("%load_ext nbrewind", silent=True)
    assert run.status == "ok", run
    return run.text


def test_kill_in_the_middle_of_a_cell_is_listed_and_taken_back(kernel, workspace):
    workspace.write({"a.txt": "old", "gone.txt": "here", "d/x": "x"})
    start = workspace.tree()
    kernel.run("1")
    kernel.client.execute(
        "import os, subprocess, time\n"
        "f = open('a.txt', 'w'); f.write('half'); f.flush()\n"
        "os.remove('gone.txt'); open('new.txt', 'w').close()\n"
        "subprocess.run(['rm', '-r', 'd'])\n"
        "open('ready', 'w').close(); time.sleep(60)"
    )
    assert wait_until(lambda: workspace.exists("ready"))
    kernel.kill()

    said = again(kernel)

    assert "[2]" in said, said
    assert [row for row in kernel.value(POINTS) if row[0] == "turn"] == [("turn", 1, "ok"), ("turn", 2, "interrupted")]
    run = kernel.run("%rewind to 1 --yes")
    assert run.status == "ok", run
    assert workspace.tree() == start


def test_kill_inside_open_for_writing_loses_no_byte(kernel, workspace):
    content = os.urandom(200_000)
    workspace.write({"big.bin": content})
    kernel.run("1")
    kernel.client.execute("import os, signal\nf = open('big.bin', 'w'); os.kill(os.getpid(), signal.SIGKILL)")
    assert wait_until(lambda: not kernel.alive())
    assert workspace.read("big.bin") == b""

    again(kernel)
    kernel.run("%rewind to 1 --yes")

    assert workspace.read("big.bin") == content


def test_os_exit_in_a_cell(kernel, workspace):
    kernel.run("open('a', 'w').write('1')")
    kernel.client.execute("open('a', 'w').write('2'); import os; os._exit(3)")
    assert wait_until(lambda: not kernel.alive())

    again(kernel)

    assert kernel.value(POINTS)[1:3] == [("turn", 1, "ok"), ("turn", 2, "interrupted")]
    kernel.run("%rewind to 1 --yes")
    assert workspace.read("a") == b"1"


def test_kill_right_after_a_cell_keeps_it(kernel, workspace):
    kernel.run("1")
    kernel.client.execute("open('a', 'w').write('1')")
    kernel.client.get_shell_msg(timeout=30)
    kernel.kill()

    again(kernel)

    assert [row[:2] for row in kernel.value(POINTS)] == [("attach", None), ("turn", 1), ("turn", 2), ("attach", None)]
    kernel.run("%rewind to 1 --yes")
    assert not workspace.exists("a")


def test_restart_keeps_points_and_the_new_kernel_goes_on(kernel, workspace):
    kernel.run("open('a', 'w').write('1')")
    kernel.run("open('a', 'w').write('2')")
    kernel.stop()
    workspace.write({"by hand": "mine"})

    again(kernel)

    assert [row[0] for row in kernel.value(POINTS)] == ["attach", "turn", "turn", "external", "attach"]
    kernel.run("%rewind to 1 --yes")
    assert workspace.read("a") == b"1" and workspace.read("by hand") == b"mine"
    assert kernel.value("(get_ipython().execution_count, In)") == (2, ["", "open('a', 'w').write('1')"])
    kernel.run("'on'")
    assert kernel.value(POINTS)[-1] == ("turn", 2, "ok")
    run = kernel.run("%rewind to start --yes")
    assert run.status == "ok" and not workspace.exists("a"), run


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_end_between_cells_loses_nothing(kernel, workspace, number):
    kernel.run("open('a', 'w').write('1')")
    os.kill(kernel.pid, number)
    assert wait_until(lambda: not kernel.alive())

    again(kernel)

    assert [row[:2] for row in kernel.value(POINTS)] == [("attach", None), ("turn", 1), ("attach", None)]


def test_sigterm_in_a_cell_saves_it_as_interrupted(kernel, workspace):
    kernel.client.execute("open('a', 'w').write('1'); open('ready', 'w').close(); import time; time.sleep(60)")
    assert wait_until(lambda: workspace.exists("ready"))
    os.kill(kernel.pid, signal.SIGTERM)
    assert wait_until(lambda: not kernel.alive())

    again(kernel)

    assert kernel.value(POINTS)[1] == ("turn", 1, "interrupted")
    assert kernel.value("[c.path for c in __import__('nbrewind').current().operations[1].changes]") == ["a", "ready"]


def test_orderly_shutdown_saves_the_last_cell(kernel, workspace):
    kernel.client.execute("open('a', 'w').write('1')")
    kernel.client.get_shell_msg(timeout=30)
    kernel.shut_down()

    kernel.start()
    kernel.load()

    assert kernel.value(POINTS)[1] == ("turn", 1, "ok")
    assert not any(name.startswith("turn") for name in session_files(kernel))


def session_files(kernel):
    return kernel.value("__import__('os').listdir(__import__('nbrewind').current()._parts.paths.root)")


def test_forked_child_leaves_the_session_alone(kernel, workspace):
    kernel.run("open('j.txt', 'w').write('0')")
    kernel.run(
        "import os\npid = os.fork()\nif pid == 0:\n    open('j.txt', 'w').write('child'); os._exit(0)\n"
        "print(os.waitpid(pid, 0)[1])"
    )
    kernel.run("import multiprocessing as m\nq = m.get_context('fork').Process(target=print); q.start(); q.join()")

    assert [row[1] for row in kernel.value(POINTS)] == [None, 1, 2, 3]
    kernel.run("%rewind to 1 --yes")
    assert workspace.read("j.txt") == b"0"
