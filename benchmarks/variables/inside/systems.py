"""The systems that are measured, from inside the kernel: switching on, taking note of a point, going to one."""

import os
import time

_OWN = {"In", "Out", "get_ipython", "exit", "quit", "open"}


class Bare:
    """Nothing at all."""

    def __init__(self, shell, store):
        self.shell = shell
        self.store = store
        self.points = []

    def attach(self):
        """Switch on."""

    def note(self):
        """Remember the point that the last cell made; return further figures of that cell."""

    def checkout(self, point):
        """Go to the point after cell *point*, from 1; return names that the system says it could not bring back."""


class Whole(Bare):
    """The whole namespace into one file after each cell, by one call; this is what people write themselves."""

    dump = load = None

    def attach(self):
        """Switch on."""
        self.shell.events.register("post_run_cell", self.save)

    def names(self):
        """Return the user's names."""
        namespace = self.shell.user_ns
        return [name for name in namespace if not name.startswith("_") and name not in _OWN]

    def save(self, result=None):
        """Write one file."""
        namespace = self.shell.user_ns
        path = os.path.join(self.store, f"{len(self.points)}.pickle")
        try:
            with open(path, "wb") as file:
                self.dump({name: namespace[name] for name in self.names()}, file)
        except Exception as error:  # noqa: BLE001  it is the peer's, and the point is missing
            os.remove(path)
            path = f"{type(error).__name__}: {error}"
        self.points.append(path)

    def note(self):
        """Say whether the point could be made."""
        return {} if os.path.isabs(self.points[-1]) else {"failed": self.points[-1][:100]}

    def checkout(self, point):
        """Load one file."""
        with open(self.points[point - 1], "rb") as file:
            values = self.load(file)
        for name in self.names():
            del self.shell.user_ns[name]
        self.shell.user_ns.update(values)
        return {}


class Cloudpickle(Whole):
    """`cloudpickle.dump`."""

    def attach(self):
        """Switch on."""
        import pickle

        import cloudpickle

        self.dump, self.load = cloudpickle.dump, pickle.load
        super().attach()


class Dill(Whole):
    """`dill.dump`."""

    def attach(self):
        """Switch on."""
        import dill

        self.dump, self.load = dill.dump, dill.load
        super().attach()


class Kishu(Bare):
    """Kishu, in the mode of its own tests: it neither asks a front end to save nor waits for one."""

    def attach(self):
        """Switch on, for an empty notebook in the store."""
        import nbformat

        path = os.path.join(self.store, "book.ipynb")
        nbformat.write(nbformat.v4.new_notebook(), path)
        os.environ["ENV_KISHU_TEST_MODE"] = "1"
        os.environ["TEST_NOTEBOOK_PATH"] = path
        from kishu import jupyterint

        # It would wait for a front end that answers; this is its answer where none does.
        jupyterint.enclosing_platform = lambda: "jupyternb"
        with self.shell.builtin_trap:
            jupyterint.init_kishu(path)
        self.kishu = dict.__getitem__(self.shell.user_ns, "_kishu")

    def note(self):
        """Remember the commit."""
        self.points.append(self.kishu._kishu_branch.get_head().commit_id)
        return {}

    def checkout(self, point):
        """Check it out, variables only."""
        self.kishu.checkout(self.points[point - 1], skip_notebook=True)
        return {}


class Nbrewind(Bare):
    """nbrewind as `%load_ext nbrewind` switches it on. Moves are cells, so there is nothing to do for a checkout.

    What its variables' part costs is measured by the clock of each thread around the calls of that part.
    """

    METHODS = ("before", "after", "examine", "store", "adopt")

    def attach(self):
        """Measure the variables' part."""
        from nbrewind.session.variables import Variables

        self.cpu = dict.fromkeys(self.METHODS, 0.0)
        self.named = None
        for name in self.METHODS:
            setattr(Variables, name, self.measured(name, getattr(Variables, name)))

    def measured(self, name, method):
        """Return *method*, measured."""

        def call(*arguments, **keywords):
            start = time.thread_time()
            try:
                return method(*arguments, **keywords)
            finally:
                self.cpu[name] += time.thread_time() - start

        return call

    def note(self):
        """Return what the variables' part cost since the last note, in seconds; listen to moves from now on."""
        if self.named is None:
            import nbrewind

            session = nbrewind.current()
            if session is None:
                raise RuntimeError("nbrewind is off")
            self.named = set()
            session.on_rewound(self.moved)
        cost = dict(self.cpu)
        self.cpu.update(dict.fromkeys(self.METHODS, 0.0))
        return {"variables": cost}

    def moved(self, result):
        """Remember what the move says that it could not bring back."""
        self.named = {note.subject for note in result.notes} | set(result.variables)

    def checkout(self, point):
        """Return the names that the last move said it could not bring back."""
        return {"named": sorted(self.named)}


SYSTEMS = {"bare": Bare, "nbrewind": Nbrewind, "cloudpickle": Cloudpickle, "dill": Dill, "kishu": Kishu}
