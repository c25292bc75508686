"""Child processes as causes: which events start one, what is said of it, and which children live."""

from __future__ import annotations

import os
import re
import shlex
import sys
import sysconfig
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, Final

__all__ = ["FORK_EVENTS", "PROCESS_EVENTS", "command", "command_of_cell", "live_children"]

FORK_EVENTS: Final = frozenset({"os.fork", "os.forkpty"})
PROCESS_EVENTS: Final = FORK_EVENTS | {
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "pty.spawn",
    "nbrewind.process",
}
"""`nbrewind.process` is reported by the wraps: multiprocessing starts children without any event."""

_LENGTH: Final = 200
_SECRET_ARGUMENT: Final = re.compile(
    r"((?:pass(?:word|wd|phrase)?|token|secret|api[_-]?key|access[_-]?key|credential)s?['\"]?\s*[=: ]\s*)\S+",
    re.IGNORECASE,
)
_HELPERS: Final = frozenset(
    {
        "fc-list",
        "fc-match",
        "fc-cache",
        "ldconfig",
        "uname",
        "lscpu",
        "lsb_release",
        "nvidia-smi",
        "locale",
        "system_profiler",
    }
)
"""Programs that libraries ask about the machine; no cell's effect when a library starts them."""
_TRACKER: Final = "multiprocessing.resource_tracker"
_LIBRARY_PARTS: Final = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}", "<frozen ")
_STDLIB: Final = tuple({f"{sysconfig.get_paths()[name]}{os.sep}" for name in ("stdlib", "platstdlib")})
_STARTERS: Final = ("subprocess.py", "os.py", "popen_fork.py", "popen_spawn_posix.py")
_SHELL_FILE: Final = os.path.join("IPython", "utils", "_process_posix.py")
_SHELL_LINE: Final = re.compile(r"^(?:[\w., \[\]]+=\s*)?(?:!!?|%sx\s|%system\s)\s*(.+)$")
_DEPTH: Final = 12
_OWN: Final = f"{os.path.dirname(os.path.abspath(__file__))}{os.sep}"


def command(event: str, args: tuple[Any, ...]) -> str | None:
    """Return what the child of *event* runs, shortened; "" where that is not told, None for a library's helper."""
    words = _words(event, args) or _line_of_shell(sys._getframe(1))
    if any(_TRACKER in word for word in words) or (words and _is_helper(words)):
        return None
    return _shown(words)


def command_of_cell(code: str, told: str) -> str:
    """Return the command in a cell's *code*, for a child of which the event told nothing, or just *told*: a shell.

    It is the first command below a `%%bash`, else the first `!` line, else the first line.
    """
    lines = [line.strip() for line in code.split("\n") if line.strip()]
    if lines and lines[0].startswith("%%"):
        if told and told.split()[0] not in lines[0]:
            return told
        body = [line for line in lines[1:] if not line.startswith("#")]
        if body and not _SHELL_LINE.match(body[0]):
            return _shown(["\n".join(body)])
        lines = body or lines
    if told:
        return told
    shell = [match[1] for line in lines if (match := _SHELL_LINE.match(line))]
    return _shown((shell or lines)[:1]) if lines else ""


def _line_of_shell(frame: FrameType | None) -> list[str]:
    """Return the command of IPython's `!`, which forks without telling what for."""
    for _ in range(_DEPTH):
        if frame is None:
            break
        if frame.f_code.co_filename.endswith(_SHELL_FILE):
            given = frame.f_locals.get("cmd")
            if isinstance(given, str):
                return [given]
        frame = frame.f_back
    return []


def _words(event: str, args: tuple[Any, ...]) -> list[str]:
    match event:
        case "subprocess.Popen":
            executable, given = args[0], args[1]
        case "os.system":
            executable, given = None, args[0]
        case "os.exec" | "os.posix_spawn":
            executable, given = args[0], args[1]
        case "os.spawn":
            executable, given = args[1], args[2]
        case "pty.spawn" | "nbrewind.process":
            executable, given = None, args[0]
        case _:
            return []
    if isinstance(given, str | bytes | os.PathLike):
        return [os.fsdecode(given)]
    words = [_text(word) for word in given] if isinstance(given, Iterable) else []
    return words or ([_text(executable)] if executable is not None else [])


def _text(word: object) -> str:
    return os.fsdecode(word) if isinstance(word, str | bytes | os.PathLike) else str(word)


def _shown(words: list[str]) -> str:
    text = words[0] if len(words) == 1 else shlex.join(words)
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    text = _SECRET_ARGUMENT.sub(r"\1***", " ".join(lines[:1])) + (" …" if len(lines) > 1 else "")
    return text if len(text) <= _LENGTH else f"{text[: _LENGTH - 1]}…"


def _is_helper(words: list[str]) -> bool:
    """Return whether a library, not the cell, asks for this child: a known helper, or anything during an import."""
    caller, importing = _caller(sys._getframe(1))
    if caller is None or not _is_library(caller):
        return False
    program = words[0].split()[0] if words[0].split() else ""
    return importing or os.path.basename(program) in _HELPERS


def _caller(frame: FrameType | None) -> tuple[str | None, bool]:
    """Return the file whose code starts the child, and whether a library does so while it is imported."""
    caller: str | None = None
    while frame is not None:
        name = frame.f_code.co_filename
        if name == "<frozen importlib._bootstrap>":
            return caller, True
        if not name.startswith(_OWN) and os.path.basename(name) not in _STARTERS:
            caller = caller or name
            if not _is_library(name):
                # What a person's own module starts while it is imported is that person's act.
                break
        frame = frame.f_back
    return caller, False


def _is_library(name: str) -> bool:
    return any(part in name for part in _LIBRARY_PARTS) or name.startswith(_STDLIB)


def live_children(children: Callable[[], Iterable[int]]) -> dict[int, str]:
    """Return the live *children* of this process with their command lines, without Python's own helpers."""
    found: dict[int, str] = {}
    for pid in children():
        words = _command_line(pid)
        if words and not any(_TRACKER in word for word in words):
            found[pid] = _shown(words)
    return found


def _command_line(pid: int) -> list[str]:
    """Return the words of a process; none where it is gone or a zombie."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            data = file.read(4096)
        if data:
            return [os.fsdecode(word) for word in data.rstrip(b"\0").split(b"\0")]
        with open(f"/proc/{pid}/stat", "rb") as file:
            state = file.read(4096).rpartition(b")")[2].split()[:1]
    except OSError:
        return []
    # In the middle of its exec a process has no words yet.
    return [] if state in ([b"Z"], [b"X"]) else [f"process {pid}"]
