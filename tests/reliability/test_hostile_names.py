"""Ids, targets, paths, labels and tokens that nobody means well with: refused in one line, nothing outside changes."""

from __future__ import annotations

import json
import os
import random
import string
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nbrewind import fs
from nbrewind.errors import RewindError
from nbrewind.model import PlanOptions
from nbrewind.session.session import Session
from nbrewind.ui.cli import main
from tests.builders import TestWorkspace, hash_tree
from tests.reliability.effort import LONG, SEED, amount
from tests.sessions import Book, attached

_SWAPS = amount(2000, 20000)
_ENDINGS = ("passwd", "sentinel", "log", "format", "HEAD", "", ".", "a\0b", "x" * 255)
_SEEDS = (
    "", " ", "\0", "\n", "..", ".", "/", "//", "~", "~root", "-", "--", "--yes", "-1", "-999999999999999999999",
    "0", "00", "1e9", "0x1", "٣", "\uff13", "NaN", "before", "before before 1", "start start", '"', '""', '"" ""',
    "'", "`id`", "$(id)", "${HOME}", "%s%n", "{0}", "{self}", "CON", "aux.txt", "nul", "COM1", "a" * 300,
    "a" * 70000, "é" * 200, "\u202egnp.exe", "\ufeff1", "\ud800", "\udcff", "a\u0000b", "\x1b[2J",
    "<script>alert(1)</script>", "'; DROP TABLE points;--", "*", "?", "[", "[a-z]", "(?:a+)+$", ".git/config",
    ".git", ".nbrewind", ".nbrewind-op-1-1", "a/.git/hooks/x", "file:///etc/passwd", "\\\\host\\c$",
    "C:\\windows", "../../../../etc/passwd", "/etc/passwd", "/proc/self/mem", "/dev/null", "/dev/tty",
    "sub/../../sentinel/secret", "sub/./../..", "link/secret", "link/../sentinel/secret", "sub//secret", "sub/",
    "./a", "a/", "a/b", "refs/heads/x", "@{-1}", "HEAD", "HEAD~1", "master", "1@99:99", "@", "1@", "@14:44",
    "1@14:44@14:45", "5@-1:00", "1 2", "1,2", "1..2", "[1]", "[[1]]",
)  # fmt: skip
"""Where the corpus begins; the rest is made of these."""


def corpus() -> list[str]:
    """Return some five hundred strings: those above, and what chance makes of them."""
    chance = random.Random(SEED)
    found = dict.fromkeys(_SEEDS)
    while len(found) < 500:
        made = chance.choice(
            (
                lambda: "../" * chance.randrange(1, 12) + chance.choice(_ENDINGS),
                lambda: (
                    chance.choice(_SEEDS)[:500]
                    + chance.choice(("/", "", "\n", "\0", "@", " "))
                    + chance.choice(_SEEDS)[:500]
                ),
                lambda: "".join(chance.choice(string.printable) for _ in range(chance.randrange(1, 60))),
                lambda: "".join(chr(chance.randrange(1, 0x3000)) for _ in range(chance.randrange(1, 60))),
                lambda: "/".join(chance.choice(_SEEDS)[:50] for _ in range(chance.randrange(2, 6))),
            )
        )()
        found.setdefault(made)
    return list(found)


CORPUS = corpus()


class Grounds:
    """A session with a file, a link that leads out, and a folder beside the workspace that nobody may touch."""

    def __init__(self, book: Book, workspace: TestWorkspace, home: Path) -> None:
        self.book, self.session, self.workspace, self.home = book, book.session, workspace, home
        self.sentinel = workspace.root.parent / "sentinel"
        self.sentinel.mkdir()
        (self.sentinel / "secret").write_text("nobody may touch this")
        workspace.write({"a": "first", "sub/b": "first"})
        (workspace.root / "link").symlink_to(self.sentinel)
        with book.turn():
            workspace.write({"a": "second", "sub/b": "second"})
        book.session.name("a name")
        book.session.settle()

    def outside(self) -> dict[str, object]:
        """Return everything that must not change: beside the workspace, and the form of the store."""
        store = Path(self.session.settings.store_dir)
        return {
            "sentinel": hash_tree(self.sentinel),
            "beside": sorted(path.name for path in self.workspace.root.parent.iterdir()),
            "home": sorted(path.name for path in self.home.iterdir()),
            "store": sorted(path.name for path in store.iterdir()),
            "sessions": sorted(path.name for path in (store / "sessions").iterdir()),
        }


@pytest.fixture
def grounds(workspace: TestWorkspace, home: Path) -> Iterator[Grounds]:
    with attached(workspace, home, notebook="") as book:
        yield Grounds(book, workspace, home)


def entry_points(grounds: Grounds) -> dict[str, Callable[[str], object]]:
    """Return what takes strings from outside."""
    session = grounds.session
    return {
        "target": session.plan,
        "look": session.resolve,
        "path-of-cat": lambda text: b"".join(session.cat("1", text)),
        "path-of-diff": lambda text: session.diff("1", text),
        "path-of-history": session.history,
        "path-of-restore": lambda text: session.plan_restore([text], "before 1"),
        "destination": lambda text: session.plan_restore(["a"], "1", PlanOptions(destination=text)),
        "session": lambda text: Session.open(session.settings, text),  # type: ignore[arg-type]  # what comes from outside
        "token": session.parked,
        "label": session.name,
    }


_POINTS = "target look path-of-cat path-of-diff path-of-history path-of-restore destination session token label"


@pytest.mark.parametrize("name", _POINTS.split())
def test_no_string_from_outside_breaks_out(grounds: Grounds, name: str) -> None:
    before, files = grounds.outside(), grounds.workspace.tree()
    call = entry_points(grounds)[name]
    outcomes: Counter[str] = Counter()
    for text in CORPUS:
        try:
            call(text)
            outcomes["taken"] += 1
        except RewindError as error:
            outcomes["refused"] += 1
            assert error.message
        except BaseException as error:
            error.add_note(repr(text))
            raise
    assert grounds.workspace.tree() == files
    assert grounds.outside() == before
    assert name in ("path-of-diff", "path-of-history", "label") or outcomes["refused"] > (
        100 if name == "destination" else 400
    )


def test_what_a_hostile_path_or_destination_restores_stays_inside(grounds: Grounds) -> None:
    before = grounds.outside()
    for text in CORPUS if LONG else CORPUS[:150]:
        for paths, destination in (([text], ""), (["a"], text)):
            try:
                grounds.session.restore(paths, "before 1", destination=destination)
            except RewindError:
                continue
            except BaseException as error:
                error.add_note(repr((paths, destination)))
                raise
    after = grounds.outside()
    assert after["sentinel"] == before["sentinel"]
    assert after["beside"] == before["beside"]
    assert after["home"] == before["home"]
    assert after["sessions"] == before["sessions"]


_COMMANDS = "show,to,cat 1,diff 1,restore --from 1,history,list --session"


@pytest.mark.parametrize("verb", [command.split() for command in _COMMANDS.split(",")], ids=lambda words: words[0])
def test_command_line_says_what_is_wrong_and_leaves_everything(grounds: Grounds, verb: list[str], capsys: Any) -> None:
    before, files = grounds.outside(), grounds.workspace.tree()
    for text in CORPUS if LONG else CORPUS[::8]:
        if "\0" in text:
            continue  # no command line can hold it
        text = os.fsdecode(text.encode("utf-8", "surrogatepass"))
        last = [text] if verb[-1] == "--session" else ["--", text]
        words = [verb[0], "--workspace", str(grounds.workspace.root), *verb[1:], *last]
        try:
            with pytest.raises(SystemExit) as ended:
                main(words)
        except BaseException as error:
            error.add_note(repr(text))
            raise
        shown = capsys.readouterr()
        assert ended.value.code in range(9), (text, ended.value.code)
        assert "Traceback" not in shown.err + shown.out, text
        assert ended.value.code == 0 or (shown.err.count("\n") < 4), (text, shown.err[:500])
        assert "\x1b[2J" not in shown.err + shown.out, text
    assert grounds.workspace.tree() == files
    assert grounds.outside() == before


def test_folder_that_is_swapped_for_a_link_never_leads_a_restore_out(grounds: Grounds) -> None:
    """Somebody exchanges `sub` and a link to the sentinel as fast as they can, while files in it go back and forth."""
    before, work = grounds.outside(), grounds.workspace.root
    (work / "sub.link").symlink_to(grounds.sentinel)
    stop, swapping = os.pipe()
    pid = os.fork()
    if not pid:
        _swap(work, swapping)
    os.close(swapping)
    outcomes: Counter[str] = Counter()
    swaps, end = 0, time.monotonic() + (120 if LONG else 12)
    with os.fdopen(stop, "rb", buffering=0) as told:
        while swaps < _SWAPS and time.monotonic() < end:
            try:
                grounds.session.restore(["sub/b"], "before 1" if outcomes.total() % 2 else "1")
                outcomes["restored"] += 1
            except RewindError as error:
                outcomes[type(error).__name__] += 1
                grounds.session.unfreeze()
            if heard := told.read(1 << 16):
                swaps = int.from_bytes(heard[-4:], "big")
            assert hash_tree(grounds.sentinel) == before["sentinel"]
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    print(json.dumps({"swaps": swaps, **outcomes}))  # noqa: T201  counts as run
    assert grounds.outside()["sentinel"] == before["sentinel"]
    assert grounds.outside()["beside"] == before["beside"]
    assert outcomes["restored"] > 10
    if (work / "sub").is_symlink():
        fs.rename_exchange(work / "sub", work / "sub.link")
    # With the folder in its place again, everything can be put in order.
    grounds.session.unfreeze()
    grounds.session.settle()
    grounds.session.restore(["sub/b"], "before 1")
    assert (work / "sub" / "b").read_text() == "first"
    assert [path for path in work.rglob("*") if ".nbrewind-" in path.name] == []


def _swap(work: Path, report: int) -> None:
    """Exchange until killed; tell the count now and then."""
    try:
        os.set_blocking(report, False)
        for count in range(1, 10**9):
            fs.rename_exchange(work / "sub", work / "sub.link")
            time.sleep(0.0003)
            try:
                os.write(report, count.to_bytes(4, "big"))
            except BlockingIOError:
                continue
    finally:
        os._exit(1)


def test_corpus_is_large() -> None:
    assert len(CORPUS) == 500
