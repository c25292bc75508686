"""Which names of the user a cell's code binds or changes, as far as its text tells. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

__all__ = ["bound_by"]

_SHELL_LINE = re.compile(r"^(\s*)[%!?]|^(\s*)[^#'\"]*\?\s*$")
_SHELL_VALUE = re.compile(r"^(\s*[A-Za-z_][\w, ]*=\s*)[%!].*$")
_PYTHON_CELLS = ("%%time", "%%timeit", "%%capture", "%%prun", "%%atomic", "%%undo_on_error")
_ASSIGNED = re.compile(r"^\s*([A-Za-z_]\w*)\s*(?:[-+*/%&|^@]|//|\*\*|<<|>>)?=(?!=)", re.MULTILINE)


def bound_by(code: str) -> frozenset[str]:
    """Return the global names that *code* binds, deletes or changes in place by assignment."""
    if code.startswith("%%"):
        first, _, rest = code.partition("\n")
        if not first.startswith(_PYTHON_CELLS):
            return frozenset()
        code = rest
    try:
        return frozenset(_names(ast.parse(_plain_python(code)).body))
    except (SyntaxError, ValueError, RecursionError):
        return frozenset(_ASSIGNED.findall(code))


def _plain_python(code: str) -> str:
    lines = []
    for line in code.split("\n"):
        if value := _SHELL_VALUE.match(line):
            lines.append(f"{value[1]}None")
        elif shell := _SHELL_LINE.match(line):
            lines.append(f"{shell[1] or shell[2] or ''}pass")
        else:
            lines.append(line)
    return "\n".join(lines)


def _names(body: Iterable[ast.AST]) -> Iterator[str]:
    pending = list(body)
    while pending:
        node = pending.pop()
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
                yield from _declared_global(node)
                continue
            case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                # Their targets are local; a walrus inside is not.
                found = [inner.target.id for inner in ast.walk(node) if isinstance(inner, ast.NamedExpr)]
                yield from found
                continue
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                yield from ((alias.asname or alias.name.split(".")[0]) for alias in aliases if alias.name != "*")
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                yield name
            case ast.Subscript(ctx=ast.Store() | ast.Del()) | ast.Attribute(ctx=ast.Store() | ast.Del()):
                yield from _base(node)
            case ast.ExceptHandler(name=str(name)):
                yield name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case _:
                pass
        pending.extend(ast.iter_child_nodes(node))


def _declared_global(function: ast.AST) -> Iterator[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.Global):
            yield from node.names


def _base(node: ast.AST) -> Iterator[str]:
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id
