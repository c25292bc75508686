from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from nbrewind.errors import DamagedObject, StoreError
from nbrewind.model import ObjectId
from nbrewind.resources.variables.reading import read_variables
from nbrewind.store.shadow.objects import DIRECTORY_MODE
from tests.unit.resources.variables.bench import Notebook, plan


def growth(book: Notebook, code: str, reached: frozenset[str] | None = None) -> int:
    before = size(book)
    book.run(code, reached)
    return size(book) - before


def size(book: Notebook) -> int:
    return sum(path.stat().st_size for path in Path(book.repository.path).rglob("*") if path.is_file())


def changed(book: Notebook) -> list[str]:
    return [change.name for change in book.last.changes]


def test_only_what_changed_is_told(ground: Path) -> None:
    book = Notebook(ground)
    book.run("a = [1]; b = a; c = {2: 3}; n = 5")

    book.run("a.append(2); n = 6; del c; new = 1", frozenset({"a", "n", "c", "new"}))

    assert changed(book) == ["a", "b", "c", "n", "new"]
    states = {change.name: (change.before, change.after) for change in book.last.changes}
    assert [state.text if state else "" for state in states["n"]] == ["5", "6"]
    assert [state.length if state else None for state in states["a"]] == [1, 2]
    assert states["c"][1] is None
    assert states["new"][0] is None


def test_a_cell_that_changes_nothing_stores_nothing(ground: Path) -> None:
    book = Notebook(ground)
    book.run("import numpy as np\na = np.arange(100_000.); l = [a]")

    assert growth(book, "a.sum(); len(l)") == 0
    assert book.points[-1] == book.points[-2]


def test_rows_are_sorted_anew_when_they_become_many(ground: Path) -> None:
    book = Notebook(ground)
    book.run("for i in range(150): globals()[f'v{i}'] = [i]\ndel i")
    few = dict(book.ns)
    book.run("for i in range(150, 600): globals()[f'v{i}'] = [i]\nv3.append(3)\ndel i")
    address = book.last.address
    assert address is not None

    stored = read_variables(book.repository, address)
    book.back(1)

    assert len(stored.shelves.parts) > 8 and stored.rows.keys() == {f"v{i}" for i in range(600)}
    assert book.ns == {**few, "v3": [3]}
    book.back(2)
    assert book.ns["v3"] == [3, 3] and book.ns["v599"] == [599]


def test_what_is_as_it_was_keeps_its_row(ground: Path) -> None:
    book = Notebook(ground)
    book.run("xs = [[1]]; ys = {1: 2}")
    before = dict(book.tracker.known.rows)

    book.run("xs[0].append(2)")

    after = book.tracker.known.rows
    assert after["ys"] is before["ys"] and after["xs"] is not before["xs"]


def test_one_row_of_an_array_stores_one_chunk(ground: Path) -> None:
    book = Notebook(ground)
    book.run("import numpy as np\na = np.random.default_rng(0).standard_normal((4000, 1000))")

    assert growth(book, "a[7] = 0") < 200_000


def test_one_of_many_rows_stores_one_slice(ground: Path) -> None:
    book = Notebook(ground)
    book.run("rows = [{'id': i, 'tags': [i % 7]} for i in range(50_000)]")
    assert book.tracker.known.rows["rows"].sliced == "list"

    assert growth(book, "rows[700]['id'] = -1") < 50_000
    book.back(1)

    assert eval("rows[700]['id'] == 700 and len(rows) == 50_000", book.ns)


def test_results_that_were_looked_at_keep_no_container_whole(ground: Path) -> None:
    book = Notebook(ground)
    book.run("rows = [{'id': i, 'tags': [i % 7]} for i in range(50_000)]")
    shown = [book.ns["rows"], eval("rows[700]", book.ns)]

    book.run("rows[700]['id'] = -1")
    while_shared = book.tracker.known.rows["rows"].sliced
    book.results = dict.fromkeys(map(id, shown), 1)
    book.run("rows[700]['id'] = -2")

    assert (while_shared, book.tracker.known.rows["rows"].sliced) == ("", "list")


@pytest.mark.parametrize(
    "code",
    [
        "rows = [[0] for i in range(30_000)]; rows[5] = rows[6]",
        "x = [0]; rows = [[x] for i in range(30_000)]",
        "rows = [[0] for i in range(30_000)]; x = rows[20_000]",
        "rows = [{'k': [i]} for i in range(30_000)]; x = rows[20_000]['k']",
        "rows = [[i] for i in range(30_000)]; x = rows",
        "rows = [[i] for i in range(30_000)]; x = {'r': rows}",
        "t = ([1],); rows = [(i, t) for i in range(30_000)]",
        "import numpy as np\nrows = [np.float64(i) for i in range(30_000)]",
        "rows = {i: [i] for i in range(30_000)}; x = rows[7]",
        "rows = {i: [i] for i in range(30_000)}",
        "rows = list(range(30_000)); rows[3] = True; rows[4] = 2.0",
        "rows = [{'k': [i]} for i in range(30_000)]; rows[3]['k'].append(rows[3])",
    ],
)
def test_large_containers_keep_what_they_share(code: str, ground: Path) -> None:
    from tests.property.namespaces import Description

    book = Notebook(ground)
    book.run(code)
    wanted = Description(book.ns, book.fixed).of
    for change in ("rows[9] = 'changed'", "y = rows[11]", "rows[12] = rows[13]"):
        book.run(f"try: {change}\nexcept TypeError: pass")

    book.back(1)

    assert Description(book.ns, book.fixed).of == wanted


def test_sharing_that_begins_later_is_seen(ground: Path) -> None:
    book = Notebook(ground)
    book.run("rows = [{'k': [0]} for i in range(30_000)]")
    book.run("rows[1]['k'] = rows[29_000]['k']")
    book.run("rows[1]['k'] = [0]")

    book.back(2)

    assert eval("rows[1]['k'] is rows[29_000]['k']", book.ns)


def test_a_capture_that_failed_is_made_again(ground: Path) -> None:
    book = Notebook(ground)
    book.run("a = [1]")
    exec("a.append(2)", book.ns)
    examined = book.tracker.examine(None)
    with book.repository.writer() as writer:
        book.tracker.store(examined, writer)

    book.capture(None)

    assert changed(book) == ["a"]
    book.back(1)
    book.back(2)
    assert book.ns["a"] == [1, 2]


def test_what_there_is_no_time_for_goes_by_reference(ground: Path) -> None:
    book = Notebook(ground, budget=0.0)

    book.run("xs = [[1]]; ys = {}")

    assert {note.subject: note.reason for note in book.last.notes} == dict.fromkeys(
        ("xs", "ys"), "kept by reference: the time for this turn was over"
    )


def test_a_variable_that_changes_while_it_is_saved_is_refused(ground: Path) -> None:
    book = Notebook(ground)
    exec("import numpy as np\na = np.zeros(100_000)", book.ns)
    examined = book.tracker.examine(None)
    exec("a[5] = 1", book.ns)

    with book.repository.writer() as writer, pytest.raises(StoreError, match="changed while"):
        book.tracker.store(examined, writer)


def test_git_reaches_everything_from_the_address(ground: Path) -> None:
    book = Notebook(ground)
    book.run(
        "import numpy as np\na = np.arange(2_000_000.); s = [str(i) for i in range(9000)]; n = 1\n"
        "class C: pass\nc = C()"
    )
    seen: set[ObjectId] = set()

    def walk(tree: ObjectId) -> None:
        for entry in book.repository.tree(tree):
            seen.add(entry.oid)
            if entry.mode == DIRECTORY_MODE:
                walk(entry.oid)

    walk(book.points[-1])
    rows = read_variables(book.repository, book.points[-1]).rows.values()

    assert {one.pieces.oid for row in rows for one in row.buffers} <= seen
    assert {oid for row in book.tracker.known.rows.values() for one in row.buffers for oid in one.oids} <= seen
    assert {row.stream_at.oid for row in rows if row.stream_at is not None} <= seen
    done = subprocess.run(
        ["git", "--git-dir", book.repository.path, "fsck", "--full", "--strict"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_record_that_was_changed_is_noticed(ground: Path) -> None:
    class Sealer:
        def seal(self, record: bytes) -> bytes:
            return b"mine" + record[:9]

        def holds(self, record: bytes, seal: bytes) -> bool:
            return seal == b"yours"

    book = Notebook(ground, sealer=Sealer())
    book.run("a = 1")
    resource, context = book.resource(1)

    with pytest.raises(Exception, match="not written by you"):
        resource.prepare(plan(), context)


def test_a_missing_checkpoint_changes_nothing(ground: Path) -> None:
    book = Notebook(ground)
    book.run("a = [1]")
    book.points.append(ObjectId("0" * 40))
    resource, context = book.resource(-1)

    with pytest.raises(Exception, match="nothing changed"):
        resource.prepare(plan(), context)
    with pytest.raises((DamagedObject, StoreError)):
        read_variables(book.repository, book.points[-1])
    assert book.ns["a"] == [1]


def test_single_names_come_back_beside_the_present_ones(ground: Path) -> None:
    book = Notebook(ground)
    book.run("a = [1]; b = [2]")
    book.run("a.append(2); b.append(3)")

    book.back(1, names=frozenset({"a"}), rename={"a": "old"})

    assert book.ns["old"] == [1]
    assert book.ns["a"] == [1, 2]
    assert book.ns["b"] == [2, 3]


def test_what_a_full_comparison_finds_late_is_uncertain(ground: Path) -> None:
    book = Notebook(ground)
    book.run("a = [1]")
    exec("a.append(2)", book.ns)
    book.capture(frozenset())
    assert changed(book) == []

    book.capture(None, late=True)

    assert [(change.name, change.uncertain) for change in book.last.changes] == [("a", True)]
