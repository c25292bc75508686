"""Threads and subshells of a real kernel: a move runs on the main thread, whole, or is refused."""

import pytest

from tests.builders import wait_until

pytestmark = pytest.mark.kernel

SESSION = "__import__('nbrewind').current()"


class Subshell:
    """Cells of a subshell, which run beside those of the main shell."""

    def __init__(self, kernel):
        self.client = kernel.client
        request = self.client.session.msg("create_subshell_request")
        self.client.control_channel.send(request)
        reply = self.client.get_control_msg(timeout=60)
        self.id = reply["content"]["subshell_id"]

    def begin(self, code):
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": False,
        }
        request = self.client.session.msg("execute_request", content)
        request["header"]["subshell_id"] = self.id
        self.client.shell_channel.send(request)
        return request["header"]["msg_id"]

    def run(self, code):
        """Run *code* and return the reply's content, with all that it showed as `text`."""
        asked = self.begin(code)
        return self.answer(asked)

    def answer(self, asked):
        while True:
            reply = self.client.get_shell_msg(timeout=60)
            if reply["parent_header"].get("msg_id") == asked and reply["msg_type"] == "execute_reply":
                break
        shown = []
        while True:
            message = self.client.get_iopub_msg(timeout=60)
            if message["parent_header"].get("msg_id") != asked:
                continue
            content = message["content"]
            if message["msg_type"] == "stream":
                shown.append(content["text"])
            elif message["msg_type"] == "display_data":
                shown.append(content["data"].get("text/plain", ""))
            elif message["msg_type"] == "error":
                shown.append(content["evalue"])
            elif message["msg_type"] == "status" and content["execution_state"] == "idle":
                break
        return reply["content"] | {"text": "".join(shown)}


@pytest.fixture
def subshell(kernel):
    kernel.run("x = [1]; open('f', 'w').write('1')")
    kernel.run("x.append(2); open('f', 'w').write('2')")
    return Subshell(kernel)


def test_a_move_asked_for_in_a_subshell_is_carried_out_whole(kernel, subshell, workspace):
    told = subshell.run("%rewind to 1 --yes")

    assert told["status"] == "ok", told
    assert (kernel.value("x"), workspace.read("f")) == ([1], b"1")
    assert kernel.value("len(In)") == 2
    assert kernel.run("%rewind undo").status == "ok"
    assert (kernel.value("x"), workspace.read("f")) == ([1, 2], b"2")


def test_a_move_from_a_subshell_is_refused_while_a_cell_runs(kernel, subshell, workspace):
    running = kernel.client.execute(
        "import os, time\nopen('ready', 'w').close()\nwhile not os.path.exists('go'): time.sleep(0.02)"
    )
    assert wait_until(lambda: workspace.exists("ready"))

    told = subshell.run("%rewind to 1 --yes")

    workspace.write({"go": ""})
    subshell.answer(running)
    assert told["status"] == "error" and "still running" in told["text"], told
    assert (kernel.value("x"), workspace.read("f")) == ([1, 2], b"2")
    assert kernel.run("%rewind to 1 --yes").status == "ok"


def test_a_cell_of_a_subshell_is_a_turn_with_its_variables(kernel, subshell, workspace):
    assert subshell.run("x.append(3); y = 4")["status"] == "ok"

    kernel.run("z = 5")
    assert kernel.run("%rewind before 4 --yes").status == "ok"
    assert kernel.value("(x, y, 'z' in globals())") == ([1, 2, 3], 4, False)
    assert kernel.run("%rewind before 3 --yes").status == "ok"
    assert kernel.value("(x, 'y' in globals())") == ([1, 2], False)


def test_what_two_shells_do_at_once_is_one_turn(kernel, subshell, workspace):
    running = subshell.begin(
        "import os, time\nopen('ready', 'w').close()\nwhile not os.path.exists('go'): time.sleep(0.02)"
    )
    assert wait_until(lambda: workspace.exists("ready"))

    kernel.client.execute("x.append(3)", reply=True, timeout=60)

    workspace.write({"go": ""})
    subshell.answer(running)
    assert kernel.run("%rewind to 2 --yes").status == "ok"
    assert kernel.value("x") == [1, 2]


def test_an_atomic_cell_of_a_subshell_is_taken_back(kernel, subshell, workspace):
    told = subshell.run("%%atomic\nx.append(3); open('f', 'w').write('3'); 1/0")

    assert "was taken back" in told["text"], told
    assert (kernel.value("x"), workspace.read("f")) == ([1, 2], b"2")


def test_another_thread_neither_plans_nor_moves_but_may_ask_the_main_one(kernel, workspace):
    kernel.run("x = [1]; open('f', 'w').write('1')")
    kernel.run(
        "x.append(2); open('f', 'w').write('2')\n"
        "import threading, time, nbrewind; said = []\n"
        "def direct():\n"
        "    time.sleep(0.3)\n"
        f"    session = {SESSION}\n"
        "    for act in (lambda: session.plan('1'), lambda: session.undo(), lambda: session.name('n')):\n"
        "        try: act(); said.append('done')\n"
        "        except Exception as error: said.append(error.reason.value)\n"
        "    session.on_main_thread(lambda: session.rewind(session.plan('1')))\n"
        "threading.Thread(target=direct).start()"
    )

    assert wait_until(lambda: workspace.read("f") == b"1")
    assert wait_until(lambda: kernel.value("x") == [1])
    assert kernel.value(f"[p.kind.value for p in {SESSION}.points()][-1]") == "rewind"
