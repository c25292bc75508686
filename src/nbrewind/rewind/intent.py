"""The intent: a file that exists only while a rewind is in flight, and that recovery reads after a death."""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from nbrewind import fs
from nbrewind.errors import DamagedObject, StoreError
from nbrewind.model import ObjectId, OperationId
from nbrewind.store.codec import from_json, to_json
from nbrewind.store.layout import SessionPaths, is_id

__all__ = ["Intent", "pending_intents", "read_intent", "remove_intent", "write_intent"]

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


def write_intent(paths: SessionPaths, intent: Intent) -> None:
    """Put *intent* on the disk, whole and durable: `<operation>.intent`, a head line with length and crc, and JSON.

    From here on a death leaves something for recovery to decide.

    Raises:
        OSError: It may be there or not; the caller removes it.
    """
    fs.make_directories(paths.intents)
    # The folder's own name: else a power cut could take a synced intent away together with its folder.
    fs.sync_directory(paths.root)
    body = to_json(intent).encode("ascii") + b"\n"
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
    return f"Everything can still be read and compared; no rewind runs while {paths.intents} holds it."
