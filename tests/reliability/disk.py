"""What a power cut may leave: a trace of all changes of some folders, and the disks that are legal after each of them.

The kernel may keep changes that were never flushed, in any part and any order. So from one recorded run many disks are
made: each holds everything that was flushed before the cut, and a random choice of the rest.
"""

from __future__ import annotations

import os
import pickle
import random
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbrewind import fs

__all__ = ["Cut", "Mark", "Trace", "recorded"]

_SECTOR = 512
Name = tuple[int, str]
"""A name in a directory: the directory's number, and the name. The roots are names in directory 0."""


@dataclass(frozen=True)
class Node:
    """What an inode is, apart from names: content only of files and symlinks. Times count for files only."""

    kind: int
    mode: int
    mtime_ns: int
    content: bytes


@dataclass(frozen=True)
class Event:
    """One call: the names that it binds (None: removes), and the inodes that it changes, each from what to what."""

    call: str
    target: str
    names: Mapping[Name, int | None]
    nodes: Mapping[int, tuple[Node | None, Node]]
    given: bool = False


@dataclass(frozen=True)
class Flush:
    """A flush of one inode, of its data alone with *data_only*, or of everything where *inode* is None."""

    target: str
    inode: int | None
    data_only: bool = False


@dataclass(frozen=True)
class Mark:
    """Something that was acknowledged at this moment."""

    what: Any


@dataclass(frozen=True)
class Cut:
    """A power cut: after so many steps of the trace, decided by *seed*; *ordered* as a journaling file system does."""

    after: int
    seed: int
    ordered: bool


@dataclass
class Disk:
    """Names and inodes at one moment."""

    names: dict[Name, int] = field(default_factory=dict)
    nodes: dict[int, Node] = field(default_factory=dict)


class Recorder:
    """A probe that looks at the whole folder after each call, and notes what is different."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self.roots = tuple(map(str, roots))
        self._numbers: dict[tuple[int, int], int] = {}
        self._count = 0
        self._paths: dict[str, int] = {}
        self.steps: list[Event | Flush | Mark] = []
        self.now = Disk()
        self._note("start", "", given=True)
        self.start = Disk(dict(self.now.names), dict(self.now.nodes))
        self.steps.clear()

    def mark(self, what: Any) -> None:
        """Note that *what* is true from now on."""
        self.steps.append(Mark(what))

    def given(self) -> None:
        """Take what others have changed since the last step as on the disk for good."""
        self._note("given", "", given=True)

    def before(self, call: str, target: str, size: int) -> int | None:
        return None

    def torn(self, call: str, target: str) -> None:
        pass

    def after(self, call: str, target: str) -> None:
        if call in ("fsync", "fdatasync"):
            inode = self._paths.get(os.path.realpath(target))
            if inode is not None:
                self.steps.append(Flush(target, inode, call == "fdatasync"))
        elif call in ("syncfs", "sync"):
            self.steps.append(Flush(target, None))
        elif call not in ("lock", "unlock"):
            self._note(call, target)

    def _note(self, call: str, target: str, *, given: bool = False) -> None:
        found, live = Disk(), {}
        self._paths = {}
        for place, root in enumerate(self.roots):
            self._walk(root, (0, str(place)), found, live)
        self._numbers = live
        names: dict[Name, int | None] = {
            name: inode for name, inode in found.names.items() if self.now.names.get(name) != inode
        }
        names |= dict.fromkeys(self.now.names.keys() - found.names.keys())
        nodes = {
            inode: (self.now.nodes.get(inode), node)
            for inode, node in found.nodes.items()
            if self.now.nodes.get(inode) != node
        }
        self.now = found
        if names or nodes:
            self.steps.append(Event(call, target, names, nodes, given))

    def _walk(self, path: str, name: Name, found: Disk, live: dict[tuple[int, int], int]) -> None:
        status = os.lstat(path)
        key = (status.st_dev, status.st_ino)
        # A number that nothing had a moment ago is a new inode, whatever had it before.
        inode = live.get(key) or self._numbers.get(key)
        if inode is None:
            self._count += 1
            inode = self._count
        live[key] = inode
        self._paths[path] = inode
        found.names[name] = inode
        kind, content, mtime_ns = stat.S_IFMT(status.st_mode), b"", 0
        if kind == stat.S_IFREG:
            content, mtime_ns = Path(path).read_bytes(), status.st_mtime_ns
        elif kind == stat.S_IFLNK:
            content = os.fsencode(os.readlink(path))
        found.nodes[inode] = Node(kind, stat.S_IMODE(status.st_mode), mtime_ns, content)
        if kind == stat.S_IFDIR:
            for entry in sorted(os.listdir(path)):
                self._walk(f"{path}/{entry}", (inode, entry), found, live)


@dataclass
class Trace:
    """The disk at the start, and every step from there."""

    roots: tuple[str, ...]
    start: Disk
    steps: list[Event | Flush | Mark]

    def cuts(self, seed: int) -> Iterator[Cut]:
        """Yield cuts without end; of ten one is at the very end, when all is acknowledged."""
        chance = random.Random(seed)
        while True:
            after = len(self.steps) if chance.random() < 0.1 else chance.randrange(len(self.steps) + 1)
            yield Cut(after, chance.getrandbits(32), chance.random() < 0.4)

    def marks(self, cut: Cut) -> list[Any]:
        """Return what was acknowledged before *cut*."""
        return [step.what for step in self.steps[: cut.after] if isinstance(step, Mark)]

    def given_before(self, cut: Cut) -> int:
        """Return how many times others changed something before *cut*."""
        return sum(isinstance(step, Event) and step.given for step in self.steps[: cut.after])

    def lay(self, cut: Cut) -> None:
        """Make the folders what one legal disk holds after *cut*."""
        disk = self._left(cut)
        for root in self.roots:
            _clear(root)
        made: dict[int, str] = {}
        for place, root in enumerate(self.roots):
            inode = disk.names.get((0, str(place)))
            if inode is not None:
                _make(root, inode, disk, made)

    def story(self, cut: Cut) -> str:
        """Return the steps around *cut*, for a message."""
        steps = [
            f"{place:4} {step.call} {step.target}" if isinstance(step, Event) else f"{place:4} {step}"
            for place, step in enumerate(self.steps)
        ]
        return "\n".join([repr(cut), *steps[: cut.after], "-- power cut --", *steps[cut.after : cut.after + 5]])

    def _left(self, cut: Cut) -> Disk:
        chance = random.Random(cut.seed)
        steps = self.steps[: cut.after]
        kept_names = self._names_kept(steps, cut, chance)
        disk = Disk(dict(self.start.names), dict(self.start.nodes))
        for place, step in enumerate(steps):
            if isinstance(step, Event) and (step.given or place in kept_names):
                for name, inode in step.names.items():
                    if inode is None:
                        disk.names.pop(name, None)
                    else:
                        disk.names[name] = inode
        touched = {inode for step in steps if isinstance(step, Event) for inode in step.nodes}
        for inode in sorted(touched):
            disk.nodes[inode] = self._node_left(inode, steps, chance)
        return disk

    def _names_kept(self, steps: Sequence[Event | Flush | Mark], cut: Cut, chance: random.Random) -> set[int]:
        """Return which of the steps that bind names are on the disk."""
        binding = [place for place, step in enumerate(steps) if isinstance(step, Event) and step.names]
        flushes = [place for place, step in enumerate(steps) if isinstance(step, Flush)]
        if cut.ordered:
            # A journal: a flush of anything takes everything before it along, and the rest ends somewhere.
            sure = flushes[-1] if flushes else -1
            open_ones = [place for place in binding if place > sure]
            end = chance.randrange(len(open_ones) + 1)
            return {place for place in binding if place < sure} | set(open_ones[:end])
        share = chance.choice((0.0, 0.3, 0.7, 0.95))
        kept = set()
        for place in binding:
            step = steps[place]
            assert isinstance(step, Event)
            folders = {folder for folder, _ in step.names}
            flushed = any(
                isinstance(later, Flush) and (later.inode is None or later.inode in folders)
                for later in steps[place + 1 :]
            )
            if flushed or chance.random() < share:
                kept.add(place)
        return kept

    def _node_left(self, inode: int, steps: Sequence[Event | Flush | Mark], chance: random.Random) -> Node:
        """Return what is on the disk of one inode: all that was flushed, and some of what came after."""
        node = self.start.nodes.get(inode)
        data_sure = meta_sure = -1
        changes: list[tuple[int, Event]] = []
        for place, step in enumerate(steps):
            if isinstance(step, Flush) and step.inode in (None, inode):
                data_sure = place
                if not step.data_only:
                    meta_sure = place
            elif isinstance(step, Event) and inode in step.nodes:
                changes.append((place, step))
                if step.given:
                    data_sure = meta_sure = place
        first = changes[0][1].nodes[inode][1]
        if node is None:
            # A new inode comes with the mode of its creation, and empty.
            node = Node(first.kind, first.mode, first.mtime_ns, first.content if first.kind == stat.S_IFLNK else b"")
        content, size_sure = node.content, len(node.content)
        meta_end = chance.randrange(len(changes) + 1)
        data_end = chance.randrange(len(changes) + 1)
        manner = chance.choice(("prefix", "scattered", "zeros"))
        for number, (place, step) in enumerate(changes):
            before, after = step.nodes[inode]
            assert before is None or before.kind == after.kind
            if place <= meta_sure or number < meta_end:
                node = Node(after.kind, after.mode, after.mtime_ns, b"")
            if after.kind != stat.S_IFREG:
                continue
            if place <= data_sure:
                content, size_sure = after.content, len(after.content)
            elif number < data_end or (number == data_end and manner != "prefix"):
                old = before.content if before is not None else b""
                content = _partly(content, old, after.content, size_sure, manner if number == data_end else "", chance)
        return Node(node.kind, node.mode, node.mtime_ns, content if node.kind == stat.S_IFREG else first.content)


def _partly(now: bytes, old: bytes, new: bytes, size_sure: int, manner: str, chance: random.Random) -> bytes:
    """Return *now* with the change from *old* to *new* applied to it, in part for a *manner*."""
    if not manner:
        changed = _span(old, new)
        if changed is None:
            return now
        return _spliced(now, old, new, *changed, everything=True, zeros=False, size_sure=size_sure, chance=chance)
    changed = _span(old, new)
    if changed is None:
        return now
    return _spliced(
        now, old, new, *changed, everything=False, zeros=manner == "zeros", size_sure=size_sure, chance=chance
    )


def _span(old: bytes, new: bytes) -> tuple[int, int] | None:
    """Return the first and the last place at which the two differ, by the length of the new one."""
    if old == new:
        return None
    shorter = min(len(old), len(new))
    start = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    if len(old) != len(new):
        return start, len(new)
    end = next(at for at in range(shorter, 0, -1) if old[at - 1] != new[at - 1])
    return start, end


def _spliced(
    now: bytes,
    old: bytes,
    new: bytes,
    start: int,
    end: int,
    *,
    everything: bool,
    zeros: bool,
    size_sure: int,
    chance: random.Random,
) -> bytes:
    if len(new) < len(old) and start >= len(new):
        return now[: len(new)] if everything or chance.random() < 0.5 else now
    if everything:
        filled = now.ljust(start, b"\0")
        return filled[:start] + new[start:end] + (filled[end:] if len(new) == len(old) else b"")
    # Sector by sector: what was written over is old or new, what was added is new or zeros, and it may end early.
    result = bytearray(now.ljust(end, b"\0"))
    for at in range(start - start % _SECTOR, end, _SECTOR):
        lower, upper = max(at, start), min(at + _SECTOR, end)
        if not zeros and chance.random() < 0.5:
            result[lower:upper] = new[lower:upper]
    stop = (
        chance.randrange(max(size_sure, start), end + 1) if end > size_sure and chance.random() < 0.5 else len(result)
    )
    return bytes(result[: max(stop, min(len(now), len(result)))])


def recorded(function: Callable[[Recorder], object], roots: Sequence[Path]) -> Trace:
    """Run *function* in a forked child and return everything that it changed below *roots*."""
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        status = 70
        try:
            os.close(reader)
            recorder = Recorder(roots)
            fs.install_probe(recorder)
            function(recorder)
            fs.install_probe(None)
            with os.fdopen(writer, "wb") as pipe:
                pickle.dump(Trace(recorder.roots, recorder.start, recorder.steps), pipe)
            status = 0
        except BaseException:  # noqa: BLE001  a forked child reports whatever ended it
            import traceback

            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    trace: Trace = pickle.loads(data)
    return trace


def _clear(root: str) -> None:
    if not os.path.lexists(root):
        return
    for folder, directories, _ in os.walk(root):
        for name in directories:
            if not os.path.islink(path := os.path.join(folder, name)):
                os.chmod(path, 0o700)
    shutil.rmtree(root)


def _make(path: str, inode: int, disk: Disk, made: dict[int, str]) -> None:
    node = disk.nodes[inode]
    if node.kind == stat.S_IFDIR:
        os.mkdir(path)
        for (folder, name), below in disk.names.items():
            if folder == inode:
                _make(f"{path}/{name}", below, disk, made)
        os.chmod(path, node.mode)
    elif inode in made:
        os.link(made[inode], path, follow_symlinks=False)
    elif node.kind == stat.S_IFLNK:
        os.symlink(os.fsdecode(node.content), path)
        made[inode] = path
    else:
        Path(path).write_bytes(node.content)
        os.chmod(path, node.mode)
        os.utime(path, ns=(node.mtime_ns, node.mtime_ns))
        made[inode] = path
