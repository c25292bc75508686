"""Whose change it is: a span's record against what the scan found. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import NamedTuple

from nbrewind.capture.span import SpanKind, SpanRecord, ending_of
from nbrewind.capture.writers import written_by
from nbrewind.model import Change, Claim, EntryKind, Note, Verdict, Witness
from nbrewind.resources.files.signature import RawSignature

__all__ = ["Attribution", "attribute"]


class Attribution(NamedTuple):
    """A span's changes, those that belong to the following external operation, why the turn is partial, its verdict."""

    turn_changes: tuple[Change, ...]
    external_changes: tuple[Change, ...]
    reasons: tuple[Note, ...]
    verdict: Verdict


def attribute(
    span: SpanRecord,
    changes: Collection[Change],
    ctimes: Mapping[str, int],
    *,
    others_overlapped: bool = False,
    other_claims: Collection[str] = frozenset(),
    seen: Callable[[str], RawSignature | None] | None = None,
) -> Attribution:
    """Say of each of *changes* whose it is.

    *ctimes* has each path's `st_ctime_ns` (of a deleted one its directory's `st_mtime_ns`). *others_overlapped* says
    that another session had a turn open in the workspace meanwhile; *other_claims* are the paths that others' journals
    name. *seen* gives what the scan saw at a path. A gap's changes are all external: OURS where this process touched
    them.
    """
    court = _Court(span, ctimes, others_overlapped, frozenset(other_claims), seen)
    turn: list[Change] = []
    external: list[Change] = []
    for change in changes:
        if span.header.kind is SpanKind.GAP:
            external.append(court.between(change))
        else:
            court.during(change, turn, external)
    turn, external = _with_folders(turn), _with_folders(external)
    reasons = _reasons(span, (*turn, *external))
    return Attribution(tuple(turn), tuple(external), reasons, _verdict(span, reasons))


class _Court:
    """The evidence about one span."""

    def __init__(
        self,
        span: SpanRecord,
        ctimes: Mapping[str, int],
        overlapped: bool,
        others: frozenset[str],
        seen: Callable[[str], RawSignature | None] | None,
    ) -> None:
        self.span = span
        self.ctimes = ctimes
        self.overlapped = overlapped
        self.others = others
        self.seen = seen
        self.children = bool(span.ran or span.forked or span.workers)

    def during(self, change: Change, turn: list[Change], external: list[Change]) -> None:
        """Put the rows of *change*, found at the end of a turn, where they belong."""
        span, path = self.span, change.path
        journaled, held_open = span.journaled(path), span.held_open(path)
        late = not held_open and self._late(path)
        gone = change.after is None
        if journaled:
            foreign = path in self.others
            # Of a path that is gone only its folder's time may be known: any other file made in there moves it.
            again = late and (not gone or self._ending_known(path))
            note = _joined(change.note, "changed again after the cell ended" if again else "")
            turn.append(_judged(change, Claim.OURS, journaled=True, note=note))
            if again or foreign:
                external.append(self._afterwards(change, foreign))
        elif late and not (gone and self.children and not self.overlapped):
            claim = Claim.OTHER_SESSION if path in self.others else Claim.EXTERNAL
            external.append(_judged(change, claim))
        else:
            turn.append(_judged(change, self._seen_only(change, held_open)))

    def between(self, change: Change) -> Change:
        """Return *change*, found after a gap, with its claim."""
        path = change.path
        journaled = self.span.journaled(path)
        if journaled or self.span.held_open(path):
            return _judged(change, Claim.OURS, journaled=journaled)
        if path in self.others:
            return _judged(change, Claim.OTHER_SESSION)
        ours = self.children and not self.overlapped
        return _judged(change, Claim.OURS if ours else Claim.EXTERNAL)

    def _seen_only(self, change: Change, held_open: bool) -> Claim:
        """Return whose a change is that only the scan saw, within the turn."""
        if change.path in self.others:
            return Claim.OTHER_SESSION
        if held_open:
            return Claim.OURS
        if self.overlapped:
            return Claim.UNCLAIMED
        if self.children or written_by(change.path, self.span.writers, self.span.header.code):
            return Claim.OURS
        return Claim.UNCLAIMED

    def _late(self, path: str) -> bool:
        """Return whether *path* changed after the cell's end. Unknown for a turn whose process died: then no."""
        if self.span.outcome is None:
            return False
        if self.seen is not None and self._ending_known(path):
            raw = self.seen(path)
            return self.span.endings[self.span.absolute(path)] != (None if raw is None else ending_of(raw))
        return self.ctimes.get(path, 0) > self.span.ended_ns

    def _ending_known(self, path: str) -> bool:
        return self.seen is not None and self.span.absolute(path) in self.span.endings

    def _afterwards(self, change: Change, foreign: bool) -> Change:
        """Return the second row of a path that changed in the turn and again after it."""
        if self.span.absolute(change.path) in self.span.touched_late:
            claim = Claim.OURS
        else:
            claim = Claim.OTHER_SESSION if foreign else Claim.EXTERNAL
        return replace(change, before=change.after, claim=claim, witnesses=(Witness.SCAN,))


def _judged(change: Change, claim: Claim, *, journaled: bool = False, note: str = "") -> Change:
    seen = (Witness.JOURNAL,) if journaled else ()
    witnesses = tuple(dict.fromkeys((*seen, *change.witnesses)))
    return replace(change, claim=claim, witnesses=witnesses, note=note or change.note)


def _joined(*notes: str) -> str:
    return "; ".join(filter(None, notes))


def _with_folders(rows: list[Change]) -> list[Change]:
    """Let a directory that came or went with one of our files be ours: no witness but the scan sees most of them."""
    came: set[str] = set()
    went: set[str] = set()
    for row in rows:
        if row.claim is Claim.OURS and (row.before is None) != (row.after is None):
            above = came if row.before is None else went
            parts = row.path.split("/")
            above.update("/".join(parts[:count]) for count in range(1, len(parts)))
    return [
        replace(row, claim=Claim.OURS) if row.claim is Claim.UNCLAIMED and _folder_in(row, came, went) else row
        for row in rows
    ]


def _folder_in(row: Change, came: set[str], went: set[str]) -> bool:
    if row.before is None and row.after is not None:
        return row.after.kind is EntryKind.DIRECTORY and row.path in came
    return row.after is None and row.before is not None and row.before.kind is EntryKind.DIRECTORY and row.path in went


def _reasons(span: SpanRecord, rows: Collection[Change]) -> tuple[Note, ...]:
    """Return why the span was not wholly seen or kept."""
    reasons = dict.fromkeys(span.skipped)
    reasons.update(dict.fromkeys(Note("", f"the file watch failed: {text}") for text in span.hook_errors))
    for row in rows:
        if row.claim is Claim.OURS:
            missing = _missing(row)
            if missing:
                reasons[Note(row.path, missing)] = None
    for touched in span.touches.values():
        before = touched.before
        if before is not None and before.missing and touched.inside is None:
            reasons[Note(touched.key, before.missing)] = None
        if touched.background and touched.origin is not None and span.header.kind is SpanKind.TURN:
            reasons[Note(touched.key, "written in the background by an earlier cell")] = None
    reasons.update(dict.fromkeys(Note(text, "a child process was still running") for text in span.new_children))
    outside = [name for name in span.mapped if not name.startswith(f"{span.root.rstrip('/')}/")]
    reasons.update(dict.fromkeys(Note(name, "mapped into memory outside the workspace") for name in outside))
    return tuple(reasons)


def _missing(row: Change) -> str:
    for state in (row.before, row.after):
        if state is not None and state.missing:
            return state.missing
    return ""


def _verdict(span: SpanRecord, reasons: tuple[Note, ...]) -> Verdict:
    if reasons:
        return Verdict.PARTIAL
    return Verdict.WORKSPACE_ONLY if span.ran or span.forked or span.children else Verdict.PROTECTED
