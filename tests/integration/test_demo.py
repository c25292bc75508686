"""The story that `make demo` tells ends well, and leaves nothing behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.kernel
def test_the_demo_gets_every_byte_back_and_leaves_no_litter(home: Path) -> None:
    command = [sys.executable, "-m", "nbrewind.ui.demo"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240, cwd=home)

    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "Every byte came back" in done.stdout
    assert "\x1b[" not in done.stdout
    assert os.listdir(os.environ["TMPDIR"]) == []
