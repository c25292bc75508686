"""The fault harness: kill, tear or fail at any single change of the disk, and sweep over all of them.

A sweep forks one child for each point, so a scenario is a function that builds nothing itself: the caller prepares a
fresh folder, the child runs the scenario under a probe, the caller looks at what is left.

    for point in sweep_points(scenario_on(fresh())):
        folder = fresh()
        assert run_forked(scenario_on(folder), KillAt(point)) == KILLED
        ... recover and check ...
"""

from __future__ import annotations

import errno
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from nbrewind import fs

__all__ = [
    "ALLOCATING",
    "KILLED",
    "RAISED",
    "Call",
    "Counter",
    "ErrorAt",
    "KillAt",
    "TornAt",
    "calls_of",
    "counted",
    "installed",
    "open_descriptors",
    "run_forked",
    "run_in_child",
    "sweep_points",
    "write_points",
]

KILLED = -signal.SIGKILL
RAISED = 70
ALLOCATING = frozenset(
    {"create", "write", "mkdir", "symlink", "link", "copy", "allocate", "fsync", "fdatasync", "child"}
)
"""The calls that a full disk fails. Renames, truncation and removal need no room."""


@dataclass(frozen=True)
class Call:
    """One change of the disk. *size* is that of a write, else 0; *event* is the point of `KillAt` just before it.

    A call that fails by itself has no point after it, so the points are not twice the places of the calls.
    """

    name: str
    target: str
    size: int = 0
    event: int = 0


@dataclass
class Counter:
    """Notes every call and lets all pass."""

    calls: list[Call] = field(default_factory=list)
    events: int = 0

    def before(self, call: str, target: str, size: int) -> int | None:
        self.calls.append(Call(call, target, size, self.events))
        self.events += 1
        return None

    def torn(self, call: str, target: str) -> None:
        pass

    def after(self, call: str, target: str) -> None:
        self.events += 1


@dataclass
class KillAt:
    """Kills this process with SIGKILL at the *point*-th event. Events: before and after each call, from 0 on."""

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
            os.kill(os.getpid(), signal.SIGKILL)
        self.seen += 1


@dataclass
class TornAt:
    """Lets the *point*-th write (from 0 on) put *part* of its bytes into the file, then kills, or raises *number*."""

    point: int
    part: float = 0.5
    number: int = 0
    seen: int = 0

    def before(self, call: str, target: str, size: int) -> int | None:
        if call != "write":
            return None
        self.seen += 1
        return int(size * self.part) if self.seen == self.point + 1 else None

    def torn(self, call: str, target: str) -> None:
        if self.number:
            raise OSError(self.number, os.strerror(self.number), target)
        os.kill(os.getpid(), signal.SIGKILL)

    def after(self, call: str, target: str) -> None:
        pass


@dataclass
class ErrorAt:
    """Raises OSError *number* at the *point*-th call (from 0 on), *forever* after it too, instead of its effect.

    With *calls*, only those count and fail. With *late*, the error comes after the effect: the worst kind.
    """

    point: int
    number: int = errno.ENOSPC
    forever: bool = False
    calls: Collection[str] | None = None
    late: bool = False
    seen: int = 0
    hit: bool = False

    def before(self, call: str, target: str, size: int) -> int | None:
        if not self.late:
            self._event(call, target)
        return None

    def torn(self, call: str, target: str) -> None:
        pass

    def after(self, call: str, target: str) -> None:
        if self.late:
            self._event(call, target)

    def _event(self, call: str, target: str) -> None:
        if self.calls is not None and call not in self.calls:
            return
        self.seen += 1
        if self.seen == self.point + 1 or (self.forever and self.seen > self.point):
            self.hit = True
            raise OSError(self.number, os.strerror(self.number), target)


@contextmanager
def installed(probe: fs.Probe) -> Iterator[None]:
    """Have *probe* in place during the block, in this process."""
    fs.install_probe(probe)
    try:
        yield
    finally:
        fs.install_probe(None)


def run_forked(function: Callable[[], object], probe: fs.Probe | None = None) -> int:
    """Run *function* in a forked child under *probe* and return its exit status; -9 means killed, 70 an exception.

    The child ends without any clean-up of this process: no atexit, no pytest.
    """
    pid = os.fork()
    if not pid:
        _child(function, probe)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def run_in_child(function: Callable[[], object]) -> str:
    """Run *function* in a forked child without any fault, and return what it returns, as text.

    Raises:
        AssertionError: it raised; the message is its traceback.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reader)
        answer, status = "", 0
        try:
            answer = str(function())
        except BaseException:
            answer, status = traceback.format_exc(), RAISED
        finally:
            with os.fdopen(writer, "wb") as pipe:
                pipe.write(answer.encode("utf-8", "backslashreplace"))
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read().decode()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status == 0, answer or f"exit status {status}"
    return answer


def counted(function: Callable[[], object]) -> Counter:
    """Return what *function* does to the disk, found by running it once in a forked child."""
    reader, writer = os.pipe()

    def observed() -> None:
        counter = Counter()
        with installed(counter):
            function()
        with os.fdopen(writer, "wb") as pipe:
            pickle.dump(counter, pipe)

    pid = os.fork()
    if not pid:
        os.close(reader)
        _child(observed, None)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status == 0, f"the scenario fails without any fault: exit status {status}"
    counter: Counter = pickle.loads(data)
    assert counter.calls, "the scenario changes nothing"
    return counter


def calls_of(function: Callable[[], object]) -> list[Call]:
    """Return the calls that *function* makes. Runs it once."""
    return counted(function).calls


def sweep_points(function: Callable[[], object]) -> range:
    """Return every point for `KillAt`: before and after each call. Runs *function* once."""
    return range(counted(function).events)


def write_points(function: Callable[[], object]) -> range:
    """Return every point for `TornAt`. Runs *function* once."""
    return range(sum(call.name == "write" for call in calls_of(function)))


def open_descriptors() -> dict[int, str]:
    """Return this process's open descriptors and what they lead to; compare before and after a fault."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:
            continue  # the descriptor of this very listing
    return found


def _child(function: Callable[[], object], probe: fs.Probe | None) -> None:
    status = RAISED
    try:
        fs.install_probe(probe)
        function()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)
