"""Real power cuts: ext4 on a loop device is shut down without flushing its journal, in the middle of a rewind."""

from __future__ import annotations

import fcntl
import os
import random
import shutil
import signal
import struct
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.crash.cases import CASES, Stage
from tests.faults import KILLED, counted, run_forked
from tests.reliability.effort import LONG, SEED, amount

_CUTS = amount(6, 250)
_SHUTDOWN, _WITHOUT_FLUSH = 0x8004587D, 2


@dataclass
class CutAt:
    """Cuts the power of the file system at *place* at the *point*-th event, and ends this process."""

    place: Path
    point: int
    seen: int = 0

    def before(self, call: str, target: str, size: int) -> int | None:
        self._event()
        return None

    def torn(self, call: str, target: str) -> None:
        pass

    def after(self, call: str, target: str) -> None:
        self._event()

    def _event(self) -> None:
        if self.seen == self.point:
            cut_power(self.place)
            os.kill(os.getpid(), signal.SIGKILL)
        self.seen += 1


def cut_power(place: Path) -> None:
    """Let the file system at *place* take nothing more, and lose what it has not written."""
    fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.ioctl(fd, _SHUTDOWN, struct.pack("I", _WITHOUT_FLUSH))
    os.close(fd)


class Drive:
    """An ext4 file system of its own, in the file *image*."""

    def __init__(self, base: Path) -> None:
        self.image, self.place = base / "drive", base / "place"
        self.place.mkdir()
        self.image.touch()
        os.truncate(self.image, 64 << 20)
        _run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0", str(self.image))
        self.attach()

    def attach(self) -> None:
        """Mount it, which replays its journal."""
        _run("mount", "-o", "loop", str(self.image), str(self.place))

    def detach(self) -> None:
        """Unmount it."""
        _run("umount", str(self.place))

    def flush(self) -> None:
        """Bring everything onto it."""
        _run("sync", "--file-system", str(self.place))


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def drive(tmp_path: Path) -> Iterator[Drive]:
    """Return a drive whose power can be cut; skip where there can be none."""
    if os.geteuid() != 0 or shutil.which("mkfs.ext4") is None:
        pytest.skip("a file system of one's own needs root and mkfs.ext4")
    try:
        made = Drive(tmp_path)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no loop device can be mounted here: {error.stderr.decode(errors='replace').strip()}")
    try:
        cut_power(made.place)
    except OSError as error:
        made.detach()
        pytest.skip(f"the power of this file system cannot be cut: {error.strerror}")
    made.detach()
    made.attach()
    yield made
    with suppress(subprocess.CalledProcessError):
        made.detach()


@pytest.mark.parametrize("name", CASES if LONG else ["contents", "in place"])
def test_rewind_is_before_or_after_a_real_power_cut(drive: Drive, name: str) -> None:
    stage = Stage(drive.place, CASES[name])
    stage.set()
    events = counted(stage.play).events
    chance = random.Random(SEED)
    # The last point is beyond the end: the rewind has said that it is done.
    points = [*chance.choices(range(events), k=_CUTS - 1), events]
    found: Counter[str] = Counter()
    for point in points:
        stage.set()
        drive.flush()
        probe = CutAt(drive.place, point)
        if point < events:
            assert run_forked(stage.play, probe) == KILLED
        else:
            assert run_forked(stage.play) == 0
            cut_power(drive.place)
        drive.detach()
        drive.attach()
        ended = stage.check()
        assert ended == "after" or point < events
        found[ended] += 1
    assert found["after"] >= 1
