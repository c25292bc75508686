"""The command line with the settings that kernels have: those of Jupyter's and IPython's configuration files."""

from __future__ import annotations

import os
import sys
from typing import Any

from nbrewind import fs
from nbrewind.extension.configuration import profile_config
from nbrewind.extension.settings import NBRewind
from nbrewind.ui.cli import main as run_command_line

__all__ = ["configured", "main"]


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
