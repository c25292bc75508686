"""The intent: a file that exists only while a rewind is in flight, and that recovery reads after a death."""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from nbrewind import fs
from nbrewind.errors import DamagedObject, MissingObject, StoreError
from nbrewind.model import ObjectId, OperationId
from nbrewind.resources.archive import INTENT, reference
from nbrewind.store.codec import from_json, to_json
from nbrewind.store.layout import SessionPaths, is_id
from nbrewind.store.shadow.repository import ShadowRepository

__all__ = ["Intent", "pending_intents", "read_intent", "recalled_intent", "remove_intent", "write_intent"]

_MAGIC = "nbrewind-intent 1"
_SUFFIX = ".intent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """What a rewind is about to do: its *operation* with the *seq* that its frame will have, and each resource's part.

    *resources* are in the order in which they are applied. *archive* is the commit that holds what will be taken away.
    """

    operation: OperationId
    seq: int
    archive: ObjectId | None = None
    trust: bool = True
    resources: tuple[tuple[str, str], ...] = ()

    @property
    def parts(self) -> Mapping[str, str]:
        """Return each resource's part by its name."""
        return dict(self.resources)

    @property
    def text(self) -> bytes:
        """Return it as JSON."""
        return to_json(self).encode("ascii") + b"\n"


def write_intent(paths: SessionPaths, intent: Intent) -> None:
    """Put *intent* on the disk, whole and durable: `<operation>.intent`, a head line with length and crc, and JSON.

    From here on a death leaves something for recovery to decide.

    Raises:
        OSError: It may be there or not; the caller removes it.
    """
    fs.make_directories(paths.intents)
    # The folder's own name: else a power cut could take a synced intent away together with its folder.
    fs.sync_directory(paths.root)
    body = intent.text
    head = f"{_MAGIC} {len(body)} {zlib.crc32(body):08x}\n".encode("ascii")
    fs.replace(_path(paths, intent.operation), head + body)


def read_intent(paths: SessionPaths, operation: OperationId) -> Intent:
    """Return the intent of *operation*.

    Raises:
        DamagedObject: The file is not what was written. It cannot be torn, so this is rot.
        StoreError: It cannot be read.
    """
    path = _path(paths, operation)
    try:
        with open(path, "rb") as file:
            head, _, body = file.read().partition(b"\n")
    except OSError as error:
        raise StoreError(f"The intent {path} cannot be read: {error.strerror or error}.") from error
    fields = head.decode("ascii", "replace").split(" ")
    if fields != [*_MAGIC.split(" "), str(len(body)), f"{zlib.crc32(body):08x}"]:
        raise DamagedObject(f"The intent {path} is damaged.", hint=_keep_reading(paths))
    intent = from_json(Intent, body)
    if intent.operation != operation:
        raise DamagedObject(f"The intent {path} belongs to {intent.operation}.", hint=_keep_reading(paths))
    return intent


def recalled_intent(repository: ShadowRepository, operation: OperationId) -> Intent:
    """Return the intent of *operation* from the copy in its archive, for the case that the intent itself is damaged.

    Raises:
        MissingObject: There is no copy.
        StoreError: It cannot be read.
    """
    name = reference(operation)
    commit = repository.refs(name).get(name)
    if commit is not None:
        for entry in repository.tree(repository.commit_tree(commit)):
            if entry.name == INTENT:
                intent = from_json(Intent, repository.read_text(entry.oid))
                # The commit's own name cannot be in it.
                return replace(intent, archive=commit)
    raise MissingObject(f"No archive holds a copy of the intent of {operation}.")


def remove_intent(paths: SessionPaths, operation: OperationId) -> None:
    """Remove the intent of *operation*; from here on the rewind is over, and twice is fine.

    Raises:
        OSError: It is still there, or may come back with a power cut.
    """
    try:
        fs.unlink(_path(paths, operation))
    except FileNotFoundError:
        return
    fs.sync_directory(paths.intents)


def pending_intents(paths: SessionPaths) -> tuple[OperationId, ...]:
    """Return the operations that have an intent, oldest first.

    Raises:
        StoreError: The folder cannot be listed.
    """
    try:
        names = os.listdir(paths.intents)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise StoreError(f"The intents in {paths.intents} cannot be listed: {error.strerror or error}.") from error
    ids = (name.removesuffix(_SUFFIX) for name in sorted(names) if name.endswith(_SUFFIX))
    return tuple(OperationId(one) for one in ids if is_id(one))


def _path(paths: SessionPaths, operation: OperationId) -> str:
    if not is_id(operation):
        raise ValueError(f"BUG: {operation!r} is not one of our ids")
    return f"{paths.intents}/{operation}{_SUFFIX}"


def _keep_reading(paths: SessionPaths) -> str:
    return (
        f"All can still be read. To go on from the files as they stand now, move it away from {paths.intents}; "
        "what stood there before is in the archive of that rewind."
    )
