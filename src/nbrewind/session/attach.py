"""Attaching: which session a kernel takes, what is put in order first, and how everything is wired."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from nbrewind import fs
from nbrewind.capture.recorder import Recorder
from nbrewind.errors import SessionLocked, StoreError, clipped
from nbrewind.model import Note, SessionId, Settings
from nbrewind.resources.files.coverage import Coverage
from nbrewind.resources.files.processes import children, writable_files
from nbrewind.resources.files.signature_index import SignatureIndex
from nbrewind.resources.files.tracker import FileTracker
from nbrewind.resources.variables.ports import KernelPort
from nbrewind.rewind.recovery import recover_session
from nbrewind.session.archiving import sweep_lists
from nbrewind.session.core import Parts
from nbrewind.session.notebooks import became
from nbrewind.session.recoverers import recoverers
from nbrewind.session.secrecy import Secrecy
from nbrewind.session.shell import ShellPort
from nbrewind.session.trust import StoreTrust, is_unfinished
from nbrewind.session.variables import Variables
from nbrewind.store.frames import Damage
from nbrewind.store.layout import (
    SessionPaths,
    StorePaths,
    find_store,
    list_sessions,
    new_session_id,
    open_store,
)
from nbrewind.store.locks import GcLock, SessionLock, is_held
from nbrewind.store.oplog import OperationLog, read_log
from nbrewind.store.shadow.maintenance import mend
from nbrewind.store.shadow.repository import ShadowRepository

__all__ = ["Held", "damage_notes", "hold", "hold_free", "looking_parts", "wire"]

_TORN = "the log ends in the middle of an operation: a kernel died while it wrote, or the end is damaged"


@dataclass(frozen=True, slots=True)
class Held:
    """A session whose lock this process has."""

    session: SessionId
    paths: SessionPaths
    lock: SessionLock
    log: OperationLog


def open_writable_store(settings: Settings) -> StorePaths:
    """Return the store, made where missing; one inside the workspace gets an ignore file of its own.

    Raises:
        StoreError: it cannot be opened (StoreTooNew, StoreReadOnly).
    """
    # What was there before its version line was made by somebody else.
    is_new = not any(os.path.lexists(f"{settings.store_dir}/{name}") for name in ("format", "sessions", "shadow"))
    store = open_store(settings.store_dir, workspace=settings.workspace)
    if is_new:
        with contextlib.suppress(StoreError):
            StoreTrust(store, settings.key_file).believe(told=False)
    if (store.root + os.sep).startswith(settings.workspace.rstrip("/") + os.sep):
        with contextlib.suppress(FileExistsError):
            fs.write_new(f"{store.root}/.gitignore", b"*\n")
    return store


def hold_free(store: StorePaths, notebook: str, holder: str, *, believed: bool = True) -> Held:
    """Take the newest session of *notebook* (or of none) that nobody holds, else begin one.

    A session whose notebook was renamed to *notebook* since is one of it. In a store that is not *believed*, unfinished
    ones are left alone: to finish one is to do what whoever wrote it says.

    Raises:
        StoreError: nothing can be written.
    """
    for session in list_sessions(store):
        paths = store.session(session)
        try:
            if is_held(paths) is not None or not _is_of(paths, notebook):
                continue
            if not believed and is_unfinished(paths):
                continue
            return hold(store, session, holder)
        except (SessionLocked, StoreError):
            # Somebody was faster, or it is damaged beyond use; its points stay readable.
            continue
    return hold(store, new_session_id(), holder)


def hold(store: StorePaths, session: SessionId, holder: str) -> Held:
    """Take *session*.

    Raises:
        SessionLocked: a kernel holds it; the message names it.
        StoreError: it cannot be written.
    """
    paths = store.session(session)
    lock = SessionLock(paths)
    lock.acquire(holder)
    try:
        return Held(session, paths, lock, OperationLog.open(paths, session))
    except BaseException:
        lock.release()
        raise


def _is_of(paths: SessionPaths, notebook: str) -> bool:
    operations = read_log(paths.log).operations
    last = operations[-1].notebook if operations else ""
    return last in (notebook, "") or became(operations, last, notebook)


def wire(
    settings: Settings,
    store: StorePaths,
    held: Held,
    *,
    notebook: str,
    kernel: str,
    shell: ShellPort | None,
    namespace: KernelPort | None = None,
) -> Parts:
    """Return the parts of a held session: recovered, with the tracker on the last checkpoint, not yet recording.

    Raises:
        StoreError: the shadow repository cannot be opened.
    """
    repository = ShadowRepository.open(settings.shadow_dir or store.shadow)
    recovered = recover_session(held.paths, held.log, repository, recoverers(settings.workspace))
    sweep_lists(held.paths, held.log)
    coverage = Coverage(settings, notebook)
    tracker = FileTracker(settings.workspace, coverage, repository, SignatureIndex(held.paths.index))
    notes = list(recovered)
    if held.log.torn_at is not None:
        notes.append(Note(f"at byte {held.log.torn_at}", _TORN))
    head = held.log.operations[-1] if held.log.operations else None
    if head is not None and head.checkpoint.files is not None:
        try:
            tracker.load(head.checkpoint.files)
        except StoreError as error:
            notes.append(Note("", f"the last point cannot be read, so all files are copied anew: {error.message}"))
    notes += [Note("store", done) for done in mend(repository)]
    secrecy = Secrecy(settings.workspace, coverage)
    recorder = Recorder(
        tracker,
        coverage,
        held.paths,
        settings,
        writable=writable_files,
        live=children,
        hide=secrecy.hide,
    )
    return Parts(
        settings=settings,
        session=held.session,
        store=store,
        paths=held.paths,
        repository=repository,
        coverage=coverage,
        tracker=tracker,
        gc=GcLock(store),
        secrecy=secrecy,
        lock=held.lock,
        log=held.log,
        recorder=recorder,
        shell=shell,
        variables=Variables(namespace, settings) if namespace is not None and settings.variables else None,
        damaged=damage_notes(held.log.damaged),
        recovered=tuple(notes),
        notebook=notebook,
        kernel=kernel,
    )


def looking_parts(settings: Settings, session: SessionId | None) -> Parts:
    """Return the parts of a stored session for reading only; nothing is written, no lock is taken.

    Raises:
        StoreError: there is no such store or session.
    """
    store = find_store(settings.store_dir)
    sessions = list_sessions(store)
    if session is None and not sessions:
        raise StoreError(f"There is no session in {store.root} yet.")
    chosen = session if session is not None else sessions[0]
    paths = store.session(chosen)
    if not Path(paths.log).is_file():
        raise StoreError(f"There is no session {clipped(chosen)} in {store.root}.")
    reading = read_log(paths.log)
    repository = ShadowRepository.open(settings.shadow_dir or store.shadow, create=False)
    coverage = Coverage(settings, reading.operations[-1].notebook if reading.operations else "")
    # Of a session that a kernel holds, the last frame may be on its way right now.
    torn = reading.torn_at is not None and _holder(paths) is None
    return Parts(
        settings=settings,
        session=chosen,
        store=store,
        paths=paths,
        repository=repository,
        coverage=coverage,
        tracker=FileTracker(settings.workspace, coverage, repository),
        gc=GcLock(store),
        secrecy=Secrecy(settings.workspace, coverage),
        operations=reading.operations,
        damaged=(*damage_notes(reading.damaged), *([Note(f"at byte {reading.torn_at}", _TORN)] if torn else [])),
        notebook=reading.operations[-1].notebook if reading.operations else "",
    )


def _holder(paths: SessionPaths) -> str | None:
    try:
        return is_held(paths)
    except (OSError, StoreError):
        return None


def damage_notes(damaged: tuple[Damage, ...]) -> tuple[Note, ...]:
    """Return what a log cannot tell as notes: the operation's id, or where the damage lies."""
    return tuple(Note(one.id or f"at byte {one.offset}", one.reason) for one in damaged)
