"""A cell's outputs as they looked at its end, in nbformat's form; any shell with IPython's attributes will do."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from nbrewind.capture.screen import Screen, bounded

__all__ = ["OutputCollector"]

Position = tuple[int, int]
"""How far IPython's record of a cell had come: its outputs, and the chunks of the last one if that is a stream."""

_STREAMS: Final = {"out_stream": "stdout", "err_stream": "stderr"}
_CLEAR: Final = "clear_output"
_UPDATE: Final = "update_display_data"


@dataclass(slots=True)
class _Message:
    """A message that a hook saw, and where IPython's record stood then."""

    kind: str
    content: Mapping[str, Any]
    position: Position


@dataclass(slots=True)
class _Run:
    """One cell: where IPython records its streams and its results, and what stood there before."""

    streams: int
    results: int
    start: Position
    results_start: int
    messages: list[_Message] = field(default_factory=list)

    def note(self, message: _Message) -> None:
        """Add *message*; what it makes invisible goes, so that a progress bar of a million steps stays one message."""
        if message.kind == _UPDATE:
            for earlier in self.messages:
                if _display_id(earlier.content) == _display_id(message.content):
                    earlier.content = message.content
            return
        if message.kind == _CLEAR and not message.content.get("wait"):
            self.messages.clear()
        elif message.kind != _CLEAR:
            waiting = [place for place, earlier in enumerate(self.messages) if earlier.kind == _CLEAR]
            del self.messages[: waiting[-1] if waiting else 0]
        elif self.messages and self.messages[-1].kind == _CLEAR:
            return
        self.messages.append(message)


class OutputCollector:
    """Collects the outputs of one cell at a time, from `begin` to `end`; both in the cell's thread.

    IPython records streams and results itself (`history_manager.outputs`, which is only read here), but not updates,
    clearings and, in a kernel, displays: these come through `register_hook`, whose hooks are of one thread. Nothing
    here raises, and messages always pass on unchanged.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._run: _Run | None = None

    def begin(self, number: int | None) -> None:
        """Start with the cell that has *number* (None: without history). IPython has counted it already."""
        self.abandon()
        following = getattr(self._shell, "execution_count", 1)
        # Without history the count stands still: streams are recorded under it, results under the one before.
        streams, results = following if number is None else number, following - 1
        self._run = _Run(streams, results, self._position(streams), len(self._recorded(results)))
        for publisher, hook in self._hooks():
            with suppress(Exception):
                publisher.register_hook(hook)

    def abandon(self) -> None:
        """Take the hooks away. Twice is fine."""
        self._run = None
        for publisher, hook in self._hooks():
            with suppress(Exception):
                publisher.unregister_hook(hook)

    def end(self, error: BaseException | None = None) -> str:
        """Return the outputs since `begin` as JSON text, "[]" where they cannot be told. *error* ended the cell."""
        run = self._run
        self.abandon()
        if run is None:
            return "[]"
        try:
            return json.dumps(bounded(self._assembled(run, error)), ensure_ascii=True, default=str)
        except Exception:  # noqa: BLE001 - a display bundle may hold anything; a cell never fails for its copy
            return "[]"

    # -- hooks ---------------------------------------------------------------------------------------------------------
    def _hooks(self) -> Iterator[tuple[Any, Callable[[Any], Any]]]:
        for name in ("display_pub", "displayhook"):
            publisher = getattr(self._shell, name, None)
            if hasattr(publisher, "register_hook"):
                yield publisher, self._on_message

    def _on_message(self, message: Any) -> Any:
        run = self._run
        if run is not None:
            with suppress(Exception):
                kind = message.get("msg_type") or message["header"]["msg_type"]
                run.note(_Message(kind, message["content"], self._position(run.streams)))
        return message

    # -- IPython's record ----------------------------------------------------------------------------------------------
    def _recorded(self, number: int) -> list[Any]:
        outputs = getattr(getattr(self._shell, "history_manager", None), "outputs", None)
        # Not outputs[number]: it is a defaultdict, and a question must leave no entry.
        return (outputs.get(number) if outputs is not None else None) or []

    def _position(self, number: int) -> Position:
        recorded = self._recorded(number)
        return (len(recorded), len(_chunks(recorded[-1]))) if recorded else (0, 0)

    def _assembled(self, run: _Run, error: BaseException | None) -> list[dict[str, Any]]:
        screen = Screen()
        messages = list(run.messages)
        for position, output, chunk in self._atoms(run):
            while messages and messages[0].position < position:
                _apply(screen, messages.pop(0))
            if chunk is not None:
                screen.stream(_STREAMS[output.output_type], chunk)
            elif not self._hooked(output.output_type):
                _show(screen, output, run.results)
        for message in messages:
            _apply(screen, message)
        self._add_error(screen, run, error)
        return screen.outputs

    def _atoms(self, run: _Run) -> Iterator[tuple[Position, Any, str | None]]:
        """Yield what IPython recorded since `begin`, chunk by chunk, with the position of its record after it."""
        for index, output in enumerate(self._recorded(run.streams), start=1):
            chunks = _chunks(output)
            atoms = [((index, count), output, chunk) for count, chunk in enumerate(chunks, start=1)]
            for atom in atoms if chunks else [((index, 0), output, None)]:
                if atom[0] > run.start:
                    yield atom
        if run.results != run.streams:
            for output in self._recorded(run.results)[run.results_start :]:
                if not _chunks(output):
                    yield (len(self._recorded(run.streams)) + 1, 0), output, None

    def _hooked(self, output_type: str) -> bool:
        """Return whether outputs of this type come through a hook, so that IPython's record would double them."""
        name = "displayhook" if output_type == "execute_result" else "display_pub"
        return hasattr(getattr(self._shell, name, None), "register_hook")

    def _add_error(self, screen: Screen, run: _Run, error: BaseException | None) -> None:
        history = getattr(self._shell, "history_manager", None)
        stored = (getattr(history, "exceptions", None) or {}).get(run.streams)
        if error is None:
            return
        if isinstance(stored, Mapping) and stored.get("ename") == type(error).__name__:
            lines = [str(line) for line in stored.get("traceback") or []]
            screen.error(str(stored["ename"]), str(stored.get("evalue", "")), lines)
        else:
            screen.error(type(error).__name__, str(error), [])


def _chunks(output: Any) -> list[str]:
    """Return the chunks of a recorded stream; none for anything else."""
    if output.output_type not in _STREAMS:
        return []
    chunks = output.bundle.get("stream", [])
    return [chunks] if isinstance(chunks, str) else chunks


def _show(screen: Screen, output: Any, number: int) -> None:
    if output.output_type == "execute_result":
        screen.result(output.bundle, {}, number)
    elif output.output_type == "display_data":
        screen.display(output.bundle, {})


def _apply(screen: Screen, message: _Message) -> None:
    content = message.content
    match message.kind:
        case "display_data":
            screen.display(content.get("data") or {}, content.get("metadata") or {})
        case "execute_result":
            screen.result(content.get("data") or {}, content.get("metadata") or {}, content.get("execution_count"))
        case "clear_output":
            screen.clear(wait=bool(content.get("wait")))


def _display_id(content: Mapping[str, Any]) -> object:
    """Return the id of a display; a fresh object, equal to no other, where it has none."""
    return (content.get("transient") or {}).get("display_id") or object()
