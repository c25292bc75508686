from __future__ import annotations

import pytest

from nbrewind.model import EntryKind, FileState, FileStep, ObjectId, OperationId
from nbrewind.resources.files.moves import Move, MoveKind, Moves, Phase
from nbrewind.resources.files.steps import Contradiction, Facts, Identity, Itinerary, itinerary
from nbrewind.store.codec import from_json, to_json

OPERATION = OperationId("op-1")
FOLDER = FileState(EntryKind.DIRECTORY, mode=0o755)


def text(content: str, mode: int = 0o644, size: int = 0) -> FileState:
    return FileState(EntryKind.FILE, ObjectId(content.rjust(40, "0")), size or len(content), mode)


def plan(*steps: FileStep, there: tuple[str, ...] = (), **facts: object) -> Itinerary:
    known = Facts(is_directory=lambda path: path in there, **facts)  # type: ignore[arg-type]  # facts by name
    return itinerary(steps, OPERATION, known)


def kinds(planned: Itinerary) -> list[tuple[MoveKind, str]]:
    return [(move.kind, move.path) for move in planned.moves]


def test_absence_content_and_mode_decide_the_kind() -> None:
    planned = plan(
        FileStep("a", text("1"), text("2")),
        FileStep("b", None, text("2")),
        FileStep("c", text("1"), None),
        FileStep("d", text("1"), text("1", 0o755)),
        FileStep("e", FOLDER, FileState(EntryKind.DIRECTORY, mode=0o700)),
    )

    assert kinds(planned) == [
        (MoveKind.EXCHANGE, "a"),
        (MoveKind.CREATE, "b"),
        (MoveKind.REMOVE, "c"),
        (MoveKind.META, "d"),
        (MoveKind.META, "e"),
    ]
    assert len({move.temp for move in planned.moves if move.temp}) == 3


def test_equal_states_are_no_move_whatever_the_time() -> None:
    later = FileState(EntryKind.FILE, text("1").object, 1, 0o644, mtime_ns=99)

    assert plan(FileStep("a", text("1"), later), FileStep("b", None, None)).moves == ()


def test_new_directory_comes_with_all_that_is_in_it() -> None:
    planned = plan(
        FileStep("d", None, FOLDER), FileStep("d/e", None, FOLDER), FileStep("d/e/x", None, text("1")), there=()
    )

    (move,) = planned.moves
    assert (move.kind, move.path) == (MoveKind.CREATE, "d")
    assert [entry.name for entry in move.built] == ["e", "e/x"]


def test_parents_that_are_missing_on_the_disk_are_built_too() -> None:
    (move,) = plan(FileStep("a/b/c/x", None, text("1")), there=("a",)).moves

    assert move.path == "a/b"
    assert [(entry.name, entry.state.kind) for entry in move.built] == [
        ("c", EntryKind.DIRECTORY),
        ("c/x", EntryKind.FILE),
    ]


def test_file_that_becomes_a_directory_is_one_exchange() -> None:
    (move,) = plan(FileStep("d", text("1"), FOLDER), FileStep("d/x", None, text("2"))).moves

    assert move.kind is MoveKind.EXCHANGE
    assert [entry.name for entry in move.built] == ["x"]


def test_directory_that_becomes_a_file_is_one_exchange() -> None:
    planned = plan(FileStep("d", FOLDER, text("1")), FileStep("d/e", FOLDER, None), FileStep("d/e/x", text("2"), None))

    (move,) = planned.moves
    assert move.kind is MoveKind.EXCHANGE
    assert [entry.name for entry in move.held] == ["e", "e/x"]


def test_directories_that_go_do_so_last_and_from_the_inside_out() -> None:
    planned = plan(FileStep("d", FOLDER, None), FileStep("d/e", FOLDER, None), FileStep("d/e/x", text("2"), None))

    assert kinds(planned) == [
        (MoveKind.REMOVE, "d/e/x"),
        (MoveKind.REMOVE_DIRECTORY, "d/e"),
        (MoveKind.REMOVE_DIRECTORY, "d"),
    ]


@pytest.mark.parametrize(
    "steps",
    [
        (FileStep("d", FOLDER, None), FileStep("d/x", None, text("1"))),
        (FileStep("d", FOLDER, text("1")), FileStep("d/x", text("1"), text("2"))),
        (FileStep("d", None, FOLDER), FileStep("d/x", text("1"), text("2"))),
    ],
)
def test_steps_that_exclude_each_other_are_refused(steps: tuple[FileStep, ...]) -> None:
    with pytest.raises(Contradiction, match=r"^d"):
        plan(*steps, there=("d",))


def test_modes_of_directories_never_stand_in_the_way_of_their_files() -> None:
    closed, opened = FileState(EntryKind.DIRECTORY, mode=0o500), FOLDER
    planned = plan(
        FileStep("o", closed, opened),
        FileStep("o/x", text("1"), text("2")),
        FileStep("c", opened, closed),
        FileStep("c/x", text("1"), text("2")),
        there=("o", "c"),
    )

    assert kinds(planned) == [
        (MoveKind.META, "o"),
        (MoveKind.EXCHANGE, "c/x"),
        (MoveKind.EXCHANGE, "o/x"),
        (MoveKind.META, "c"),
    ]
    assert [move.phase for move in planned.moves] == [Phase.EARLY, Phase.MAIN, Phase.MAIN, Phase.LATE]


@pytest.mark.parametrize(
    ("held", "wanted", "kind", "told"),
    [
        ("append", text("22", size=1), MoveKind.IN_PLACE, ""),
        ("mapped", text("22", size=9), MoveKind.IN_PLACE, ""),
        ("mapped", text("22", size=2), MoveKind.EXCHANGE, "still mapped"),
        ("open", text("22", size=9), MoveKind.EXCHANGE, "still open here"),
    ],
)
def test_what_this_kernel_holds_decides_where_bytes_go(held: str, wanted: FileState, kind: MoveKind, told: str) -> None:
    planned = plan(FileStep("a", text("1", size=5), wanted), held_open={"a": held})

    assert planned.moves[0].kind is kind
    assert [note.reason.partition(":")[0] for note in planned.notes] == ([told] if told else [])


def test_hard_links_go_in_place_only_when_all_names_want_the_same() -> None:
    one = Identity(1, 7, 2)
    a, b = FileStep("a", text("1"), text("2")), FileStep("b", text("1"), text("2"))
    other = FileStep("b", text("1"), text("3"))

    together = plan(a, b, identities={"a": one, "b": one})
    apart = plan(a, other, identities={"a": one, "b": one})
    alone = plan(a, identities={"a": one})

    assert [(move.kind, move.path, move.names) for move in together.moves] == [(MoveKind.IN_PLACE, "a", ("b",))]
    assert [move.kind for move in apart.moves] == [MoveKind.EXCHANGE, MoveKind.EXCHANGE]
    assert [note.reason.partition(":")[0] for note in (*apart.notes, *alone.notes)] == ["link split"] * 3


def test_names_of_one_file_in_the_target_become_one_file_again() -> None:
    groups = {"a": ("a", "b"), "b": ("a", "b")}
    planned = plan(
        FileStep("a", None, text("1")),
        FileStep("b", text("2"), text("1")),
        FileStep("c", None, text("1")),
        linked=lambda path: groups.get(path, ()),
    )

    assert [move.link_to for move in planned.moves] == ["", "a", ""]


def test_members_of_a_database_are_exchanged_even_where_equal() -> None:
    planned = plan(
        FileStep("db", text("1"), text("1")),
        FileStep("db-wal", text("2"), text("3")),
        FileStep("db-shm", text("4"), None),
        together=frozenset({"db", "db-wal", "db-shm"}),
        disposable=frozenset({"db-shm"}),
        held_open={"db": "mapped"},
    )

    assert [(move.kind, move.disposable) for move in planned.moves] == [
        (MoveKind.EXCHANGE, False),
        (MoveKind.REMOVE, True),
        (MoveKind.EXCHANGE, False),
    ]


def test_renamed_directories_come_first_and_their_files_follow_them() -> None:
    planned = plan(
        FileStep("/x/new/f", text("1"), text("2")),
        FileStep("/x/mid", None, FOLDER, moved_to="/x/new"),
        FileStep("/x/old", None, FOLDER, moved_to="/x/mid"),
        there=("/x", "/x/old"),
    )

    assert [(move.kind, move.origin, move.path) for move in planned.moves] == [
        (MoveKind.RENAME, "/x/new", "/x/mid"),
        (MoveKind.RENAME, "/x/mid", "/x/old"),
        (MoveKind.EXCHANGE, "", "/x/old/f"),
    ]


def test_moves_survive_the_intent() -> None:
    planned = plan(
        FileStep("d\udce9", text("1"), FOLDER),
        FileStep("d\udce9/x", None, text("2")),
        FileStep("n", text("1", 0o600), text("1")),
    )

    assert from_json(Moves, to_json(Moves(planned.moves))).moves == planned.moves
    assert all(isinstance(move, Move) for move in planned.moves)
