"""Each provider against the real thing: what a cell changes goes back, and the undo of that goes forward again."""

from __future__ import annotations

import builtins
import decimal
import gc
import io
import locale
import logging
import math
import os
import random
import signal
import socket
import statistics
import sys
import threading
import time
import warnings
from collections.abc import Iterator

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import sklearn

from nbrewind.resources.variables.providers import Provider, Undo, decode, encode
from nbrewind.resources.variables.providers.chance import NumpyRandom, PythonRandom, TorchRandom
from nbrewind.resources.variables.providers.filters import WarningFilters
from nbrewind.resources.variables.providers.hooks import Builtins, Hooks, SignalHandlers
from nbrewind.resources.variables.providers.logs import Loggers
from nbrewind.resources.variables.providers.options import (
    DecimalContext,
    NumpyOptions,
    PandasOptions,
    SklearnOptions,
    TorchOptions,
)
from nbrewind.resources.variables.providers.overwritten import Overwritten
from nbrewind.resources.variables.providers.plotting import MatplotlibOptions
from nbrewind.resources.variables.providers.process import (
    Environment,
    Interpreter,
    LoadedModules,
    SearchPath,
    WorkingFolder,
)
from nbrewind.resources.variables.providers.state import ProcessState, built_in_providers


@pytest.fixture(autouse=True)
def _process_as_before() -> Iterator[None]:
    """Whatever a test changes goes back, also where it fails."""
    state = ProcessState()
    before = state.capture()
    yield
    state.restore(before)


def _subjects(notes: object) -> str:
    return " ".join(f"{note.subject}: {note.reason}" for note in notes)  # type: ignore[attr-defined]


def _round_trip(provider: Provider, change: object) -> tuple[Undo, bytes, bytes]:
    """Change, restore, and check that bytes follow; return the undo and both states."""
    before = provider.capture()
    change()  # type: ignore[operator]
    after = provider.capture()
    assert after != before
    undo = provider.restore(before)
    assert provider.capture() == before
    return undo, before, after


def test_working_folder_goes_back_and_forward(tmp_path):
    here, there = tmp_path / "here", tmp_path / "thérè"
    here.mkdir(), there.mkdir()
    os.chdir(here)
    provider = WorkingFolder()

    undo, before, after = _round_trip(provider, lambda: os.chdir(there))
    assert os.getcwd() == str(here)
    undo()

    assert os.getcwd() == str(there)
    assert _subjects(provider.describe(before, after)) == f"working folder: {here} → {there}"


def test_working_folder_that_is_gone_is_left_and_noted(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    os.chdir(gone)
    state = WorkingFolder().capture()
    os.chdir(tmp_path)
    gone.rmdir()

    undo = WorkingFolder().restore(state)

    assert os.getcwd() == str(tmp_path)
    assert "No such file" in _subjects(undo.notes)
    undo()
    assert os.getcwd() == str(tmp_path)


def test_environment_keeps_only_what_changed_since_loading(monkeypatch):
    monkeypatch.setenv("SECRET_AT_START", "hunter2")
    monkeypatch.setenv("OLD", "1")
    monkeypatch.setenv("BOTH", "1")
    provider = Environment()

    def cell() -> None:
        os.environ["NEW"] = "x\udcff"
        os.environ["BOTH"] = "2"
        del os.environ["OLD"]

    undo, before, after = _round_trip(provider, cell)
    assert "NEW" not in os.environ and os.environ["OLD"] == "1" and os.environ["BOTH"] == "1"
    undo()

    assert os.environ["NEW"] == "x\udcff" and "OLD" not in os.environ and os.environ["BOTH"] == "2"
    assert b"hunter2" not in before + after
    assert _subjects(provider.describe(before, after)) == (
        "os.environ['BOTH']: set os.environ['NEW']: set os.environ['OLD']: set"
    )
    provider.restore(before)


def test_environment_restored_is_seen_by_children_and_by_the_clock():
    provider = Environment()
    before = provider.capture()
    os.environ["TZ"] = "America/New_York"
    time.tzset()

    provider.restore(before)

    assert time.tzname[0] != "EST"


def test_search_path_is_restored_in_place():
    provider, path = SearchPath(), sys.path
    undo, before, after = _round_trip(provider, lambda: sys.path.insert(0, "/somewhere"))

    assert sys.path is path and "/somewhere" not in path
    undo()
    assert path[0] == "/somewhere"
    assert _subjects(provider.describe(before, after)) == "sys.path: /somewhere: set"


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("/data/project/made_up.py", "nbrewind_test_made_up: stays imported"),
        ("/data/project/.venv/lib/python3.11/site-packages/made_up.py", ""),
        (os.__file__, ""),
        (None, ""),
    ],
)
def test_modules_stay_loaded_and_only_a_persons_own_are_named(file, said):
    provider = LoadedModules()
    before = provider.capture()
    module = sys.modules["nbrewind_test_made_up"] = type(sys)("nbrewind_test_made_up")
    module.__file__ = file
    try:
        undo = provider.restore(before)
        assert "nbrewind_test_made_up" in sys.modules
        assert _subjects(undo.notes) == said
        assert _subjects(provider.describe(before, provider.capture())) == "nbrewind_test_made_up: imported"
    finally:
        del sys.modules["nbrewind_test_made_up"]


def test_limits_of_the_interpreter():
    provider = Interpreter()

    def cell() -> None:
        sys.setrecursionlimit(sys.getrecursionlimit() + 17)
        gc.disable()
        gc.set_threshold(5, 6, 7)
        socket.setdefaulttimeout(2.5)

    limit = sys.getrecursionlimit()
    undo, *_ = _round_trip(provider, cell)
    assert sys.getrecursionlimit() == limit and gc.isenabled() and socket.getdefaulttimeout() is None
    undo()
    assert sys.getrecursionlimit() == limit + 17 and not gc.isenabled() and gc.get_threshold() == (5, 6, 7)


def test_locale_goes_back():
    provider, before = Interpreter(), locale.setlocale(locale.LC_ALL)
    state = provider.capture()
    locale.setlocale(locale.LC_ALL, "C.UTF-8" if before == "C" else "C")

    provider.restore(state)

    assert locale.setlocale(locale.LC_ALL) == before


def test_random_numbers_repeat():
    provider = PythonRandom()
    random.seed(0)
    state = provider.capture()
    first = [random.random(), random.gauss(0, 1)]

    undo = provider.restore(state)
    again = [random.random(), random.gauss(0, 1)]
    undo()

    assert again == first
    assert random.random() not in first


def test_numpy_random_numbers_repeat():
    provider = NumpyRandom()
    np.random.seed(7)
    np.random.randn()
    state = provider.capture()
    first = np.random.rand(3).tolist(), np.random.randn()

    provider.restore(state)

    assert (np.random.rand(3).tolist(), np.random.randn()) == first


def test_torch_random_numbers_repeat():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    provider = TorchRandom()
    torch.manual_seed(3)
    state = provider.capture()
    first = torch.rand(4).tolist()
    after = torch.get_rng_state().tolist()

    undo = provider.restore(state)
    assert torch.rand(4).tolist() == first
    provider.restore(state)
    undo()

    assert torch.get_rng_state().tolist() == after


class _Own(Warning):
    pass


def test_filters_of_warnings_go_back_in_place():
    provider, filters = WarningFilters(), warnings.filters

    def cell() -> None:
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", message="ab+c", category=_Own, module="x")

    before = list(filters)
    undo, *_ = _round_trip(provider, cell)
    assert list(warnings.filters) == before and warnings.filters is filters
    undo()

    with pytest.raises(_Own):
        warnings.warn_explicit("abbbc", _Own, "x.py", 1, module="x")


def test_filters_of_warnings_judge_again_after_a_restore():
    provider = WarningFilters()
    warnings.simplefilter("ignore", UserWarning)
    state = provider.capture()
    warnings.simplefilter("error", UserWarning)

    provider.restore(state)

    warnings.warn("fine", UserWarning, stacklevel=1)


def test_loggers_go_back_with_their_handlers():
    provider = Loggers()
    logger, handler = logging.getLogger("nbrewind_test.a"), logging.StreamHandler(io.StringIO())
    logger.addHandler(handler)
    logger.setLevel("INFO")

    def cell() -> None:
        logger.handlers.clear()
        logger.setLevel("ERROR")
        logger.propagate = False
        logging.getLogger("nbrewind_test.b").setLevel("DEBUG")
        logging.disable(logging.CRITICAL)

    undo, before, after = _round_trip(provider, cell)
    assert logger.handlers == [handler] and logger.level == logging.INFO and logger.propagate
    assert logging.getLogger("nbrewind_test.b").level == logging.NOTSET and logging.root.manager.disable == 0
    undo()
    assert not logger.handlers and logger.level == logging.ERROR and logging.root.manager.disable == logging.CRITICAL
    assert "logger nbrewind_test.a" in _subjects(provider.describe(before, after))
    provider.restore(before)
    logger.handlers.clear()


def test_handler_that_is_gone_is_noted():
    provider, logger = Loggers(), logging.getLogger("nbrewind_test.c")
    logger.addHandler(logging.StreamHandler(io.StringIO()))
    state = provider.capture()
    logger.handlers.clear()
    gc.collect()

    undo = provider.restore(state)

    assert "logger nbrewind_test.c: StreamHandler is gone" in _subjects(undo.notes)


def test_handler_is_held_by_the_undo_of_the_rewind_that_took_it_away():
    provider, logger = Loggers(), logging.getLogger("nbrewind_test.d")
    before = provider.capture()
    logger.addHandler(logging.StreamHandler(io.StringIO()))
    after = provider.capture()

    undo = provider.restore(before)
    gc.collect()
    provider.restore(after)

    assert len(logger.handlers) == 1
    del undo
    provider.restore(before)


def test_decimal_context_goes_back_at_once_in_the_same_context_and_object():
    provider, context = DecimalContext(), decimal.getcontext()

    def cell() -> None:
        decimal.getcontext().prec = 5
        decimal.getcontext().rounding = decimal.ROUND_UP
        decimal.getcontext().traps[decimal.Inexact] = True

    undo, *_ = _round_trip(provider, cell)
    assert decimal.getcontext() is context and str(decimal.Decimal(1) / 3) == "0." + "3" * 28
    undo()
    assert context.prec == 5 and context.traps[decimal.Inexact]
    context.traps[decimal.Inexact] = False


def test_numpy_options_go_back_at_once_in_the_same_context():
    provider = NumpyOptions()
    wide = str(np.array([1.23456789]))

    def cell() -> None:
        np.set_printoptions(precision=2, formatter={"float": lambda value: "!"})
        np.seterr(all="raise")

    undo, *_ = _round_trip(provider, cell)
    assert str(np.array([1.23456789])) == wide and np.geterr()["divide"] == "warn"
    undo()
    assert str(np.array([1.23456789])) == "[!]" and np.geterr()["divide"] == "raise"


def test_numpy_options_of_a_time_before_numpy_are_its_defaults():
    np.set_printoptions(precision=1, suppress=True)

    NumpyOptions().restore(b"")

    assert np.get_printoptions()["precision"] == 8 and not np.get_printoptions()["suppress"]


def test_pandas_options_go_back():
    provider = PandasOptions()

    def cell() -> None:
        pd.set_option("display.max_rows", 7)
        pd.options.display.float_format = "{:.1f}".format
        pd.set_option("compute.use_numexpr", not pd.get_option("compute.use_numexpr"))

    undo, before, after = _round_trip(provider, cell)
    assert pd.get_option("display.max_rows") == 60 and pd.get_option("display.float_format") is None
    assert "pandas: display.max_rows" in _subjects(provider.describe(before, after))
    undo()
    assert pd.get_option("display.max_rows") == 7 and pd.get_option("display.float_format")(1.25) == "1.2"
    provider.restore(b"")
    assert pd.get_option("display.max_rows") == 60


def test_matplotlib_parameters_go_back_but_for_the_backend():
    provider, backend = MatplotlibOptions(), dict.get(mpl.rcParams, "backend")

    def cell() -> None:
        mpl.rcParams["lines.linewidth"] = 9
        mpl.rcParams["axes.prop_cycle"] = mpl.cycler(color=["red"])

    undo, before, after = _round_trip(provider, cell)
    assert mpl.rcParams["lines.linewidth"] == 1.5 and len(mpl.rcParams["axes.prop_cycle"]) == 10
    undo()
    assert mpl.rcParams["lines.linewidth"] == 9 and dict.get(mpl.rcParams, "backend") == backend
    assert "rcParams['lines.linewidth']" in _subjects(provider.describe(before, after))


def test_torch_and_sklearn_options_go_back():
    undo, *_ = _round_trip(SklearnOptions(), lambda: sklearn.set_config(display="text"))
    assert sklearn.get_config()["display"] == "diagram"
    undo()
    assert sklearn.get_config()["display"] == "text"
    torch = pytest.importorskip("torch", reason="torch is not installed")
    undo, *_ = _round_trip(
        TorchOptions(), lambda: (torch.set_default_dtype(torch.float64), torch.set_grad_enabled(False))
    )
    assert torch.get_default_dtype() is torch.float32 and torch.is_grad_enabled()
    undo()
    assert torch.get_default_dtype() is torch.float64 and not torch.is_grad_enabled()


def test_signal_handlers_go_back():
    provider, handler = SignalHandlers(), lambda *_: None

    undo, before, after = _round_trip(provider, lambda: signal.signal(signal.SIGUSR1, handler))
    assert signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL
    undo()
    assert signal.getsignal(signal.SIGUSR1) is handler
    assert _subjects(provider.describe(before, after)) == "signal handler of SIGUSR1: set"


def test_the_kernels_own_changes_of_sigint_are_none():
    provider = SignalHandlers()
    before = provider.capture()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert provider.capture() == before
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_streams_and_hooks_go_back():
    stdout, hook = sys.stdout, sys.excepthook
    provider = Hooks()

    def cell() -> None:
        sys.stdout = io.StringIO()
        sys.excepthook = lambda *_: None
        warnings.showwarning = print

    undo, before, after = _round_trip(provider, cell)
    assert sys.stdout is stdout and sys.excepthook is hook
    undo()
    assert isinstance(sys.stdout, io.StringIO) and warnings.showwarning is print
    provider.restore(before)
    assert "sys.stdout" in _subjects(provider.describe(before, after))


def test_a_hook_of_a_cell_that_is_gone_is_named_and_the_present_one_kept():
    provider = Hooks()
    sys.excepthook = lambda *_: None
    state = provider.capture()
    sys.excepthook = sys.__excepthook__
    gc.collect()

    undo = provider.restore(state)

    assert _subjects(undo.notes) == "sys.excepthook: function is gone; kept as it is now"
    assert sys.excepthook is sys.__excepthook__


def test_builtins_overwritten_by_mistake_come_back():
    provider, power = Builtins(), builtins.pow

    def cell() -> None:
        builtins.pow = lambda *_: 0
        builtins.made_up = 1
        del builtins.divmod

    undo, before, after = _round_trip(provider, cell)
    assert builtins.pow is power and not hasattr(builtins, "made_up") and divmod(7, 2) == (3, 1)
    undo()
    assert pow(2, 3) == 0 and builtins.made_up == 1 and not hasattr(builtins, "divmod")
    provider.restore(before)
    assert "builtins.pow: set" in _subjects(provider.describe(before, after))


def test_replaced_functions_of_modules_come_back():
    provider, root, mean = Overwritten(), math.sqrt, statistics.mean
    provider.watch(math, frozenset({"sqrt", "made_up"}))
    provider.watch(statistics, frozenset({"mean"}))
    provider.watch(pd.DataFrame, frozenset({"to_csv", "made_up"}))
    to_csv = pd.DataFrame.to_csv

    def cell() -> None:
        math.sqrt = lambda value: -1
        math.made_up = 1
        statistics.mean = lambda *_: "patched"
        pd.DataFrame.to_csv = pd.DataFrame.made_up = lambda self: "patched"

    undo, before, after = _round_trip(provider, cell)
    assert math.sqrt is root and statistics.mean is mean and pd.DataFrame.to_csv is to_csv
    assert not hasattr(math, "made_up") and not hasattr(pd.DataFrame, "made_up")
    undo()
    assert math.sqrt(4) == -1 and pd.DataFrame().to_csv() == "patched"
    provider.restore(before)
    assert "math.sqrt: set" in _subjects(provider.describe(before, after))


def test_states_are_equal_while_nothing_changes_and_cost_little():
    state = ProcessState()
    first = state.capture()
    costs = {}
    for name, provider in state._providers.items():
        times = []
        for _ in range(20):
            start = time.perf_counter()
            assert provider.capture() == first[name], name
            times.append(time.perf_counter() - start)
        costs[name] = min(times)

    assert not state.failed
    assert {name: cost for name, cost in costs.items() if cost > 0.0003} == {}
    assert sum(costs.values()) < 0.0015


class _Faulty:
    name = "faulty"

    def capture(self) -> bytes:
        raise RuntimeError("no")

    def describe(self, before: bytes, after: bytes) -> tuple[()]:
        raise RuntimeError("no")

    def restore(self, state: bytes) -> Undo:
        raise RuntimeError("no")


def test_a_faulty_provider_costs_its_own_part_only(tmp_path):
    state = ProcessState([_Faulty(), WorkingFolder()])
    before = state.capture() | {"faulty": b"x", "unknown": b"y"}
    os.chdir(tmp_path)

    undo = state.restore(before)

    assert state.failed == {"faulty": "RuntimeError: no"}
    assert os.getcwdb() == before["cwd"] and "faulty" in _subjects(undo.notes)
    undo()
    assert os.getcwd() == str(tmp_path)


def test_a_restore_of_everything_is_undone_as_a_whole(tmp_path):
    state = ProcessState(built_in_providers())
    before = state.capture()
    os.chdir(tmp_path)
    os.environ["NBREWIND_TEST"] = "1"
    random.seed(5)
    np.set_printoptions(precision=1)
    decimal.getcontext().prec = 3
    after = state.capture()

    undo = state.restore(before)
    assert state.capture() == before
    undo()

    assert state.capture() == after
    assert {note.subject for note in state.describe(before, after)} >= {
        "working folder",
        "os.environ['NBREWIND_TEST']",
        "random numbers of random",
        "numpy: precision",
        "decimal: prec",
    }


def test_context_variables_are_those_of_the_context_that_restores():
    provider, before = DecimalContext(), DecimalContext().capture()
    decimal.getcontext().prec = 4
    thread = threading.Thread(target=lambda: provider.restore(before))
    thread.start()
    thread.join()
    assert decimal.getcontext().prec == 4

    provider.restore(before)

    assert decimal.getcontext().prec == 28


def test_encoding_gives_equal_bytes_for_equal_values():
    assert encode({"b": 1, "a": None}) == encode({"a": None, "b": 1})
    assert decode(b"") is None
