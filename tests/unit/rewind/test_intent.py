from __future__ import annotations

import os
from pathlib import Path

import pytest

from nbrewind.errors import DamagedObject
from nbrewind.model import ObjectId, OperationId
from nbrewind.rewind.intent import Intent, pending_intents, read_intent, remove_intent, write_intent
from nbrewind.store.layout import SessionPaths

OPERATION = OperationId("op-1")
INTENT = Intent(
    operation=OPERATION, seq=7, archive=ObjectId("1" * 40), resources=(("files", '{"moves":[]}'), ("toy", "{}"))
)


@pytest.fixture
def paths(tmp_path: Path) -> SessionPaths:
    (tmp_path / "session").mkdir()
    return SessionPaths(str(tmp_path / "session"))


def test_intent_reads_back_as_written(paths: SessionPaths) -> None:
    write_intent(paths, INTENT)

    assert pending_intents(paths) == (OPERATION,)
    assert read_intent(paths, OPERATION) == INTENT


def test_intent_is_gone_when_removed_and_twice_is_fine(paths: SessionPaths) -> None:
    write_intent(paths, INTENT)
    remove_intent(paths, OPERATION)
    remove_intent(paths, OPERATION)

    assert pending_intents(paths) == ()


def test_no_folder_means_no_intents(paths: SessionPaths) -> None:
    assert pending_intents(paths) == ()


def test_what_is_no_intent_is_left_alone(paths: SessionPaths) -> None:
    write_intent(paths, INTENT)
    for name in ("../x.intent", "UPPER.intent", ".nbrewind-0123456789abcdef.tmp", "op-2"):
        (Path(paths.intents) / os.path.basename(name)).write_bytes(b"")

    assert OPERATION in pending_intents(paths)
    assert all(one in (OPERATION, "x") for one in pending_intents(paths))


def test_every_flipped_bit_is_found(paths: SessionPaths) -> None:
    write_intent(paths, INTENT)
    path = Path(paths.intents) / f"{OPERATION}.intent"
    whole = path.read_bytes()
    for at in range(len(whole) * 8):
        damaged = bytearray(whole)
        damaged[at // 8] ^= 1 << (at % 8)
        path.write_bytes(damaged)
        with pytest.raises(DamagedObject):
            read_intent(paths, OPERATION)


@pytest.mark.parametrize("length", [0, 1, 20, -1])
def test_every_cut_is_found(paths: SessionPaths, length: int) -> None:
    write_intent(paths, INTENT)
    path = Path(paths.intents) / f"{OPERATION}.intent"
    path.write_bytes(path.read_bytes()[:length])

    with pytest.raises(DamagedObject):
        read_intent(paths, OPERATION)


def test_intent_of_another_operation_is_damage(paths: SessionPaths) -> None:
    write_intent(paths, INTENT)
    folder = Path(paths.intents)
    (folder / f"{OPERATION}.intent").rename(folder / "op-2.intent")

    with pytest.raises(DamagedObject):
        read_intent(paths, OperationId("op-2"))


def test_intent_is_for_its_owner_only(paths: SessionPaths) -> None:
    before = os.umask(0)
    try:
        write_intent(paths, INTENT)
    finally:
        os.umask(before)

    assert Path(paths.intents).stat().st_mode & 0o777 == 0o700
    assert (Path(paths.intents) / f"{OPERATION}.intent").stat().st_mode & 0o777 == 0o600
