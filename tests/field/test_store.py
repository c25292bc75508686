"""Faults of comparable tools that have to do with the store: growth, duplicates, rights, failures, damage."""

from __future__ import annotations

import errno
import json
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from nbrewind import fs
from nbrewind.errors import RefusalReason, RewindError, RewindRefused
from tests.builders import TestWorkspace
from tests.sessions import Book, attached
from tests.stores import fsck, stores_below, wrong_modes


def size_of(store: Path) -> int:
    """Return the bytes of all files in *store*."""
    return sum(path.lstat().st_size for path in store.rglob("*") if path.is_file())


def test_b01_a_hundred_small_changes_in_a_large_tree_grow_the_store_little(
    workspace: TestWorkspace, home: Path, tmp_path: Path
) -> None:
    rng = random.Random(1)
    workspace.write({f"data/{number}": rng.randbytes(1 << 20) for number in range(40)})
    workspace.write({"large.bin": rng.randbytes(20 << 20)})
    with attached(workspace, home) as book:
        with book.turn():
            pass
        book.head()
        (store,) = stores_below(home, tmp_path)
        first = size_of(store)
        for number in range(100):
            with book.turn():
                workspace.write({f"small/{number % 7}": rng.randbytes(1024)})
        book.head()
        grown = size_of(store) - first

    assert grown < 5 << 20


def test_b03_equal_content_is_stored_once(workspace: TestWorkspace, home: Path, tmp_path: Path) -> None:
    content = os.urandom(1 << 20)
    with attached(workspace, home) as book:
        with book.turn():
            workspace.write({f"copy/{number}": content for number in range(50)})
        book.head()

    (store,) = stores_below(home, tmp_path)
    assert size_of(store) < 1.3 * len(content)


def test_b07_a_store_inside_the_workspace_is_in_no_commit(workspace: TestWorkspace, home: Path) -> None:
    with attached(workspace, home, store_dir="workspace") as book:
        for number in range(3):
            with book.turn():
                workspace.write({"a": str(number)})
        book.head()
        trees = [book.session.tree(operation) for operation in book.session.operations]
        paths = {path for tree in trees if tree is not None for path, _ in tree.walk()}
        book.to(1, everything=True)

    assert paths == {"a"}
    assert (workspace.root / ".nbrewind" / ".gitignore").read_text().strip() == "*"


@contextmanager
def full_disk(workspace: TestWorkspace) -> Iterator[None]:
    """Let every write of ours outside *workspace* fail as on a full disk."""

    class Full:
        def before(self, call: str, target: str, size: int) -> int | None:
            if not target.startswith(str(workspace.root)):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), target)
            return None

        def torn(self, call: str, target: str) -> None:
            raise AssertionError

        def after(self, call: str, target: str) -> None:
            return

    fs.install_probe(Full())
    try:
        yield
    finally:
        fs.install_probe(None)


def test_b17_b29_a_failed_capture_makes_no_point_that_claims_files(
    book: Book, workspace: TestWorkspace, home: Path, tmp_path: Path
) -> None:
    with book.turn():
        workspace.write({"a": "1"})
    book.head()
    with full_disk(workspace):
        with book.turn():
            workspace.write({"a": "2", "b": "2"})
        book.session.settle()
        status = book.session.status()
        claiming = [point for point in book.session.points() if point.number == 2 and point.has_files]
    assert status.not_protected is not None
    assert claiming == []

    with book.turn():
        workspace.write({"a": "3"})
    assert book.point(3).has_files
    for words in ("2", "before 3"):
        try:
            book.to(words, everything=True)
        except RewindError:
            continue
        assert workspace.read("b") == b"2"
    (store,) = stores_below(home, tmp_path)
    assert fsck(store) == ""


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
def test_b33_nothing_in_the_store_can_be_read_by_others(
    umask: int, workspace: TestWorkspace, home: Path, tmp_path: Path
) -> None:
    workspace.write({"private": "1"}, mode=0o600)
    before = os.umask(umask)
    try:
        with attached(workspace, home) as book:
            with book.turn():
                with open(workspace.path("private"), "w") as file:
                    file.write("2")
            book.to("start")
            with book.turn():
                with open(workspace.path("private"), "w") as file:
                    file.write("3")
    finally:
        os.umask(before)

    (store,) = stores_below(home, tmp_path)
    assert wrong_modes(store) == []
    assert workspace.read("private") == b"3"


def test_b40_a_damaged_pack_is_refused_before_anything_changes(
    workspace: TestWorkspace, home: Path, tmp_path: Path
) -> None:
    with attached(workspace, home) as book:
        with book.turn():
            workspace.write({"a": os.urandom(2000), "b": "1"})
        with book.turn():
            workspace.write({"a": "2", "b": "2"})
    (store,) = stores_below(home, tmp_path)
    for pack in (store / "shadow" / "objects" / "pack").glob("*.pack"):
        data = bytearray(pack.read_bytes())
        for position in range(20, len(data) - 20, 97):
            data[position] ^= 0xFF
        os.chmod(pack, 0o600)
        pack.write_bytes(data)
    before = workspace.tree()

    with attached(workspace, home) as book:
        with pytest.raises(RewindError):
            book.to(1)
        assert book.session.verify() != ()

    assert workspace.tree() == before


def test_b59_a_page_that_was_already_dirty_differs_at_both_points(book: Book, workspace: TestWorkspace) -> None:
    with book.turn():
        mapped = np.memmap(workspace.path("m.bin"), dtype="i4", mode="w+", shape=(1024,))
        mapped[:] = 1
    with book.turn():
        mapped[0] = 2
    with book.turn():
        mapped[0] = 3
    book.head()

    seen = [np.frombuffer(b"".join(book.session.cat(str(number), "m.bin")), "i4")[0] for number in (1, 2, 3)]
    assert seen == [1, 2, 3]
    book.to(1)
    assert mapped[0] == 1
    del mapped


def test_b74_a_rewind_right_after_a_fast_turn_hits_the_right_one(book: Book, workspace: TestWorkspace) -> None:
    for number in range(20):
        with book.turn():
            workspace.write({"a": str(number)})

    book.to("-1")

    assert workspace.read("a") == b"18"


def test_b75_the_first_turn_of_a_fresh_session_can_be_taken_back(book: Book, workspace: TestWorkspace) -> None:
    workspace.write({"a": "made just before"})
    with book.turn():
        workspace.write({"a": "1"})
        os.mkdir(workspace.path("d"))

    book.to("before 1")

    assert workspace.read("a") == b"made just before"
    assert not workspace.exists("d")


def test_b82_points_outlive_their_notebook(workspace: TestWorkspace, home: Path) -> None:
    workspace.write({"nb.ipynb": json.dumps({"cells": []}), "a": "0"})
    with attached(workspace, home, notebook=workspace.path("nb.ipynb")) as book, book.turn():
        workspace.write({"a": "1"})
    os.remove(workspace.path("nb.ipynb"))

    with attached(workspace, home, notebook=workspace.path("nb.ipynb")) as book:
        listed = [point.number for point in book.session.points()]
        book.session.restore(["nb.ipynb"], "1")
        assert 1 in listed

    assert workspace.read("nb.ipynb") == b'{"cells": []}'


def test_b85_two_notebooks_of_one_name_keep_separate_books(tmp_path: Path, home: Path) -> None:
    workspace = TestWorkspace(tmp_path / "project")
    workspace.write({"pyproject.toml": "", "x/Untitled.ipynb": "{}", "y/Untitled.ipynb": "{}"})
    ids = []
    for folder in ("x", "y"):
        notebook = workspace.path(f"{folder}/Untitled.ipynb")
        with attached(workspace, home, notebook=notebook) as book:
            with book.turn(f"cell of {folder}"):
                workspace.write({f"{folder}/f": "1"})
            assert [point.code for point in book.session.points() if point.number == 1] == [f"cell of {folder}"]
            ids.append(book.session.id)

    assert len(set(ids)) == 2
    with attached(workspace, home, notebook=workspace.path("x/Untitled.ipynb")) as book:
        assert book.session.id == ids[0]


def test_a_plan_made_before_a_turn_is_refused_as_stale(book: Book, workspace: TestWorkspace) -> None:
    with book.turn():
        workspace.write({"a": "1"})
    plan = book.session.plan("start")
    with book.turn():
        workspace.write({"a": "2"})

    with pytest.raises(RewindRefused) as refused:
        book.session.rewind(plan)

    assert refused.value.reason is RefusalReason.STALE_PLAN
    assert workspace.read("a") == b"2"
