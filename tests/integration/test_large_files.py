"""Files of 1 GiB, sparse and real: captured and restored in little memory, or listed when over the limit."""

from __future__ import annotations

import hashlib
import os
import random
import re
from pathlib import Path

import pytest

from tests.builders import TestKernel, TestWorkspace

pytestmark = [pytest.mark.kernel, pytest.mark.slow, pytest.mark.timeout(600)]

GIB = 1 << 30


def peak_mb(kernel: TestKernel) -> float:
    """Return the most memory that the kernel's process ever had."""
    text = Path(f"/proc/{kernel.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", text)[1]) / 1024  # type: ignore[index]  # Linux always has it


def digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


@pytest.mark.parametrize("kind", ["sparse", "real"])
def test_a_file_of_1_gib_comes_back_in_little_memory(kind: str, workspace: TestWorkspace, home: Path) -> None:
    path = workspace.path("big")
    with open(path, "wb") as file:
        if kind == "sparse":
            file.truncate(GIB)
            os.pwrite(file.fileno(), b"in the middle", GIB // 2)
        else:
            block = random.Random(1).randbytes(1 << 20)
            for number in range(GIB >> 20):
                file.write(number.to_bytes(8, "little") + block[8:])
    whole, blocks = digest(path), os.stat(path).st_blocks
    kernel = TestKernel(workspace.root, home)
    kernel.start()
    try:
        before = peak_mb(kernel)
        kernel.load()
        kernel.run("1", timeout=300)
        assert kernel.run("open('big','r+b').write(b'changed')", timeout=300).status == "ok"
        assert kernel.run("import os; os.remove('big')", timeout=300).status == "ok"
        assert kernel.run("%rewind to 1 --yes", timeout=300).status == "ok"
        extra = peak_mb(kernel) - before
    finally:
        kernel.stop()

    assert digest(path) == whole
    assert extra < 150
    if kind == "sparse":
        # Holes come back as holes, but for the one piece of 4 MiB that holds something.
        assert os.stat(path).st_blocks <= blocks + (4 << 20) // 512 + 64


def test_a_file_over_the_limit_is_listed_and_left_alone(kernel: TestKernel, workspace: TestWorkspace) -> None:
    with open(workspace.path("huge"), "wb") as file:
        file.truncate(GIB + 1)
    kernel.run("open('small','w').write('1')")
    kernel.run("open('huge','r+b').write(b'x'); open('small','w').write('2')")

    assert "huge" in kernel.run("%rewind status").text
    preview = kernel.run("%rewind to 1").text
    assert "huge" in preview
    assert kernel.run("%rewind confirm").status == "ok"

    assert workspace.read("small") == b"1"
    assert os.stat(workspace.path("huge")).st_size == GIB + 1
