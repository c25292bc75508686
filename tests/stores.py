"""Look at the stores that tests made, from outside: soundness by git, and every byte of them, packed or not."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import zstandard

__all__ = ["all_bytes", "fsck", "holding", "stores_below", "wrong_modes"]

_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def stores_below(*roots: Path) -> list[Path]:
    """Return the stores in *roots*: folders with a `format` line and a shadow repository beside it."""
    found = []
    for root in roots:
        for folder, directories, files in os.walk(root):
            if "format" in files and "shadow" in directories:
                found.append(Path(folder))
                directories.clear()
    return found


def fsck(store: Path) -> str:
    """Return what `git fsck --full --strict` has to say about the shadow repository; empty if all is well."""
    command = [
        "git",
        "--git-dir",
        str(store / "shadow"),
        "fsck",
        "--full",
        "--strict",
        "--no-dangling",
        "--no-progress",
    ]
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    said = "\n".join(line for line in (done.stdout + done.stderr).splitlines() if not line.startswith("notice:"))
    return said or (f"exit status {done.returncode}" if done.returncode else "")


def all_bytes(store: Path) -> Iterator[tuple[str, bytes]]:
    """Yield every file of the store and every git object in it, raw and with each zstd frame inside unpacked."""
    for folder, _, files in os.walk(store):
        for name in files:
            data = (Path(folder) / name).read_bytes()
            yield os.path.join(folder, name), data
            yield from _unpacked(os.path.join(folder, name), data)
    command = ["git", "--git-dir", str(store / "shadow"), "cat-file", "--batch-all-objects", "--batch", "--buffer"]
    if shutil.which("git"):
        objects = subprocess.run(command, capture_output=True, check=True).stdout
        yield "objects", objects
        yield from _unpacked("objects", objects)


def _unpacked(name: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    start = data.find(_ZSTD_MAGIC)
    while start >= 0:
        try:
            reader = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data[start:]), read_across_frames=False)
            yield f"{name}@{start}", reader.read()
        except zstandard.ZstdError:
            pass
        start = data.find(_ZSTD_MAGIC, start + 1)


def holding(store: Path, marker: bytes) -> list[str]:
    """Return where in the store *marker* can be found."""
    return [place for place, data in all_bytes(store) if marker in data]


def wrong_modes(store: Path) -> list[str]:
    """Return entries that others can read: directories that are not 0700, files with any bit for group or others."""
    wrong = []
    for folder, directories, files in os.walk(store):
        paths = [os.path.join(folder, name) for name in directories + files]
        wrong += [path for path in paths if os.lstat(path).st_mode & 0o077]
    return wrong
