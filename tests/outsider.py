"""Somebody else: a process that is no child of the tests' one, and changes files when asked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["Outsider"]

_PROGRAM = """
import json, os, sys
if os.fork():
    os._exit(0)
for line in sys.stdin.buffer:
    verb, *words = json.loads(line)
    try:
        if verb == "write":
            os.makedirs(os.path.dirname(words[0]), exist_ok=True)
            with open(words[0], "wb") as file:
                file.write(words[1].encode("utf-8", "surrogateescape"))
        else:
            getattr(os, verb)(*words)
        answer = ""
    except OSError as error:
        answer = repr(error)
    sys.stdout.write(json.dumps(answer) + "\\n")
    sys.stdout.flush()
"""


class Outsider:
    """A process whose writes no hook of this one sees, and that this one did not start while a session was open."""

    def __init__(self) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-S", "-E", "-c", _PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/"
        )
        self._child.wait()

    def _ask(self, verb: str, *words: Any) -> None:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(json.dumps([verb, *words]).encode() + b"\n")
        self._child.stdin.flush()
        answer = json.loads(self._child.stdout.readline())
        assert answer == "", answer

    def write(self, root: Path, files: Mapping[str, str]) -> None:
        """Write *files* below *root*."""
        for name, text in files.items():
            self._ask("write", os.path.join(str(root), name), text)

    def remove(self, path: str) -> None:
        """Remove a file."""
        self._ask("remove", path)

    def rename(self, old: str, new: str) -> None:
        """Rename a file or folder."""
        self._ask("rename", old, new)

    def symlink(self, target: str, path: str) -> None:
        """Make a symlink."""
        self._ask("symlink", target, path)

    def chmod(self, path: str, mode: int) -> None:
        """Change permission bits."""
        self._ask("chmod", path, mode)

    def close(self) -> None:
        """End the process."""
        for pipe in (self._child.stdin, self._child.stdout):
            assert pipe is not None
            pipe.close()
