"""Frozen stores of every released format are read, checked and gone back in."""

from __future__ import annotations

import json
import os
import tarfile
from pathlib import Path

import pytest

from nbrewind.session.session import Session
from tests.builders import TestWorkspace
from tests.formats.make_store import portable
from tests.sessions import attached, settings_for
from tests.stores import fsck

STORES = sorted(Path(__file__).parent.glob("store-*.tar.gz"))


@pytest.fixture(params=STORES, ids=lambda path: path.name)
def frozen(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Unpack a copy of a frozen store with its workspace."""
    with tarfile.open(request.param) as archive:
        archive.extractall(tmp_path, filter="tar")
    os.chmod(tmp_path / "store", 0o700)
    return tmp_path


def test_a_frozen_store_lists_all_its_points_and_every_object_is_whole(frozen: Path, home: Path) -> None:
    expected = json.loads((frozen / "expected.json").read_text())
    session = Session.open(settings_for(frozen / "work", home, store_dir=str(frozen / "store")))
    try:
        numbers = {str(point.number) for point in session.points() if point.number is not None}
        assert session.verify() == ()
        assert any(point.names == ("a name",) for point in session.points())
        long = next(point for point in session.points() if point.number == 3)
        assert long.operation is not None
        assert session.code_of(long.operation).count("a long comment") == 400
    finally:
        session.close()

    assert numbers == set(expected)
    assert fsck(frozen / "store") == ""


def test_every_point_of_a_frozen_store_can_be_gone_back_to(frozen: Path, home: Path) -> None:
    expected = json.loads((frozen / "expected.json").read_text())
    workspace = TestWorkspace(frozen / "work")
    with attached(workspace, home, store_dir=str(frozen / "store")) as book:
        ids = {str(point.number): point.id for point in book.session.points() if point.number is not None}
        for number, tree in sorted(expected.items()):
            book.to(ids[number], everything=True, overwrite=True, force=True)
            assert portable(workspace.tree()) == tree, number


def test_the_present_format_has_a_frozen_store() -> None:
    from nbrewind.store.layout import STORE_VERSION

    assert f"store-{STORE_VERSION}.tar.gz" in [path.name for path in STORES]
