"""Which cells are turns: a cell of nothing but nbrewind's own magics is none."""

from __future__ import annotations

import ast
import re
from typing import Any

__all__ = ["is_blank", "is_only_magics"]

OWN_EXTENSION_MAGICS = frozenset({"load_ext", "reload_ext", "unload_ext"})


def is_blank(raw_cell: str | None) -> bool:
    """Return whether IPython runs nothing for *raw_cell*."""
    return not raw_cell or raw_cell.isspace()


def is_only_magics(raw_cell: str, transformed_cell: str | None, shell: Any = None) -> bool:
    """Return whether every statement of the cell is a `%rewind` or an extension magic for nbrewind.

    IPython's own transformation decides, so that a `%rewind` inside a string, behind an assignment or after another
    statement on the line does not count. What cannot be parsed is a turn.
    """
    if "rewind" not in raw_cell:
        return False
    try:
        transformed = transformed_cell if transformed_cell is not None else shell.transform_cell(raw_cell)
        statements = ast.parse(transformed).body
    except (SyntaxError, ValueError, AttributeError, RecursionError):
        return False
    return bool(statements) and all(_is_own_magic(statement) for statement in statements)


def _is_own_magic(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    call = statement.value
    if ast.unparse(call.func) != "get_ipython().run_line_magic" or call.keywords or len(call.args) != 2:
        return False
    if not all(isinstance(argument, ast.Constant) and isinstance(argument.value, str) for argument in call.args):
        return False
    magic, words = (argument.value for argument in call.args if isinstance(argument, ast.Constant))
    if magic == "rewind":
        return True
    if magic in ("pinfo", "pinfo2"):
        return re.fullmatch(r"%*rewind", str(words).strip()) is not None
    return magic in OWN_EXTENSION_MAGICS and str(words).split() == ["nbrewind"]
