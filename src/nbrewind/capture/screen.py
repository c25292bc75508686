"""The outputs below a cell, as a person sees them: streams joined and overwritten, cleared when asked, bounded."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

__all__ = ["MAX_OUTPUTS", "MAX_OUTPUT_BYTES", "Screen", "bounded", "shown"]

MAX_OUTPUTS: Final = 500
MAX_OUTPUT_BYTES: Final = 4 << 20
_ERASED_LINE: Final = re.compile(r"[^\n]*\x1b\[2K")
_BACKSPACE: Final = re.compile(r"[^\n\x08]\x08")
_CUT: Final = "\n… {} more characters, not kept …\n"


class Screen:
    """The area below a cell; *outputs* are nbformat outputs."""

    def __init__(self) -> None:
        self.outputs: list[dict[str, Any]] = []
        self._clear_next = False

    def stream(self, name: str, text: str) -> None:
        """Write *text* to the stream *name*."""
        self._make_room()
        last = self.outputs[-1] if self.outputs else None
        if last is not None and last.get("name") == name:
            last["text"].append(text)
        else:
            self.outputs.append({"output_type": "stream", "name": name, "text": [text]})

    def display(self, data: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
        """Show a display bundle."""
        self._make_room()
        self.outputs.append({"output_type": "display_data", "data": _encoded(data), "metadata": dict(metadata)})

    def result(self, data: Mapping[str, Any], metadata: Mapping[str, Any], number: int | None) -> None:
        """Show the value of the cell's last expression."""
        self._make_room()
        self.outputs.append(
            {
                "output_type": "execute_result",
                "execution_count": number,
                "data": _encoded(data),
                "metadata": dict(metadata),
            }
        )

    def error(self, name: str, value: str, traceback: Sequence[str]) -> None:
        """Show an exception."""
        self._make_room()
        self.outputs.append({"output_type": "error", "ename": name, "evalue": value, "traceback": list(traceback)})

    def clear(self, *, wait: bool) -> None:
        """Clear what is shown, with *wait* when the next output comes."""
        self._clear_next = wait
        if not wait:
            self.outputs.clear()

    def _make_room(self) -> None:
        if self._clear_next:
            self._clear_next = False
            self.outputs.clear()


def shown(text: str) -> str:
    """Return what *text* looks like when it is through: carriage returns, backspaces and erasures applied."""
    if "\x1b[2K" in text:
        text = _ERASED_LINE.sub("", text)
    while "\x08" in text and _BACKSPACE.search(text):
        text = _BACKSPACE.sub("", text)
    if "\r" not in text:
        return text
    return "\n".join(_overwritten(line) for line in text.replace("\r\n", "\n").split("\n"))


def _overwritten(line: str) -> str:
    if "\r" not in line:
        return line
    result = ""
    for part in line.split("\r"):
        result = part + result[len(part) :]
    return result


def bounded(outputs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return *outputs* with text as it looked, cut to `MAX_OUTPUTS` outputs and some `MAX_OUTPUT_BYTES` bytes."""
    room = MAX_OUTPUT_BYTES
    result: list[dict[str, Any]] = []
    for output in outputs[:MAX_OUTPUTS]:
        kept, size = _cut(output, max(room, 0))
        room -= size
        result.append(kept)
    if len(outputs) > MAX_OUTPUTS:
        text = f"… {len(outputs) - MAX_OUTPUTS} more outputs, not kept …\n"
        result.append({"output_type": "stream", "name": "stdout", "text": text})
    return result


def _cut(output: dict[str, Any], room: int) -> tuple[dict[str, Any], int]:
    """Return *output* within *room* and the room that it takes."""
    if output["output_type"] == "stream":
        text = shown("".join(output["text"]))
        if len(text) > room:
            half = room // 2
            text = text[:half] + _CUT.format(len(text) - 2 * half) + (text[-half:] if half else "")
        return {**output, "text": text}, len(text)
    if output["output_type"] == "error":
        lines = "\n".join(output["traceback"])
        return (output, len(lines)) if len(lines) <= room else ({**output, "traceback": []}, 0)
    data, size = {}, 0
    # The smallest first: the plain text of a table survives where its drawing is too large.
    for kind, value in sorted(output["data"].items(), key=lambda item: len(str(item[1]))):
        length = len(value) if isinstance(value, str) else len(str(value))
        if size + length <= room:
            data[kind] = value
            size += length
    if not data and output["data"]:
        data = {"text/plain": f"({', '.join(output['data'])}: too large, not kept)"}
    return {**output, "data": data}, size


def _encoded(data: Mapping[str, Any]) -> dict[str, Any]:
    return {
        kind: base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else value
        for kind, value in data.items()
    }
