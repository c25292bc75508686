"""A file that comes back where nothing stands gets the owner and the group that it had, where the system allows it."""

from __future__ import annotations

import errno
import os

import pytest

from nbrewind.session.session import Session
from tests.faults import Counter, installed
from tests.sessions import attached, settings_for

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


class Denied(Counter):
    """Refuses to change owners, as for people who are not root."""

    def before(self, call, target, size):
        if call == "chown":
            raise PermissionError(errno.EPERM, "denied", target)
        return super().before(call, target, size)


def ids(path):
    status = path.stat()
    return status.st_uid, status.st_gid, status.st_mode & 0o7777


def lay(workspace):
    workspace.write({"theirs": "1", "ours": "1"})
    path = workspace.root / "theirs"
    os.chown(path, 1234, 2345)
    path.chmod(0o4750)
    return path


def test_deleted_file_comes_back_with_its_owner_group_and_mode(workspace, home):
    path = lay(workspace)
    with attached(workspace, home) as book:
        with book.turn():
            path.unlink()
            (workspace.root / "ours").unlink()

        result = book.to("before 1")

        assert ids(path) == (1234, 2345, 0o4750)
        assert ids(workspace.root / "ours")[:2] == (os.geteuid(), os.getegid())
        assert not result.notes


def test_file_that_changed_hands_in_a_turn_and_is_deleted_later_comes_back_with_the_last_owner(workspace, home):
    path = lay(workspace)
    with attached(workspace, home) as book:
        with book.turn():
            os.chown(path, 4321, 2345)
        with book.turn():
            path.unlink()

        book.to(1)

        assert ids(path)[:2] == (4321, 2345)


def test_owner_that_cannot_be_given_back_is_named(workspace, home):
    path = lay(workspace)
    with attached(workspace, home) as book:
        with book.turn():
            path.unlink()

        with installed(Denied()):
            result = book.to("before 1")

        assert ids(path)[:2] == (os.geteuid(), os.getegid())
        assert [(note.subject, note.reason) for note in result.notes] == [
            ("theirs", "its owner (user 1234) could not be given back"),
            ("theirs", "its group (2345) could not be given back"),
        ]


def test_owner_of_a_deleted_file_outside_the_workspace_comes_back(workspace, home, tmp_path):
    (tmp_path / "outside").mkdir()
    path = tmp_path / "outside" / "theirs"
    path.write_text("1")
    os.chown(path, 1234, 2345)
    with attached(workspace, home, shared_roots=("/proc",)) as book:
        with book.turn():
            path.unlink()

        book.to("before 1")

        assert ids(path)[:2] == (1234, 2345)


def test_owner_is_in_the_store_for_the_next_process(workspace, home):
    path = lay(workspace)
    with attached(workspace, home) as book, book.turn():
        path.unlink()

    session = Session.open(settings_for(workspace.root, home), readonly=False)
    try:
        session.rewind(session.plan("before 1"))
    finally:
        session.close()

    assert ids(path)[:2] == (1234, 2345)
