"""A record is trusted only with the seal of this user's own key."""

from __future__ import annotations

import os
import stat
import threading

import pytest

from nbrewind.errors import RefusalReason, RewindRefused, StoreError
from nbrewind.resources.variables.trust import SEAL_SIZE, UserKey, require_seal


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "keys" / "nbrewind.key")


def test_seal_holds_for_its_record_and_its_key_only(path, tmp_path):
    seal = UserKey(path).seal(b"record")

    assert len(seal) == SEAL_SIZE
    assert UserKey(path).holds(b"record", seal)
    assert not UserKey(path).holds(b"recorD", seal)
    assert not UserKey(path).holds(b"record", seal[:-1] + bytes([seal[-1] ^ 1]))
    assert not UserKey(path).holds(b"record", b"")
    other = UserKey(str(tmp_path / "other"))
    other.seal(b"record")
    assert not other.holds(b"record", seal)


def test_key_is_private_whatever_the_umask(path):
    mask = os.umask(0)
    try:
        UserKey(path).seal(b"")
    finally:
        os.umask(mask)

    status = os.stat(path)
    assert stat.S_IMODE(status.st_mode) == 0o600 and status.st_size == 32
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700
    assert os.listdir(os.path.dirname(path)) == ["nbrewind.key"]


def test_asking_makes_no_key(path):
    assert not UserKey(path).holds(b"record", b"x" * SEAL_SIZE)
    assert not os.path.exists(path)


def test_kernels_that_start_at_once_agree_on_one_key(path):
    seals = []
    threads = [threading.Thread(target=lambda: seals.append(UserKey(path).seal(b"r"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(seals) == 8 and len(set(seals)) == 1


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_key_that_others_can_read_is_not_used(path, mode):
    seal = UserKey(path).seal(b"record")
    os.chmod(path, mode)

    with pytest.raises(StoreError, match="somebody else's"):
        UserKey(path).holds(b"record", seal)
    with pytest.raises(StoreError, match="somebody else's"):
        UserKey(path).seal(b"record")


def test_key_behind_a_symbolic_link_is_not_used(path, tmp_path):
    UserKey(str(tmp_path / "real")).seal(b"")
    os.makedirs(os.path.dirname(path))
    os.symlink(tmp_path / "real", path)

    with pytest.raises(StoreError, match="cannot be read"):
        UserKey(path).seal(b"record")


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 33])
def test_damaged_key_is_an_error_not_an_empty_one(path, content):
    os.makedirs(os.path.dirname(path))
    with open(path, "wb") as file:
        file.write(content)
    os.chmod(path, 0o600)

    with pytest.raises(StoreError, match="damaged"):
        UserKey(path).seal(b"record")


def test_folder_as_key_is_an_error(path):
    os.makedirs(path)

    with pytest.raises(StoreError):
        UserKey(path).seal(b"record")


def test_foreign_record_is_refused_until_trusted(path):
    key = UserKey(path)
    seal = key.seal(b"record")

    require_seal(key, b"record", seal)
    require_seal(key, b"foreign", b"", trusted=True)
    with pytest.raises(RewindRefused) as refusal:
        require_seal(key, b"foreign", seal)
    assert refusal.value.reason is RefusalReason.UNTRUSTED_STORE
