"""A story on real files: a kernel damages them in six ways, and gets every byte back.

Run by `make demo` and `nbrewind demo`. Nothing outside one scratch folder is touched; the exit status tells whether all
bytes came back.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbrewind import fs

if TYPE_CHECKING:
    from jupyter_client.blocking.client import BlockingKernelClient
    from jupyter_client.manager import KernelManager

__all__ = ["main", "run"]

DATA = """\
import os, sqlite3
import numpy as np, pandas as pd
from PIL import Image
rows = np.arange(10_000)
regions = np.array(["north", "south", "east", "west"])[rows % 4]
sales = pd.DataFrame({"id": rows, "region": regions, "price": rows * 1.25})
sales.to_csv("sales.csv", index=False)
sales.to_parquet("sales.parquet")
with sqlite3.connect("shop.db") as shop:
    sales.to_sql("orders", shop, index=False)
shop.close()
Image.fromarray((rows[:4096].reshape(64, 64) % 256).astype("uint8")).save("plot.png")
os.makedirs("raw/2026/november"); os.makedirs("raw/incoming")
for day in range(1, 31):
    open(f"raw/2026/november/{day:02}.json", "w").write(f'{{"day": {day}}}')
os.chmod("raw/2026/november/01.json", 0o600)"""

DAMAGE = (
    ("pandas overwrites a file", 'pd.read_csv("sales.csv").head(3).to_csv("sales.csv", index=False)'),
    (
        "pyarrow overwrites a file, seen by no Python hook",
        'import pyarrow as pa, pyarrow.parquet as pq\npq.write_table(pa.table({"id": [1, 2]}), "sales.parquet")',
    ),
    (
        "sqlite3 drops a table",
        'with sqlite3.connect("shop.db") as shop:\n    shop.execute("drop table orders")\nshop.close()',
    ),
    ("a shell deletes a folder", "!rm -rf raw"),
    (
        "a file is renamed, and another takes its name",
        'os.rename("plot.png", "plot-old.png")\nImage.new("RGB", (8, 8), "white").save("plot.png")',
    ),
    (
        "files are added",
        'os.makedirs("report/draft")\nopen("report/summary.txt", "w").write("3 rows")\n!echo made by a shell > log.txt',
    ),
)


@dataclass
class _Kernel:
    """A real kernel in *workspace*, with a home of its own."""

    workspace: Path
    home: Path
    manager: KernelManager = field(init=False)
    client: BlockingKernelClient = field(init=False)

    def start(self) -> None:
        from jupyter_client.manager import KernelManager

        environment = {name: text for name, text in os.environ.items() if not name.startswith(("JUPYTER", "IPYTHON"))}
        for name in ("IPYTHONDIR", "JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR"):
            environment[name] = str(self.home / name.lower())
        environment |= {"HOME": str(self.home), "NO_COLOR": "1", "MPLBACKEND": "Agg"}
        # Sockets in the scratch folder: no port is opened, and nothing is left when the folder goes.
        self.manager = KernelManager(
            connection_file=str(self.home / "connection.json"), transport="ipc", ip=str(self.home / "socket")
        )
        assert self.manager.kernel_spec is not None
        self.manager.kernel_spec.argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        self.manager.start_kernel(cwd=str(self.workspace), env=environment)
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def stop(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=False)
        self.manager.cleanup_resources()

    def cell(self, code: str) -> int:
        """Run *code* as a cell, print it and its outputs as a terminal would, and return its number."""
        reply = self.client.execute_interactive(
            code, allow_stdin=True, stdin_hook=_not_asked, output_hook=_show, timeout=120
        )
        content = reply["content"]
        if content["status"] != "ok":
            raise _Broken(f"the cell failed: {content.get('ename')}: {content.get('evalue')}")
        return int(content["execution_count"])


class _Broken(Exception):
    """The story cannot go on, or a byte differs."""


def _not_asked(message: dict[str, Any]) -> None:
    raise _Broken("a cell asked for input")


def _show(message: dict[str, Any]) -> None:
    content = message["content"]
    if message["msg_type"] == "execute_input":
        prompt = f"In [{content['execution_count']}]: "
        print("\n" + prompt + content["code"].replace("\n", "\n" + "...: ".rjust(len(prompt))))
    elif message["msg_type"] == "stream":
        print(content["text"], end="" if content["text"].endswith("\n") else "\n")
    elif message["msg_type"] in ("display_data", "execute_result"):
        print(content["data"].get("text/plain", ""))


def _entries(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        mode = f"{stat.S_IMODE(status.st_mode):04o}"
        content = "folder" if path.is_dir() else hashlib.sha256(path.read_bytes()).hexdigest()[:12]
        yield path.relative_to(folder).as_posix(), f"{mode} {content}"


def _hashes(folder: Path) -> dict[str, str]:
    """Return mode and hash of everything in *folder*."""
    return dict(_entries(folder))


def _print_hashes(title: str, found: dict[str, str]) -> None:
    print(f"\n--- {title}: {len(found)} entries")
    days = [name for name in found if name.startswith("raw/2026/november/")]
    for name, line in found.items():
        if name not in days[2:]:
            print(f"    {line:18} {name}")
    if days[2:]:
        print(f"    ... and {len(days) - 2} more days")


def _expect(title: str, wanted: dict[str, str], folder: Path) -> None:
    found = _hashes(folder)
    _print_hashes(title, found)
    differ = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
    if differ:
        lines = [f"{name}: wanted {wanted.get(name, 'nothing')}, found {found.get(name, 'nothing')}" for name in differ]
        raise _Broken("\n    ".join([f"{title}: {len(differ)} entries differ", *lines]))
    print(f"    = all {len(found)} entries as expected: bytes, modes and names")


def _tell(kernel: _Kernel, folder: Path) -> None:
    print("A kernel starts in an empty folder and makes data.")
    kernel.cell("%load_ext nbrewind")
    made = kernel.cell(DATA)
    whole = _hashes(folder)
    _print_hashes(f"hashes after [{made}]", whole)

    for what, code in DAMAGE:
        print(f"\nNow {what}:")
        kernel.cell(code)
    damaged = _hashes(folder)
    _print_hashes("hashes after the damage", damaged)
    if damaged == whole:
        raise _Broken("the damage did nothing")

    print("\nWhat can be gone back to, and what it would change:")
    kernel.cell("%rewind")
    kernel.cell(f"%rewind to {made}")
    _expect("nothing has moved yet", damaged, folder)
    kernel.cell("%rewind confirm")
    _expect(f"back to just after [{made}]", whole, folder)
    kernel.cell("%rewind undo")
    _expect("the rewind taken back", damaged, folder)
    kernel.cell("%rewind redo")
    _expect("and forward again", whole, folder)

    print("\nOne file alone, while everything else stays damaged:")
    kernel.cell("%rewind undo")
    kernel.cell(f"%rewind restore sales.csv --from {made} --yes")
    _expect("only sales.csv came back", damaged | {"sales.csv": whole["sales.csv"]}, folder)


@contextmanager
def _scratch() -> Iterator[Path]:
    place = Path(tempfile.gettempdir()) / f"nbrewind-demo-{secrets.token_hex(4)}"
    fs.make_directory(str(place), exist_ok=False)
    try:
        yield place
    finally:
        for path in sorted(place.rglob("*"), reverse=True):
            remove = fs.rmdir if path.is_dir() and not path.is_symlink() else fs.unlink
            remove(str(path))
        fs.rmdir(str(place))


def run() -> int:
    """Tell the story in a scratch folder, and return 0 if every byte came back."""
    with _scratch() as place:
        kernel = _Kernel(place / "work", place / "home")
        for folder in (kernel.workspace, kernel.home):
            fs.make_directory(str(folder))
        kernel.start()
        try:
            _tell(kernel, kernel.workspace)
        except _Broken as broken:
            print(f"\nBROKEN: {broken}", file=sys.stderr)
            return 1
        finally:
            kernel.stop()
    print("\nEvery byte came back: rewind, undo, redo and one file alone.")
    return 0


def main() -> None:
    """Run the story and exit with its status."""
    sys.exit(run())


if __name__ == "__main__":
    main()
