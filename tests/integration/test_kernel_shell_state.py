"""What cells change of IPython itself goes back with the variables: aliases, configuration, callbacks, autoreload."""

import os

import pytest

pytestmark = pytest.mark.kernel

SESSION = "__import__('nbrewind').current()"


def after(kernel, first, second, look):
    """Return what *look* shows after *first*, after *second*, back, and forward again."""
    kernel.run(f"{first}\nx = 1")
    seen = [kernel.value(look)]
    kernel.run(f"{second}\nx = 2")
    seen.append(kernel.value(look))
    for line in ("%rewind to 1 --yes", "%rewind undo"):
        run = kernel.run(line)
        assert run.status == "ok", run
        seen.append(kernel.value(look))
    return seen


@pytest.mark.parametrize(
    ("first", "second", "look", "one", "two"),
    [
        ("%alias greet echo one", "%alias greet echo two", "dict(get_ipython().alias_manager.aliases)['greet']",
         "echo one", "echo two"),
        ("1", "%alias fresh echo new", "'fresh' in get_ipython().magics_manager.magics['line']", False, True),
        ("1", "%unalias ls", "get_ipython().alias_manager.is_alias('ls')", True, False),
        ("1", "%config IPCompleter.greedy = True", "get_ipython().Completer.greedy", False, True),
        ("%config InteractiveShell.ast_node_interactivity = 'all'",
         "%config InteractiveShell.ast_node_interactivity = 'none'", "get_ipython().ast_node_interactivity",
         "all", "none"),
        ("%matplotlib inline\n%config InlineBackend.figure_format = 'svg'",
         "%config InlineBackend.figure_format = 'jpeg'",
         "sorted(next(c for c in get_ipython().configurables if type(c).__name__ == 'InlineBackend').figure_formats)",
         ["svg"], ["jpeg"]),
        ("%load_ext autoreload\n%autoreload 1", "%autoreload 2\n%aimport -json",
         "(lambda r: (r.enabled, r.check_all, sorted(r.skip_modules)))"
         "(get_ipython().magics_manager.registry['AutoreloadMagics']._reloader)", (True, False, []),
         (True, True, ["json"])),
        ("%cd -q sub", "%cd -q ..", "(len(_dh), __import__('os').path.basename(str(_dh[-1])),"
         " __import__('os').path.basename(__import__('os').getcwd()))", (2, "sub", "sub"), (3, "work", "work")),
        ("%env STAGE=one", "%env STAGE=two", "__import__('os').environ['STAGE']", "one", "two"),
    ],
    ids=["alias", "new alias", "no alias", "config", "config twice", "config of a library", "autoreload", "cd", "env"],
)  # fmt: skip
def test_it_goes_back_and_forward(kernel, workspace, first, second, look, one, two):
    workspace.write({"sub": None})

    assert after(kernel, first, second, look) == [one, two, one, two]


def test_callbacks_go_and_come_back(kernel):
    register = (
        "count = []\ndef tick(*_): count.append(1)\nget_ipython().events.register('post_run_cell', tick)\n"
        "class Thing: pass\nthing = Thing()\n"
        "get_ipython().display_formatter.formatters['text/html'].for_type(Thing, lambda t: '<b>')"
    )
    look = (
        "(sum('tick' in repr(f) for f in get_ipython().events.callbacks['post_run_cell']),"
        " sum('Thing' in repr(t) for t in get_ipython().display_formatter.formatters['text/html'].type_printers))"
    )

    assert after(kernel, "1", register, look) == [(0, 0), (1, 1), (0, 0), (1, 1)]
    assert "<b>" in kernel.run("thing").text


def test_what_a_callback_changes_after_each_cell_belongs_to_the_cell(kernel):
    kernel.run(
        "count = []\ndef tick(*_): count.append(1)\nget_ipython().events.register('post_run_cell', tick)\n"
        "kept = get_ipython().events.callbacks"
    )
    kernel.run("del tick, kept")
    kernel.run("y = 1")
    before = kernel.value("len(count)")
    kernel.run("y = 2")

    names = kernel.value(f"[c.name for c in {SESSION}.operations[-1].variables]")
    assert "count" in names, names
    kernel.run("%rewind before 4 --yes")
    assert kernel.value("len(count)") in (before, before + 1)


def test_a_formatter_that_counts_is_no_secret(kernel):
    kernel.run(
        "seen = []\nclass Thing: pass\nthing = Thing()\n"
        "def show(t): seen.append(1); return '<i>'\n"
        "get_ipython().display_formatter.formatters['text/html'].for_type(Thing, show)\ndel show"
    )
    kernel.run("thing")

    kernel.run("y = 1")
    assert "seen" in kernel.value(f"[c.name for c in {SESSION}.operations[-1].variables]")


def test_autoreload_loads_a_module_again_whose_file_went_back(kernel, workspace):
    workspace.write({"helper.py": "def answer(): return 1\n"})
    os.utime(workspace.path("helper.py"), (1_600_000_000, 1_600_000_000))
    kernel.run("%load_ext autoreload\n%autoreload 2\nimport helper")
    kernel.run("open('helper.py', 'w').write('def answer(): return 22\\n')")
    assert kernel.run("print(helper.answer())").text == "22\n"

    kernel.run("%rewind to 1 --yes")
    assert kernel.run("print(helper.answer())").text == "1\n"
    kernel.run("open('helper.py', 'w').write('def answer(): return 333\\n')")
    assert kernel.run("print(helper.answer())").text == "333\n"
    kernel.run("%rewind to 1 --only files --yes")
    assert kernel.run("print(helper.answer())").text == "1\n"


def test_unloading_takes_the_observers_out(kernel):
    look = "sum(len(f) for c in get_ipython().configurables for n in c._trait_notifiers.values() for f in n.values())"
    kernel.run("%unload_ext nbrewind", silent=True)
    without = kernel.value(look)
    kernel.run("%load_ext nbrewind", silent=True)
    assert kernel.value(look) > without

    kernel.run("%unload_ext nbrewind", silent=True)

    assert kernel.value(look) == without
