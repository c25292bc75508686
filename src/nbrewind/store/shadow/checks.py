"""Checking the repository: by git where it is installed, by our own reading where it is not."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from nbrewind.errors import DamagedObject, GitUnavailable, MissingObject
from nbrewind.model import ObjectId
from nbrewind.store.shadow.git import GitRunner
from nbrewind.store.shadow.pack import Pack
from nbrewind.store.shadow.repository import ShadowRepository

__all__ = ["check_packs", "fsck"]

_PIECE = 1 << 20


def fsck(
    repository: ShadowRepository, git: GitRunner, *, full: bool = True, timeout: float | None = None
) -> tuple[str, ...]:
    """Return what is wrong, one line each; nothing when all is well.

    With *full* every object is read, else only whether what is named is there. Without git, every object is read but
    not whether all that is named is there.

    Raises:
        StoreError: git took longer than *timeout*.
    """
    depth = ("--full", "--strict") if full else ("--connectivity-only",)
    try:
        result = git.run("fsck", *depth, "--no-dangling", "--no-progress", timeout=timeout)
    except GitUnavailable:
        return check_packs(repository, objects=full)
    lines = (result.errors + result.output.decode("utf-8", "replace")).splitlines()
    problems = [line for line in lines if line and not line.startswith(("notice: ", "Checking ", "dangling "))]
    if result.status and not problems:
        problems.append(f"git fsck ended with {result.status}")
    return tuple(problems)


def check_packs(repository: ShadowRepository, *, objects: bool = True) -> tuple[str, ...]:
    """Return what is wrong with packs and indexes, and with *objects* what does not match its name. Needs no git."""
    repository.packs.refresh(force=True)
    problems = [f"{stem}: {text}" for stem, text in repository.packs.problems.items()]
    for pack in repository.packs.packs():
        try:
            problems += _pack_problems(pack)
            names = list(pack.index.names()) if objects else []
        except FileNotFoundError:
            continue
        except (DamagedObject, OSError) as problem:
            problems.append(f"{pack.stem}: {problem}")
            continue
        for name in names:
            try:
                repository.object(ObjectId(name.hex()))
            except (DamagedObject, MissingObject) as problem:
                problems.append(problem.message)
    return tuple(problems)


def _pack_problems(pack: Pack) -> list[str]:
    # Read first: only then is it known whether the index had to be made anew.
    trailer_listed = pack.index.trailer
    problems = [] if pack.remade is None and pack.index.intact() else [f"{pack.stem}: the index is damaged"]
    sha = hashlib.sha1(usedforsecurity=False)
    with Path(pack.path + ".pack").open("rb", buffering=0) as file:
        rest = os.fstat(file.fileno()).st_size - 20
        while rest > 0 and (part := file.read(min(_PIECE, rest))):
            sha.update(part)
            rest -= len(part)
        trailer = file.read(20)
    if trailer != sha.digest() or trailer != trailer_listed:
        problems.append(f"{pack.stem}: the pack does not match its checksum")
    return problems
