"""The settings that a person gives (traitlets `NBRewind`), and how they become the frozen `Settings`."""

from __future__ import annotations

import fnmatch
import os
import site
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any, ClassVar

from traitlets import Bool, Enum, Float, Integer, List, TraitError, Unicode, validate
from traitlets.config import Config, Configurable

from nbrewind.errors import SettingError
from nbrewind.model import Settings
from nbrewind.session.defaults import SECRETS, SHARED_ROOTS, Surroundings, make_settings

__all__ = ["ALIASES", "NBRewind", "surroundings"]

ALIASES = {
    "rootDir": "store_dir",
    "rewindDir": "store_dir",
    "shadowDir": "shadow_dir",
    "maxFileSize": "max_file_size",
    "keepSessions": "keep_sessions",
    "rewindPaths": "rewind_paths",
    "rewindExclude": "rewind_exclude",
    "gitAnchor": "git_anchor",
    "autoCheckpointPerTurn": "turns",
    "autoEveryNTurns": "every_n_turns",
    "every_n_cells": "every_n_turns",
}
"""Older names, accepted with a warning."""


class NBRewind(Configurable):
    """Undo for notebooks: what is protected, where it is kept, and how much of it."""

    store_dir = Unicode("", help="Where everything is kept. Empty: below the Jupyter data directory. 'workspace': in "
                        "<workspace>/.nbrewind. Any path; ~ and $NAME are expanded.").tag(config=True)  # fmt: skip
    shadow_dir = Unicode(None, allow_none=True, help="Where the shadow repository is, if not in the store.").tag(
        config=True
    )
    workspace = Unicode("", help="The folder that is protected. Empty: the nearest project root (.git or "
                        "pyproject.toml) at or above the notebook's folder and below the home, else that folder."
                        ).tag(config=True)  # fmt: skip
    scopes = List(Unicode(), ["*"], help="Which front ends are recorded, as frontend:kind patterns such as "
                  "jupyterlab:notebook, terminal:*, *. Empty: nothing is recorded, rewinds still work."
                  ).tag(config=True)  # fmt: skip
    turns = Enum(["each", "named"], "each", help="'each': a point after each turn. 'named': only points that "
                 "%rewind name or nbrewind.turn() asks for.").tag(config=True)  # fmt: skip
    every_n_turns = Integer(0, min=0, help="More than 0: one point after this many turns instead of each.").tag(
        config=True
    )
    git_anchor = Bool(True, help="Whether points hold the files. False: only In, Out and the log go back.").tag(
        config=True
    )
    rewind_paths = List(Unicode(), None, allow_none=True, help="Only these paths of the workspace are covered "
                        "(git-style patterns). None: all.").tag(config=True)  # fmt: skip
    rewind_exclude = List(
        Unicode(), help="Paths of the workspace that are not covered, added to the built-in ones."
    ).tag(config=True)
    protect_paths = List(Unicode(), help="Folders outside the workspace that are covered too, when a turn touches "
                         "them, whatever shared_roots says.").tag(config=True)  # fmt: skip
    shared_roots = List(Unicode(), list(SHARED_ROOTS), help="Folders that several sessions write: never rewound.").tag(
        config=True
    )
    secrets = List(Unicode(), list(SECRETS), help="Names of files whose bytes are never stored.").tag(config=True)
    max_file_size = Integer(1 << 30, min=1024, help="Bytes. Larger files are listed, not kept. At least 1024.").tag(
        config=True
    )
    first_copy = Integer(2 << 30, min=0, help="Bytes copied when a workspace is protected for the first time, small "
                         "files first. What is beyond is copied before its first write.").tag(config=True)  # fmt: skip
    turn_budget = Float(5.0, min=0.0, help="Seconds that a cell waits at most for the capture of the one before.").tag(
        config=True
    )
    max_workspace_files = Integer(200_000, min=1, help="More files than this: only the notebook's folder and folders "
                                  "used by cells are covered.").tag(config=True)  # fmt: skip
    max_workspace_size = Integer(
        20 << 30, min=1024, help="Bytes. A larger workspace is covered in part, as above."
    ).tag(config=True)
    min_free_disk = Float(0.05, min=0.0, max=0.99, help="Share of the store's disk that nbrewind leaves free.").tag(
        config=True
    )
    variables = Bool(True, help="Whether points hold the variables too.").tag(config=True)
    max_variable_size = Integer(1 << 30, min=1024, help="Bytes. A larger variable is not copied: a rewind leaves the "
                                "object as it is, and says so.").tag(config=True)  # fmt: skip
    key_file = Unicode("", help="The key that proves that variables were stored by you. Empty: nbrewind.key in the "
                       "Jupyter data directory.").tag(config=True)  # fmt: skip
    keep_sessions = Integer(20, min=0, help="Sessions kept in full; 0 keeps all.").tag(config=True)
    durability = Enum(["turn", "power"], "turn", help="'turn': survives a death of the process inside a cell. "
                      "'power': before-images are synced one by one.").tag(config=True)  # fmt: skip
    pending_ttl = Float(600.0, min=1.0, help="Seconds for which a previewed rewind can be confirmed.").tag(config=True)

    _fields: ClassVar[tuple[str, ...]] = (
        "max_file_size", "first_copy", "turn_budget", "max_workspace_files", "max_workspace_size", "min_free_disk",
        "durability", "pending_ttl", "turns", "every_n_turns", "git_anchor", "variables", "max_variable_size",
        "key_file",
    )  # fmt: skip

    @classmethod
    def make(cls, config: Config) -> tuple[NBRewind, list[str]]:
        """Return the traits that *config* asks for, with one warning per older name.

        Raises:
            SettingError: an unknown name or a wrong value; the message names the setting.
        """
        section = dict(config.get(cls.__name__, {}))
        warnings = []
        for old, new in ALIASES.items():
            if old in section:
                value = section.pop(old)
                section[new] = ("each" if value else "named") if old == "autoCheckpointPerTurn" else value
                warnings.append(f"NBRewind.{old} is now called {new}.")
        for name in section:
            if name not in cls.class_trait_names(config=True):
                close = [
                    known for known in cls.class_trait_names(config=True) if known.replace("_", "") == name.lower()
                ]
                hint = f"Did you mean {close[0]}?" if close else ""
                raise SettingError(f"NBRewind.{name} is not a setting.", hint=hint)
        try:
            return cls(config=Config({cls.__name__: section})), warnings
        except TraitError as error:
            named = next((name for name in section if f"'{name}'" in str(error) or name in str(error)), "")
            raise SettingError(f"NBRewind.{named or 'setting'}: {error}") from error

    @validate("scopes")
    def _scopes_are_patterns(self, proposal: dict[str, Any]) -> list[str]:
        for pattern in proposal["value"]:
            if not pattern.strip() or pattern.count(":") > 1:
                raise TraitError(f"scopes holds {pattern!r}; a pattern is frontend:kind or *.")
        return list(proposal["value"])

    @validate("rewind_paths", "rewind_exclude", "protect_paths", "shared_roots", "secrets")
    def _no_empty_paths(self, proposal: dict[str, Any]) -> list[str] | None:
        value = proposal["value"]
        name = proposal["trait"].name
        if value is None:
            return None
        for path in value:
            if not path.strip() or "\0" in path:
                raise TraitError(f"{name} holds {path!r}, which is no path.")
            if name == "rewind_paths" and (path.startswith("/") or ".." in Path(path).parts):
                raise TraitError(f"rewind_paths holds {path!r}, which is not below the workspace.")
        return list(value)

    def settings(self, around: Surroundings, scope: str) -> Settings:
        """Return the frozen settings for a front end of *scope* (`jupyterlab:notebook`).

        Raises:
            SettingError: a path cannot be taken.
        """
        return make_settings(around, **self.keywords(scope))

    def keywords(self, scope: str) -> dict[str, Any]:
        """Return what was given, as keywords of `make_settings`."""
        more: dict[str, Any] = {name: getattr(self, name) for name in self._fields}
        more["exclude"] = tuple(self.rewind_exclude)
        more["rewind_paths"] = None if self.rewind_paths is None else tuple(self.rewind_paths)
        more["secrets"] = tuple(self.secrets)
        more["protect_paths"] = tuple(self.protect_paths)
        more["shadow_dir"] = self.shadow_dir or ""
        more["recording"] = any(_in_scope(scope, pattern) for pattern in self.scopes)
        if list(self.shared_roots) != list(SHARED_ROOTS):
            more["shared_roots"] = tuple(self.shared_roots)
        return {"workspace": self.workspace, "store_dir": self.store_dir, **more}


def surroundings(folder: str, ipython_dir: str = "") -> Surroundings:
    """Return what this process runs in; *folder* is the notebook's."""
    home = str(Path("~").expanduser())
    environ = dict(os.environ)
    shared = {ipython_dir, environ.get("JUPYTER_CONFIG_DIR", ""), environ.get("JUPYTER_RUNTIME_DIR", "")}
    shared |= {environ.get(name, "") for name in ("XDG_CACHE_HOME", "HF_HOME", "TORCH_HOME", "MPLCONFIGDIR")}
    shared |= {sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), site.getusersitepackages()}
    shared |= {sys.prefix, Surroundings(environ, home, folder).data_dir}
    # A store or a cache that holds the workspace itself (a container whose whole disk is sys.prefix) protects nothing.
    inside = os.path.realpath(folder)
    kept = sorted(root for root in shared if root and not (inside + os.sep).startswith(os.path.realpath(root) + os.sep))
    temp = (tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm")
    return Surroundings(environ, home, folder, temp, tuple(kept))


def _in_scope(scope: str, pattern: str) -> bool:
    wanted = pattern if ":" in pattern or pattern == "*" else f"{pattern}:*"
    return fnmatch.fnmatchcase(scope, wanted)
