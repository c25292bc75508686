"""The façade of one session: turns in, points out, and every verb that front ends offer.

Its parts, each on top of the one before: `core` (state), `looking`, `keeping`, `capturing`, `beginning`, `recording`,
`switching`, `idling`, `planning`, `moving`, `retracting`, `housekeeping`, `documents`.
"""

from __future__ import annotations

import sys

from nbrewind.errors import RefusalReason, RewindRefused, StoreError
from nbrewind.model import SessionId, Settings
from nbrewind.resources.variables.ports import KernelPort
from nbrewind.session.attach import hold, hold_free, looking_parts, open_writable_store, wire
from nbrewind.session.core import Parked, RewindResult
from nbrewind.session.documents import Documents
from nbrewind.session.points import Difference, HistoryRow, Line, Point
from nbrewind.session.shell import ShellMove, ShellPort
from nbrewind.session.status import Status
from nbrewind.session.trust import StoreTrust, is_unfinished
from nbrewind.session.turns import TurnEnd, TurnStart
from nbrewind.store.layout import find_store, list_sessions

__all__ = [
    "Difference",
    "HistoryRow",
    "Line",
    "Parked",
    "Point",
    "RewindResult",
    "Session",
    "ShellMove",
    "ShellPort",
    "Status",
    "TurnEnd",
    "TurnStart",
]


class Session(Documents):
    """One line of turns in one workspace, held by this process (or read only).

    Invariant: the operation log is the truth, and all that this object remembers can be built again from it and from
    a scan. One thread at a time runs a method; the worker of the capture takes the same lock.
    Crash rule: a death at any instant leaves the log, at most one intent and the journals of spans that are not in the
    log yet; the next attach puts the rewind in order and makes operations of the journals.
    """

    @classmethod
    def attach(
        cls,
        settings: Settings,
        *,
        notebook: str = "",
        kernel: str = "",
        shell: ShellPort | None = None,
        namespace: KernelPort | None = None,
    ) -> Session:
        """Take the newest free session of the workspace with the same notebook (or none), or begin a new one.

        Unfinished rewinds are recovered first, and a turn that a death interrupted is put in the log. Recording begins
        at once if the settings say so.

        Raises:
            StoreError: the store can be neither read nor written (StoreTooNew, StoreReadOnly).
        """
        _require_utf8()
        store = open_writable_store(settings)
        believed = StoreTrust(store, settings.key_file).holds
        held = hold_free(store, notebook, kernel or "a script", believed=believed)
        try:
            parts = wire(settings, store, held, notebook=notebook, kernel=kernel, shell=shell, namespace=namespace)
            session = cls(parts)
            session.begin(attach=True)
        except BaseException:
            held.log.close()
            held.lock.release()
            raise
        session.start_recording()
        return session

    @classmethod
    def open(cls, settings: Settings, session: SessionId | None = None, *, readonly: bool = True) -> Session:
        """Open a stored session (the newest by default) without a kernel, for the command line.

        With *readonly* nothing is written and no lock is taken; without it the session is held, recovered and may move
        files, but no `attach` is put in the log.

        Raises:
            StoreError: there is no such store or session.
            SessionLocked: a kernel holds it (only without *readonly*).
            RewindRefused: (untrusted-store) somebody else's, and unfinished (only without *readonly*).
        """
        _require_utf8()
        if readonly:
            return cls(looking_parts(settings, session))
        known = looking_parts(settings, session)
        store = open_writable_store(settings)
        if not StoreTrust(store, settings.key_file).holds and is_unfinished(store.session(known.session)):
            raise RewindRefused(
                RefusalReason.UNTRUSTED_STORE,
                "Nothing changed: this session is unfinished, and its store was not made by you on this machine.",
                hint="If you know where it comes from: nbrewind trust --yes.",
            )
        held = hold(store, known.session, "the command line")
        try:
            opened = cls(wire(settings, store, held, notebook=known.notebook, kernel="", shell=None))
            opened.begin(attach=False)
        except BaseException:
            held.log.close()
            held.lock.release()
            raise
        return opened

    @staticmethod
    def stored(settings: Settings) -> tuple[SessionId, ...]:
        """Return the sessions of the store, newest first.

        Raises:
            StoreError: there is no store.
        """
        return list_sessions(find_store(settings.store_dir))


def _require_utf8() -> None:
    """Refuse where names of files would be read as something that no other process can read again.

    Raises:
        StoreError: Python's encoding of names is not UTF-8.
    """
    encoding = sys.getfilesystemencoding()
    if encoding.lower() != "utf-8":
        raise StoreError(
            f"Python reads the names of files as {encoding} here, so they could not be given back.",
            hint="Start it with PYTHONUTF8=1, or in a UTF-8 locale.",
        )
