"""Completion: verbs, numbers with their code, names, options, and only paths that differ."""

from __future__ import annotations

from nbrewind.model import OperationKind
from nbrewind.session.session import Session
from nbrewind.ui.vocabulary import ALIASES, VERBS, Verb
from nbrewind.ui.wording import first_line, printable

__all__ = ["complete"]

_MOST = 200
_TARGET_FIRST = frozenset({"to", "before", "show", "cat", "diff"})
_PATHS_AFTER_TARGET = frozenset({"cat", "diff"})


def complete(session: Session, line: str, symbol: str) -> list[str]:
    """Return what may follow at the end of *line*, whose last word so far is *symbol*.

    Numbers come with their code as a comment (`6  # !rm -rf raw`), which the magic reads over.
    """
    before = line[: len(line) - len(symbol)] if symbol and line.endswith(symbol) else line
    words = before.split()[1:]
    if not words:
        return _starting(symbol, list(VERBS))
    verb = VERBS.get(ALIASES.get(words[0], words[0]))
    if verb is None:
        return []
    if symbol.startswith("-") and not symbol[1:].isdigit():
        return _starting(symbol, [f"--{option}" for option in sorted(verb.options)])
    if words[-1] == "--from" or (verb.name in _TARGET_FIRST and len(words) == 1):
        return _starting(symbol, _targets(session))
    if words[-1] == "--only":
        return _starting(symbol, ["files", "outputs", "files,outputs"])
    return _starting(symbol, _paths(session, verb, words))


def _starting(symbol: str, found: list[str]) -> list[str]:
    return [one for one in found if one.startswith(symbol)]


def _targets(session: Session) -> list[str]:
    timeline = session.timeline
    found: dict[str, None] = {}
    for operation in reversed(timeline.line):
        if operation.kind is OperationKind.TURN and operation.turn and operation.turn.number is not None:
            code = first_line(operation.turn.code, 40)
            found.setdefault(f"{operation.turn.number}  # {code}" if code else str(operation.turn.number))
    names = [f'"{name}"' if " " in name or name.isdigit() else name for name in timeline.names]
    return [*list(found)[:_MOST], *names, "start"]


def _paths(session: Session, verb: Verb, words: list[str]) -> list[str]:
    target = ""
    if verb.name in _PATHS_AFTER_TARGET and len(words) == 2:
        target = words[1]
    elif verb.name == "restore":
        target = words[words.index("--from") + 1] if "--from" in words[:-1] else "start"
    elif verb.name == "history":
        target = "start"
    if not target:
        return []
    rows = session.diff(target)[:_MOST]
    return [f'"{name}"' if " " in name else name for row in rows if (name := printable(row.path))]
