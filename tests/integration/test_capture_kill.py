"""A process that dies in the middle of a turn: the bytes of before are found by path from its journal alone."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from nbrewind.capture.reading import JournalReading, read_journals, span_of, sweep_images
from tests.unit.capture.conftest import Rig, undo

ROOT = Path(__file__).parents[2]
PREPARED = """
import os, signal, sys, shutil, threading, time
from pathlib import Path
sys.path[:0] = {paths}
from tests.unit.capture.conftest import Rig
rig = Rig(Path({base!r}))
out, work = rig.out, rig.work

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def die_at(event, name):
    # Added after ours, so it runs after our hook has returned and before the call takes effect.
    rig.recorder.start()
    def last(seen, args):
        if seen == event and str(args[0]).endswith("/" + name) and (event != "open" or args[2] & os.O_WRONLY):
            die()
    sys.addaudithook(last)
"""


def dead(tmp_path: Path, cell: str, status: int = -signal.SIGKILL) -> JournalReading:
    """Run *cell* in a process of its own that dies in it, and return the journal that it left."""
    script = PREPARED.format(base=str(tmp_path), paths=[str(ROOT), str(ROOT / "src")]) + textwrap.dedent(cell)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == status, done.stderr
    (reading,) = read_journals(Rig(tmp_path).paths)
    return reading


def test_kill_inside_open_finds_the_bytes(tmp_path: Path) -> None:
    reading = dead(
        tmp_path,
        """
        (out / "rows.csv").write_text("precious")
        die_at("open", "rows.csv")
        rig.begin("open('rows.csv', 'w')")
        open(out / "rows.csv", "w")
        """,
    )

    path = str(tmp_path / "out" / "rows.csv")
    assert reading.interrupted and reading.header.code == "open('rows.csv', 'w')"
    assert Path(reading.images[path]).read_text() == "precious"
    assert (tmp_path / "out" / "rows.csv").read_text() == "precious"


@pytest.mark.parametrize(
    ("death", "status"), [("die()", -signal.SIGKILL), ("os._exit(3)", 3), ("os.abort()", -signal.SIGABRT)]
)
def test_death_after_the_truncation_finds_the_bytes(tmp_path: Path, death: str, status: int) -> None:
    reading = dead(
        tmp_path,
        f"""
        (out / "rows.csv").write_text("precious")
        rig.begin()
        file = open(out / "rows.csv", "w")
        file.write("half")
        file.flush()
        {death}
        """,
        status,
    )

    assert (tmp_path / "out" / "rows.csv").read_text() == "half"
    undo(span_of(reading, str(tmp_path / "work")))
    assert (tmp_path / "out" / "rows.csv").read_text() == "precious"


@pytest.mark.parametrize(
    ("event", "name", "call"),
    [
        ("os.remove", "a", "os.remove(out / 'a')"),
        ("os.rename", "a", "os.rename(out / 'a', out / 'b')"),
        ("os.truncate", "a", "os.truncate(out / 'a', 0)"),
        ("open", "n", "open(out / 'n', 'x')"),
        ("os.mkdir", "m", "os.mkdir(out / 'm')"),
        ("os.rmdir", "d", "shutil.rmtree(out / 'd')"),
    ],
)
def test_kill_at_any_kind_of_change_can_be_undone(tmp_path: Path, event: str, name: str, call: str) -> None:
    reading = dead(
        tmp_path,
        f"""
        (out / "a").write_text("A")
        (out / "b").write_text("B")
        (out / "d").mkdir()
        (out / "d" / "x").write_text("X")
        die_at("{event}", "{name}")
        rig.begin()
        (out / "made").write_text("made in the turn")
        {call}
        """,
    )
    undo(span_of(reading, str(tmp_path / "work")))

    out = tmp_path / "out"
    found = {str(path.relative_to(out)): path.read_text() for path in out.rglob("*") if path.is_file()}
    assert found == {"a": "A", "b": "B", "d/x": "X"}
    assert {path.name for path in out.iterdir()} == {"a", "b", "d"}


def test_kill_in_the_middle_of_a_copy_leaves_the_file_and_no_row(tmp_path: Path) -> None:
    reading = dead(
        tmp_path,
        """
        from nbrewind import fs
        (out / "big").write_bytes(b"x" * (1 << 20))
        class InCopy:
            def before(self, call, target, size):
                if call == "copy":
                    die()
            def torn(self, call, target): ...
            def after(self, call, target): ...
        rig.recorder.start()
        rig.begin()
        fs.install_probe(InCopy())
        open(out / "big", "w")
        """,
    )

    assert reading.rows == () and reading.damaged == 0
    assert (tmp_path / "out" / "big").stat().st_size == 1 << 20
    assert sweep_images(Rig(tmp_path).paths) == 1


def test_kill_in_the_middle_of_a_row_leaves_a_readable_journal(tmp_path: Path) -> None:
    reading = dead(
        tmp_path,
        """
        from nbrewind import fs
        (out / "f").write_text("old")
        class Torn:
            def before(self, call, target, size):
                return size // 2 if call == "write" else None
            def torn(self, call, target):
                die()
            def after(self, call, target): ...
        rig.recorder.start()
        rig.begin()
        (out / "first").touch()
        fs.install_probe(Torn())
        open(out / "f", "w")
        """,
    )

    assert [Path(row.path).name for row in reading.rows] == ["first"] and reading.damaged == 1
    assert (tmp_path / "out" / "f").read_text() == "old"


def test_turn_that_had_ended_is_not_interrupted(tmp_path: Path) -> None:
    reading = dead(
        tmp_path,
        """
        from nbrewind.capture.span import TurnOutcome
        from nbrewind.model import TurnStatus
        rig.begin("1/0")
        rig.recorder.end(TurnOutcome(status=TurnStatus.ERROR, error="ZeroDivisionError", ended=9.0, outputs="[7]"))
        die()
        """,
    )

    assert not reading.interrupted and reading.outcome is not None
    assert reading.outcome.status.value == "error" and reading.outcome.outputs == "[7]"


def test_taken_turn_and_running_gap_both_survive(tmp_path: Path) -> None:
    script = PREPARED.format(base=str(tmp_path), paths=[str(ROOT), str(ROOT / "src")]) + textwrap.dedent(
        """
        rig.begin()
        (work / "one").touch()
        rig.finish()
        (work / "two").touch()
        die()
        """
    )
    subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60, check=False)

    turn, gap = read_journals(Rig(tmp_path).paths)

    assert [row.inside for row in turn.rows] == ["one"]
    assert [row.inside for row in gap.rows] == ["two"]


def test_forked_child_writes_no_journal_and_leaves_the_parents_alone(tmp_path: Path) -> None:
    reading = dead(
        tmp_path,
        """
        rig.begin()
        (work / "before").touch()
        if os.fork() == 0:
            (work / "child").touch()
            os._exit(0)
        os.wait()
        (work / "after").touch()
        die()
        """,
    )

    assert [row.inside for row in reading.rows] == ["before", "after"]
    assert reading.ran and (tmp_path / "work" / "child").exists()


def test_writers_in_many_threads_lose_no_row_to_a_kill(tmp_path: Path) -> None:
    reading = dead(
        tmp_path,
        """
        for number in range(40):
            (out / str(number)).write_text("old")
        rig.begin()
        def write(part):
            for number in range(part, 40, 4):
                (out / str(number)).write_text("new")
        threads = [threading.Thread(target=write, args=(part,)) for part in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        die()
        """,
    )

    assert len(reading.images) == 40 and reading.damaged == 0
    assert {Path(image).read_text() for image in reading.images.values()} == {"old"}
    assert reading.header.operation_id == "turn-1"
