"""Undo for notebooks: files, variables, outputs and history go back together, and forward again."""

__version__ = "0.1.0.dev0"
