"""Cells are held while the session is frozen: only `%rewind status` and `%rewind unfreeze` run."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from IPython.core.error import InputRejected

from nbrewind.model import Note

__all__ = ["CellBrake"]

_ALLOWED = ("status", "unfreeze", "help")


class CellBrake(ast.NodeTransformer):
    """An AST transformer that rejects cells while *frozen* returns a note.

    IPython takes a transformer out of its list when it raises anything but InputRejected, so nothing else leaves it.
    """

    def __init__(self, frozen: Callable[[], Note | None]) -> None:
        self._frozen = frozen

    def visit(self, node: ast.AST) -> Any:
        """Return *node*, or raise InputRejected."""
        try:
            note = self._frozen()
            if note is None or (isinstance(node, ast.Module) and all(_is_allowed(line) for line in node.body)):
                return node
            text = f"Cells are held so nothing is overwritten: {note.reason} Restart the kernel and recover, or run "
            text += "%rewind unfreeze. %rewind status says more."
        except Exception:  # noqa: BLE001  a fault of ours holds no cell
            return node
        raise InputRejected(text)

    def install(self, shell: Any) -> None:
        """Put the brake first, before transformers that could rewrite what it looks for."""
        if self not in shell.ast_transformers:
            shell.ast_transformers.insert(0, self)

    def uninstall(self, shell: Any) -> None:
        """Take it out. Twice is fine."""
        if self in shell.ast_transformers:
            shell.ast_transformers.remove(self)


def _is_allowed(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    call = statement.value
    if ast.unparse(call.func) != "get_ipython().run_line_magic" or len(call.args) != 2:
        return False
    magic, words = (argument.value if isinstance(argument, ast.Constant) else None for argument in call.args)
    return magic == "rewind" and isinstance(words, str) and (words.split() or [""])[0] in _ALLOWED
