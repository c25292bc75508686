"""The side manifest tells what a git tree cannot, and reads what earlier releases wrote."""

from __future__ import annotations

import json

from nbrewind.model import EntryKind, FileState, ObjectId
from nbrewind.resources.files.side import meta_bytes, read_meta

OID = ObjectId("1" * 40)


def test_all_that_is_told_is_read_again() -> None:
    states = {
        "plain": FileState(EntryKind.FILE, OID, 5, 0o644, 7),
        "theirs": FileState(EntryKind.FILE, OID, 5, 0o640, 7, owner=(1234, 2345)),
        "large": FileState(EntryKind.FILE, OID, 5, 0o640, 7, chunked=True, owner=(0, 2345)),
        "secret": FileState(EntryKind.FILE, None, 5, 0o600, 7, missing="secret", owner=(1, 2)),
        "folder": FileState(EntryKind.DIRECTORY, mode=0o755),
    }

    assert read_meta(meta_bytes(states.items()), dict.fromkeys(states, OID)) == states | {
        "secret": FileState(EntryKind.FILE, OID, 5, 0o600, 7, missing="secret", owner=(1, 2)),
    }


def test_manifest_of_files_of_ones_own_is_what_it_was_before_owners_were_kept() -> None:
    data = meta_bytes({"plain": FileState(EntryKind.FILE, OID, 5, 0o644, 7)}.items())

    assert json.loads(data) == {"plain": ["f", 0o644, 7, 5]}
