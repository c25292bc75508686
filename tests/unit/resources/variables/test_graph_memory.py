from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.unit.resources.variables.bench import Notebook

ARRAYS = {
    "a view": (
        "a = np.arange(6); v = a[2:5]",
        "v[:] = 0",
        "a.tolist() == [0, 1, 2, 3, 4, 5] and np.shares_memory(a, v)",
    ),
    "a reversed view": (
        "a = np.arange(9000.); v = a[::-1]",
        "v[0] = -1",
        "a[-1] == 8999 and np.shares_memory(a, v) and v.strides == (-8,)",
    ),
    "columns in Fortran order": (
        "a = np.zeros((300, 40), order='F'); v = a[:, 3]",
        "v += 1",
        "a.sum() == 0 and a.flags.f_contiguous and np.shares_memory(a, v)",
    ),
    "a transposed owner": (
        "a = np.arange(6000.).reshape(30, 200).T.copy('K')",
        "a[:] = 0",
        "a[1, 0] == 1 and a.shape == (200, 30)",
    ),
    "only a view": ("v = np.arange(6000.)[10:20]", "v[:] = 0", "v.tolist() == list(range(10, 20))"),
    "no dimension": ("a = np.array(5)", "a[()] = 6", "a == 5 and a.shape == ()"),
    "nothing in it": ("a = np.zeros((0, 3)); b = a[:, 1]", "a = b = None", "a.shape == (0, 3) and b.shape == (0,)"),
    "records": ("a = np.zeros(3000, 'i4,f8'); v = a['f1']", "v[:] = 1", "v.sum() == 0 and np.shares_memory(a, v)"),
    "objects": (
        "l = [1]; a = np.array([l, None], dtype=object); v = a[:1]",
        "l.append(2); v[0] = 3",
        "a[0] is l and l == [1] and v[0] is l",
    ),
    "read-only": ("a = np.arange(9000.); a.flags.writeable = False", "a = None", "not a.flags.writeable and a[5] == 5"),
    "dates": ("a = np.array(['2020-01-01'], 'M8[D]')", "a[0] = '2021-01-01'", "str(a[0]) == '2020-01-01'"),
    "over bytes": (
        "b = bytearray(5000); a = np.frombuffer(b, 'u1')",
        "a[7] = 1",
        "b[7] == 0 and np.shares_memory(a, np.frombuffer(b, 'u1'))",
    ),
    "a large one, patched": ("a = np.arange(300_000.); k = id(a)", "a[7] = -1", "a[7] == 7 and id(a) == k"),
    "broadcast": (
        "a = np.arange(3.); b = np.broadcast_to(a, (500, 3))",
        "a[0] = 9",
        "b[7].tolist() == [0, 1, 2] and np.shares_memory(a, b)",
    ),
    "a generator": (
        "r = np.random.default_rng(3); w = np.random.default_rng(3).random()",
        "r.random()",
        "r.random() == w",
    ),
    "a masked array": (
        "a = np.ma.array([1, 2], mask=[0, 1])",
        "a[0] = 5",
        "a[0] == 1 and a.mask.tolist() == [False, True]",
    ),
}


@pytest.mark.parametrize(("first", "second", "holds"), ARRAYS.values(), ids=ARRAYS)
def test_arrays(first: str, second: str, holds: str, ground: Path) -> None:
    book = Notebook(ground)
    book.run("import numpy as np\n" + first)
    book.run(second)

    book.back(1)

    assert eval(holds, book.ns)


def test_a_mapped_array_is_mapped_again(ground: Path) -> None:
    book = Notebook(ground)
    path = str(ground / "m")
    book.run(f"import numpy as np\nm = np.memmap({path!r}, 'f8', 'w+', shape=(9, 9)); m[:] = 1; m.flush(); v = m[2]")
    book.run("m = v = None")

    book.back(1)

    assert eval("type(m) is np.memmap and m.sum() == 81 and np.shares_memory(m, v) and m.filename is not None", book.ns)


FRAME = """
import numpy as np, pandas as pd
df = pd.DataFrame({'a': np.arange(5000.), 'b': np.arange(5000) * 2., 's': ['x%d' % i for i in range(5000)]})
same = df; head = df.iloc[:100]; column = df['a']; index = df.index; by = df.set_index('b')
"""


def test_frames_come_back_with_their_copy_on_write(ground: Path) -> None:
    book = Notebook(ground)
    book.run(FRAME)
    book.run("df['a'] *= 2; df.loc[5, 'b'] = 77; del df['s']")

    book.back(1)
    exec("df.loc[5, 'b'] = 3.5; column.iloc[0] = 9; df.loc[0, 'b'] = -1", book.ns)

    assert eval("same is df and df.index is index and list(df) == list('abs') and df.a.iloc[0] == 0", book.ns)
    assert eval("head.loc[5, 'b'] == 10 and by.index[0] == 0 and by.index[5] == 10", book.ns)


def test_one_column_of_a_frame_stores_that_column(ground: Path) -> None:
    book = Notebook(ground)
    book.run(
        "import numpy as np, pandas as pd\ndf = pd.DataFrame(np.random.default_rng(0).standard_normal((100_000, 10)))"
    )
    before = sum(path.stat().st_size for path in ground.rglob("*.pack"))

    book.run("df[3] = df[3] * 1.01")

    assert sum(path.stat().st_size for path in ground.rglob("*.pack")) - before < 900_000


def test_texts_of_a_frame_are_stored_once(ground: Path) -> None:
    book = Notebook(ground)
    book.run("import pandas as pd\ndf = pd.DataFrame({'s': ['text number %d' % i for i in range(100_000)], 'x': 1.0})")
    before = sum(path.stat().st_size for path in ground.rglob("*.pack"))

    book.run("df['x'] = 2.0")
    after = sum(path.stat().st_size for path in ground.rglob("*.pack"))
    book.back(1)

    assert after - before < 100_000
    assert eval("df.s.iloc[99_999] == 'text number 99999' and df.x.sum() == 100_000", book.ns)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_tensors_share_their_storage_again(ground: Path) -> None:
    book = Notebook(ground)
    book.run(
        "import torch\nm = torch.nn.Linear(40, 30); opt = torch.optim.Adam(m.parameters()); x = torch.ones(10, 40)\n"
        "v = x[2:4]; w = m.weight.detach().clone(); loss = None"
    )
    book.run("m(x).sum().backward(); opt.step(); v.zero_()")

    book.back(1)

    assert eval("torch.equal(m.weight, w) and m.weight.grad is None", book.ns)
    assert eval("opt.param_groups[0]['params'][0] is m.weight and type(m.weight) is torch.nn.Parameter", book.ns)
    exec("v.fill_(7); m(x).sum().backward(); opt.step()", book.ns)
    assert eval("x[2, 0] == 7 and not torch.equal(m.weight, w)", book.ns)
