"""Rows of drawing, pictures, graphs, symbols and widgets."""

from __future__ import annotations

from tests.conformance.class_row import Row, reference, value

__all__ = ["PICTURES"]

_FIG = "from matplotlib.figure import Figure; f = Figure(); a = f.add_subplot(); l, = a.plot([1, 2], [3, 4]); "
_PLT = "import matplotlib.pyplot as plt; "


def _draw(name: str, make: str, change: str, look: str) -> Row:
    return value(f"matplotlib.{name}", make, change, look, needs="matplotlib")


_PICTURES = (
    _draw(
        "figure.Figure", _FIG + "x = f", "a.set_title('t')", "(x.axes[0] is a, a.get_title(), l.get_ydata().tolist())"
    ),
    _draw(
        "figure.Figure of pyplot",
        _PLT + "x = plt.figure(); x.add_subplot()",
        "plt.title('t')",
        "(x.axes[0].get_title(), plt.fignum_exists(x.number))",
    ),
    _draw("axes.Axes", _FIG + "x = a", "x.set_xlim(0, 9)", "(x.get_xlim(), x.figure is f)"),
    _draw("lines.Line2D", _FIG + "x = l", "x.set_color('red')", "(x.get_color(), x.axes is a)"),
    _draw(
        "collections.PathCollection",
        _FIG + "x = a.scatter([1], [2])",
        "x.set_alpha(0.5)",
        "(x.get_alpha(), x.axes is a)",
    ),
    _draw(
        "image.AxesImage", _FIG + "x = a.imshow([[1, 2]])", "x.set_clim(0, 9)", "(x.get_clim(), x.get_array().tolist())"
    ),
    _draw(
        "container.BarContainer",
        _FIG + "x = a.bar([1, 2], [3, 4])",
        "x[0].set_height(9)",
        "[p.get_height() for p in x]",
    ),
    _draw("legend.Legend", _FIG + "x = a.legend(['n'])", "x.set_title('t')", "x.get_title().get_text()"),
    _draw("text.Text", _FIG + "x = a.text(0, 0, 's')", "x.set_text('t')", "x.get_text()"),
    _draw("patches.Circle", "from matplotlib.patches import Circle; x = Circle((0, 0), 1)", "x.radius = 2", "x.radius"),
    _draw(
        "colors.ListedColormap",
        "from matplotlib.colors import ListedColormap; x = ListedColormap(['r', 'b'])",
        "x.colors.append('g')",
        "x.colors",
    ),
    _draw(
        "colors.LinearSegmentedColormap",
        "import matplotlib; x = matplotlib.colormaps['jet']",
        "x.name = 'q'",
        "(x.name, x(0.5))",
    ),
    _draw("colors.Normalize", "from matplotlib.colors import Normalize; x = Normalize(0, 1)", "x.vmax = 2", "x.vmax"),
    _draw("gridspec.GridSpec", _FIG + "x = f.add_gridspec(2, 2)", "x.hspace = 1", "(x.hspace, x.nrows)"),
    value(
        "seaborn.FacetGrid",
        _PLT + "import seaborn, pandas as pd; x = seaborn.FacetGrid(pd.DataFrame({'a': [1, 2]}), col='a')",
        "x.figure.suptitle('t')",
        "(len(x.axes.flat), x.figure.get_suptitle())",
        needs="seaborn",
    ),
    value(
        "seaborn.PairGrid",
        _PLT + "import seaborn, pandas as pd; x = seaborn.PairGrid(pd.DataFrame({'a': [1, 2], 'b': [2, 1]}))",
        "x.figure.suptitle('t')",
        "(len(x.axes.flat), x.figure.get_suptitle())",
        needs="seaborn",
    ),
    value(
        "PIL.Image.Image",
        "from PIL import Image; x = Image.new('RGB', (4, 4))",
        "x.putpixel((0, 0), (9, 9, 9))",
        "(x.tobytes(), x.size)",
        needs="PIL",
    ),
    value(
        "PIL.Image.Image of a file",
        "from PIL import Image; Image.new('L', (2, 2)).save('i.png'); x = Image.open('i.png')",
        look="(x.size, x.tobytes())",
        needs="PIL",
    ),
    reference(
        "PIL.ImageDraw.ImageDraw",
        "from PIL import Image, ImageDraw; i = Image.new('L', (2, 2)); x = ImageDraw.Draw(i)",
        "x.font = 5",
        "x.font",
        needs="PIL",
        why="it holds a drawing handle of the library",
    ),
)

_OTHERS = (
    value(
        "networkx.Graph",
        "import networkx as nx; x = nx.Graph([(1, 2)])",
        "x.add_edge(2, 3, w=[1])",
        "sorted(x.edges)",
        needs="networkx",
    ),
    value(
        "networkx.DiGraph",
        "import networkx as nx; x = nx.DiGraph([(1, 2)])",
        "x.nodes[1]['n'] = 5",
        "dict(x.nodes(data=True))",
        needs="networkx",
    ),
    value(
        "networkx.MultiGraph",
        "import networkx as nx; x = nx.MultiGraph([(1, 2), (1, 2)])",
        "x.remove_edge(1, 2)",
        "x.number_of_edges()",
        needs="networkx",
    ),
    value(
        "networkx.NodeView",
        "import networkx as nx; g = nx.Graph([(1, 2)]); x = g.nodes",
        "g.add_node(3)",
        "list(x)",
        needs="networkx",
    ),
    value(
        "sympy.Symbol",
        "import sympy; x = sympy.Symbol('a', positive=True)",
        look="(x == sympy.Symbol('a', positive=True))",
        needs="sympy",
    ),
    value(
        "sympy.Expr",
        "import sympy; a = sympy.Symbol('a'); x = sympy.sin(a) ** 2 + 1",
        look="(str(x), a in x.free_symbols)",
        needs="sympy",
    ),
    value("sympy.Matrix", "import sympy; x = sympy.Matrix([[1, 2]])", "x[0] = 9", "x.tolist()", needs="sympy"),
    value("mpmath.mpf", "import mpmath; x = mpmath.mpf('1.5')", look="str(x)", needs="mpmath"),
    value(
        "sortedcontainers.SortedDict",
        "import sortedcontainers; x = sortedcontainers.SortedDict(b=1, a=2)",
        "x['c'] = 1",
        "list(x.items())",
        needs="sortedcontainers",
    ),
    value(
        "dateutil.relativedelta",
        "from dateutil.relativedelta import relativedelta; x = relativedelta(months=1)",
        needs="dateutil",
    ),
    value(
        "attrs class",
        "import attrs\n@attrs.define\nclass A:\n    l: list\nx = A([1])",
        "x.l.append(2)",
        "x.l",
        needs="attrs",
    ),
    value(
        "narwhals.DataFrame",
        "import narwhals as nw, pandas as pd; p = pd.DataFrame({'a': [1]}); x = nw.from_native(p)",
        "p.loc[0, 'a'] = 9",
        "x.to_native().to_dict()",
        needs="narwhals",
    ),
)

_WIDGETS = (
    ("IntSlider", "(value=3)", "x.value = 5", "x.value"),
    ("FloatText", "(value=3.5)", "x.value = 5.", "x.value"),
    ("Text", "(value='a')", "x.value = 'b'", "x.value"),
    ("Textarea", "(value='a')", "x.value = 'b'", "x.value"),
    ("Dropdown", "(options=['a', 'b'])", "x.value = 'b'", "(x.value, x.options)"),
    ("SelectMultiple", "(options=['a', 'b'])", "x.value = ('b',)", "x.value"),
    ("Checkbox", "(value=False)", "x.value = True", "x.value"),
    ("Button", "(description='a')", "x.description = 'b'", "x.description"),
    ("HTML", "(value='a')", "x.value = 'b'", "x.value"),
    ("IntProgress", "(value=3)", "x.value = 5", "x.value"),
    ("DatePicker", "(value=__import__('datetime').date(2026, 1, 1))", "x.value = None", "x.value"),
    ("ColorPicker", "(value='red')", "x.value = 'blue'", "x.value"),
    ("VBox", "([w.Text()])", "x.children = ()", "len(x.children)"),
    ("Tab", "([w.Text(), w.Text()])", "x.selected_index = 1", "x.selected_index"),
    ("Output", "()", "x.outputs = ({'output_type': 'stream', 'name': 'stdout', 'text': 'a'},)", "x.outputs"),
    ("Layout", "(width='5px')", "x.width = '9px'", "x.width"),
    ("IntSlider with an observer", "(value=3); l = []; x.observe(l.append)", "x.value = 5", "x.value"),
)
_SHOWN = "a front end shows this very object: it is put back with what can be set"
_IPYWIDGETS = tuple(
    reference(
        f"ipywidgets.{name}",
        f"import ipywidgets as w; x = w.{name.partition(' ')[0]}{arguments}",
        change,
        look,
        needs="ipywidgets",
        why=_SHOWN,
        settles=True,
        revives=True,
    )
    for name, arguments, change, look in _WIDGETS
)

PICTURES: tuple[Row, ...] = (*_PICTURES, *_OTHERS, *_IPYWIDGETS)
