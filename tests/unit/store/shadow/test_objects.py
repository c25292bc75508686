"""Identities and forms of objects, against the machine's own git."""

from __future__ import annotations

import os
import subprocess
import tempfile
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbrewind.errors import DamagedObject
from nbrewind.model import ObjectId
from nbrewind.store.shadow import ShadowRepository, TreeEntry
from nbrewind.store.shadow.objects import (
    BLOB,
    COMMIT,
    commit_bytes,
    commit_tree,
    compressed,
    digest,
    stored,
    tree_bytes,
    tree_entries,
)
from tests.unit.store.shadow.shadows import GIT_ENVIRONMENT, assert_sound, git, pack_names

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

names = st.binary(min_size=1, max_size=12).filter(
    lambda name: (
        b"/" not in name and b"\0" not in name and name not in (b".", b"..") and name.lower() not in (b".git", b"git~1")
    )
)
contents = st.binary(max_size=300)
trees = st.recursive(
    st.dictionaries(names, contents, max_size=5),
    lambda below: st.dictionaries(names, contents | below, max_size=5),
    max_leaves=12,
)


def write_worktree(root: bytes, files: dict[bytes, object]) -> None:
    os.makedirs(root, exist_ok=True)
    for name, value in files.items():
        path = root + b"/" + name
        if isinstance(value, dict):
            write_worktree(path, value)
        else:
            with open(path, "wb") as file:
                file.write(value)


def store_tree(writer, files: dict[bytes, object]) -> ObjectId | None:
    """Store as a capture would: directories without files are in no tree of git's."""
    entries = []
    for name, value in files.items():
        if isinstance(value, dict):
            oid = store_tree(writer, value)
            if oid is not None:
                entries.append(TreeEntry(0o40000, name, oid))
        else:
            entries.append(TreeEntry(0o100644, name, writer.blob(value)))
    return writer.tree(entries) if entries else None


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(trees)
def test_tree_is_the_one_that_git_write_tree_makes(own_world: Path, files: dict[bytes, object]) -> None:
    with tempfile.TemporaryDirectory(dir=own_world) as folder:
        write_worktree(os.fsencode(folder) + b"/work", files)
        repository = ShadowRepository.open(f"{folder}/shadow")
        with repository.writer() as writer:
            tree = store_tree(writer, files) or writer.tree([])
            writer.finish()
        environment = GIT_ENVIRONMENT | {"GIT_DIR": f"{folder}/plain", "GIT_WORK_TREE": f"{folder}/work"}
        for command in (["init", "-q", "--template="], ["add", "-A", "--force", "."]):
            subprocess.run(["git", *command], env=environment, check=True, capture_output=True, cwd=f"{folder}/work")
        written = subprocess.run(["git", "write-tree"], env=environment, check=True, capture_output=True)

        assert tree == written.stdout.decode().strip()
        assert_sound(repository)


def test_empty_tree_has_the_well_known_name(repository: ShadowRepository) -> None:
    with repository.writer() as writer:
        assert writer.tree([]) == EMPTY_TREE


@pytest.mark.parametrize("name", [b"", b".", b"..", b"a/b", b"a\0b"])
def test_tree_refuses_name_that_git_cannot_hold(name: bytes) -> None:
    with pytest.raises(ValueError, match="name"):
        tree_bytes([TreeEntry(0o100644, name, ObjectId(EMPTY_TREE))])


def test_tree_refuses_one_name_twice_even_as_file_and_directory() -> None:
    rows = [TreeEntry(0o100644, b"a", ObjectId(EMPTY_TREE)), TreeEntry(0o40000, b"a", ObjectId(EMPTY_TREE))]
    with pytest.raises(ValueError, match="twice"):
        tree_bytes(rows)


@given(st.lists(st.tuples(st.sampled_from([0o100644, 0o100755, 0o120000, 0o40000]), names), unique_by=lambda r: r[1]))
def test_tree_rows_come_back(rows: list[tuple[int, bytes]]) -> None:
    entries = {TreeEntry(mode, name, ObjectId(EMPTY_TREE)) for mode, name in rows}
    assert set(tree_entries(tree_bytes(entries))) == entries


@pytest.mark.parametrize("data", [b"x", b"100644 a", b"100644 a\0short", b"99 a\0" + bytes(20), b"\0" * 40])
def test_broken_tree_is_called_damaged(data: bytes) -> None:
    with pytest.raises(DamagedObject):
        tree_entries(data)


@pytest.mark.parametrize(
    "message", ["nbrewind:1:label", "", "with \0 NUL", "\ud800 surrogate", "größe\n\nlines\n", "-" * 5000]
)
def test_git_accepts_commit_with_any_message(repository: ShadowRepository, message: str) -> None:
    with repository.writer() as writer:
        commit = writer.commit(writer.tree([]), message, 1_700_000_000.9)
        writer.finish()

    assert repository.commit_tree(commit) == EMPTY_TREE
    assert git(repository, "log", "-1", "--format=%at %T %P", commit).split() == [b"1700000000", EMPTY_TREE.encode()]
    assert_sound(repository)


def test_commit_without_tree_is_called_damaged() -> None:
    with pytest.raises(DamagedObject):
        commit_tree(b"parent " + b"0" * 40)


def test_commit_before_1970_is_dated_1970() -> None:
    assert b"> 0 +0000" in commit_bytes(ObjectId(EMPTY_TREE), "", -5.0)


@given(st.binary(max_size=2000))
def test_both_forms_inflate_to_the_same(data: bytes) -> None:
    assert zlib.decompress(compressed(data)) == data
    assert zlib.decompress(stored(data)) == data


@pytest.mark.parametrize("size", [0, 1, 65534, 65535, 65536, 131070, 200_000])
def test_stored_form_is_right_at_the_borders_of_its_blocks(size: int) -> None:
    data = os.urandom(size)
    assert zlib.decompress(stored(data)) == data


def test_incompressible_data_is_not_compressed() -> None:
    data = os.urandom(100_000)
    assert len(data) < len(compressed(data)) < len(data) + 100
    assert len(compressed(bytes(100_000))) < 1000


def test_name_is_git_s(repository: ShadowRepository) -> None:
    data = b"print(1)\n"
    assert digest(BLOB, data).hex() == git(repository, "hash-object", "--stdin", data=data).decode().strip()
    assert digest(BLOB, data) != digest(COMMIT, data)
    assert pack_names(repository) == set()
