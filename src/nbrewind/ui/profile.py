"""The profile: one line in IPython's configuration that protects every notebook of a user, and its removal."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from IPython.paths import get_ipython_dir

from nbrewind import fs
from nbrewind.errors import RewindError, UsageError, clipped
from nbrewind.ui.page import Page
from nbrewind.ui.wording import printable

__all__ = ["disable_page", "enable_page", "profile_folder"]

_MARK = b"# written by: nbrewind enable"
_LINE = b'get_config().InteractiveShellApp.extensions.append("nbrewind.extension.automatic")  ' + _MARK
_NAME = re.compile(r"[\w.\-]+")


def profile_folder(profile: str = "default") -> Path:
    """Return the folder of an IPython profile.

    Raises:
        UsageError: *profile* is no name.
    """
    if not _NAME.fullmatch(profile) or profile.strip(".") == "":
        raise UsageError(f"{clipped(profile)!r} is not the name of a profile. Nothing changed.")
    return Path(get_ipython_dir(), f"profile_{profile}")


def enable_page(profile: str) -> Page:
    """Put the line into the profile's configuration, unless it is there.

    Raises:
        RewindError: the file cannot be read or written.
    """
    path = _file(profile)
    lines = _lines(path)
    was_on = any(_MARK in line for line in lines)
    if not was_on:
        _write(path, [*lines, _LINE])
    page = Page(data={"enabled": True, "file": str(path), "changed": not was_on})
    said = "was on already" if was_on else "is on"
    page.say(f"nbrewind {said} for every notebook and IPython that starts from now on; batch runs are left out.")
    return page.say(f"One line in {printable(str(path))} does it; nbrewind disable takes it out.")


def disable_page(profile: str) -> Page:
    """Take the line out of the profile's configuration.

    Raises:
        RewindError: the file cannot be read or written.
    """
    path = _file(profile)
    lines = _lines(path)
    kept = [line for line in lines if _MARK not in line]
    if len(kept) < len(lines):
        _write(path, kept)
    page = Page(data={"enabled": False, "file": str(path), "changed": len(kept) < len(lines)})
    if len(kept) == len(lines):
        return page.say("nbrewind was not on for every notebook. Nothing changed.")
    return page.say("Off for what starts from now on: the line is out of the configuration. Points stay.")


def _file(profile: str) -> Path:
    # A configuration that is kept elsewhere and linked here stays so.
    return Path(os.path.realpath(profile_folder(profile) / "ipython_config.py"))


def _lines(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RewindError(f"{path} cannot be read: {error.strerror or error}. Nothing changed.") from error


def _write(path: Path, lines: list[bytes]) -> None:
    """Replace the file with *lines*; one that would be empty goes."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644
        if not lines:
            fs.unlink(path)
            return
        fs.make_directories(path.parent, 0o755)
        fs.replace(path, b"\n".join(lines) + b"\n", mode=mode)
    except OSError as error:
        raise RewindError(f"{path} cannot be written: {error.strerror or error}. Nothing changed.") from error
