"""Configuration files: what a person wrote there about NBRewind, for kernels, scripts and the command line alike."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from IPython.core.application import ENV_CONFIG_DIRS, SYSTEM_CONFIG_DIRS
from jupyter_core.paths import jupyter_config_path
from traitlets.config import Config
from traitlets.config.loader import ConfigFileNotFound, JSONFileConfigLoader, PyFileConfigLoader

from nbrewind.errors import SettingError
from nbrewind.ui.profile import profile_folder

__all__ = ["jupyter_config", "profile_config"]

_JUPYTER = ("jupyter_config", "nbrewind")
_IPYTHON = ("ipython_config", "ipython_kernel_config")


def jupyter_config() -> Config:
    """Return what Jupyter's configuration says: `jupyter_config` and `nbrewind`, `.json` or `.py`, nearest folder last.

    Raises:
        SettingError: a file of it fails.
    """
    return _merged(reversed(jupyter_config_path()), _JUPYTER)


def profile_config() -> Config:
    """Return what a kernel of this user has: Jupyter's configuration, then that of the IPython profile.

    Raises:
        SettingError: a file of it fails.
    """
    config = jupyter_config()
    config.merge(_merged((*SYSTEM_CONFIG_DIRS, *ENV_CONFIG_DIRS, str(profile_folder())), _IPYTHON))
    return config


def _merged(folders: Iterable[str], names: Iterable[str]) -> Config:
    merged = Config()
    chosen = tuple(names)
    for folder in folders:
        for name in chosen:
            for loader in (JSONFileConfigLoader(f"{name}.json", folder), PyFileConfigLoader(f"{name}.py", folder)):
                try:
                    merged.merge(loader.load_config())
                except ConfigFileNotFound:
                    continue
                except Exception as error:  # the person's own code
                    where = Path(folder) / loader.filename
                    raise SettingError(f"{where} fails: {type(error).__name__}: {error}.") from error
    return merged
