from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from nbrewind.capture.outputs import OutputCollector
from nbrewind.capture.screen import MAX_OUTPUT_BYTES, MAX_OUTPUTS, bounded, shown


@dataclass
class Recorded:
    """What IPython's history manager keeps of one output."""

    output_type: str
    bundle: dict[str, Any]


@dataclass
class Publisher:
    hooks: list[Callable[[Any], Any]] = field(default_factory=list)

    def register_hook(self, hook: Callable[[Any], Any]) -> None:
        self.hooks.append(hook)

    def unregister_hook(self, hook: Callable[[Any], Any]) -> None:
        if hook in self.hooks:
            self.hooks.remove(hook)

    def send(self, kind: str, **content: Any) -> None:
        message = {"header": {"msg_type": kind}, "msg_type": kind, "content": content}
        for hook in self.hooks:
            assert hook(message) is message


class Kernel:
    """A shell with the attributes of ipykernel's, whose cell has number 3."""

    def __init__(self) -> None:
        self.execution_count = 4
        self.history_manager = SimpleNamespace(outputs=defaultdict(list), exceptions={})
        self.display_pub = Publisher()
        self.displayhook = Publisher()

    def write(self, text: str, channel: str = "out_stream", number: int = 3) -> None:
        outputs = self.history_manager.outputs
        if not outputs[number] or outputs[number][-1].output_type != channel:
            outputs[number].append(Recorded(channel, {"stream": []}))
        outputs[number][-1].bundle["stream"].append(text)

    def display(self, text: str, display_id: str = "", update: bool = False) -> None:
        kind = "update_display_data" if update else "display_data"
        transient = {"display_id": display_id} if display_id else {}
        self.display_pub.send(kind, data={"text/plain": text}, metadata={}, transient=transient)

    def clear(self, wait: bool = False) -> None:
        self.display_pub.send("clear_output", wait=wait)

    def result(self, text: str, number: int = 3) -> None:
        self.displayhook.send("execute_result", data={"text/plain": text}, metadata={"m": 1}, execution_count=number)
        self.history_manager.outputs[number].append(Recorded("execute_result", {"text/plain": text}))


@pytest.fixture
def kernel() -> Kernel:
    return Kernel()


def collected(shell: Any, cell: Callable[[], None], error: BaseException | None = None, number: int | None = 3) -> Any:
    collector = OutputCollector(shell)
    collector.begin(number)
    cell()
    return json.loads(collector.end(error))


def texts(outputs: Any) -> list[str]:
    return [output["text"] if "text" in output else output["data"]["text/plain"] for output in outputs]


def test_streams_displays_and_results_keep_their_order(kernel: Kernel) -> None:
    def cell() -> None:
        kernel.write("a")
        kernel.write("b\n")
        kernel.display("shown")
        kernel.write("c\n")
        kernel.write("warning\n", "err_stream")
        kernel.result("42")

    outputs = collected(kernel, cell)

    assert texts(outputs) == ["ab\n", "shown", "c\n", "warning\n", "42"]
    assert [output.get("name") for output in outputs] == ["stdout", None, "stdout", "stderr", None]
    assert outputs[-1]["execution_count"] == 3 and outputs[-1]["metadata"] == {"m": 1}
    assert kernel.display_pub.hooks == [] and kernel.displayhook.hooks == []


def test_updated_display_ends_as_it_looked(kernel: Kernel) -> None:
    def cell() -> None:
        kernel.display("0 %", "bar")
        kernel.display("other", "fixed")
        for percent in range(1, 101):
            kernel.display(f"{percent} %", "bar", update=True)

    assert texts(collected(kernel, cell)) == ["100 %", "other"]


def test_clear_output_leaves_what_came_after(kernel: Kernel) -> None:
    def cell() -> None:
        kernel.write("gone\n")
        kernel.display("gone")
        kernel.clear()
        kernel.write("stays\n")

    assert texts(collected(kernel, cell)) == ["stays\n"]


def test_waiting_clear_happens_with_the_next_output_only(kernel: Kernel) -> None:
    def cell() -> None:
        for number in range(5):
            kernel.clear(wait=True)
            kernel.display(str(number))
        kernel.clear(wait=True)

    assert texts(collected(kernel, cell)) == ["4"]


def test_clear_between_writes_of_one_stream_splits_it(kernel: Kernel) -> None:
    def cell() -> None:
        kernel.write("one")
        kernel.clear(wait=True)
        kernel.write("two")

    assert texts(collected(kernel, cell)) == ["two"]


def test_repeated_number_without_history_takes_only_the_new_part(kernel: Kernel) -> None:
    kernel.write("first run", number=4)
    kernel.result("1")
    collector = OutputCollector(kernel)
    collector.begin(None)
    kernel.write("second run", number=4)
    kernel.result("2")

    assert texts(json.loads(collector.end())) == ["second run", "2"]


def test_error_is_the_last_output(kernel: Kernel) -> None:
    error = ValueError("bad")
    kernel.history_manager.exceptions[3] = {"ename": "ValueError", "evalue": "bad", "traceback": ["line 1", "line 2"]}

    outputs = collected(kernel, lambda: kernel.write("x"), error)

    assert outputs[-1] == {
        "output_type": "error",
        "ename": "ValueError",
        "evalue": "bad",
        "traceback": ["line 1", "line 2"],
    }


def test_error_without_a_record_is_still_told(kernel: Kernel) -> None:
    outputs = collected(kernel, lambda: None, KeyboardInterrupt())

    assert (outputs[0]["ename"], outputs[0]["traceback"]) == ("KeyboardInterrupt", [])


def test_terminal_without_hooks_is_read_from_the_record(kernel: Kernel) -> None:
    kernel.display_pub = SimpleNamespace()  # type: ignore[assignment] # a publisher without hooks
    kernel.displayhook = SimpleNamespace()  # type: ignore[assignment] # likewise

    def cell() -> None:
        kernel.write("a\n")
        kernel.history_manager.outputs[3].append(Recorded("display_data", {"text/plain": "d", "image/png": b"\x89"}))
        kernel.history_manager.outputs[3].append(Recorded("execute_result", {"text/plain": "r"}))

    outputs = collected(kernel, cell)

    assert texts(outputs) == ["a\n", "d", "r"]
    assert outputs[1]["data"]["image/png"] == "iQ=="


@pytest.mark.parametrize("shell", [SimpleNamespace(), SimpleNamespace(history_manager=None, execution_count=1)])
def test_a_shell_that_records_nothing_gives_no_outputs(shell: Any) -> None:
    assert collected(shell, lambda: None) == []


def test_a_question_leaves_no_entry_in_the_record(kernel: Kernel) -> None:
    collected(kernel, lambda: None)

    assert dict(kernel.history_manager.outputs) == {}


def test_a_display_that_is_no_json_fails_nothing(kernel: Kernel) -> None:
    outputs = collected(kernel, lambda: kernel.display_pub.send("display_data", data={"x": object()}))

    assert len(outputs) == 1


def test_end_without_begin_is_empty(kernel: Kernel) -> None:
    assert OutputCollector(kernel).end() == "[]"


@pytest.mark.parametrize(
    ("written", "looks"),
    [
        ("plain\n", "plain\n"),
        ("10%\r20%\r100%\n", "100%\n"),
        ("long line\rshort\n", "shortline\n"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("done\r", "done"),
        ("abc\x08\x08X", "aX"),
        ("gone\x1b[2K\rnew", "new"),
        ("kept\ngone\x1b[2Know", "kept\nnow"),
    ],
)
def test_overwritten_text_ends_as_it_looked(written: str, looks: str) -> None:
    assert shown(written) == looks


def stream(text: str) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": [text]}


def test_long_text_keeps_its_beginning_and_end() -> None:
    (output,) = bounded([stream("a" * MAX_OUTPUT_BYTES + "b" * MAX_OUTPUT_BYTES)])

    assert len(output["text"]) < MAX_OUTPUT_BYTES + 100
    assert output["text"].startswith("aaa") and output["text"].endswith("bbb")
    assert f"{MAX_OUTPUT_BYTES} more characters" in output["text"]


def test_too_many_outputs_are_counted() -> None:
    outputs = bounded([stream("x")] * (MAX_OUTPUTS + 7))

    assert len(outputs) == MAX_OUTPUTS + 1
    assert "7 more outputs" in outputs[-1]["text"]


def test_large_drawing_goes_before_its_plain_text() -> None:
    data = {"image/png": "A" * (MAX_OUTPUT_BYTES + 1), "text/plain": "<Figure>"}
    (output,) = bounded([{"output_type": "display_data", "data": data, "metadata": {}}])

    assert output["data"] == {"text/plain": "<Figure>"}
