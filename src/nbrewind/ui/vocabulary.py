"""The vocabulary: the verbs of `%rewind`, their other names, and the words that people try first."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ALIASES", "GO", "MEANT", "MOVING", "ONLY", "VERBS", "Verb"]

ONLY = ("files", "variables", "outputs", "cells")


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb with its usage, one line of help, the options it takes and how many words it needs at least and at most.

    *more*: shown by `help all` only. *words* -1 means any number; *raw*: the rest of the line is one text.
    """

    name: str
    usage: str
    help: str
    options: frozenset[str] = frozenset()
    least: int = 0
    most: int = 0
    more: bool = False
    raw: bool = False


GO = frozenset({"yes", "only", "everything", "overwrite", "force", "again", "all", "json"})
_LOOK = frozenset({"json", "all"})

VERBS: dict[str, Verb] = {
    verb.name: verb
    for verb in (
        Verb("list", "list", "the points, newest first", _LOOK),
        Verb("back", "back [K]", "preview going back K cells that changed something", GO, 0, 1),
        Verb("to", "to N", 'preview going back to just after [N], to "NAME" or to start', GO, 1, 2),
        Verb("before", "before N", "preview going back to just before [N]", GO, 1, 1),
        Verb("confirm", "confirm [TOKEN]", "do what was previewed", frozenset({"json", "all"}), 0, 1),
        Verb("cancel", "cancel", "drop what was previewed", _LOOK),
        Verb("undo", "undo", "take the last rewind back, step by step", GO - {"only", "everything"}),
        Verb("redo", "redo", "go forward again", GO - {"only", "everything"}),
        Verb(
            "restore",
            "restore PATH|NAME… --from N [--as NEW]",
            "bring single files or variables back, or put one beside the present one",
            frozenset({"from", "as", "only", "yes", "overwrite", "force", "json", "again", "all"}),
            1,
            -1,
        ),
        Verb("show", "show N", "what a cell did: code, output, files, variables", _LOOK, 1, 2),
        Verb("cat", "cat N PATH", "a file as it was then", _LOOK, 2, 3),
        Verb("diff", "diff N [PATH]", "what differs between then and now", _LOOK, 1, 3),
        Verb("history", "history PATH|NAME", "which cells changed a file or a variable", _LOOK, 1, 1),
        Verb("name", 'name "TEXT"', "name this point; it is kept for ever", _LOOK, 1, -1, raw=True),
        Verb("status", "status", "what is protected, what is not, and why", _LOOK),
        Verb("panel", "panel", "the points with buttons, where there is no sidebar"),
        Verb("pause", "pause", "stop recording", _LOOK),
        Verb("on", "on", "record again", _LOOK),
        Verb("help", "help [all]", "this list", frozenset(), 0, 1),
        Verb("get", "get NAME --from N", "an old value: old = %rewind get df --from 3", frozenset({"from"}), 1, 1),
        Verb(
            "recover",
            "recover [N]",
            "load the variables that an earlier kernel had",
            frozenset({"yes", "json", "all"}),
            0,
            2,
        ),
        Verb("verify", "verify", "replay every point aside and compare its hashes", _LOOK, more=True),
        Verb("gc", "gc", "pack the store and drop what nothing names", _LOOK, more=True),
        Verb("forget", "forget PATH|all", "make kept bytes unfindable", frozenset({"yes", "json"}), 0, -1, more=True),
        Verb("unfreeze", "unfreeze", "recover after a failed rewind and let cells run again", _LOOK, more=True),
        Verb("trust", "trust", "load variables that somebody else stored", frozenset({"yes", "json"}), more=True),
    )
}

MOVING = frozenset({"back", "to", "before", "confirm", "undo", "redo", "restore", "recover", "name", "unfreeze"})
"""What plans or moves: on the kernel's main thread only."""

ALIASES = {
    "ls": "list",
    "points": "list",
    "files": "restore",
    "log": "history",
    "checkpoint": "name",
    "resume": "recover",
    "off": "pause",
    "purge": "forget",
    "clear": "forget",
    "?": "help",
}

MEANT = {
    "rollback": "to N",
    "revert": "to N",
    "reset": "to N",
    "goto": "to N",
    "go": "to N",
    "jump": "to N",
    "checkout": "to N",
    "rewind": "to N",
    "return": "to N",
    "apply": "confirm",
    "yes": "confirm",
    "ok": "confirm",
    "no": "cancel",
    "abort": "cancel",
    "forward": "redo",
    "bring": "to N",
    "view": "show N",
    "load": "recover",
    "cp": "restore PATH --from N",
    "get-file": "restore PATH --from N",
    "start": "to start",
    "blame": "history PATH",
    "info": "status",
    "stop": "pause",
    "save": 'name "TEXT"',
    "tag": 'name "TEXT"',
    "prune": "gc",
    "check": "verify",
    "fsck": "verify",
    "compare": "diff N",
}
