"""What the sweeps go over: rewinds that have every kind of move in them, and what must be true after any fault."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from nbrewind import fs
from nbrewind.model import Change, FileStep
from nbrewind.resources.files.vault import Vault
from tests.crash.scene import Content, Folder, Scene, Secret, Symlink, closing, looks
from tests.faults import counted

__all__ = ["CASES", "Case", "Stage", "lay_out", "look", "steps_of"]

_DATABASE = b"SQLite format 3\0"
_LOG = b"".join(b"line %d\n" % number for number in range(2000))


@dataclass(frozen=True)
class Case:
    """A rewind from *before* to *after*; paths with `<outside>` in front lie outside of the workspace.

    *links* are hard links in *before*, *writable* what this process holds open.
    """

    before: Mapping[str, Content]
    after: Mapping[str, Content]
    links: Mapping[str, str] = field(default_factory=dict)
    writable: Mapping[str, str] = field(default_factory=dict)
    folder_moved: bool = False


CASES: Mapping[str, Case] = {
    "contents": Case(
        before={"a": b"new a" * 99, "same": b"s", "made": b"made", "mode": (b"m", 0o600), "l": Symlink("a")},
        after={"a": b"old a", "same": b"s", "gone": (b"back", 0o755), "mode": (b"m", 0o644), "l": Symlink("b")},
    ),
    "folders": Case(
        before={"out": Folder(), "out/y": b"2", "d": b"file", "old": Folder(), "old/z": b"z", "rw": Folder(0o500)},
        after={"out": b"f", "d": Folder(), "d/x": b"1", "d/e": Folder(0o700), "rw": Folder(), "rw/n": b"n"},
    ),
    "in place": Case(
        before={"log": _LOG, "map": b"x" * 9000, "h1": b"B", "h2": b"B"},
        after={"log": _LOG[:5000], "map": b"y" * 20000, "h1": b"A" * 50, "h2": b"A" * 50},
        links={"h2": "h1"},
        writable={"log": "append", "map": "mapped"},
    ),
    "secrets": Case(
        before={".env": Secret(b"KEY=now"), "sub": Folder(), "sub/.env": Secret(b"gone"), "n": b"n"},
        after={".env": Secret(b"KEY=then!", 0o640), "new": Folder(), "new/.env": Secret(b"KEY=new"), "n": b"o"},
    ),
    "database": Case(
        before={"db": _DATABASE + b"1", "db-wal": b"wal now", "db-shm": b"shared"},
        after={"db": _DATABASE + b"1", "db-wal": b"wal then"},
        writable={"db-shm": "mapped"},
    ),
    "outside": Case(
        before={"<outside>/new": Folder(), "<outside>/new/f": b"f now", "<outside>/g": b"g now", "w": b"w now"},
        after={"<outside>/old": Folder(), "<outside>/old/f": b"f then", "<outside>/g": b"g then", "w": b"w then"},
        folder_moved=True,
    ),
}


Look = tuple[Mapping[str, object], Mapping[str, object]]
"""What stands in the workspace and outside, with the times of files."""


def look(scene: Scene) -> Look:
    """Return what stands now."""
    return looks(scene.work, times=True), looks(scene.outside, times=True)


class Stage:
    """One folder, always at the same place, in which a case is played again and again.

    *before* and *after* are how it looks where nothing goes wrong.
    """

    def __init__(self, ground: Path, case: Case, *, undo: bool = False) -> None:
        self.case = case
        self.folder = ground / "scene"
        self._templates = ground
        self._count = 0
        self.steps: tuple[FileStep, ...] = ()
        self._vault = Vault()
        sides = (*case.before.values(), *case.after.values())
        self._secrets = [content.data for content in sides if isinstance(content, Secret)]
        with closing(self.scene()) as scene:
            lay_out(case, scene)
            self.steps = steps_of(case, scene)
            if undo:
                scene.run(self.steps)
                self.steps = tuple(map(_inverse, scene.log.operations[-1].changes))
            self.rewinds = scene.rewound()
            self.before = look(scene)
            self.contents = _contents(self.steps, scene)
        self.start = self.save()
        with closing(self.scene()) as scene:
            scene.run(self.steps)
            assert not scene.litter()
            self.after = look(scene)
        assert self.after != self.before

    def scene(self) -> Scene:
        """Open the folder as a fresh process would."""
        scene = Scene(self.folder)
        scene.vault = self._vault
        scene.writable = {str(scene.work / name): kind for name, kind in self.case.writable.items()}
        return scene

    def save(self) -> Path:
        """Keep a copy of the folder, and return where."""
        self._count += 1
        copy = self._templates / f"template-{self._count}"
        _copy(self.folder, copy)
        return copy

    def set(self, template: Path | None = None) -> None:
        """Make the folder what it was when *template* was saved, at the start if none is given."""
        shutil.rmtree(self.folder)
        _copy(template or self.start, self.folder)

    def play(self) -> None:
        """Open the scene and carry the rewind out; for a forked child, so nothing is closed."""
        self.scene().run(self.steps)

    def recover(self) -> None:
        """Do what the next attach does; for a forked child."""
        self.scene().recover()

    @contextmanager
    def explained(self, probe: fs.Probe, play: Callable[[], object], start: Path | None = None) -> Iterator[None]:
        """Add to a failure inside the block what the fault was and which calls are around it."""
        try:
            yield
        except BaseException as error:
            self.set(start)
            calls = [f"{one.event:4} {one.name} {one.target} {one.size}" for one in counted(play).calls]
            error.add_note("\n".join([repr(probe), *calls]))
            raise

    def check(self) -> str:
        """Check what must be true after recovery from any fault and return "before" or "after"."""
        with closing(self.scene()) as scene:
            scene.recover()
            assert not scene.litter()
            assert scene.recover() == ()
            found, rewound = look(scene), scene.rewound() - self.rewinds
            assert rewound in (0, 1)
            assert not any(scene.can_read(data) for data in self._secrets)
            expected = self.after if rewound else self.before
            assert found == expected, _difference(found, expected)
            if rewound:
                assert all(scene.can_read(data) for data in self.contents)
                assert [change.path for change in scene.log.operations[-1].changes]
        return "after" if rewound else "before"


def lay_out(case: Case, scene: Scene) -> None:
    """Make what *case* has before stand in *scene*."""
    scene.lay({})
    for name, content in case.before.items():
        if name in case.links:
            os.link(scene.path(case.links[name]), scene.path(name))
        else:
            scene.put(_placed(name, scene), Folder() if isinstance(content, Folder) else content)
    # Last, since a directory may be one that takes no new names.
    for name, content in case.before.items():
        if isinstance(content, Folder):
            scene.put(_placed(name, scene), content)


def steps_of(case: Case, scene: Scene) -> tuple[FileStep, ...]:
    """Return the steps of the rewind that *case* is."""
    before = {_placed(name, scene): content for name, content in case.before.items() if name != "db-shm"}
    after = {_placed(name, scene): content for name, content in case.after.items()}
    if not case.folder_moved:
        return scene.steps(before, after)
    old, new = _placed("<outside>/old", scene), _placed("<outside>/new", scene)
    after[f"{new}/f"] = after.pop(f"{old}/f")
    del after[old], before[new]
    return (*scene.steps(before, after), FileStep(old, None, scene.state(Folder()), moved_to=new))


def _difference(found: Look, expected: Look) -> list[object]:
    pairs = [
        (path, one.get(path), other.get(path))
        for one, other in zip(found, expected, strict=True)
        for path in {*one, *other}
    ]
    return [
        (path, str(one)[:60], str(one)[-40:], str(other)[:60], str(other)[-40:])
        for path, one, other in pairs
        if one != other
    ]


def _placed(name: str, scene: Scene) -> str:
    return name.replace("<outside>", str(scene.outside))


def _inverse(change: Change) -> FileStep:
    if change.moved_to is not None:
        return FileStep(change.path, None, change.before, moved_to=change.moved_to)
    return FileStep(change.path, change.after, change.before)


def _contents(steps: tuple[FileStep, ...], scene: Scene) -> list[bytes]:
    """Return the bytes of every file that a step changes: none of them may ever be lost."""
    found = []
    for step in steps:
        path = scene.path(step.path)
        if step.current is not None and not step.current.is_secret and path.is_file() and not path.is_symlink():
            found.append(path.read_bytes())
    return found


def _copy(source: Path, target: Path) -> None:
    # Times, modes and hard links are a part of what has to come back.
    subprocess.run(["cp", "-a", str(source), str(target)], check=True)
