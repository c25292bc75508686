"""A collection never drops what any session, intent or archive still needs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from nbrewind.errors import StoreError
from nbrewind.model import OperationId
from nbrewind.rewind.intent import Intent, write_intent
from nbrewind.store.layout import StorePaths
from nbrewind.store.shadow.repository import ShadowRepository
from tests.faults import Counter, installed
from tests.sessions import attached
from tests.stores import stores_below


@pytest.fixture
def book(workspace, home):
    with attached(workspace, home, notebook="a.ipynb") as book:
        for text in ("one", "two"):
            with book.turn():
                workspace.write({"f": text})
        book.head()
        yield book


def store_of(home: Path) -> StorePaths:
    (store,) = stores_below(home)
    return StorePaths(str(store))


def other_session(workspace, home):
    """Leave a second session behind, and return its paths and a point of it."""
    with attached(workspace, home, notebook="b.ipynb") as other:
        with other.turn():
            workspace.write({"other": "bytes of the other session"})
        other.head()
        workspace.write({"other": "later"})
        point = other.session.operations[-1]
        return store_of(home).session(other.session.id), point


def lose_references(home: Path) -> None:
    """Do what a power cut may do to everything that was not flushed."""
    shadow = Path(store_of(home).shadow)
    for path in (shadow / "refs" / "nbrewind").rglob("*"):
        if path.is_file():
            path.unlink()
    (shadow / "packed-refs").unlink(missing_ok=True)


@pytest.mark.parametrize("damage", [b"", b"garbage" * 1000, None])
def test_a_log_that_cannot_be_read_stops_a_collection_with_nothing_removed(book, workspace, home, damage):
    paths, point = other_session(workspace, home)
    Path(paths.images).mkdir(exist_ok=True)
    if damage is None:
        Path(paths.log).unlink()
    else:
        Path(paths.log).write_bytes(damage)

    with pytest.raises(StoreError, match="log"):
        book.session.gc()

    repository = ShadowRepository.open(store_of(home).shadow)
    assert repository.contains(point.checkpoint.files.commit)
    assert book.session.verify() == ()


def test_what_a_damaged_record_names_is_kept_by_its_reference(book, workspace, home):
    paths, point = other_session(workspace, home)
    log = Path(paths.log)
    data = bytearray(log.read_bytes())
    data[-20] ^= 1
    log.write_bytes(data)

    book.session.gc()

    assert ShadowRepository.open(store_of(home).shadow).contains(point.checkpoint.files.commit)


def test_an_undo_works_after_its_references_were_lost_and_the_store_was_packed(book, workspace, home):
    book.to(1)
    archive = book.session.operations[-1].archive
    lose_references(home)

    book.session.gc()

    assert archive is not None
    assert ShadowRepository.open(store_of(home).shadow).contains(archive)
    book.session.undo()
    assert workspace.read("f") == b"two"


def test_the_archive_of_another_sessions_unfinished_rewind_is_kept(book, workspace, home):
    paths, _ = other_session(workspace, home)
    repository = ShadowRepository.open(store_of(home).shadow)
    with repository.writer() as writer:
        commit = writer.commit(writer.tree([]), "nbrewind:op-9:archive", 0)
        writer.finish()
    write_intent(paths, Intent(operation=OperationId("op-9"), seq=99, archive=commit))

    book.session.gc()

    assert ShadowRepository.open(store_of(home).shadow).contains(commit)


def test_a_damaged_intent_stops_a_collection(book, workspace, home):
    paths, _ = other_session(workspace, home)
    write_intent(paths, Intent(operation=OperationId("op-9"), seq=99))
    (intent,) = Path(paths.intents).iterdir()
    intent.write_bytes(intent.read_bytes()[:-3])

    with pytest.raises(StoreError, match="intent"):
        book.session.gc()


def test_an_archive_is_named_durably_before_anything_is_touched(book, workspace):
    plan = book.session.plan("1")

    counter = Counter()

    with installed(counter):
        book.session.rewind(plan)

    calls = counter.calls
    named = [at for at, call in enumerate(calls) if call.name == "fsync" and "/refs/nbrewind/archive" in call.target]
    moved = [at for at, call in enumerate(calls) if call.target.startswith(str(workspace.root) + "/")]
    assert len(named) >= 2  # the reference and its folder
    assert named[1] < moved[0]


def test_a_session_folder_that_has_no_log_yet_does_not_hinder(book, home):
    folder = Path(store_of(home).sessions) / "0newborn"
    folder.mkdir()
    (folder / "lock").touch()

    book.session.gc()
    shutil.rmtree(folder)
