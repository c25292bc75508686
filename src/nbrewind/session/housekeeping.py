"""Housekeeping: health, recovery, packing, and reading everything once to see that it is all there."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from nbrewind.capture import hook
from nbrewind.errors import GitUnavailable, RewindError, StoreError
from nbrewind.model import Note, OperationId, OperationKind
from nbrewind.resources.files.mounts import mount_of
from nbrewind.resources.files.scan import Listing, Scan
from nbrewind.resources.files.side import NOT_COPIED
from nbrewind.rewind.recovery import recover_session
from nbrewind.session.attach import damage_notes
from nbrewind.session.looking import stored_changes
from nbrewind.session.recoverers import recoverers
from nbrewind.session.retracting import Retracting
from nbrewind.session.roots import all_roots
from nbrewind.session.status import Status
from nbrewind.session.verification import note_findings, replaying
from nbrewind.store.locks import is_held
from nbrewind.store.oplog import read_log
from nbrewind.store.shadow.checks import fsck
from nbrewind.store.shadow.collection import Collected, collect
from nbrewind.store.shadow.git import GitRunner
from nbrewind.store.shadow.maintenance import count_objects, mend, repack
from nbrewind.store.shadow.repository import ShadowRepository

__all__ = ["Housekeeping"]

_PATIENCE = 10.0
_SPECIAL = {stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket", stat.S_IFCHR: "device", stat.S_IFBLK: "device"}
OWN_DATA = "nbrewind's own data"


class Housekeeping(Retracting):
    """What keeps a session well, and says how it is."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._git = GitRunner(self._parts.repository.path)

    # -- status ---------------------------------------------------------------------------------------------------

    def status(self) -> Status:
        """Return the session's health; reads the disk, changes nothing."""
        parts, health = self._parts, self._health
        scan = parts.tracker.last_scan
        missing = parts.tracker.missing
        files = sum(map(_files, scan.folders.values())) if scan is not None else 0
        waiting = sum(note.reason == NOT_COPIED for note in missing)
        parked = self._parked
        return Status(
            workspace=self.workspace,
            store=parts.store.root,
            session=self.id,
            settings=self.settings,
            state=self._state(),
            holder=self._holder(),
            head=self.head,
            turns=sum(operation.kind is OperationKind.TURN for operation in self.operations),
            points=len(self.operations),
            files=files,
            bytes=sum(listing.size for listing in scan.folders.values()) if scan is not None else 0,
            variables=parts.variables is not None or self._keeps_variables(),
            first_copy=1.0 if not self._copying or not files else max(0.0, 1 - waiting / files),
            focus=parts.coverage.focus_reason,
            read_only=self.readonly,
            not_protected=health.not_protected,
            frozen=health.frozen,
            parked=(parked.token,) if parked is not None else (),
            not_covered=_not_covered(scan, missing) if scan is not None else missing,
            missing=tuple(self._missing_parts()),
            damaged=self.damaged,
            hints=tuple(self._hints()),
            recovered=(*parts.recovered, *self._found),
            other_sessions=tuple(Note(session, holder) for session, holder in self._neighbours.names()),
            disk=tuple(self._disk_use()),
            free_disk=self._free_disk(),
        )

    def _keeps_variables(self) -> bool:
        operations = self.operations
        return bool(operations) and operations[-1].checkpoint.variables is not None

    def _state(self) -> str:
        health = self._health
        if health.frozen is not None:
            return "frozen"
        if not self.settings.recording or self.readonly:
            return "off"
        if health.paused:
            return "paused"
        if health.not_protected is not None:
            return "not protected"
        if self._copying or not self._begun:
            return "first copy"
        if self._pending or self._worker.busy:
            return "saving"
        last = self.timeline.turns[-1].turn if self.timeline.turns else None
        return "partly saved" if last is not None and last.reasons else "saved"

    def _holder(self) -> str:
        if not self.readonly:
            return self.kernel
        try:
            return is_held(self._parts.paths) or ""
        except StoreError:
            return ""

    def _missing_parts(self) -> Iterator[Note]:
        if shutil.which("git") is None:
            yield Note("git", "packing and full checks are off; points and rewinds work")
        for package, loss in (
            ("zstandard", "the store takes more room, and compressed points of others cannot be read"),
            ("ipywidgets", "there is no panel and previews have no buttons"),
        ):
            if find_spec(package) is None:
                yield Note(package, loss)

    def _hints(self) -> Iterator[Note]:
        home, here = mount_of(self._parts.store.root), mount_of(self.workspace)
        if home.network and not here.network:
            yield Note(
                self._parts.store.root,
                f"the store is on a network drive ({home.type}) and the data is not: set NBRewind.store_dir",
            )

    def _disk_use(self) -> Iterator[tuple[str, int]]:
        try:
            yield "files", count_objects(self._parts.repository).size
        except (OSError, RewindError):
            return
        session = Path(self._parts.paths.root)
        logs = (session / "log",)
        yield "log", sum(path.stat().st_size for path in logs if path.is_file())
        archive = session / "archive"
        yield "archive", sum(path.stat().st_size for path in archive.glob("*")) if archive.is_dir() else 0

    def _free_disk(self) -> int:
        try:
            about = os.statvfs(self._parts.store.root)
        except OSError:
            return 0
        return about.f_bavail * about.f_frsize

    # -- recovery -------------------------------------------------------------------------------------------------

    def unfreeze(self) -> tuple[Note, ...]:
        """Recover what a failed rewind left and let cells run again; return what was done.

        Raises:
            StoreError: the log takes nothing more; only a restart helps.
        """
        if self._health.frozen is None:
            return ()
        parts = self._parts
        with self._mutex, hook.suspended():
            if self._log().refuses:
                raise StoreError(
                    "The session log takes nothing more in this kernel, so cells stay held.", hint="Restart the kernel."
                )
            notes = recover_session(parts.paths, self._log(), parts.repository, recoverers(self.workspace))
            if parts.variables is not None:
                parts.variables.lose()
            self._health.frozen = None
            self._stir()
            head = self.timeline.operation(self.head).checkpoint.files if self.head else None
            if head is not None:
                parts.tracker.load(head)
            self._capture_span()
        return notes

    # -- the store ------------------------------------------------------------------------------------------------

    def gc(self) -> Collected:
        """Pack the store and drop what nothing names any more; return what that came to.

        Raises:
            GitUnavailable: git is not installed.
            RewindRefused: (busy, disk-full) nothing was removed.
            StoreError: A log, an intent or an object cannot be read; nothing was removed.
        """
        if self._git.available() is None:
            raise GitUnavailable(
                "Not packed, nothing changed: git is not installed, or older than 2.30.",
                hint="Points and rewinds work without it; the store only takes more room.",
            )
        with self._planning():
            repository = self._parts.repository
            before = count_objects(repository)
            repack(repository, self._git)
            keep = partial(all_roots, self._parts.store, repository)
            done = collect(repository, self._git, self._parts.gc, keep, patience=_PATIENCE)
            self._generation = self._parts.gc.generation()
            repository.forget()
            after = count_objects(repository)
        return replace(done, objects_before=before.objects + before.loose, freed=max(0, before.size - after.size))

    def verify(self) -> tuple[Note, ...]:
        """Replay every point and compare its hashes; return what is damaged (empty: all is well).

        Lists show a damaged point as such from then on, in other processes too.

        Raises:
            StoreError: The log or the repository cannot be opened.
        """
        self._look_at_disk()
        parts = self._parts
        damaged: dict[OperationId, str] = {}
        notes: list[Note] = []
        with hook.suspended(), closing(ShadowRepository.open(parts.repository.path, create=False)) as repository:
            # Anew, from the disk: what this process has in memory proves nothing.
            reading = read_log(parts.paths.log)
            notes += [Note("store", done) for done in mend(repository, thorough=True)]
            notes += [Note("store", problem) for problem in fsck(repository, self._git)]
            with replaying(repository, self.settings.temp_roots) as replay:
                for operation in reading.operations:
                    found = list(dict.fromkeys(replay.problems(operation, partial(stored_changes, repository))))
                    notes += [Note(operation.id, reason) for reason in found]
                    if found:
                        damaged[operation.id] = found[0]
            for note in damage_notes(reading.damaged):
                damaged[OperationId(note.subject)] = note.reason
                notes.append(note)
            note_findings(parts.paths, damaged)
        return tuple(dict.fromkeys((*self.damaged, *notes)))


def _not_covered(scan: Scan, missing: tuple[Note, ...]) -> tuple[Note, ...]:
    excluded = (note for note in scan.excluded if note.reason != OWN_DATA)
    return (*missing, *_special(scan), *excluded)


def _special(scan: Scan) -> Iterator[Note]:
    for folder, listing in sorted(scan.folders.items()):
        for name, raw in sorted(listing.signatures.items()):
            kind = _SPECIAL.get(stat.S_IFMT(raw[0]))
            if kind is not None:
                yield Note(f"{folder}/{name}" if folder else name, f"a {kind} is left alone")


def _files(listing: Listing) -> int:
    return len(listing.signatures) - len(listing.folders)
