from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from nbrewind.capture.attribution import attribute
from nbrewind.capture.span import JournalHeader, Rename, SpanKind, SpanRecord, Touched, TurnOutcome
from nbrewind.model import Change, Claim, EntryKind, FileState, Note, ObjectId, OperationId, Verdict, Witness

END = 1_000
FILE = FileState(EntryKind.FILE, ObjectId("a" * 40), 1)
OTHER = FileState(EntryKind.FILE, ObjectId("b" * 40), 1)
FOLDER = FileState(EntryKind.DIRECTORY)


def touched(path: str = "/w/x.bin", **changed: Any) -> Touched:
    values: dict[str, Any] = {"path": path, "kind": "write", "event": "open", "before": FILE}
    if path.startswith("/w/"):
        values["inside"] = path[3:]
    return Touched(**{**values, **changed})


def span(kind: SpanKind = SpanKind.TURN, code: str = "cell()", **changed: Any) -> SpanRecord:
    header = JournalHeader(operation_id=OperationId("op"), code=code, kind=kind)
    values: dict[str, Any] = {"header": header, "root": "/w", "ended_ns": END, "outcome": TurnOutcome()}
    return SpanRecord(**{**values, **changed})


def gap(**changed: Any) -> SpanRecord:
    return span(SpanKind.GAP, **{"outcome": None, **changed})


def loaded(*writers: str, code: str = "cell()") -> SpanRecord:
    return span(code=code, writers=frozenset(writers))


def change(path: str = "x.bin", before: FileState | None = FILE, after: FileState | None = OTHER) -> Change:
    return Change(path, before, after, Claim.UNCLAIMED, (Witness.SCAN,))


TOUCHED = {"/w/x.bin": touched()}
MOVED = (Rename(source="/w/d", target="/w/e", directory=True),)
FILE_MOVED = (Rename(source="/w/d", target="/w/e"),)


@dataclass(frozen=True)
class Row:
    """One line of the table. *turn* and *external* are the claims expected in either list."""

    name: str
    record: SpanRecord = field(default_factory=span)
    path: str = "x.bin"
    ctime: int = END - 1
    overlapped: bool = False
    others: tuple[str, ...] = ()
    gone: bool = False
    turn: tuple[Claim, ...] = ()
    external: tuple[Claim, ...] = ()


OURS, UNCLAIMED, EXTERNAL, OTHERS = (Claim.OURS,), (Claim.UNCLAIMED,), (Claim.EXTERNAL,), (Claim.OTHER_SESSION,)
TABLE = [
    Row("journaled", span(touches=TOUCHED), turn=OURS),
    Row("journaled, while another session ran", span(touches=TOUCHED), overlapped=True, turn=OURS),
    Row("journaled, changed again later", span(touches=TOUCHED), ctime=END + 1, turn=OURS, external=EXTERNAL),
    Row(
        "journaled, changed again later by us",
        span(touches=TOUCHED, touched_late=frozenset({"/w/x.bin"})),
        ctime=END + 1,
        turn=OURS,
        external=OURS,
    ),
    Row("journaled here and by another session", span(touches=TOUCHED), others=("x.bin",), turn=OURS, external=OTHERS),
    Row(
        "journaled and still open for writing",
        span(touches=TOUCHED, writable_at_end={"/w/x.bin": "open"}),
        ctime=END + 1,
        turn=OURS,
    ),
    Row("journaled and gone, its folder changed later", span(touches=TOUCHED), gone=True, ctime=END + 1, turn=OURS),
    Row("gone, its folder changed later, children ran", span(ran=("rm",)), gone=True, ctime=END + 1, turn=OURS),
    Row("gone, its folder changed later", gone=True, ctime=END + 1, external=EXTERNAL),
    Row("below a renamed folder", span(renames=MOVED), path="e/sub/y", turn=OURS),
    Row("below the old name of it", span(renames=MOVED), path="d/sub/y", turn=OURS),
    Row("beside a renamed folder", span(renames=MOVED), path="dd/y", turn=UNCLAIMED),
    Row("a rename of a file claims nothing below", span(renames=FILE_MOVED), path="e/y", turn=UNCLAIMED),
    Row("seen only", turn=UNCLAIMED),
    Row("seen only, after the end", ctime=END + 1, external=EXTERNAL),
    Row("seen only, after the end, another session's", ctime=END + 1, others=("x.bin",), external=OTHERS),
    Row("seen only, another session's", others=("x.bin",), turn=OTHERS),
    Row("children ran", span(ran=("rm x.bin",)), turn=OURS),
    Row("children ran, changed after the end", span(ran=("rm x.bin",)), ctime=END + 1, external=EXTERNAL),
    Row("children ran while another session did", span(ran=("rm x.bin",)), overlapped=True, turn=UNCLAIMED),
    Row("children ran, another session's path", span(ran=("make",)), others=("x.bin",), turn=OTHERS),
    Row("a fork", span(forked=True), turn=OURS),
    Row("a warm pool", span(workers=("multiprocessing spawn",)), turn=OURS),
    Row("an old child that is no worker", span(children=("mlflow ui",)), turn=UNCLAIMED),
    Row("open since before", span(writable_at_start={"/w/x.bin": "append"}), turn=OURS),
    Row("open since before, after the end", span(writable_at_start={"/w/x.bin": "append"}), ctime=END + 9, turn=OURS),
    Row("mapped", span(mapped=frozenset({"/w/x.bin"})), turn=OURS),
    Row("open, while another session ran", span(writable_at_end={"/w/x.bin": "open"}), overlapped=True, turn=OURS),
    Row("log of an open database", span(writable_at_end={"/w/a.db": "open"}), path="a.db-wal", turn=OURS),
    Row("native writer of this ending", loaded("pyarrow"), path="t.parquet", turn=OURS),
    Row(
        "native writer while another session ran", loaded("pyarrow"), path="t.parquet", overlapped=True, turn=UNCLAIMED
    ),
    Row("native writer of another ending", loaded("pyarrow"), path="notes.md", turn=UNCLAIMED),
    Row("native writer, text file by hand", loaded("pyarrow"), path="t.csv", turn=UNCLAIMED),
    Row("native writer, text file that the cell names", loaded("polars", code="w('t.csv')"), path="t.csv", turn=OURS),
    Row(
        "native writer, name without a known ending",
        loaded("torch", code="save('out/model')"),
        path="out/model",
        turn=OURS,
    ),
    Row("native writer, folder that the cell names", loaded("pyarrow", code="to('ds')"), path="ds/_SUCCESS", turn=OURS),
    Row("a variable is no folder name", loaded("pyarrow", code="data.head()"), path="data/n.md", turn=UNCLAIMED),
    Row("no native writer, though the cell names it", span(code="f('x.bin')"), turn=UNCLAIMED),
    Row("a database beside a loaded sqlite3", loaded("sqlite3"), path="n.db", turn=UNCLAIMED),
    Row("a database that the cell names", loaded("sqlite3", code="vacuum('n.db')"), path="n.db", turn=OURS),
    Row("process died: no end is known", span(outcome=None, ended_ns=0, touches=TOUCHED), ctime=END, turn=OURS),
    Row("gap: journaled", gap(touches=TOUCHED), external=OURS),
    Row("gap: open since before", gap(writable_at_start={"/w/x.bin": "open"}), external=OURS),
    Row("gap: seen only", gap(), external=EXTERNAL),
    Row("gap: another session's", gap(), others=("x.bin",), external=OTHERS),
    Row("gap: children ran", gap(ran=("make",)), external=OURS),
    Row(
        "gap: children ran while another session did",
        gap(ran=("make",), outcome=None),
        overlapped=True,
        external=EXTERNAL,
    ),
    Row(
        "gap: native writers claim nothing",
        gap(writers=frozenset({"h5py"}), outcome=None),
        path="a.h5",
        external=EXTERNAL,
    ),
    Row("outside, journaled", span(touches={"/out/f": touched("/out/f")}), path="/out/f", turn=OURS),
]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_claims(row: Row) -> None:
    result = attribute(
        row.record,
        (change(row.path, after=None if row.gone else OTHER),),
        {row.path: row.ctime},
        others_overlapped=row.overlapped,
        other_claims=row.others,
    )

    assert tuple(found.claim for found in result.turn_changes) == row.turn
    assert tuple(found.claim for found in result.external_changes) == row.external


def test_both_witnesses_are_named() -> None:
    result = attribute(span(touches=TOUCHED, ran=("x",)), (change(), change("y")), {})

    assert [found.witnesses for found in result.turn_changes] == [(Witness.JOURNAL, Witness.SCAN), (Witness.SCAN,)]


def test_second_row_starts_where_the_first_ends() -> None:
    result = attribute(span(touches=TOUCHED), (change(),), {"x.bin": END + 1})

    assert result.turn_changes[0].before == FILE
    assert (result.external_changes[0].before, result.external_changes[0].after) == (OTHER, OTHER)
    assert "after the cell ended" in result.turn_changes[0].note


def test_folders_that_came_with_our_files_are_ours() -> None:
    rows = (
        change("ds", None, FOLDER),
        change("ds/k=a", None, FOLDER),
        change("ds/k=a/part-0.parquet", None, FILE),
        change("hand", None, FOLDER),
        change("old", FOLDER, None),
    )
    result = attribute(loaded("pyarrow"), rows, {})

    assert {found.path for found in result.turn_changes if found.claim is Claim.OURS} == {
        "ds",
        "ds/k=a",
        "ds/k=a/part-0.parquet",
    }


MISSING = replace(FILE, object=None, missing="too large")
VERDICTS: list[tuple[str, SpanRecord, tuple[Change, ...], Verdict]] = [
    ("nothing happened", span(), (), Verdict.PROTECTED),
    ("journaled", span(touches=TOUCHED), (change(),), Verdict.PROTECTED),
    ("seen only, unclaimed", span(), (change(),), Verdict.PROTECTED),
    ("children ran", span(ran=("ls",)), (), Verdict.WORKSPACE_ONLY),
    ("forked", span(forked=True), (), Verdict.WORKSPACE_ONLY),
    ("a child of an earlier turn lives", span(children=("server",)), (), Verdict.WORKSPACE_ONLY),
    ("child still running", span(ran=("x",), children=("x",), new_children=("x",)), (), Verdict.PARTIAL),
    ("too large", span(touches=TOUCHED), (change(before=MISSING),), Verdict.PARTIAL),
    ("too large afterwards", span(touches=TOUCHED), (change(after=MISSING),), Verdict.PARTIAL),
    ("too large, somebody else's", span(), (change(after=MISSING),), Verdict.PROTECTED),
    ("unreadable outside", span(touches={"/o": touched("/o", before=MISSING)}), (), Verdict.PARTIAL),
    ("skipped", span(skipped=(Note("/d", "too much"),)), (), Verdict.PARTIAL),
    ("hook failed", span(hook_errors=("open: ValueError",)), (), Verdict.PARTIAL),
    (
        "background writer",
        span(touches={"/w/x.bin": touched(background=True, origin=OperationId("earlier"))}),
        (change(),),
        Verdict.PARTIAL,
    ),
    ("own thread", span(touches={"/w/x.bin": touched(background=True)}), (change(),), Verdict.PROTECTED),
    ("mapped outside", span(mapped=frozenset({"/out/m"})), (), Verdict.PARTIAL),
    ("mapped inside", span(mapped=frozenset({"/w/m"})), (), Verdict.PROTECTED),
]


@pytest.mark.parametrize(
    ("record", "changes", "verdict"), [row[1:] for row in VERDICTS], ids=[row[0] for row in VERDICTS]
)
def test_verdicts(record: SpanRecord, changes: tuple[Change, ...], verdict: Verdict) -> None:
    result = attribute(record, changes, {})

    assert result.verdict is verdict
    assert bool(result.reasons) is (verdict is Verdict.PARTIAL)
