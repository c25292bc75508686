"""Capture inside a real kernel and a real terminal shell: causes, origins and outputs as IPython makes them."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.builders import TestKernel, TestWorkspace

ROOT = Path(__file__).parents[2]

WIRED = f"""
import sys, os
sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / "src")!r}]
from pathlib import Path
from tests.unit.capture.conftest import Rig
from nbrewind.capture.outputs import OutputCollector
from nbrewind.capture.span import TurnOutcome

class Wired:
    def __init__(self, shell, base):
        self.shell, self.rig, self.records, self.collector = shell, Rig(Path(base)), [], OutputCollector(shell)
        self.open = False
    def pre(self, info):
        self.records.append(self.rig.recorder.take())
        self.rig.begin(info.raw_cell)
        self.collector.begin(self.shell.execution_count - 1 if info.store_history else None)
        self.open = True
    def post(self, result):
        if self.open:
            self.open = False
            error = result.error_before_exec or result.error_in_exec
            self.rig.recorder.end(TurnOutcome(outputs=self.collector.end(error)))
            self.records.append(self.rig.recorder.take())
    def install(self):
        self.rig.recorder.start()
        self.shell.events.register("pre_run_cell", self.pre)
        self.shell.events.register("post_run_cell", self.post)
"""


class Cells:
    """A kernel whose cells are recorded as turns."""

    def __init__(self, kernel: TestKernel) -> None:
        self.kernel = kernel

    def run(self, code: str, **how: Any) -> None:
        self.kernel.run(textwrap.dedent(code), **how)

    def last(self, expression: str) -> Any:
        return self.kernel.value(f"(lambda record: {expression})(wired.records[-1])")

    def outputs(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.last("record.outcome.outputs"))
        return found


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestKernel]:
    workspace = TestWorkspace(tmp_path_factory.mktemp("kernel") / "work")
    home = tmp_path_factory.mktemp("home")
    kernel = TestKernel(workspace.root, home)
    kernel.start()
    base = str(workspace.root.parent)
    run = kernel.run(WIRED + f"wired = Wired(get_ipython(), {base!r}); wired.install()", silent=True)
    assert run.status == "ok", run
    yield kernel
    kernel.stop()


@pytest.fixture
def cells(running: TestKernel) -> Cells:
    return Cells(running)


pytestmark = pytest.mark.kernel


def test_shell_escape_is_a_cause_with_its_command_as_it_ran(cells: Cells) -> None:
    cells.run("name = 'made'\n!echo x > {name}.txt")

    assert cells.last("record.ran") == ("echo x > made.txt",)
    assert cells.last("record.forked") is True


def test_bash_cell_names_its_first_command(cells: Cells) -> None:
    cells.run("%%bash\necho x > made.txt\nls")

    assert cells.last("record.ran") == ("echo x > made.txt …",)


def test_plain_cell_has_no_cause_and_no_failure(cells: Cells) -> None:
    cells.run("open('n.txt', 'w').write('1')")

    assert cells.last("(record.ran, record.hook_errors, record.skipped)") == ((), (), ())
    assert cells.last("[touched.inside for touched in record.touches.values()]") == ["n.txt"]


def test_importing_libraries_is_no_cause_and_touches_nothing(cells: Cells) -> None:
    cells.run("import pandas, pyarrow, PIL.Image, concurrent.futures, ctypes.util; ctypes.util.find_library('c')")

    assert cells.last("(record.ran, [touched.path for touched in record.touches.values()])") == ((), [])


@pytest.mark.parametrize(
    "code",
    [
        "open('o.txt', 'w').close()",
        "import asyncio; await asyncio.sleep(0); open('o.txt', 'w').close()",
        "import asyncio; await asyncio.to_thread(lambda: open('o.txt', 'w').close())",
        "import threading; t = threading.Thread(target=lambda: open('o.txt', 'w').close()); t.start(); t.join()",
        "from concurrent.futures import ThreadPoolExecutor as P; P(1).submit(open, 'o.txt', 'w').result().close()",
        "%time open('o.txt', 'w').close()",
    ],
)
def test_what_a_cell_starts_is_its_own(cells: Cells, code: str) -> None:
    cells.run(code)

    assert cells.last("[(touched.inside, touched.origin) for touched in record.touches.values()]") == [("o.txt", None)]


def test_late_thread_and_late_task_belong_to_the_turn_that_started_them(cells: Cells) -> None:
    cells.run(
        """
        import asyncio, threading
        go = threading.Event()
        thread = threading.Thread(target=lambda: (go.wait(), open('by_thread', 'w').close()))
        thread.start()
        async def later():
            while not go.is_set():
                await asyncio.sleep(0.01)
            open('by_task', 'w').close()
        task = asyncio.ensure_future(later())
        """
    )
    turn = cells.last("record.header.operation_id")
    cells.run("go.set(); thread.join(); await task")

    found = cells.last("{touched.inside: touched.origin for touched in record.touches.values()}")
    assert found == {"by_thread": turn, "by_task": turn}


def test_outputs_end_as_they_looked(cells: Cells) -> None:
    cells.run(
        """
        from IPython.display import display, clear_output
        print('first')
        clear_output()
        bar = display('0 %', display_id=True)
        for percent in range(1, 11):
            print(percent, end='\\r')
            bar.update(f'{percent * 10} %')
        import sys
        sys.stderr.write('careful')
        {'answer': 42}
        """
    )

    shown = [output.get("text") or output["data"]["text/plain"] for output in cells.outputs()]
    assert shown == ["'100 %'", "10", "careful", "{'answer': 42}"]


def test_outputs_of_a_cell_that_raises_end_with_the_error(cells: Cells) -> None:
    cells.run("print('x')\n1/0")

    assert [output["output_type"] for output in cells.outputs()] == ["stream", "error"]
    assert cells.outputs()[1]["ename"] == "ZeroDivisionError" and cells.outputs()[1]["traceback"]


def test_outputs_without_history_are_the_cells_own(cells: Cells) -> None:
    for text in ("one", "two"):
        cells.run(f"print({text!r})\n{text!r}", store_history=False)

    assert [output.get("text") or output["data"]["text/plain"] for output in cells.outputs()] == ["two\n", "'two'"]


def test_recorder_outlives_a_cell_that_ends_in_the_middle_of_the_hook(cells: Cells) -> None:
    cells.run("raise SystemExit")
    cells.run("open('after.txt', 'w').close()")

    assert cells.last("[touched.inside for touched in record.touches.values()]") == ["after.txt"]


def test_terminal_shell_outputs(tmp_path: Path, home: Path) -> None:
    script = WIRED + textwrap.dedent(
        f"""
        import json
        from IPython.terminal.interactiveshell import TerminalInteractiveShell
        shell = TerminalInteractiveShell.instance()
        wired = Wired(shell, {str(tmp_path)!r})
        wired.install()
        shell.run_cell("from IPython.display import display", store_history=True)
        shell.run_cell("print('a')\\ndisplay('d')\\nprint('b')\\n42", store_history=True)
        shell.run_cell("1/0", store_history=True)
        shell.run_cell("import asyncio\\nawait asyncio.sleep(0)\\nopen('t.txt', 'w').close()", store_history=True)
        found = [record.outcome.outputs for record in wired.records if record.outcome]
        touched = [touch.event for touch in wired.records[-1].touches.values()]
        print("RESULT" + json.dumps([found, touched]))
        """
    )
    work = tmp_path / "work"
    work.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=work, capture_output=True, text=True, timeout=120, check=True
    )
    found, touched = json.loads(done.stdout.partition("RESULT")[2].split("\n")[0])

    first, second = (json.loads(outputs) for outputs in found[1:3])
    assert [output.get("text") or output["data"]["text/plain"] for output in first] == ["a\n", "'d'", "b\n", "42"]
    assert [output["output_type"] for output in second] == ["error"]
    assert touched == ["open"]
