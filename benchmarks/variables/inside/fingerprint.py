"""The judge: a digest of each variable's value and of all sharing between variables, the same in every process.

It holds no address and no id, and changes nothing of what it looks at. An object met a second time counts as the path
where it was met first; an array that lies in the memory of an earlier one counts as a view of that.
"""

import hashlib
import io
import sqlite3
import threading
import types

SKIPPED = {"In", "Out", "get_ipython", "exit", "quit", "open", "init_kishu", "kishu"}
ATOMS = (int, float, complex, str, bytes, bool, type(None), type(...))


def user_items(namespace):
    """Yield the user's names with their values, past any namespace that watches its reads."""
    for name in dict.keys(namespace):
        if name.startswith("_") or name in SKIPPED:
            continue
        value = dict.__getitem__(namespace, name)
        home = getattr(value, "__module__", "")
        if isinstance(home, str) and home.startswith(("IPython", "kishu")):
            continue
        yield name, value


class Walk:
    """One walk over all variables, in the order of their names."""

    def __init__(self):
        self.paths = {}
        self.held = []
        self.aliases = 0
        self.memory = []

    def walk(self, value, path, into):
        """Take *value*, met at *path*, into the digest."""
        kind = type(value)
        if kind in ATOMS:
            into.update(kind.__name__.encode() + repr(value).encode())
            return
        for base, tag in ((types.ModuleType, "module"), (type, "class"), (types.BuiltinFunctionType, "builtin")):
            if isinstance(value, base):
                name = value.__name__ if base is types.ModuleType else value.__qualname__
                into.update(f"{tag}:{name}".encode())
                return
        if kind is not tuple:
            if id(value) in self.paths:
                self.aliases += 1
                into.update(f"alias:{self.paths[id(value)]}".encode())
                return
            self.paths[id(value)] = path
            self.held.append(value)
        into.update(f"<{kind.__module__}.{kind.__qualname__}>".encode())
        self.content(value, kind, path, into)

    def content(self, value, kind, path, into):
        """Take in what is in *value*."""
        home = kind.__module__ or ""
        if kind in (list, tuple):
            into.update(str(len(value)).encode())
            for number, one in enumerate(value):
                self.walk(one, f"{path}[{number}]", into)
        elif kind is dict:
            into.update(str(len(value)).encode())
            for key, one in value.items():
                self.walk(key, path + ".k", into)
                self.walk(one, f"{path}[{key!r}]" if isinstance(key, ATOMS) else path + "[?]", into)
        elif kind in (set, frozenset):
            into.update("".join(sorted(map(repr, value))).encode())
        elif home == "numpy" and kind.__name__ == "ndarray":
            self.array(value, path, into)
        elif home.startswith("pandas") and kind.__name__ in ("DataFrame", "Series"):
            self.frame(value, into)
        elif isinstance(value, types.FunctionType):
            self.function(value, path, into)
        elif not self.living(value, home, into):
            self.instance(value, kind, home, path, into)

    def array(self, array, path, into):
        """Take in an array, and in whose memory it lies."""
        import numpy

        into.update(str((array.dtype, array.shape)).encode())
        if array.dtype == object:
            self.walk(array.tolist(), path + ".objects", into)
        else:
            into.update(numpy.ascontiguousarray(array))
        root = array
        while isinstance(root.base, numpy.ndarray):
            root = root.base
        start = array.__array_interface__["data"][0]
        if root is not array:
            for known, low, high in self.memory:
                if low <= start < high:
                    into.update(f"view of {known}".encode())
                    break
        if not array.strides or min(array.strides) >= 0:
            self.memory.append((path, start, start + max(array.nbytes, 1)))

    def frame(self, frame, into):
        """Take in a frame or series."""
        import pandas

        into.update(repr(list(frame.columns) if hasattr(frame, "columns") else [frame.name]).encode())
        into.update(str(frame.dtypes).encode())
        into.update(pandas.util.hash_pandas_object(frame, index=True).to_numpy().tobytes())

    def function(self, function, path, into):
        """Take in a function: its code, and what its closure holds."""
        code = function.__code__
        constants = [one for one in code.co_consts if not isinstance(one, types.CodeType)]
        into.update(function.__qualname__.encode() + code.co_code + repr(constants).encode())
        for number, cell in enumerate(function.__closure__ or ()):
            try:
                self.walk(cell.cell_contents, f"{path}.closure{number}", into)
            except ValueError:
                continue

    def living(self, value, home, into):
        """Take in what is more than its memory; return whether it is such an object."""
        if isinstance(value, types.GeneratorType):
            frame = value.gi_frame
            seen = frame and {name: one for name, one in frame.f_locals.items() if isinstance(one, ATOMS)}
            text = repr((value.gi_code.co_name, frame and frame.f_lasti, seen))
        elif isinstance(value, sqlite3.Connection):
            try:
                text = repr(list(value.iterdump()))
            except sqlite3.Error as error:
                text = repr(error)
        elif isinstance(value, io.IOBase):
            text = repr((value.closed, None if value.closed else value.tell()))
        elif isinstance(value, threading.Thread):
            text = repr(value.is_alive())
        elif home in ("_thread", "threading"):
            text = ""
        else:
            return False
        into.update(text.encode())
        return True

    def instance(self, value, kind, home, path, into):
        """Take in the state of any other object."""
        if home.startswith("numpy.random"):
            source = getattr(value, "bit_generator", value)
            into.update(repr(getattr(source, "state", "")).encode())
            return
        state = getattr(value, "__dict__", None)
        if home.startswith(("numpy", "pandas")) or "tree" in home:
            state = value.__getstate__()
        if state is None:
            try:
                state = list(value.__reduce_ex__(4)[1:3])
            except TypeError:
                return
        self.walk(state, path + ".state", into)


def fingerprint(namespace):
    """Return a digest for each variable, and how many aliases there are, as "#aliases"."""
    walk = Walk()
    found = {}
    for name, value in sorted(user_items(namespace)):
        into = hashlib.blake2b(digest_size=12)
        try:
            walk.walk(value, name, into)
            found[name] = into.hexdigest()
        except RecursionError:
            found[name] = "nested too deeply"
    found["#aliases"] = walk.aliases
    return found
