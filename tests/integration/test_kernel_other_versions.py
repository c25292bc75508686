"""Resuming where a module, a class or Python itself is not what it was: the rest comes, and what cannot is named."""

import json

import pytest

pytestmark = pytest.mark.kernel

SESSION = "__import__('nbrewind').current()"
LIBRARY = """
class Thing:
    def __init__(self, v): self.v = v
def act(): return 1
class Kept:
    def __init__(self): self.a = 1
class Slots:
    __slots__ = ('p', 'q')
class Picky:
    def __setstate__(self, state): self.__dict__.update(state)
"""
CELL = """
a = gonelib.Thing(1); b = [1, gonelib.Thing(2)]; f = gonelib.act; d = {'k': gonelib.Kept(), 'n': 3}
s = gonelib.Slots(); s.p, s.q = 1, 2; n = gonelib.Picky(); n.x = 4; cls = gonelib.Kept; plain = [1, 2]; same = plain
class Mine(gonelib.Thing): pass
m = Mine(5)
def use(): return len(plain)
import numpy as np; arr = np.arange(5)
"""


@pytest.fixture
def library(kernel, workspace, tmp_path):
    """A library of the user's, found through `sys.path`, and objects of it; the kernel has ended."""
    folder = tmp_path / "lib"
    folder.mkdir()
    (folder / "gonelib.py").write_text(LIBRARY)
    kernel.run(f"import sys; sys.path.append({str(folder)!r}); import gonelib")
    assert kernel.run(CELL).status == "ok"
    assert kernel.value(f"{SESSION}.settle()")
    kernel.stop()
    return folder / "gonelib.py"


def resume(kernel):
    kernel.start()
    kernel.load()
    run = kernel.run("%rewind recover --yes")
    assert run.status == "ok", run
    return run.text


def test_a_library_on_a_path_that_a_cell_added_is_found_again(kernel, library):
    said = resume(kernel)

    assert "cannot" not in said and "lost" not in said and "is gone" not in said, said
    assert kernel.value("(a.v, b[1].v, f(), d['k'].a, s.q, n.x, m.v, type(m) is Mine, cls is gonelib.Kept)") == (
        *(1, 2, 1, 1, 2, 4, 5),
        *(True, True),
    )
    assert kernel.run("sys.path[-1]").status == "ok"
    assert kernel.value(f"sys.path.count({str(library.parent)!r})") == 1


def test_a_missing_module_is_named_and_all_else_comes(kernel, library):
    library.unlink()

    said = resume(kernel)

    assert kernel.value("(plain, same is plain, use(), arr.tolist(), d['n'], b[0])") == (
        *([1, 2], True, 2),
        *([0, 1, 2, 3, 4], 3, 1),
    )
    for name in ("a", "b", "f", "d", "s", "n", "cls", "m", "Mine", "gonelib"):
        assert f"\n  {name}: " in said, (name, said)
    assert "gonelib.Thing cannot be loaded" in said and "anchor" not in said, said
    assert "a  Thing" not in said and "plain  list of 2" in said, said
    assert kernel.value("[name for name in ('a', 'm', 's', 'gonelib') if name in globals()]") == []


def test_a_class_that_changed_is_named_where_it_takes_no_more(kernel, library):
    library.write_text(
        "class Thing:\n    def __init__(self, v): self.v = v\n    def more(self): return 2 * self.v\n"
        "def act(): return 2\nclass Kept:\n    __slots__ = ('b',)\nclass Slots:\n    __slots__ = ('p',)\n"
        "class Picky:\n    def __setstate__(self, state): raise TypeError('an older one')\n"
    )

    said = resume(kernel)

    assert kernel.value("(a.v, a.more(), f(), plain)") == (1, 2, 2, [1, 2])
    for name in ("d", "s", "n"):
        assert f"\n  {name}: " in said, (name, said)


def test_nothing_that_failed_spoils_the_next_points(kernel, library):
    library.unlink()
    resume(kernel)

    assert kernel.run("plain.append(3)").status == "ok"
    assert kernel.run("a = 'new'").status == "ok"
    assert kernel.run("%rewind back 2 --yes").status == "ok"
    assert kernel.value("(plain, 'a' in globals())") == ([1, 2], False)
    assert "damaged" not in kernel.run("%rewind verify").text


@pytest.mark.parametrize("there", [True, False])
def test_other_versions_of_python_and_libraries_are_named(kernel, library, workspace, there):
    """The record is sealed, so the versions are changed where they are written: in the kernel that stores."""
    kernel.start()
    kernel.load()
    kernel.run("%rewind recover --yes")
    kernel.run(
        "import nbrewind.resources.variables.storing as st, types, sys as _sys, numpy as np\n"
        "fake = types.SimpleNamespace(version_info=(3, 9, 1), modules=_sys.modules)\nst.sys = fake\n"
        "_real = np.__version__\nst.library_versions = lambda names: {'numpy': '1.0', 'no_such_library': '7'}"
    )
    kernel.run("plain.append(4)")
    assert kernel.value(f"{SESSION}.settle()")
    kernel.stop()
    if not there:
        library.unlink()

    said = resume(kernel)

    assert "stored by 3.9.1" in said and "numpy: they were stored with 1.0" in said, said
    assert kernel.value("plain") == [1, 2, 4]


def test_code_of_another_python_is_lost_by_name(kernel, library):
    kernel.start()
    kernel.run(
        "import nbrewind.resources.variables.graph.rebuild as rb, types, sys as _sys\n"
        "rb.sys = types.SimpleNamespace(version_info=(3, 9, 1), modules=_sys.modules)",
        silent=True,
    )
    kernel.load()

    run = kernel.run("%rewind recover --yes")

    assert run.status == "ok", run
    assert kernel.value("(plain, arr.tolist(), a.v)") == ([1, 2], [0, 1, 2, 3, 4], 1)
    assert "use: lost: its code cannot be made here" in run.text and "this is 3.9" in run.text, run
    assert json.dumps(kernel.value("'use' in globals()")) == "false"
