"""The signatures of the last snapshot, kept for the next kernel: what they prove unchanged it need not read again.

The file states a fact about one commit, whoever reads it: for these signatures its states hold. So it may be late,
lost, damaged or of another commit, and then proves nothing: every entry is read, as if there were none. Nor does it
prove anything after the machine was started again: a power cut may keep a file's new stamp and lose the bytes.
"""

from __future__ import annotations

import hashlib
import json
import logging
import stat
import sys
import time
from array import array
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Final

from nbrewind import fs
from nbrewind.errors import StoreError
from nbrewind.model import EntryKind, FilesAddress, FileState
from nbrewind.resources.files.coverage import Coverage
from nbrewind.resources.files.folder import Folder
from nbrewind.resources.files.known import Known
from nbrewind.resources.files.signature import RawSignature, entry_kind
from nbrewind.store.shadow.repository import ShadowRepository

__all__ = ["SignatureIndex", "Signatures", "believed"]

_LOG = logging.getLogger("nbrewind")
_MAGIC: Final = b"nbrewind-index 1\n"
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_DIGEST: Final = 32
_FIELDS: Final = 7
_SHARE: Final = 0.02
"""The part of one processor that writing may take in the long run."""

Signatures = Mapping[str, Mapping[str, RawSignature]]
"""Signatures by folder and name."""


class SignatureIndex:
    """The file at *path*: written whole, without waiting for the disk, and believed only if its checksum is right."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._written: Known | None = None
        # When it was written, and how many seconds must pass since, for what that took.
        self._rests = (float("-inf"), 0.0)

    def read(self, address: FilesAddress) -> Signatures:
        """Return what is proven of the commit at *address*; nothing where that cannot be told."""
        try:
            return _parse(memoryview(Path(self._path).read_bytes()), {"boot": _boot(), "commit": address.commit})
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def write(self, known: Known, doubted: Collection[str], *, pause: float) -> None:
        """Note what is *known*, without the paths *doubted*, unless that was done less than *pause* seconds ago."""
        before = self._written
        last, rest = self._rests
        if known.address is None or (pause and time.monotonic() < last + max(pause, rest)):
            return
        if before is not None and (before.address, before.folders) == (known.address, known.folders):
            return
        began = time.thread_time()
        try:
            of = {"boot": _boot(), "commit": known.address.commit}
            fs.replace(self._path, _bytes(known, doubted, of), sync=False)
        except OSError:
            _LOG.debug("The signatures could not be kept; the next kernel reads every file.", exc_info=True)
        self._written = known
        self._rests = time.monotonic(), (time.thread_time() - began) / _SHARE


def believed(known: Known, signatures: Signatures, coverage: Coverage, repository: ShadowRepository) -> Known:
    """Return *known* with those of *signatures* that prove an entry of it, and whose bytes the repository lists."""
    if not signatures:
        return known
    repository.packs.refresh()
    folders = dict(known.folders)
    for rel in folders.keys() & signatures.keys():
        folder = folders[rel]
        held = {
            name: raw
            for name, raw in signatures[rel].items()
            if (state := folder.states.get(name)) is not None
            and _agrees(state, raw)
            # The settings may be others now: such files are looked at again, and kept without their bytes.
            and not (state.size > coverage.settings.max_file_size or coverage.secret(name))
            and _is_stored(repository, folder, name, state)
        }
        folders[rel] = replace(folder, signatures=held, untrusted=folder.untrusted.difference(held))
    return replace(known, folders=folders)


def _agrees(state: FileState, raw: RawSignature) -> bool:
    if state.missing or state.kind is not entry_kind(raw[0]) or state.mode != stat.S_IMODE(raw[0]):
        return False
    if state.kind is EntryKind.DIRECTORY or state.kind is EntryKind.SPECIAL:
        return True
    # Without permission to read, the bytes are those of an earlier look.
    return (state.size, state.mtime_ns) == (raw[3], raw[1]) and bool(raw[0] & stat.S_IRUSR)


def _is_stored(repository: ShadowRepository, folder: Folder, name: str, state: FileState) -> bool:
    if state.object is None:
        return state.kind is EntryKind.DIRECTORY or state.kind is EntryKind.SPECIAL
    holds = repository.packs.holds
    if not holds(bytes.fromhex(state.object)):
        return False
    if not state.chunked:
        return True
    try:
        return all(holds(bytes.fromhex(row.oid)) for row in repository.tree(folder.chunks[name]))
    except (StoreError, KeyError):
        return False


def _boot() -> str:
    """Return what names the run of this machine.

    Raises:
        OSError: That cannot be told.
    """
    return _BOOT.read_text("ascii").strip()


def _bytes(known: Known, doubted: Collection[str], of: Mapping[str, str]) -> bytes:
    names: dict[str, list[str]] = {}
    numbers = array("Q")
    for rel, folder in known.folders.items():
        proven = list(_proven(rel, folder, doubted))
        try:
            row = array("Q", chain.from_iterable(raw for _, raw in proven))
        except OverflowError:
            # A time before 1970: the folder is read again.
            continue
        if proven:
            names[rel] = [name for name, _ in proven]
            numbers += row
    text = json.dumps({**of, "names": names}, separators=(",", ":")).encode("ascii")
    body = b"".join((_MAGIC, len(text).to_bytes(8, "little"), text, _little(numbers).tobytes()))
    return body + hashlib.blake2b(body, digest_size=_DIGEST).digest()


def _proven(rel: str, folder: Folder, doubted: Collection[str]) -> Iterator[tuple[str, RawSignature]]:
    untrusted, states = folder.untrusted, folder.states
    for name, raw in folder.signatures.items():
        state = states.get(name)
        if state is None or state.missing or name in untrusted:
            continue
        if not doubted or (f"{rel}/{name}" if rel else name) not in doubted:
            yield name, raw


def _parse(data: memoryview, of: Mapping[str, str]) -> Signatures:
    """Return the signatures in the bytes of a file that says to be *of* that commit and run of the machine.

    Raises:
        ValueError: They are no index, damaged, or of something else. (Also KeyError and TypeError.)
    """
    body = data[:-_DIGEST]
    if bytes(body[: len(_MAGIC)]) != _MAGIC or hashlib.blake2b(body, digest_size=_DIGEST).digest() != data[-_DIGEST:]:
        raise ValueError("damaged")
    start = len(_MAGIC) + 8
    end = start + int.from_bytes(body[len(_MAGIC) : start], "little")
    head = json.loads(bytes(body[start:end]))
    if any(head[name] != wanted for name, wanted in of.items()):
        raise ValueError("of something else")
    numbers = array("Q")
    numbers.frombytes(body[end:])
    if len(numbers) != _FIELDS * sum(map(len, head["names"].values())):
        raise ValueError("damaged")
    rows = zip(*[iter(_little(numbers))] * _FIELDS, strict=True)
    # Each folder takes as many rows as it has names: the names come first, so that no row is lost between two.
    return {rel: dict(zip(names, rows, strict=False)) for rel, names in head["names"].items()}


def _little(numbers: array[int]) -> array[int]:
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
