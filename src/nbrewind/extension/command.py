"""The command line with the settings that kernels have: those of IPython's configuration files."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from IPython.core.application import ENV_CONFIG_DIRS, SYSTEM_CONFIG_DIRS
from traitlets.config import Config
from traitlets.config.loader import ConfigFileNotFound, JSONFileConfigLoader, PyFileConfigLoader

from nbrewind import fs
from nbrewind.errors import UsageError
from nbrewind.extension.settings import NBRewind
from nbrewind.ui.cli import main as run_command_line
from nbrewind.ui.profile import profile_folder

__all__ = ["configured", "main", "profile_config"]

_NAMES = ("ipython_config", "ipython_kernel_config")


def main() -> None:
    """Run `nbrewind` (also `jupyter rewind`)."""
    if sys.getfilesystemencoding().lower() != "utf-8":
        # The names in a store are UTF-8 or bytes; in an ASCII locale without UTF-8 mode they could not be given back.
        fs.become([sys.executable, "-X", "utf8", *sys.orig_argv[1:]], {**os.environ, "PYTHONUTF8": "1"})
    run_command_line(configured=configured)


def configured() -> dict[str, Any]:
    """Return what the configuration says of NBRewind, as keywords of `make_settings`.

    Raises:
        SettingError: an unknown name or a wrong value.
    """
    config = profile_config()
    if "NBRewind" not in config:
        return {}
    traits, warnings = NBRewind.make(config)
    for warning in warnings:
        sys.stderr.write(f"{warning}\n")
    # Scopes say which front ends are recorded; the command line records nothing of its own.
    return traits.keywords("cli:command")


def profile_config() -> Config:
    """Return the configuration that a kernel of this user starts with.

    Raises:
        UsageError: a file of it fails.
    """
    merged = Config()
    for folder in (*SYSTEM_CONFIG_DIRS, *ENV_CONFIG_DIRS, str(profile_folder())):
        for name in _NAMES:
            for loader in (JSONFileConfigLoader(f"{name}.json", folder), PyFileConfigLoader(f"{name}.py", folder)):
                try:
                    merged.merge(loader.load_config())
                except ConfigFileNotFound:
                    continue
                except Exception as error:  # the person's own code
                    raise UsageError(f"{Path(folder) / name} fails: {type(error).__name__}: {error}.") from error
    return merged
