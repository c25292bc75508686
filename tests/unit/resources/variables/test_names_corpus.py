"""Whatever a cell of the corpus changes is reached: misses are counted, and there is none."""

from __future__ import annotations

import importlib.util
import re
import sys
import types
import warnings
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from nbrewind.resources.variables import kinds
from nbrewind.resources.variables.facts import compile_cell, facts_of
from nbrewind.resources.variables.names import NameReader, Reach
from nbrewind.resources.variables.providers.state import ProcessState
from tests.unit.resources.variables.names_corpus import CORPUS, Entry
from tests.unit.resources.variables.names_judge import closed, picture

ESCAPING = frozenset(
    {
        *("escapes", "magics", "results", "threads", "user modules", "a user module that reads __main__"),
        *("monkeypatches", "hooks and signals"),
    }
)
"""Entries with cells that can reach any name."""
HIDDEN = re.compile(r"_|__|___|_\d+|_i+|_i\d+|_oh|_dh|_ih|In|Out|get_ipython|exit|quit|open|__.*__|_[0-9a-f]+_.*")


class Notebook:
    """A shell with its own `__main__`, whose cells are judged one by one."""

    def __init__(self, entry: Entry, folder: Any, reader: Any = None) -> None:
        self.module = types.ModuleType("__main__")
        for name, text in entry.modules:
            (folder / f"{name}.py").write_text(text)
        config = Config()
        config.HistoryManager.enabled = False
        config.InteractiveShell.ipython_dir = str(folder)
        self.shell = InteractiveShell(config=config, user_module=self.module, user_ns=vars(self.module))
        self.reader = reader or NameReader()
        self.changes = 0  # variables that changed without being bound anew
        self.spared = 0  # variables that need no look

    def run(self, raw: str) -> tuple[set[str], str]:
        """Run a cell; return the names that changed unreached, and why all were reached ("" if they were not)."""
        namespace = self.shell.user_ns
        before = picture(namespace, self._names())
        kept = {name: id(value) for name, value in namespace.items()}
        reach = self.reader.before(self.shell.transform_cell(raw), namespace)
        result = self.shell.run_cell(raw, store_history=True)
        if isinstance(result.error_before_exec, Exception):
            raise AssertionError(f"{raw!r} does not run: {result.error_before_exec!r}")
        if isinstance(result.error_in_exec, Exception) and "1 / 0" not in raw:
            raise AssertionError(f"{raw!r} fails: {result.error_in_exec!r}")
        reach |= self.reader.after(namespace)
        after = picture(namespace, self._names())
        changed = {name for name, digest in after.digests.items() if before.digests.get(name) != digest}
        fresh = {name for name in after.digests if kept.get(name) != id(namespace[name])}
        self.changes += len(changed - fresh)
        if reach.names is None:
            return set(), reach.reason
        reached = closed(set(reach.names) | fresh | (before.digests.keys() - after.digests.keys()), before)
        self.spared += len(before.digests.keys() - reached)
        return changed - reached, ""

    def _names(self) -> list[str]:
        return [name for name in self.shell.user_ns if not HIDDEN.fullmatch(name)]


@pytest.fixture
def _own_main(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    # The modules of the tests themselves are in no notebook.
    monkeypatch.setattr(kinds, "PURE", kinds.PURE | {"tests", "conftest"})
    monkeypatch.setattr(kinds, "_judged", {})
    monkeypatch.setattr(kinds, "_counted", [0])
    for name in ("stdout", "stderr", "stdin", "displayhook", "excepthook"):
        monkeypatch.setattr(sys, name, getattr(sys, name))
    modules, main, streams = set(sys.modules), sys.modules["__main__"], (sys.stdout, sys.stderr)
    state = ProcessState()
    before = state.capture()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    state.restore(before)
    sys.modules["__main__"] = main
    sys.stdout, sys.stderr = streams
    for name in set(sys.modules) - modules:
        if name.startswith("corpus_"):
            del sys.modules[name]


@pytest.mark.parametrize("entry", CORPUS, ids=[entry.name for entry in CORPUS])
def test_no_change_is_missed(entry, tmp_path, _own_main):
    missing = [name for name in entry.needs if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed")
    _, misses, everything = _run(entry, tmp_path)
    assert misses == {}
    if entry.name not in ESCAPING:
        assert everything == {}


def _run(entry: Entry, folder: Any, reader: Any = None) -> tuple[Notebook, dict[str, list[str]], dict[str, str]]:
    notebook = Notebook(entry, folder, reader)
    sys.modules["__main__"] = notebook.module
    misses, everything = {}, {}
    for cell in entry.cells:
        missed, reason = notebook.run(cell)
        if missed:
            misses[cell] = sorted(missed)
        if reason:
            everything[cell] = reason
    return notebook, misses, everything


class _Spelled:
    """Reaches what a cell spells, and nothing else."""

    def before(self, code: str, namespace: dict[str, object]) -> Reach:
        try:
            facts = facts_of(compile_cell(code))
        except SyntaxError:
            return Reach(frozenset())
        return Reach(facts.loads | facts.stores)

    def after(self, namespace: dict[str, object]) -> Reach:
        return Reach(frozenset())


def test_judge_sees_what_a_reader_of_spelled_names_misses(tmp_path, _own_main):
    found = {}
    for name in ("functions that change globals", "classes", "pyplot", "hooks and signals"):
        entry = next(one for one in CORPUS if one.name == name)
        if all(importlib.util.find_spec(need) for need in entry.needs):
            found[name] = len(_run(entry, tmp_path, _Spelled())[1])

    assert all(count >= 2 for count in found.values()), found


def test_corpus_is_large_enough():
    assert sum(len(entry.cells) for entry in CORPUS) >= 300
