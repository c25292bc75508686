"""A verification finds any damage, names the points that it hits, and lists show them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from nbrewind import fs
from nbrewind.model import EntryKind
from nbrewind.session.session import Session
from nbrewind.store.layout import StorePaths
from nbrewind.store.shadow.repository import ShadowRepository
from tests.faults import Counter, installed
from tests.sessions import attached, settings_for
from tests.stores import stores_below


@pytest.fixture
def left(workspace, home):
    """Leave a session of three turns: `big` is the same in the first two."""
    with attached(workspace, home) as book:
        with book.turn():
            workspace.write({"big": os.urandom(50_000), "f": "1"})
        with book.turn():
            workspace.write({"f": "2"})
        with book.turn():
            workspace.write({"big": "small now", "f": "3"})
        book.head()
        return {point.number: point for point in book.session.points() if point.number}


def opened(workspace, home):
    return Session.open(settings_for(workspace.root, home, temp_roots=(str(home),)))


def store_of(home):
    return StorePaths(str(stores_below(home)[0]))


def flip_in_object(home, oid):
    """Flip one bit in the middle of the stored bytes of *oid*."""
    repository = ShadowRepository.open(store_of(home).shadow)
    repository.packs.refresh(force=True)
    ((pack, offset),) = repository.packs.copies(bytes.fromhex(oid))
    repository.close()
    path = Path(pack.path + ".pack")
    data = bytearray(path.read_bytes())
    data[offset + 2000] ^= 1
    path.chmod(0o600)
    path.write_bytes(data)


def test_a_whole_store_is_replayed_in_a_temporary_folder_that_is_gone_afterwards(left, workspace, home):
    made: list[str] = []

    class Watch(Counter):
        def before(self, call, target, size):
            made.append(target)
            return super().before(call, target, size)

    with installed(Watch()):
        assert opened(workspace, home).verify() == ()

    replayed = [path for path in made if ".nbrewind-verify-" in path]
    assert replayed and all(path.startswith(str(home)) for path in replayed)
    assert not list(Path(home).glob(".nbrewind-verify-*"))
    assert not any(str(workspace.root) in path for path in made)


def test_a_flipped_bit_in_a_pack_damages_just_the_points_that_need_it_and_the_list_says_so(left, workspace, home):
    session = opened(workspace, home)
    state = session.tree(left[1].operation).lookup("big")
    assert state is not None and state.kind is EntryKind.FILE
    flip_in_object(home, state.object)

    notes = session.verify()

    assert {note.subject for note in notes} >= {left[1].id, left[2].id}
    assert any(note.reason.startswith("big: ") for note in notes)
    damaged = {point.number for point in opened(workspace, home).points() if point.damage}
    assert {1, 2} <= damaged
    assert not any(note.reason.startswith("f: ") for note in notes)


def test_a_flipped_bit_in_the_log_is_found_and_listed(left, workspace, home):
    session = opened(workspace, home)
    log = Path(store_of(home).session(session.id).log)
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data)

    notes = session.verify()

    assert len(notes) >= 1
    assert any(point.damage for point in opened(workspace, home).points())


def test_a_flipped_bit_in_an_index_damages_no_point_and_is_mended(left, workspace, home):
    index = max(Path(store_of(home).shadow, "objects", "pack").glob("*.idx"))
    right = index.read_bytes()
    index.chmod(0o600)
    index.write_bytes(right[:1100] + bytes((right[1100] ^ 4,)) + right[1101:])

    notes = opened(workspace, home).verify()

    assert [note.reason for note in notes] == [
        f"the index of {index.stem} was damaged and has been made again from the pack, which is whole; "
        "the damaged one is kept in shadow/damaged"
    ]
    assert index.read_bytes() == right
    assert opened(workspace, home).verify() == ()
    assert not any(point.damage for point in opened(workspace, home).points())


def test_a_kernel_that_finds_an_index_damaged_mends_it_and_says_so(left, workspace, home):
    index = max(Path(store_of(home).shadow, "objects", "pack").glob("*.idx"))
    right = index.read_bytes()
    index.chmod(0o600)
    index.write_bytes(right[:1100] + bytes((right[1100] ^ 4,)) + right[1101:])

    with attached(workspace, home) as book:
        said = [note.reason for note in book.session.status().recovered]

    assert any(f"the index of {index.stem} was damaged and has been made again" in reason for reason in said)
    assert index.read_bytes() == right


def test_findings_go_when_all_is_well_again(left, workspace, home):
    session = opened(workspace, home)
    paths = store_of(home).session(session.id)
    fs.write_new(paths.damaged, json.dumps({left[1].id: "rotten"}).encode())
    assert next(point for point in session.points() if point.number == 1).damage == "rotten"

    assert session.verify() == ()

    assert not any(point.damage for point in session.points())


def test_what_finds_no_room_in_the_temporary_folder_is_read_instead(left, workspace, home):
    class Full(Counter):
        def before(self, call, target, size):
            if call == "write" and ".nbrewind-verify-" in target:
                raise OSError(28, "no space", target)
            return super().before(call, target, size)

    session = opened(workspace, home)
    flip_in_object(home, session.tree(left[1].operation).lookup("big").object)

    with installed(Full()):
        notes = session.verify()

    assert left[1].id in {note.subject for note in notes}
    assert not list(Path(home).glob(".nbrewind-verify-*"))
