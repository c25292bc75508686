"""Nothing outside `nbrewind.fs` changes the disk, and nothing outside `store.shadow.git` starts a program.

This is what makes fault injection complete: a change that does not pass the gate would never be killed in a sweep.
There is no list of exceptions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import nbrewind

SOURCE = Path(nbrewind.__file__).parent
MODULES = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))
STARTS_PROGRAMS = "store/shadow/git.py"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


OS_CHANGES = _words(
    """chflags chmod chown copy_file_range creat fchmod fchown fdatasync fsync ftruncate lchflags lchmod lchown link
    makedirs mkdir mkfifo mknod posix_fallocate pwrite pwritev remove removedirs removexattr rename renames replace
    rmdir sendfile setxattr splice symlink sync truncate unlink utime write writev"""
)
OS_STARTS = _words(
    """execl execle execlp execlpe execv execve execvp execvpe popen posix_spawn posix_spawnp spawnl spawnle spawnlp
    spawnlpe spawnv spawnve spawnvp spawnvpe startfile system"""
)
READING_FLAGS = _words("O_RDONLY O_CLOEXEC O_NOFOLLOW O_DIRECTORY O_PATH O_NONBLOCK O_NOATIME O_NOCTTY")
PATH_CHANGES = _words(
    "chmod hardlink_to lchmod link_to mkdir rename rmdir symlink_to touch unlink write_bytes write_text"
)
OPENERS = _words(
    "open io.open codecs.open gzip.open bz2.open lzma.open os.fdopen tarfile.open wave.open zipfile.ZipFile"
)
# Of these modules, everything changes the disk but what is named.
CHANGING_MODULES = {
    "shutil": _words("which disk_usage get_terminal_size ignore_patterns"),
    "tempfile": _words("gettempdir gettempdirb gettempprefix"),
    "fileinput": _words(""),
    "shelve": _words(""),
    "dbm": _words("whichdb"),
    "logging": _words("getLogger Logger LoggerAdapter NullHandler StreamHandler Formatter"),
}
STARTING_MODULES = _words("subprocess pty _posixsubprocess")
WHOLLY_STARTING = _words("git gitdb pexpect")  # what their objects do cannot be told from names


def changes(source: str, module: str = "session/x.py") -> Iterator[str]:
    """Yield what in *source* could change the disk or start a program, with its line."""
    tree = ast.parse(source)
    names = {"open": "open"} | dict(pair for node in ast.walk(tree) for pair in _imports(node))
    judge = _Judge(names, dict(_constants(tree)), may_start=module == STARTS_PROGRAMS)
    for node in ast.walk(tree):
        for _, origin in _imports(node):
            if origin.split(".")[0] in WHOLLY_STARTING and module != STARTS_PROGRAMS:
                yield f"imports {origin}"
        if isinstance(node, ast.Call):
            reason = judge.call(node) or judge.arguments(node)
            if reason:
                yield f"{node.lineno}: {reason}"


def _imports(node: ast.AST) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.asname or alias.name.split(".")[0], alias.name if alias.asname else alias.name.split(".")[0]
    elif isinstance(node, ast.ImportFrom) and not node.level:
        for alias in node.names:
            yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _constants(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            yield node.target.id, node.value


class _Judge:
    def __init__(self, names: dict[str, str], constants: dict[str, ast.expr], *, may_start: bool) -> None:
        self.names = names
        self.constants = constants
        self.may_start = may_start
        self.has_paths = any(origin.split(".")[0] == "pathlib" for origin in names.values())

    def full_name(self, node: ast.AST) -> str:
        """Return the dotted name that *node* stands for, imports resolved; empty for what is no imported name."""
        if isinstance(node, ast.Name):
            return self.names.get(node.id, "")
        if isinstance(node, ast.Attribute):
            base = self.full_name(node.value)
            return f"{base}.{node.attr}" if base else ""
        return ""

    def call(self, node: ast.Call) -> str:
        name = self.full_name(node.func)
        if name.startswith("nbrewind.fs."):
            return ""
        if self.changing(name):
            return f"calls {name}"
        if name == "os.open":
            return self.flags(node)
        if name in OPENERS:
            return self.mode(node, 1)
        if name == "mmap.mmap":
            return "" if "ACCESS_READ" in ast.unparse(node) or "PROT_READ" in ast.unparse(node) else "maps for writing"
        if name == "sqlite3.connect":
            return "" if "mode=ro" in ast.unparse(node) else "opens a database for writing"
        return self.method(node)

    def changing(self, name: str) -> bool:
        base, _, last = name.rpartition(".")
        top = name.partition(".")[0]
        if base in ("os", "posix"):
            return last in OS_CHANGES or (last in OS_STARTS and not self.may_start)
        if top in STARTING_MODULES:
            return not self.may_start
        return base in CHANGING_MODULES and last not in CHANGING_MODULES[base]

    def arguments(self, node: ast.Call) -> str:
        """A function that is handed on is called too: `map(os.unlink, ...)`, `partial(os.rename, ...)`."""
        for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
            name = self.full_name(argument)
            if name.startswith(("os.", "posix.", "shutil.")) and self.changing(name):
                return f"hands on {name}"
        return ""

    def method(self, node: ast.Call) -> str:
        """Judge a method by its name, for its object's type is not known: what paths have and texts have not.

        A module that handles paths as objects has to import their type, for its annotations at least.
        """
        if not isinstance(node.func, ast.Attribute) or not self.has_paths:
            return ""
        method = node.func.attr
        if method in PATH_CHANGES:
            return f"calls .{method}()"
        one_argument = len(node.args) == 1 and not node.keywords
        if method == "replace" and one_argument and self.full_name(node.func) != "dataclasses.replace":
            return "calls .replace() with one argument, as a path has it"
        return self.mode(node, 0) if method == "open" else ""

    def flags(self, node: ast.Call) -> str:
        flags = next((one.value for one in node.keywords if one.arg == "flags"), None)
        if flags is None and len(node.args) > 1:
            flags = node.args[1]
        if flags is not None and self.reading(flags):
            return ""
        return f"os.open with {ast.unparse(flags) if flags else 'nothing'}, which is not known to be for reading"

    def reading(self, flags: ast.expr) -> bool:
        """Return whether *flags* consist of flags for reading only; constants of the module are followed."""
        match flags:
            case ast.BinOp(left, ast.BitOr(), right):
                return self.reading(left) and self.reading(right)
            case ast.IfExp(_, body, orelse):
                return self.reading(body) and self.reading(orelse)
            case ast.Constant(0):
                return True
            case ast.Call(ast.Name("getattr"), [_, ast.Constant(str(name)), ast.Constant(0)]):
                return name in READING_FLAGS
            case ast.Name(name) if name in self.constants:
                return self.reading(self.constants[name])
            case _:
                return self.full_name(flags).rpartition(".")[2] in READING_FLAGS

    def mode(self, node: ast.Call, position: int) -> str:
        mode = next((one.value for one in node.keywords if one.arg == "mode"), None)
        if mode is None and len(node.args) > position:
            mode = node.args[position]
        if isinstance(mode, ast.Constant) and isinstance(mode.value, str):
            return (
                f"opens for writing ({mode.value!r})" if set(mode.value) & set("wax+") and len(mode.value) < 5 else ""
            )
        # A method called `open` may take something else, such as a name and flags.
        return f"opens with the mode {ast.unparse(mode)}" if mode is not None and position else ""


@pytest.mark.parametrize("module", [module for module in MODULES if not module.startswith("fs/")])
def test_only_fs_changes_the_disk(module: str) -> None:
    assert list(changes((SOURCE / module).read_text(), module)) == []


@pytest.mark.parametrize("module", [module for module in MODULES if module.startswith("fs/")])
def test_fs_itself_hands_every_change_to_the_gate(module: str) -> None:
    """Inside `fs`, a change is either an argument of `mutate`, or one of the few lines that `mutate` itself runs."""
    gates = {"fs/probe.py", "fs/native.py"}
    found = [line for line in changes((SOURCE / module).read_text(), module) if "calls os." in line]

    assert [line for line in found if module not in gates and "os.chmod" not in line] == []


@pytest.mark.parametrize(
    "source",
    [
        "import os\nos.rename('a', 'b')",
        "import os as system\nsystem.unlink('a')",
        "from os import replace\nreplace('a', 'b')",
        "from os import replace as put\nput('a', 'b')",
        "import os\nlist(map(os.unlink, names))",
        "import os\nos.write(fd, b'')",
        "import os\nos.fsync(fd)",
        "import os\nos.system('ls')",
        "import os\nos.open('a', os.O_RDONLY | os.O_CREAT)",
        "import os\nos.open('a', flags)",
        "from os import O_RDWR, open\nopen('a', O_RDWR)",
        "import os\nos.open('a', os.O_RDWR)",
        "open('a', 'w')",
        "open('a', mode='r+b')",
        "open('a', mode)",
        "import io\nio.open('a', 'x')",
        "import gzip\ngzip.open('a', 'wb')",
        "from pathlib import Path\nPath('a').open('a')",
        "from pathlib import Path\nPath('a').write_text('')",
        "from pathlib import Path\npath.touch()",
        "import pathlib\npath.replace(other)",
        "import shutil\nshutil.rmtree('a')",
        "from shutil import move\nmove('a', 'b')",
        "import tempfile\ntempfile.mkstemp()",
        "from functools import partial\nfrom shutil import rmtree\nclean = partial(rmtree, 'a')",
        "import logging\nlogging.FileHandler('a')",
        "import os\n_FLAGS = os.O_RDONLY | os.O_TRUNC\nos.open('a', _FLAGS)",
        "import os\nos.open('a', 2)",
        "import subprocess\nsubprocess.run(['ls'])",
        "import git",
        "import sqlite3\nsqlite3.connect('a')",
        "import mmap\nmmap.mmap(fd, 0)",
        "def f():\n    from os import mkdir\n    mkdir('a')",
    ],
)
def test_a_change_is_found(source: str) -> None:
    assert len(list(changes(source))) >= 1


@pytest.mark.parametrize(
    "source",
    [
        "from nbrewind import fs\nfs.replace(path, data)\nfs.unlink(path)\nfs.rename(a, b)",
        "from nbrewind.fs import unlink\nunlink(path)",
        "import os\nos.open('a', os.O_RDONLY | os.O_CLOEXEC)\nos.stat('a')\nos.listdir('a')\nos.read(fd, 1)",
        "open('a')\nopen('a', 'rb')\nopen(fd, encoding='utf-8')",
        "'a'.replace('b', 'c')",
        "import dataclasses\ndataclasses.replace(value, a=1)\ndataclasses.replace(value)",
        "root.open(name, flags)",
        "import sqlite3\nsqlite3.connect('file:a?mode=ro', uri=True)",
        "import mmap\nmmap.mmap(fd, 0, access=mmap.ACCESS_READ)",
        "import os\noriginal = os.mkfifo",
        "import os, shutil\nshutil.which('git')",
        "import os\n_READ = os.O_RDONLY | getattr(os, 'O_PATH', 0)\nos.open('a', _READ | (os.O_NOFOLLOW if x else 0))",
        "git.run('fsck')",
        "journal.touch(path)\ntable.rename(columns)",
        "stream.write(text)",
    ],
)
def test_what_only_reads_is_not_found(source: str) -> None:
    assert list(changes(source)) == []
