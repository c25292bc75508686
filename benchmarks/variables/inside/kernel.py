"""The kernel that the benchmark measures: ipykernel's own, which also says what the code of each cell cost.

It runs in the environment of the measured system, and imports nothing of the benchmark but what lies beside it. Code
that begins with `#bench ` is a command to the benchmark's side of the kernel: no cell, no hook, no change of names.
"""

import functools
import importlib.util
import json
import os
import sys
import time

from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelapp import IPKernelApp
from IPython.core.interactiveshell import InteractiveShell

HERE = os.path.dirname(os.path.abspath(__file__))
COMMAND = "#bench "


def beside(name):
    """Return a module from this folder, which is on no path and in no table: the user's code has no such module."""
    spec = importlib.util.spec_from_file_location(f"ipykernel._bench_{name}", os.path.join(HERE, f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Meter:
    """CPU (all threads) and wall time of the user's compiled code alone, without any hook."""

    def __init__(self):
        self.cpu = self.wall = 0.0

    def wrap(self, run_code):
        """Return `InteractiveShell.run_code`, measured."""

        @functools.wraps(run_code)
        async def run(shell, code_obj, result=None, *, async_=False):
            cpu, wall = time.process_time(), time.perf_counter()
            try:
                return await run_code(shell, code_obj, result, async_=async_)
            finally:
                self.cpu += time.process_time() - cpu
                self.wall += time.perf_counter() - wall

        return run


METER = Meter()


class BenchKernel(IPythonKernel):
    """Answers commands of the benchmark, and adds its figures to each reply."""

    system = None

    async def do_execute(self, code, silent, *arguments, **keywords):
        """Run a cell, or a command."""
        if code.startswith(COMMAND):
            command = json.loads(code[len(COMMAND) :])
            try:
                content = {"status": "ok", "bench": self.obey(**command)}
            except Exception as error:  # noqa: BLE001  a peer may raise anything; the driver says what
                content = {"status": "error", "ename": type(error).__name__, "evalue": str(error), "traceback": []}
            return {**content, "execution_count": self.shell.execution_count, "user_expressions": {}, "payload": []}
        METER.cpu = METER.wall = 0.0
        reply = await super().do_execute(code, silent, *arguments, **keywords)
        return {**reply, "bench": {"cpu": METER.cpu, "wall": METER.wall}}

    def obey(self, do, **what):
        """Carry out one command."""
        if do == "attach":
            self.system = beside("systems").SYSTEMS[what["system"]](self.shell, what["store"])
            return self.system.attach()
        if do == "note":
            return self.system.note()
        if do == "checkout":
            return self.system.checkout(what["point"])
        if do == "fingerprint":
            return beside("fingerprint").fingerprint(self.shell.user_ns)
        raise ValueError(do)


# Not of `__main__`, which is where the user's classes are.
BenchKernel.__module__ = Meter.__module__ = "ipykernel.bench"

if __name__ == "__main__":
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != HERE]
    InteractiveShell.run_code = METER.wrap(InteractiveShell.run_code)
    IPKernelApp.launch_instance(kernel_class=BenchKernel)
