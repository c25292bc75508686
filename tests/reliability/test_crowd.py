"""Several kernels in one workspace and one store, killed at random: nothing that was acknowledged is ever gone."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbrewind.errors import RewindError
from nbrewind.model import OperationId, Settings
from nbrewind.session.session import Session
from nbrewind.session.turns import TurnEnd, TurnStart
from tests.reliability.effort import LONG, SEED, amount
from tests.sessions import settings_for
from tests.stores import fsck

_WORKERS = 3
_SECONDS = amount(9, 300)


@dataclass
class Diary:
    """What workers did, in a file to which each line is added by one call: a kill loses no line that was begun."""

    path: Path

    def write(self, **row: Any) -> None:
        fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(fd, json.dumps(row).encode() + b"\n")
        os.close(fd)

    def rows(self) -> Iterator[dict[str, Any]]:
        for line in self.path.read_text().splitlines():
            yield json.loads(line)


def work(settings: Settings, diary: Diary, worker: int, seed: int) -> None:
    """Be a kernel until somebody kills it: turns, sometimes a rewind, an undo or a collection."""
    chance = random.Random(seed)
    session = Session.attach(settings, kernel=f"worker {worker}")
    diary.write(kind="attached", session=session.id)
    folder = Path(settings.workspace) / f"of-{worker}"
    number = seed * 1000
    while True:
        number += 1
        name = f"file-{chance.randrange(4)}"
        content = f"{number} " * chance.randrange(1, 2000)
        # Before it happens: whatever stands there afterwards must be something that was meant.
        diary.write(kind="meant", path=f"{folder.name}/{name}", content=content)
        session.begin_turn(TurnStart(code=f"turn {number}", number=number))
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(content)
        session.end_turn(TurnEnd())
        if session.settle() and session.status().not_protected is None:
            made = next(point for point in reversed(session.points()) if point.number == number)
            diary.write(
                kind="turn", session=session.id, id=made.id, path=f"{folder.name}/{name}", content=content, who=worker
            )
        _move(session, chance, diary, number)


def _move(session: Session, chance: random.Random, diary: Diary, number: int) -> None:
    if chance.random() < 0.5:
        return
    try:
        moved = session.rewind(session.plan(f"before {number}")).operation
        diary.write(kind="move", session=session.id, id=moved.id)
        if chance.random() < 0.5:
            diary.write(kind="move", session=session.id, id=session.undo().operation.id)
        if chance.random() < 0.1:
            session.gc()
            diary.write(kind="collection", session=session.id, id=moved.id)
    except RewindError as error:
        diary.write(kind="refused", message=error.message)


def start(settings: Settings, diary: Diary, worker: int, seed: int) -> int:
    """Fork a worker and return its process id."""
    pid = os.fork()
    if pid:
        return pid
    try:
        work(settings, diary, worker, seed)
    except BaseException as error:  # noqa: BLE001  a forked child reports whatever ended it
        diary.write(kind="failed", message=f"{type(error).__name__}: {error}")
    finally:
        os._exit(1)


def test_nothing_acknowledged_is_lost_when_kernels_die_at_random(ground: Path) -> None:
    (ground / "work").mkdir()
    settings = settings_for(ground / "work", ground, turn_budget=60.0)
    diary = Diary(ground / "diary")
    chance = random.Random(SEED)
    seeds = iter(range(1, 10**6))
    living = {worker: start(settings, diary, worker, next(seeds)) for worker in range(_WORKERS)}
    kills, end = 0, time.monotonic() + _SECONDS
    while time.monotonic() < end:
        time.sleep(chance.uniform(0.01, 0.3))
        worker = chance.randrange(_WORKERS)
        os.kill(living[worker], signal.SIGKILL)
        os.waitpid(living[worker], 0)
        kills += 1
        living[worker] = start(settings, diary, worker, next(seeds))
    for pid in living.values():
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    rows = list(diary.rows())
    done = Counter(row["kind"] for row in rows)
    print(f"{kills} kills, {dict(done)}, {len(Session.stored(settings))} sessions")  # noqa: T201  counts as run
    assert [row for row in rows if row["kind"] == "failed"] == []
    check(settings, rows)
    assert kills > 20
    assert done["turn"] > 30
    assert done["move"] > 10
    assert not LONG or done["collection"] >= amount(0, 6)


def check(settings: Settings, rows: list[dict[str, Any]]) -> None:
    """Take each session up once more, then look for everything that was acknowledged."""
    acknowledged: dict[str, list[dict[str, Any]]] = defaultdict(list)
    meant: dict[str, set[str]] = defaultdict(lambda: {""})
    for row in rows:
        if row["kind"] in ("turn", "move", "collection"):
            acknowledged[row["session"]].append(row)
        elif row["kind"] == "meant":
            meant[row["path"]].add(row["content"])
    for identifier in Session.stored(settings):
        with closing(Session.open(settings, identifier, readonly=False)) as session:
            assert session.damaged == ()
            assert session.verify() == ()
            assert not [note for note in session.status().recovered if "could not" in note.reason]
            known = {operation.id for operation in session.operations}
            for row in acknowledged.pop(identifier, []):
                assert row["id"] in known, row
                if row["kind"] == "turn":
                    tree = session.tree(session.timeline.operation(OperationId(row["id"])))
                    assert tree is not None
                    state = tree.lookup(row["path"])
                    assert state is not None, _story(session, row, rows)
                    assert b"".join(session.content(state)).decode() == row["content"]
    assert not acknowledged
    assert fsck(Path(settings.store_dir)) == ""
    workspace = Path(settings.workspace)
    for path in workspace.rglob("*"):
        assert ".nbrewind-" not in path.name
        if path.is_file():
            assert path.read_text() in meant[str(path.relative_to(workspace))], path


def _story(session: Session, row: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """Return the row that is not kept and everything about its path, for a message."""
    place = rows.index(row)
    around = [f"{str(one)[:150]}" for one in rows[max(0, place - 6) : place + 7]]
    operation = session.timeline.operation(OperationId(row["id"]))
    return "\n".join([str(row)[:200], str(operation.changes), str(operation.turn)[:600], *around])
