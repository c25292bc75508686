"""A JupyterLab server on the loopback, with folders of its own, and a browser that looks at it."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.browser.notebook_page import NotebookPage
from tests.builders import wait_until

_ROOT = Path(__file__).resolve().parents[2]
_BUILT = _ROOT / "src" / "nbrewind" / "labextension"
_TOKEN = "nbrewind"
_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_PATIENCE = 120.0


@dataclass(frozen=True)
class Server:
    """A running server: where it listens, and the folder it shows."""

    url: str
    folder: Path

    def address(self, app: str, notebook: str) -> str:
        """Return what a browser opens to see *notebook*; *app* is `lab/tree` or `notebooks`."""
        return f"{self.url}{app}/{notebook}?token={_TOKEN}" + ("&reset" if app.startswith("lab") else "")


def _chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


def _missing() -> str:
    """Return what these tests need and this machine does not have, "" where all is there."""
    for module in ("playwright", "jupyterlab", "notebook"):
        if importlib.util.find_spec(module) is None:
            return f"{module} is not installed"
    if _chromium() is None:
        return "chromium is not installed"
    if not (_BUILT / "package.json").exists():
        return "the sidebar is not built (npm ci && npm run build in jupyterlab-ext)"
    return ""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what was not asked for, and skip what cannot run here, saying why."""
    here = Path(__file__).parent
    asked = {"test_pictures.py": os.environ.get("NBREWIND_PICTURES") == "1"}
    long = os.environ.get("NBREWIND_BROWSER") == "1"
    left = [
        item for item in items if here / "long" in Path(item.path).parents and not asked.get(Path(item.path).name, long)
    ]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]
    missing = _missing()
    for item in items:
        if missing and here in Path(item.path).parents:
            item.add_marker(pytest.mark.skip(reason=missing))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Server]:
    """Run a server for the tests of a module, below the module's `BASE_URL` if it has one."""
    home = Path(os.path.realpath(tmp_path_factory.mktemp("lab")))
    folder = home / "work"
    environment = _environment(home)
    for name in (folder, *(Path(environment[key]) for key in _OWN)):
        name.mkdir(parents=True, exist_ok=True)
    news = home / "config" / "lab" / "user-settings" / "@jupyterlab" / "apputils-extension"
    news.mkdir(parents=True)
    (news / "notification.jupyterlab-settings").write_text('{"fetchNews": "false", "checkForUpdates": false}')
    (home / "data" / "labextensions").mkdir(parents=True)
    (home / "data" / "labextensions" / "nbrewind").symlink_to(_BUILT)
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1"]
    command += [f"--IdentityProvider.token={_TOKEN}", f"--ServerApp.root_dir={folder}", "--expose-app-in-browser"]
    command += ["--JupyterNotebookApp.expose_app_in_browser=True"]
    command += [f"--ServerApp.base_url={getattr(request.module, 'BASE_URL', '/')}"]
    with (home / "server.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
        try:
            yield Server(_url(process, home), folder)
        finally:
            process.terminate()
            process.wait(60)


_OWN = ("HOME", "IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "TMPDIR")


def _environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "IPYTHON", "XDG_"))}
    folders = {
        "HOME": home,
        "IPYTHONDIR": home / "ipython",
        "JUPYTER_CONFIG_DIR": home / "config",
        "JUPYTER_DATA_DIR": home / "data",
        "JUPYTER_RUNTIME_DIR": home / "runtime",
        "TMPDIR": home / "tmp",
    }
    return kept | {name: str(path) for name, path in folders.items()} | {"PYTHONPATH": str(_ROOT / "src")}


def _url(process: subprocess.Popen[bytes], home: Path) -> str:
    """Return where the server listens, once it answers; it writes that down itself."""

    def told() -> dict[str, Any] | None:
        assert process.poll() is None, (home / "server.log").read_text(errors="replace")
        for file in (home / "runtime").glob("jpserver-*.json"):
            try:
                return dict(json.loads(file.read_text()))
            except ValueError:
                return None
        return None

    wait_until(lambda: told() is not None, timeout=_PATIENCE)
    found = told()
    assert found is not None
    return str(found["url"])


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Run a browser for the tests of a module."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=_chromium(), headless=True, args=_FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def open_notebook(server: Server, browser: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Return a function that writes a notebook of the given cells into a folder of its own, and opens it."""
    opened: list[Any] = []

    def open_one(*cells: str, app: str = "lab/tree", size: tuple[int, int] = (1280, 900)) -> NotebookPage:
        folder = server.folder / f"n{len(os.listdir(server.folder))}"
        folder.mkdir()
        (folder / "work.ipynb").write_text(json.dumps(_notebook(cells)))
        context = browser.new_context(viewport={"width": size[0], "height": size[1]})
        opened.append(context)
        page = context.new_page()
        page.set_default_timeout(_PATIENCE * 1000)
        page.goto(server.address(app, f"{folder.name}/work.ipynb"))
        return NotebookPage(page, folder)

    yield open_one
    for context in opened:
        context.close()


def _notebook(cells: tuple[str, ...]) -> dict[str, Any]:
    empty: dict[str, Any] = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {
        "cells": [{**empty, "id": f"cell-{number}", "source": source} for number, source in enumerate(cells)],
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
