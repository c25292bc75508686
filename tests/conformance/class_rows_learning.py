"""Rows of scikit-learn and torch."""

from __future__ import annotations

from tests.conformance.class_row import Row, reference, value

__all__ = ["LEARNING"]

_DATA = "import numpy as np; r = np.random.RandomState(0); X = r.rand(20, 3); y_ = (X[:, 0] > 0.5).astype(int); "
_FITTED = {
    "linear_model": "LinearRegression Ridge Lasso ElasticNet LogisticRegression SGDClassifier Perceptron BayesianRidge",
    "ensemble": "RandomForestClassifier(5) RandomForestRegressor(5) GradientBoostingClassifier(n_estimators=5) "
    "AdaBoostClassifier(n_estimators=3) HistGradientBoostingClassifier(max_iter=5) IsolationForest(n_estimators=5) "
    "ExtraTreesClassifier(5)",
    "tree": "DecisionTreeClassifier DecisionTreeRegressor",
    "svm": "SVC SVR LinearSVC",
    "neighbors": "KNeighborsClassifier NearestNeighbors",
    "naive_bayes": "GaussianNB",
    "cluster": "KMeans(2,n_init=1) DBSCAN AgglomerativeClustering MiniBatchKMeans(2,n_init=1)",
    "decomposition": "PCA NMF(2,max_iter=500) TruncatedSVD",
    "mixture": "GaussianMixture",
    "gaussian_process": "GaussianProcessRegressor",
    "neural_network": "MLPClassifier(3,max_iter=5)",
    "preprocessing": "StandardScaler MinMaxScaler PolynomialFeatures QuantileTransformer(n_quantiles=5) "
    "OneHotEncoder LabelEncoder",
    "manifold": "TSNE(perplexity=3,max_iter=250)",
}


def _fitted(module: str, call: str) -> Row:
    name = call.partition("(")[0]
    made = call if "(" in call else f"{call}()"
    given = "y_" if name == "LabelEncoder" else "X, y_"
    quiet = "import warnings\nwith warnings.catch_warnings():\n    warnings.simplefilter('ignore')\n    "
    return value(
        f"sklearn.{module}.{name}",
        f"from sklearn.{module} import {name}; {_DATA}x = {made}\n{quiet}x.fit({given})",
        "x.tag_ = [9]; [v.__iadd__(1) for v in vars(x).values() if type(v) is np.ndarray and v.dtype.kind == 'f']",
        "(sorted(vars(x)), x.predict(X[:5]).tolist() if hasattr(x, 'predict') else [vars(x)[one].tolist() for one in "
        "sorted(vars(x)) if type(vars(x)[one]) is np.ndarray])",
        needs="sklearn",
    )


def _learn(name: str, make: str, change: str, look: str) -> Row:
    return value(f"sklearn.{name}", _DATA + make, change, look, needs="sklearn")


_SKLEARN = (
    *(_fitted(module, call) for module, calls in _FITTED.items() for call in calls.split()),
    _learn(
        "pipeline.Pipeline",
        "from sklearn.pipeline import make_pipeline; from sklearn.preprocessing import StandardScaler; "
        "from sklearn.linear_model import Ridge; x = make_pipeline(StandardScaler(), Ridge()).fit(X, y_)",
        "x[-1].coef_[:] = 0",
        "x.predict(X[:4]).tolist()",
    ),
    _learn(
        "compose.ColumnTransformer",
        "from sklearn.compose import ColumnTransformer; from sklearn.preprocessing import "
        "StandardScaler; x = ColumnTransformer([('a', StandardScaler(), [0, 1])], remainder='passthrough').fit(X)",
        "x.named_transformers_['a'].mean_[:] = 9",
        "x.transform(X[:4]).tolist()",
    ),
    _learn(
        "model_selection.GridSearchCV",
        "from sklearn.model_selection import GridSearchCV; from sklearn.linear_model import "
        "Ridge; x = GridSearchCV(Ridge(), {'alpha': [1, 2]}, cv=2).fit(X, y_)",
        "x.best_estimator_.coef_[:] = 0",
        "(x.predict(X[:4]).tolist(), x.best_params_)",
    ),
    _learn(
        "model_selection.KFold",
        "from sklearn.model_selection import KFold; x = KFold(3)",
        "x.n_splits = 4",
        "[t.tolist() for _, t in x.split(X)]",
    ),
    _learn(
        "feature_extraction.text.TfidfVectorizer",
        "from sklearn.feature_extraction.text import TfidfVectorizer; x = TfidfVectorizer().fit(['a bc', 'bc de'])",
        "x.vocabulary_['zz'] = 2",
        "x.vocabulary_",
    ),
    _learn("utils.Bunch", "from sklearn.utils import Bunch; x = Bunch(a=[1])", "x.a.append(2)", "dict(x)"),
)


def _torch(name: str, make: str, change: str, look: str) -> Row:
    return value(f"torch.{name}", "import torch; torch.manual_seed(0)\n" + make, change, look, needs="torch")


_MODEL = (
    "m = torch.nn.Linear(2, 1); x = torch.optim.Adam(m.parameters(), 0.1); "
    "m(torch.ones(1, 2)).sum().backward(); x.step()"
)
_TORCH = (
    _torch("Tensor", "x = torch.arange(4.)", "x[0] = 9", "x.tolist()"),
    _torch(
        "Tensor, view",
        "b = torch.arange(6.).reshape(2, 3); x = b.t()[1]",
        "x[0] = 9",
        "(b.tolist(), x.untyped_storage().data_ptr() == b.untyped_storage().data_ptr())",
    ),
    _torch(
        "Tensor over a numpy array",
        "import numpy as np; a = np.zeros(3); x = torch.from_numpy(a)",
        "x[0] = 9",
        "(x.tolist(), a.tolist())",
    ),
    _torch("Tensor of bfloat16", "x = torch.ones(3, dtype=torch.bfloat16)", "x[0] = 9", "x.float().tolist()"),
    _torch("Tensor, sparse", "x = torch.eye(2).to_sparse()", "x.mul_(2)", "x.to_dense().tolist()"),
    _torch(
        "Tensor with a gradient",
        "x = torch.ones(2, requires_grad=True); (x * 2).sum().backward()",
        "x.grad.zero_()",
        "(x.grad.tolist(), x.requires_grad)",
    ),
    reference(
        "torch.Tensor with a history",
        "import torch; w = torch.ones(2, requires_grad=True); x = (w * 2).sum()",
        look="float(x.detach())",
        needs="torch",
        why="the operations that made it, for `backward`, cannot be written",
    ),
    _torch("nn.Parameter", "x = torch.nn.Parameter(torch.ones(2))", "x.data[0] = 9", "(x.tolist(), x.requires_grad)"),
    _torch(
        "nn.Module",
        "x = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Dropout())",
        "x[0].weight.data.zero_(); x.eval()",
        "(x[0].weight.tolist(), x.training)",
    ),
    _torch(
        "nn.Module of a cell",
        "class N(torch.nn.Module):\n    def __init__(s):\n        super().__init__()\n"
        "        s.a = torch.nn.Linear(2, 1); s.register_buffer('b', torch.ones(1))\n"
        "    def forward(s, v): return s.a(v) + s.b\n"
        "x = N()",
        "x.b += 1",
        "x(torch.ones(1, 2)).tolist()",
    ),
    _torch(
        "optim.Adam, tied to its model",
        _MODEL,
        "m(torch.ones(1, 2)).sum().backward(); x.step()",
        "(m.weight.tolist(), x.param_groups[0]['params'][0] is m.weight, float(x.state[m.weight]['step']))",
    ),
    _torch(
        "optim.SGD",
        "m = torch.nn.Linear(2, 1); x = torch.optim.SGD(m.parameters(), 0.1, momentum=0.9)",
        "x.param_groups[0]['lr'] = 5",
        "(x.param_groups[0]['lr'], x.param_groups[0]['params'][0] is m.weight)",
    ),
    _torch(
        "optim.lr_scheduler.StepLR",
        "o = torch.optim.SGD(torch.nn.Linear(1, 1).parameters(), 1.); o.step(); "
        "x = torch.optim.lr_scheduler.StepLR(o, 1)",
        "o.step(); x.step()",
        "(x.last_epoch, o.param_groups[0]['lr'], x.optimizer is o)",
    ),
    _torch("Generator", "x = torch.Generator().manual_seed(5)", "torch.rand(1, generator=x)", "x.get_state().tolist()"),
    _torch(
        "utils.data.TensorDataset",
        "x = torch.utils.data.TensorDataset(torch.arange(3))",
        "x.tensors[0][0] = 9",
        "x.tensors[0].tolist()",
    ),
    _torch(
        "utils.data.DataLoader",
        "x = torch.utils.data.DataLoader(list(range(5)), batch_size=2)",
        "x.tag = 1",
        "([b.tolist() for b in x], hasattr(x, 'tag'))",
    ),
    _torch("Size", "x = torch.Size([1, 2])", "", "(x, type(x).__name__)"),
    _torch("dtype", "x = torch.float16", "", "x is torch.float16"),
    _torch("device", "x = torch.device('cpu')", "", "str(x)"),
)

LEARNING: tuple[Row, ...] = (*_SKLEARN, *_TORCH)
