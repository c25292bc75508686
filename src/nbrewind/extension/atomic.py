"""`%%atomic`: a cell that raises or is interrupted leaves nothing behind. The cell itself runs as any other."""

from __future__ import annotations

from typing import Any

__all__ = ["AtomicCells", "is_atomic"]

_WORDS = ("%%atomic", "%%undo_on_error")


def is_atomic(raw_cell: str) -> bool:
    """Return whether the cell asks to be taken back where it fails; other cell magics may come before the word."""
    for line in raw_cell.lstrip().split("\n"):
        if line.strip() in _WORDS:
            return True
        if not line.startswith("%%"):
            break
    return False


class AtomicCells:
    """An input transformer that takes the word off: await, displays and tracebacks are those of a plain cell."""

    has_side_effects = False

    def __call__(self, lines: list[str]) -> list[str]:
        """Return *lines* without the word, every other line where it was."""
        if not lines or lines[0].strip() not in _WORDS:
            return lines
        rest = lines[1:]
        # Another cell magic has to come first in its cell.
        return rest if rest and rest[0].startswith("%%") else ["\n", *rest]

    def install(self, shell: Any) -> None:
        """Put it last among the transformers that clean a cell up. Twice is fine."""
        if self not in shell.input_transformers_cleanup:
            shell.input_transformers_cleanup.append(self)

    def uninstall(self, shell: Any) -> None:
        """Take it out. Twice is fine."""
        if self in shell.input_transformers_cleanup:
            shell.input_transformers_cleanup.remove(self)
