"""Magics in a cell that IPython transformed: which run code of the user, and which leave variables alone."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Final

__all__ = ["Magics", "without_magics"]

_QUIET_LINES: Final = frozenset(
    {
        *("alias", "alias_magic", "autoawait", "autocall", "automagic", "autoreload", "aimport", "bookmark", "cat"),
        *("cd", "clear", "colors", "conda", "config", "connect_info", "cp", "dhist", "dirs", "doctest_mode", "env"),
        *("gui", "hist", "history", "killbgscripts", "ldir", "less", "lf", "lk", "ll", "load_ext", "logoff", "logon"),
        *("logstart", "logstate", "logstop", "ls", "lsmagic", "lx", "magic", "mamba", "man", "matplotlib", "mkdir"),
        *("more", "mv", "notebook", "page", "pastebin", "pdef", "pdoc", "pfile", "pinfo", "pinfo2", "pip", "popd"),
        *("pprint", "precision", "profile", "psearch", "psource", "pushd", "pwd", "pycat", "qtconsole", "quickref"),
        *("rehashx", "reload_ext", "rewind", "rm", "rmdir", "save", "sc", "set_env", "subshell", "sx", "system"),
        *("tb", "unalias", "unload_ext", "uv", "who", "who_ls", "whos", "writefile", "xmode", "store", "pylab"),
    }
)
"""Line magics that change no variable in place; what they bind shows by itself."""
_QUIET_CELLS: Final = frozenset(
    {
        *("!", "bash", "cmd", "file", "html", "HTML", "javascript", "js", "latex", "markdown", "perl", "pypy"),
        *("python2", "ruby", "script", "sh", "svg", "SVG", "sx", "system", "writefile", "python", "python3"),
    }
)
_CODE_LINES: Final = frozenset({"time", "timeit", "prun", "memit", "mprun", "lprun"})
_CODE_CELLS: Final = frozenset({"time", "timeit", "prun", "capture", "memit", "atomic", "undo_on_error"})
_QUIET_CALLS: Final = frozenset({"system", "getoutput", "getoutput_split", "run_line_magic", "run_cell_magic"})
_SHELL_LINE: Final = re.compile(r"^(\s*)(?:[\w.,\[\]'\" ]+=\s*)?[!%?].*$|^(\s*).*\?\s*$", re.MULTILINE)
_LINE_MAGIC: Final = re.compile(r"^\s*(?:([\w.,\[\]'\" ]+)=\s*)?%(\w+)[ \t]*(.*)$", re.MULTILINE)


@dataclass(slots=True)
class Magics:
    """What the magics of a cell are: *sources* is code that they run, *escape* the first one that may touch any name.

    *names* are variables that they are given by name.
    """

    sources: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    escape: str = ""


def without_magics(source: str) -> tuple[str, Magics]:
    """Return the transformed cell with its calls of magics taken out, and what these are.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: it is no Python.
    """
    found = Magics()
    tree = _Taking(found).visit(ast.parse(source))
    return ast.unparse(ast.fix_missing_locations(tree)), found


class _Taking(ast.NodeTransformer):
    """Replaces `get_ipython().run_line_magic("…", "…")` and the like by None."""

    def __init__(self, found: Magics) -> None:
        self._found = found

    def visit_Call(self, node: ast.Call) -> ast.AST:
        function = node.func
        if (
            isinstance(function, ast.Attribute)
            and isinstance(function.value, ast.Call)
            and isinstance(function.value.func, ast.Name)
            and function.value.func.id == "get_ipython"
            and function.attr in _QUIET_CALLS
            and not node.keywords
            and all(isinstance(argument, ast.Constant) for argument in node.args)
        ):
            words = [str(argument.value) for argument in node.args if isinstance(argument, ast.Constant)]
            _judge(function.attr, words, self._found)
            return ast.copy_location(ast.Constant(None), node)
        return self.generic_visit(node)


def _judge(call: str, words: list[str], found: Magics) -> None:
    if call == "run_line_magic" and len(words) >= 2:
        _line(words[0], words[1], found)
    elif call == "run_cell_magic" and len(words) >= 3:
        _cell(words[0], words[1], words[2], found)


def _line(name: str, words: str, found: Magics) -> None:
    if name in _CODE_LINES:
        found.sources.append(_statement(words))
    elif name not in _QUIET_LINES:
        found.escape = found.escape or f"%{name}"


def _cell(name: str, words: str, body: str, found: Magics) -> None:
    if name in _CODE_CELLS:
        # `%%timeit setup` and `%%time` take code on the line too; what is an option is no name that exists.
        found.names.update(re.findall(r"[^\W\d]\w*", words))
        if name != "capture":
            found.sources.append(_statement(words))
        found.sources.append(_body(body, found))
    elif name not in _QUIET_CELLS:
        found.escape = found.escape or f"%%{name}"


def _statement(words: str) -> str:
    """Return the code in the words after `%timeit -n 3 -o`."""
    left = words
    while match := re.match(r"\s*-(?:[nrtsTDlmc]\s*\S+|\w+)\s*", left):
        left = left[match.end() :]
    return left.strip()


def _body(body: str, found: Magics) -> str:
    """Return the body of a cell magic, which IPython did not transform yet, as Python: its magics stand for None."""
    first, _, rest = body.partition("\n")
    if nested := re.match(r"\s*%%(\w+)[ \t]*(.*)$", first):
        _cell(nested[1], nested[2], rest, found)
        return ""
    try:
        ast.parse(body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        for match in _LINE_MAGIC.finditer(body):
            _line(match[2], match[3], found)
        return _SHELL_LINE.sub(lambda match: f"{match[1] or match[2] or ''}None", body)
    return body
