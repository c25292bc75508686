"""The recorder: from events to the record of a span, with every before-image on the disk before its effect."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from nbrewind.capture import children, hook, origins, wraps
from nbrewind.capture.events import FILE_EVENTS, asked_directory, touches
from nbrewind.capture.journal import named_no_secret, remove
from nbrewind.capture.openspan import OpenSpan
from nbrewind.capture.resolution import Unresolvable
from nbrewind.capture.span import JournalHeader, SpanKind, SpanRecord, TurnOutcome
from nbrewind.capture.witness import CoverageView, TrackerView, Witnessing
from nbrewind.capture.writers import loaded_writers
from nbrewind.model import Note, OperationId, Settings
from nbrewind.store.layout import SessionPaths, new_operation_id

__all__ = ["Recorder"]

_WAIT = 5.0
"""Seconds that closing a span waits at most for a before-image that another thread is copying."""


class WritableFiles(Protocol):
    """Tells which files this process can write through descriptors and maps that it has already."""

    def __call__(self) -> Mapping[str, str]:
        """Return real path → how it is open ("open", "append", "mapped")."""


def _no_writable_files() -> Mapping[str, str]:
    return {}


def _no_children() -> Iterable[int]:
    return ()


class Recorder:
    """One span after the other, from `start` to `stop`: a gap, a turn, a gap...

    `begin` opens a turn; what the gap before it has seen and nobody has taken goes along. `end` notes how the cell
    ended; late threads still go into the turn until `take` closes the span, returns its record and opens a gap. The raw
    copies and the journal of a taken span stay until `saved` is called for it. Turns that were never taken are returned
    first, oldest first. Nothing here raises into a cell: what fails becomes a reason of the turn.

    Thread-safe; all locks are this process's own, and a forked child is detached.
    """

    def __init__(
        self,
        tracker: TrackerView,
        coverage: CoverageView,
        paths: SessionPaths,
        settings: Settings,
        *,
        writable: WritableFiles = _no_writable_files,
        live: Callable[[], Iterable[int]] = _no_children,
        hide: Callable[[str], str] = str,
    ) -> None:
        self._paths = paths
        self._settings = settings
        self._coverage = coverage
        self._writable = writable
        self._live = live
        # Re-entrant: a signal handler that flushes the turn may come in the middle of the hook, in the same thread.
        self._lock = threading.RLock()
        self._quiet = threading.Condition(self._lock)
        self._secrets: dict[tuple[OperationId, str], bytes] = {}
        self._witnessing = Witnessing(tracker, coverage, settings, self._keep_secret, hide)
        self._untaken: deque[OpenSpan] = deque()
        self._known_children: dict[int, str] = {}
        self._span: OpenSpan | None = None
        self._installed = False
        self._failures: tuple[str, ...] = ()

    # -- life ----------------------------------------------------------------------------------------------------------
    def start(self) -> None:
        """Install the hook and the wraps, and open the first gap. Twice is once."""
        if self._span is None:
            self._known_children = self._children()
            self._span = self._gap(self._writable_now([]))
        if not self._installed:
            self._installed = True
            wraps.install()
            hook.install(self._on_event, FILE_EVENTS | children.PROCESS_EVENTS)
        hook.rearm()

    def stop(self) -> None:
        """Take hook and wraps away; what was seen so far can still be taken. Twice is fine."""
        if self._installed:
            self._installed = False
            self._failures = hook.take_failures()
            hook.uninstall()
            wraps.uninstall()

    @property
    def recording(self) -> bool:
        """Whether events arrive."""
        return self._span is not None and hook.installed()

    # -- spans ---------------------------------------------------------------------------------------------------------
    def begin(self, header: JournalHeader) -> None:
        """Open a turn. Call it in the context in which the cell will run."""
        self.start()
        with hook.suspended(), self._lock:
            before = self._span
            if before is not None and before.kind is SpanKind.TURN:
                self._untaken.append(before)
                self._span = OpenSpan(self._paths, self._settings, header, self._witnessing, before.writable_at_start)
            elif before is not None:
                before.become(header)
            span = self._span
        if span is not None:
            with hook.suspended():
                span.open_journal(named_no_secret(header, self._coverage.secret))
        origins.enter(header.operation_id)

    def end(self, outcome: TurnOutcome) -> None:
        """Note how the cell ended. Call it in the context of `begin`."""
        origins.leave()
        span = self._span
        if span is not None and span.kind is SpanKind.TURN:
            with hook.suspended():
                span.end(outcome)

    def take(self) -> SpanRecord:
        """Close the span and return what was seen of it; a gap is open at once.

        Waits for before-images that other threads are copying just now, never for another process.
        """
        with hook.suspended():
            problems: list[Note] = []
            writable = self._writable_now(problems)
            with self._lock:
                if self._untaken:
                    span = self._untaken.popleft()
                else:
                    found = self._span
                    self._span = self._gap(writable)
                    span = found if found is not None else self._gap(writable)
                mine = threading.get_ident()
                if not self._quiet.wait_for(lambda: span.busy <= {mine}, _WAIT):
                    problems.append(Note("", "a write was under way when the turn was saved"))
            return self._record(span, writable, problems)

    def saved(self, record: SpanRecord) -> None:
        """Drop journal, raw copies and remembered secrets' index of *record*: it is in the log, or had no effect."""
        with hook.suspended():
            remove(self._paths, record.journal, record.images_prefix or record.header.operation_id)

    def secret_image(self, path: str, operation: OperationId | None = None) -> bytes | None:
        """Return the bytes of the secret file at *path* (absolute) before *operation*, or before its latest touch."""
        if operation is not None:
            return self._secrets.get((operation, path))
        found = [content for (_, name), content in self._secrets.items() if name == path]
        return found[-1] if found else None

    def secret_images(self) -> dict[str, bytes]:
        """Return the bytes of each secret file (by absolute path) before its latest touch."""
        return {path: content for (_, path), content in self._secrets.items()}

    def _gap(self, writable: Mapping[str, str]) -> OpenSpan:
        header = JournalHeader(operation_id=new_operation_id(), started=time.time(), kind=SpanKind.GAP)
        return OpenSpan(self._paths, self._settings, header, self._witnessing, writable)

    def _record(self, span: OpenSpan, writable: Mapping[str, str], problems: list[Note]) -> SpanRecord:
        alive = self._children()
        fresh = {pid: text for pid, text in alive.items() if pid not in self._known_children}
        self._known_children = alive
        record = span.close()
        failures, self._failures = (*self._failures, *hook.take_failures()), ()
        return replace(
            record,
            workers=tuple(text for pid, text in alive.items() if pid not in fresh and "multiprocessing" in text),
            children=tuple(alive.values()),
            new_children=tuple(fresh.values()),
            threads=origins.threads(),
            writers=loaded_writers(),
            skipped=(*record.skipped, *problems),
            hook_errors=(*record.hook_errors, *failures),
            writable_at_end=writable,
        )

    def _writable_now(self, problems: list[Note]) -> Mapping[str, str]:
        try:
            return self._writable()
        except OSError as error:
            problems.append(Note("", f"open files are not known: {error.strerror or error}"))
            return {}

    def _children(self) -> dict[int, str]:
        try:
            return children.live_children(self._live)
        except OSError:
            return {}

    def _keep_secret(self, operation: OperationId, path: str, content: bytes) -> None:
        self._secrets.setdefault((operation, path), content)

    # -- events --------------------------------------------------------------------------------------------------------
    def _on_event(self, event: str, args: tuple[Any, ...]) -> None:
        """Called by the hook, in the thread of the user's call and before its effect."""
        span = None
        # Everything under `try`: a user's interrupt may come after any call in here.
        try:
            with self._lock:
                span = self._span
                if span is None:
                    return
                span.busy.add(threading.get_ident())
            if event in children.PROCESS_EVENTS:
                self._cause(span, event, args)
            elif not (event == "open" and asked_directory.directory is None and span.seen_again(args[0])):
                given = args[0] if event == "open" and asked_directory.directory is None else None
                for touch in touches(event, args):
                    span.touch(touch, given)
        except Unresolvable as problem:
            if span is not None and not problem.quiet:
                span.skip(Note(problem.subject, problem.reason))
        finally:
            if span is not None:
                with self._lock:
                    span.busy.discard(threading.get_ident())
                    self._quiet.notify_all()

    def _cause(self, span: OpenSpan, event: str, args: tuple[Any, ...]) -> None:
        text = children.command(event, args)
        if text is not None:
            span.ran(text, forked=event in children.FORK_EVENTS)
