"""What the tests of the shadow repository share: real git on it, and small contents."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from nbrewind.model import EntryKind, FileState, ObjectId
from nbrewind.store.shadow import ShadowRepository, Stored, TreeEntry

GIT_ENVIRONMENT = {
    "PATH": os.environ.get("PATH", os.defpath),
    "HOME": "/dev/null/nowhere",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "LC_ALL": "C",
}


def git(repository: ShadowRepository | str | Path, *arguments: str, data: bytes = b"", check: bool = True) -> bytes:
    """Run the machine's own git on *repository*."""
    path = repository.path if isinstance(repository, ShadowRepository) else str(repository)
    result = subprocess.run(
        ["git", f"--git-dir={path}", *arguments], input=data, capture_output=True, env=GIT_ENVIRONMENT, check=False
    )
    if check:
        assert result.returncode == 0, result.stderr.decode()
    return result.stdout


def assert_sound(repository: ShadowRepository) -> None:
    """Have git read every object, and everything that references name."""
    result = subprocess.run(
        ["git", f"--git-dir={repository.path}", "fsck", "--full", "--strict", "--no-dangling", "--no-progress"],
        capture_output=True,
        env=GIT_ENVIRONMENT,
        check=False,
    )
    lines = [line for line in result.stderr.decode().splitlines() if not line.startswith("notice: ")]
    assert (result.returncode, lines) == (0, [])


def stored_turn(
    repository: ShadowRepository, files: dict[bytes, bytes], operation: str = "1", *, trust: bool = True
) -> ObjectId:
    """Store *files* as a turn's pack with its reference, and return the commit."""
    with repository.writer(trust=trust) as writer:
        entries = [TreeEntry(0o100644, name, writer.blob(data)) for name, data in files.items()]
        commit = writer.commit(writer.tree(entries), f"nbrewind:{operation}:", 1000.0)
        writer.finish()
    repository.set_ref(f"refs/nbrewind/points/{operation}", commit)
    return commit


def stored_file(
    repository: ShadowRepository, path: Path, *, previous: FileState | None = None, trust: bool = True
) -> Stored:
    """Store one file as a pack of its own."""
    fd = os.open(path, os.O_RDONLY)
    try:
        with repository.writer(trust=trust) as writer:
            stored = writer.file(fd, os.fstat(fd).st_size, previous=previous)
            writer.finish()
    finally:
        os.close(fd)
    return stored


def state_of(stored: Stored) -> FileState:
    """Return the state that a tracker would make of *stored*."""
    return FileState(EntryKind.FILE, stored.oid, stored.size, chunked=stored.chunked)


def whole(repository: ShadowRepository, stored: Stored) -> bytes:
    """Return the content of *stored*."""
    return b"".join(repository.content(state_of(stored)))


def files_of(repository: ShadowRepository, commit: ObjectId) -> dict[bytes, bytes]:
    """Return the files of a flat commit."""
    return {entry.name: repository.read(entry.oid) for entry in repository.tree(repository.commit_tree(commit))}


def pack_names(repository: ShadowRepository) -> set[str]:
    """Return the names in `objects/pack`."""
    return set(os.listdir(repository.packs.path))
