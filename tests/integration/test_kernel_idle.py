"""Between cells of a real kernel: what no name told is found in idle time, and what a rewind took away is let go."""

import pytest

from tests.builders import wait_until

pytestmark = pytest.mark.kernel

SESSION = "__import__('nbrewind').current()"
QUICK = f"import dataclasses as _d; _s = {SESSION}; _s.settings = _d.replace(_s.settings, idle_delay={{}})"
CHANGES = (
    f"[(o.kind.value, c.name, c.uncertain, c.since) for o in {SESSION}.operations[-3:] for c in o.variables"
    " if c.name in ('a', 'b', 'c')]"
)
HIDDEN = """
import hidden
hidden.strike()
"""
MODULE = """
import ctypes, json
address = size = 0
def aim(array):
    global address, size
    address, size = array.ctypes.data, array.nbytes
def strike():
    getattr(ctypes, 'mem' + 'set')(address, 1, size)
json.strike = strike
"""


@pytest.fixture
def aimed(kernel, workspace, tmp_path):
    """Arrays of which a module outside the workspace, a library, remembers the address of one."""
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "hidden.py").write_text(MODULE)
    kernel.run(f"import sys; sys.path.append({str(tmp_path / 'library')!r})")
    kernel.run("import numpy as np, hidden, json; a = np.zeros(50, 'u1'); b = [1]; hidden.aim(a)")
    return kernel


def test_a_change_through_c_code_is_found_in_idle_time(aimed):
    kernel = aimed
    kernel.run(QUICK.format(0.2), silent=True)

    kernel.run("json.strike(); b.append(2)")

    assert wait_until(lambda: ("external", "a", True, 2) in kernel.value(CHANGES)), kernel.value(CHANGES)
    assert ("turn", "b", False, None) in kernel.value(CHANGES)
    assert "uncertain since [2]" in kernel.run("%rewind history a").text
    kernel.run("%rewind to 2 --yes")
    assert kernel.value("(int(a.sum()), b)") == (0, [1])


def test_a_change_through_c_code_is_found_before_a_rewind(aimed):
    kernel = aimed
    kernel.run(QUICK.format(0), silent=True)
    kernel.run("json.strike(); b.append(2)")
    kernel.run("c = 1")

    run = kernel.run("%rewind to 2")

    assert "a  ndarray" in run.text and "b  list" in run.text, run
    assert kernel.run("%rewind confirm").status == "ok"
    assert kernel.value("(int(a.sum()), b)") == (0, [1])
    assert kernel.run("%rewind undo").status == "ok"
    assert kernel.value("(int(a.sum()), b, c)") == (50, [1, 2], 1)


def test_what_the_last_cell_did_by_name_is_certain_and_the_rest_is_not(aimed):
    kernel = aimed
    kernel.run(QUICK.format(0), silent=True)

    kernel.client.execute("json.strike(); b.append(2)")
    kernel.run("%rewind to 2")

    found = kernel.value(CHANGES)
    assert ("turn", "b", False, None) in found, found
    assert [row[2:] for row in found if row[1] == "a"] == [(True, 2)], found


def test_an_idle_kernel_in_which_nothing_changed_logs_nothing_and_compares_once(aimed):
    kernel = aimed
    kernel.run(QUICK.format(0.1), silent=True)
    kernel.run("b.append(3)")
    before = kernel.value(f"len({SESSION}.operations)")

    assert wait_until(lambda: kernel.value(f"{SESSION}._parts.variables._looked['a']") == 3)
    assert kernel.value(f"len({SESSION}.operations)") in (before, before + 1)
    assert kernel.value(f"{SESSION}.operations[-1].kind.value") == "turn"


def test_a_comparison_never_runs_while_a_cell_awaits(aimed):
    kernel = aimed
    kernel.run(QUICK.format(0.05), silent=True)
    kernel.run("b.append(1)")

    kernel.run("import asyncio\nfor _ in range(10):\n    json.strike(); await asyncio.sleep(0.05)")

    found = kernel.value(f"[o.kind.value for o in {SESSION}.operations if any(c.name == 'a' for c in o.variables)]")
    assert "external" not in found[1:2], found


def test_what_a_widget_changed_between_cells_is_no_cells_doing(kernel):
    kernel.run("import ipywidgets; b = [0]; s = ipywidgets.IntSlider(); s.observe(lambda c: b.append(c.new), 'value')")
    kernel.run("c = 1")
    assert wait_until(lambda: kernel.value(CHANGES)[-1][:2] == ("turn", "c"))
    model = kernel.value("s.model_id")
    content = {"comm_id": model, "data": {"method": "update", "state": {"value": 7}, "buffer_paths": []}}
    kernel.client.shell_channel.send(kernel.client.session.msg("comm_msg", content))

    kernel.run("c = 2")

    found = kernel.value(CHANGES)
    assert [row[:2] for row in found if row[1] == "b"][-1:] == [("external", "b")], found
    kernel.run("%rewind to 2 --yes")
    assert kernel.value("(b, c)") == ([0], 1)


def test_what_a_rewind_took_away_is_let_go_when_its_undo_expires(kernel, workspace):
    kernel.run(f"import dataclasses as _d; _s = {SESSION}; _s.settings = _d.replace(_s.settings, pending_ttl=0.5)",
               silent=True)  # fmt: skip
    kernel.run("import weakref\nfrom nbrewind import current\nclass Big: pass\nx = 1")
    kernel.run("x = Big(); g = (n for n in range(3)); f = open('log', 'w'); f.write('buffered'); f")
    kernel.run("current().refs = [weakref.ref(one) for one in (x, g, f)]", silent=True)

    kernel.run("%rewind to 1 --yes")

    alive = "[r() is not None for r in __import__('nbrewind').current().refs]"
    assert kernel.value(alive) == [True, True, True]
    assert wait_until(lambda: kernel.value(f"__import__('gc').collect() * 0 or {alive}") == [False] * 3)
    run = kernel.run("%rewind undo")
    assert run.status == "ok" and "Out" in run.text, run
    assert kernel.value("type(x).__name__") == "Big"


def test_a_new_turn_lets_go_at_once(kernel):
    kernel.run("import weakref\nfrom nbrewind import current\nclass Big: pass\nx = 1")
    kernel.run("x = Big()")
    kernel.run("current().ref = weakref.ref(x)", silent=True)
    kernel.run("%rewind to 1 --yes")

    kernel.run("y = 2")

    assert kernel.value("__import__('nbrewind').current().ref()") is None


TYPES = [
    "Big()",
    "[Big()]",
    "{'k': Big()}",
    "{1, 2}",
    "np.zeros(300_000)",
    "np.arange(9)[2:4]",
    "np.array([Big()], dtype=object)",
    "pd.DataFrame({'a': range(5000)})",
    "pd.Series(['a', 'b'] * 50)",
    "(lambda held=Big(): held)",
    "functools.partial(print, Big())",
    "(n for n in [Big()])",
    "open('held', 'w')",
    "type('Made', (Big,), {})",
    "threading.Lock()",
    "collections.deque([Big()])",
    "weakref.WeakValueDictionary()",
    "types.SimpleNamespace(x=Big())",
    "io.StringIO('x')",
    "socket.socket()",
    "np.random.default_rng(1)",
    "decimal.Context(prec=5)",
    "logging.Handler()",
    "types.ModuleType('made')",
    "sqlite3.connect(':memory:')",
    "itertools.count()",
    "tempfile.TemporaryFile()",
    "asyncio.Event()",
    "array.array('d', [1])",
]
IMPORTS = (
    "import numpy as np, pandas as pd, functools, threading, collections, weakref, types, io, socket, decimal,"
    " logging, sqlite3, itertools, tempfile, asyncio, array\nfrom nbrewind import current\nclass Big: pass\n"
    "class Holder:\n    def __init__(self, value): self.value = value"
)


def test_nothing_of_the_users_is_held_between_turns(kernel, workspace):
    kernel.run(QUICK.format(0.1), silent=True)
    assert kernel.run(IMPORTS).status == "ok"
    made = "\n".join(f"v{number} = Holder({text})" for number, text in enumerate(TYPES))
    assert kernel.run(made).status == "ok"
    names = ", ".join(f"v{number}" for number in range(len(TYPES)))
    kernel.run(
        "def refs_of(holders):\n    found = []\n    for one in holders:\n"
        "        try: found.append(weakref.ref(one.value))\n"
        "        except TypeError: found.append(weakref.ref(one))\n    return found\n"
        f"current().refs = refs_of([{names}])"
    )
    kernel.run("v0.value.x = 1; v12.value.write('unflushed')")
    looked = f"{SESSION}._parts.variables._looked.get('v12')"
    assert wait_until(lambda: kernel.value(looked) == kernel.value("get_ipython().execution_count - 1"))

    kernel.run(f"del {names}")

    alive = "[i for i, r in enumerate(__import__('nbrewind').current().refs) if r() is not None]"
    kernel.value("__import__('gc').collect()")
    assert [TYPES[number] for number in kernel.value(alive)] == []
    assert workspace.read("held") == b"unflushed"
