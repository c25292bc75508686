"""The defaults of every setting, as functions of the surroundings that a composition root hands in.

Nothing here reads the environment or the home directory: the extension and the command line pass them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nbrewind.errors import SettingError, clipped
from nbrewind.model import Settings
from nbrewind.store.layout import workspace_key

__all__ = ["PROJECT_MARKS", "SECRETS", "SHARED_ROOTS", "Surroundings", "choose_workspace", "make_settings", "place"]

PROJECT_MARKS = (".git", "pyproject.toml")

SECRETS = (
    ".env",
    ".env.*",
    "*.pem",
    "*.p12",
    "*.pfx",
    "*.keystore",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".pypirc",
    ".npmrc",
    ".htpasswd",
    "credentials.json",
    "client_secret*.json",
    "service_account*.json",
    "service-account*.json",
    "secrets.toml",
    "secrets.yaml",
    "secrets.yml",
)
"""Names of files whose bytes are never stored; exact enough not to catch `id_mapping.csv`."""

SHARED_ROOTS = (
    "~/.ipython",
    "~/.jupyter",
    "~/.local/share/jupyter",
    "~/.cache",
    "~/.config",
    "~/.local/lib",
    "~/.local/state",
    "~/.matplotlib",
    "~/.keras",
    "~/.torch",
    "~/.conda",
    "~/.npm",
    "~/.cargo",
    "~/.rustup",
    "~/.nv",
    "/var/log",
    "/proc",
    "/sys",
    "/dev",
    "/run",
)
"""Roots that several sessions share, so that a write there says nothing about whose it is."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a composition root found: environment, home, the folder of the notebook, temp roots, more shared roots."""

    environ: Mapping[str, str]
    home: str
    folder: str
    temp_roots: tuple[str, ...] = ()
    shared_roots: tuple[str, ...] = field(default=())

    @property
    def data_dir(self) -> str:
        """Return the Jupyter data directory, by Jupyter's own rules."""
        if self.environ.get("JUPYTER_DATA_DIR"):
            return self.environ["JUPYTER_DATA_DIR"]
        base = self.environ.get("XDG_DATA_HOME") or str(Path(self.home) / ".local" / "share")
        return str(Path(base) / "jupyter")

    def expand(self, path: str) -> str:
        """Return *path* with `~` and environment variables of these surroundings put in."""
        if path == "~" or path.startswith("~/"):
            path = self.home + path[1:]
        for name in sorted(self.environ, key=len, reverse=True):
            if "$" not in path:
                break
            path = path.replace("${" + name + "}", self.environ[name]).replace("$" + name, self.environ[name])
        return path


def choose_workspace(folder: str, home: str) -> str:
    """Return the nearest project root at or above *folder* and strictly below *home*, else *folder* itself."""
    here = Path(folder).resolve()
    top = Path(home).resolve() if home else None
    if top is not None and top not in here.parents:
        # Outside the home there is no bound that says where a project ends, so only the folder's own marks count.
        return str(here)
    for place_ in (here, *here.parents):
        if place_ == top:
            break
        if any((place_ / mark).exists() for mark in PROJECT_MARKS):
            return str(place_)
    return str(here)


def place(value: str, setting: str, base: str, surroundings: Surroundings) -> str:
    """Return the absolute real path that *value* of *setting* names, relative ones below *base*.

    Raises:
        SettingError: the value is no path, or holds a variable that is not set.
    """
    path = surroundings.expand(value)
    if not path or "\0" in path or "$" in path or "://" in path:
        raise SettingError(
            f"NBRewind.{setting}: {clipped(repr(value))} is not a path.", hint="Give a folder, ~ and $NAME allowed."
        )
    return os.path.realpath(Path(base) / path)


def make_settings(surroundings: Surroundings, *, workspace: str = "", store_dir: str = "", **more: Any) -> Settings:
    """Return complete settings; *more* are fields of `Settings` as a person gave them.

    Raises:
        SettingError: a value cannot be taken; the message names the setting.
    """
    root = place(workspace, "workspace", surroundings.folder, surroundings) if workspace else ""
    root = root or choose_workspace(surroundings.folder, surroundings.home)
    # Not by pathlib, which raises for what is too long to be a path.
    if not os.path.isdir(root):  # noqa: PTH112  as said
        raise SettingError(f"NBRewind.workspace: {root} is not a folder.")
    if store_dir == "workspace":
        store = str(Path(root) / ".nbrewind")
    elif store_dir:
        store = place(store_dir, "store_dir", root, surroundings)
    else:
        store = os.path.realpath(Path(surroundings.data_dir) / "nbrewind" / workspace_key(root))
    for name in ("protect_paths", "shared_roots", "temp_roots"):
        if name in more:
            more[name] = tuple(place(value, name, root, surroundings) for value in more[name])
    if more.get("shadow_dir"):
        more["shadow_dir"] = place(more["shadow_dir"], "shadow_dir", root, surroundings)
    if more.get("key_file"):
        more["key_file"] = place(more["key_file"], "key_file", surroundings.home or root, surroundings)
    else:
        more["key_file"] = os.path.realpath(Path(surroundings.data_dir) / "nbrewind.key")
    shared = tuple(os.path.realpath(surroundings.expand(value)) for value in SHARED_ROOTS)
    settings = Settings(
        store_dir=store,
        workspace=root,
        home=os.path.realpath(surroundings.home) if surroundings.home else "",
        shared_roots=tuple(dict.fromkeys(shared + tuple(map(os.path.realpath, surroundings.shared_roots)))),
        temp_roots=tuple(dict.fromkeys(map(os.path.realpath, surroundings.temp_roots))),
        secrets=SECRETS,
    )
    return replace(settings, **more)
