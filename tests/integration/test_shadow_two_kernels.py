"""Two processes that write turns, with collections and repacks between: every point stays readable."""

from __future__ import annotations

import json
import os
import random
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from nbrewind.errors import RewindRefused
from nbrewind.model import ObjectId
from nbrewind.store.layout import open_store
from nbrewind.store.locks import GcLock
from nbrewind.store.shadow import ShadowRepository, TreeEntry
from nbrewind.store.shadow.collection import collect
from nbrewind.store.shadow.git import GitRunner
from nbrewind.store.shadow.maintenance import repack
from tests.unit.store.shadow.shadows import assert_sound, files_of

POINTS = "refs/nbrewind/points/"
KEPT = 30


class Book:
    """A session's log, as small as can be: one line for each turn. What it names is what a collection keeps."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / f"{name}.log"
        self.name = name

    def append(self, number: int, commit: str, files: dict[str, str]) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps([number, commit, files]) + "\n")

    def rows(self) -> list[tuple[int, str, dict[str, str]]]:
        if not self.path.exists():
            return []
        return [tuple(json.loads(line)) for line in self.path.read_text().splitlines() if line.endswith("}]")]


def named(books: list[Book]) -> Callable[[], dict[str, ObjectId]]:
    """Keep the last turns of every session, as a retention rule would."""

    def keep() -> dict[str, ObjectId]:
        return {
            f"{POINTS}{book.name}-{number}": ObjectId(commit)
            for book in books
            for number, commit, _ in book.rows()[-KEPT:]
        }

    return keep


class Kernel:
    """One process: captures turns the way a session does, and now and then tidies the store."""

    def __init__(self, folder: Path, name: str, others: list[str]) -> None:
        self.paths = open_store(str(folder / "store"))
        self.lock = GcLock(self.paths)
        self.book = Book(folder, name)
        self.books = [Book(folder, other) for other in others]
        self.repository = ShadowRepository.open(str(self.paths.shadow))
        self.git = GitRunner(self.repository.path)
        self.generation = self.lock.generation()
        self.chosen = random.Random(name)
        self.files: dict[str, str] = {}
        self.oids: dict[str, ObjectId] = {}
        self.untrusted = self.collected = 0

    def turn(self, number: int) -> None:
        changed = {f"f{self.chosen.randrange(8)}" for _ in range(2)}
        for name in changed:
            # Few different contents: what one session drops, the other finds and relies on.
            self.files[name] = f"{self.chosen.randrange(6)}" * self.chosen.choice([1, 300])
        with self.lock.try_shared() as trust:
            if trust and self.lock.generation() != self.generation:
                self.generation = self.lock.generation()
                self.repository.forget()
            self.untrusted += not trust
            with self.repository.writer(trust=trust) as writer:
                for name in changed:
                    self.oids[name] = writer.blob(self.files[name].encode())
                rows = [TreeEntry(0o100644, name.encode(), oid) for name, oid in self.oids.items()]
                commit = writer.commit(writer.tree(rows), f"nbrewind:{self.book.name}-{number}:", number)
                writer.finish()
            self.book.append(number, commit, self.files)
            self.repository.set_ref(f"{POINTS}{self.book.name}-{number}", commit)

    def tidy(self) -> None:
        try:
            if self.chosen.random() < 0.3:
                repack(self.repository, self.git)
            collect(self.repository, self.git, self.lock, named(self.books), patience=0.2)
            self.collected += 1
        except RewindRefused:
            pass

    def run(self, turns: int) -> None:
        for number in range(turns):
            self.turn(number)
            if number % 10 == 9:
                self.tidy()
                for _, commit, files in self.book.rows()[-KEPT:]:
                    assert files_of(self.repository, ObjectId(commit)) == as_bytes(files)


def as_bytes(files: dict[str, str]) -> dict[bytes, bytes]:
    return {name.encode(): data.encode() for name, data in files.items()}


def started(function: Callable[[], None]) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        function()
        status = 0
    except BaseException:  # noqa: BLE001 - the exit status tells it
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


@pytest.mark.slow
def test_two_kernels_with_200_turns_and_collections_lose_nothing(tmp_path: Path) -> None:
    names = ["a", "b"]
    processes = [started(lambda name=name: Kernel(tmp_path, name, names).run(200)) for name in names]
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in processes] == [0, 0]

    repository = ShadowRepository.open(str(open_store(str(tmp_path / "store")).shadow), create=False)
    for name in names:
        rows = Book(tmp_path, name).rows()
        assert len(rows) == 200
        for _, commit, files in rows[-KEPT:]:
            assert files_of(repository, ObjectId(commit)) == as_bytes(files)
    assert_sound(repository)

    last = Kernel(tmp_path, "c", names)
    last.tidy()
    assert last.collected == 1
    assert set(repository.refs()) == set(named(last.books)())
    assert_sound(repository)


def test_capture_while_a_collection_holds_the_lock_trusts_nothing_and_survives(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path, "a", ["a"])
    tidier = Kernel(tmp_path, "tidier", ["a"])
    for number in range(3):
        kernel.turn(number)
    with tidier.lock.exclusive():
        kernel.turn(3)
    assert kernel.untrusted == 1
    for _ in range(2):
        tidier.tidy()
    for number in range(4, 8):
        kernel.turn(number)
    tidier.tidy()

    for _, commit, files in kernel.book.rows():
        assert files_of(kernel.repository, ObjectId(commit)) == as_bytes(files)
    assert tidier.lock.generation() == 3
    assert_sound(kernel.repository)


def test_collection_waits_no_longer_than_its_patience_for_a_capture(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path, "a", ["a"])
    kernel.turn(0)
    with kernel.lock.try_shared() as trust, pytest.raises(RewindRefused):
        assert trust
        collect(kernel.repository, kernel.git, kernel.lock, named(kernel.books), patience=0.0)
    assert kernel.lock.generation() == 0
    kernel.tidy()
    assert kernel.collected == 1
