import pytest

from nbrewind.session.names import bound_by


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("x = 1; y += 2", {"x", "y"}),
        ("df['a'] = 1\ndf.loc[0].x = 2", {"df"}),
        ("import numpy as np, os.path\nfrom a import b as c", {"np", "os", "c"}),
        ("def f():\n    global g\n    g = 1\n    local = 2", {"f", "g"}),
        ("class A:\n    x = 1", {"A"}),
        ("for i, (j, *k) in z: pass", {"i", "j", "k"}),
        ("with open('a') as f: d = f.read()", {"f", "d"}),
        ("[q for q in w if (n := q)]", {"n"}),
        ("del a", {"a"}),
        ("files = !ls\n%timeit x = 1\n!rm y\nz = 1", {"files", "z"}),
        ("%%time\nt = 1", {"t"}),
        ("%%bash\nt=1", set()),
        ("def (:\nx = 1", {"x"}),
        ("print(x == 1)", set()),
        ("df?", set()),
    ],
)
def test_names_that_a_cell_binds(code, names):
    assert bound_by(code) == names
