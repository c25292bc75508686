"""The files of a bare git repository, made in process: no git is needed to start one."""

from __future__ import annotations

import os

from nbrewind import fs

__all__ = ["CONFIG", "STORED_NAME", "create"]

STORED_NAME = "nbrewind.stored"
"""The path under which maintenance lists objects that no delta can make smaller."""

_LENIENT = (
    # What stands in a user's files is not ours to judge; only the objects' own form is.
    *("gitmodulesBlob", "gitmodulesLarge", "gitmodulesMissing", "gitmodulesName", "gitmodulesParse", "gitmodulesPath"),
    *("gitmodulesSymlink", "gitmodulesUpdate", "gitmodulesUrl"),
    *("gitattributesBlob", "gitattributesLarge", "gitattributesLineLength", "gitattributesMissing"),
    *("gitattributesSymlink", "gitignoreSymlink", "mailmapSymlink"),
)

CONFIG = f"""\
# Written by nbrewind. Nobody's own settings apply here, and git runs nothing.
[core]
\trepositoryFormatVersion = 0
\tbare = true
\tfileMode = true
\tsymlinks = true
\tignoreCase = false
\tprecomposeUnicode = false
\tautocrlf = false
\tsafecrlf = false
\thooksPath = /dev/null
\tfsmonitor = false
\texcludesFile = /dev/null
\tattributesFile = /dev/null
\tprotectHFS = false
\tprotectNTFS = false
\tlogAllRefUpdates = false
\tbigFileThreshold = 8m
[commit]
\tgpgSign = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
[receive]
\tautogc = false
[pack]
\tthreads = 1
\twindowMemory = 64m
\tdeltaCacheSize = 32m
[fsck]
{"".join(f"{chr(9)}{name} = ignore{chr(10)}" for name in _LENIENT)}"""

_ATTRIBUTES = f"""\
* -text -eol -filter -ident -working-tree-encoding -crlf -export-subst
# Pieces of large files, and what has zstd inside: no delta makes these smaller, and looking for one takes for ever.
[0-9][0-9][0-9][0-9][0-9][0-9] -delta
{STORED_NAME}* -delta
"""
# The star: git takes a listed name with the end of its line.

_FILES = {
    "config": CONFIG,
    "info/attributes": _ATTRIBUTES,
    "description": "nbrewind: files of every checkpoint of one workspace\n",
    # Last: a directory without HEAD is no repository yet, for git and for us.
    "HEAD": "ref: refs/heads/nbrewind\n",
}


def create(path: str) -> None:
    """Make the repository at *path*, or what is missing of it. Two processes may do this at once.

    Raises:
        OSError: The disk refused.
    """
    for directory in ("", "/info", "/objects", "/objects/info", "/objects/pack", "/refs", "/refs/heads", "/incoming"):
        fs.make_directories(path + directory, 0o700)
    # Packs are flushed later, and a power cut must not take away the directories that they are in.
    for directory in (f"{path}/objects", os.path.dirname(path)):
        fs.sync_directory(directory)
    for name, text in _FILES.items():
        if not os.path.lexists(f"{path}/{name}"):
            fs.replace(f"{path}/{name}", text.encode())
