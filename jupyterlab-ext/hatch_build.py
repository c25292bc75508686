"""Builds the sidebar into the wheel: with npm where it is there, and not at all otherwise, which is said.

Only a clone needs it: wheels and source distributions hold the built files. `NBREWIND_SIDEBAR=require` makes a missing
sidebar an error (releases), `NBREWIND_SIDEBAR=skip` leaves things as they are.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_SOURCES = ("src", "style", "schema", "package.json", "package-lock.json", "tsconfig.json", "tsconfig.build.json")


class SidebarHook(BuildHookInterface[Any]):
    """Runs before a wheel or a source distribution is put together."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build what is missing or older than its sources. An editable install only takes what is there."""
        wish = os.environ.get("NBREWIND_SIDEBAR", "")
        folder = Path(self.root, "jupyterlab-ext")
        built = Path(self.root, "src", "nbrewind", "labextension", "package.json")
        if wish != "skip" and (version != "editable" or wish == "require"):
            self._see_to(built, folder, wish)
        if built.exists() and self.target_name == "wheel":
            there = "share/jupyter/labextensions/nbrewind"
            build_data["shared_data"][str(built.parent)] = there
            build_data["shared_data"][str(folder / "install.json")] = f"{there}/install.json"

    def _see_to(self, built: Path, folder: Path, wish: str) -> None:
        if _is_fresh(built, folder):
            return
        problem = _build(folder)
        if not problem:
            return
        text = f"The sidebar for JupyterLab is {'older than its sources' if built.exists() else 'left out'}: {problem}"
        if wish == "require":
            raise RuntimeError(text)
        self.app.display_warning(f"{text} Everything else of nbrewind works without it.")


def _is_fresh(built: Path, folder: Path) -> bool:
    if not built.exists():
        return False
    made = built.stat().st_mtime
    tops = [folder / name for name in _SOURCES]
    files = [file for top in tops for file in ([top] if top.is_file() else top.rglob("*")) if file.is_file()]
    return all(file.stat().st_mtime <= made for file in files)


def _build(folder: Path) -> str:
    """Build, and return what stood in the way, "" where nothing did."""
    npm = shutil.which("npm")
    if npm is None:
        return "it is built with Node.js 20 or newer, and npm is not installed."
    for arguments in (["ci", "--no-audit", "--no-fund"], ["run", "build"]):
        done = subprocess.run([npm, *arguments], cwd=folder, text=True, capture_output=True, check=False)
        if done.returncode != 0:
            last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
            return f"npm {arguments[0]} failed ({' '.join(last)})."
    return ""
