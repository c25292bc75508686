"""Write a store that has everything in it, with what each of its points holds, as `store-<format>.tar.gz`.

Run once for each format of the store, by the version that introduces it; a frozen store is never written again.

    python tests/formats/make_store.py
"""

from __future__ import annotations

import json
import os
import sys
import tarfile
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from nbrewind.store.layout import STORE_VERSION
from tests.builders import Entry, Symlink, TestWorkspace
from tests.sessions import Book, attached

HERE = Path(__file__).resolve().parent


def portable(tree: dict[bytes, Entry]) -> dict[str, list[object]]:
    """Return *tree* as JSON can hold it."""
    return {os.fsdecode(name): list(entry) for name, entry in tree.items()}


def fill(book: Book, workspace: TestWorkspace) -> dict[str, dict[str, list[object]]]:
    """Make turns of all kinds, and return what the workspace held after each."""
    trees = {}
    with book.turn("write files of all kinds") as number:
        workspace.write({"text.txt": "one\n", "data/deep/table.csv": "a,b\n1,2\n", "empty": None, b"latin\xe9": "x"})
        workspace.write({"binary.bin": bytes(range(256)) * 20, "link": Symlink("text.txt")})
        workspace.write({"script.sh": "#!/bin/sh\n"}, mode=0o755)
        workspace.write({"private": "0600\n"}, mode=0o600)
        os.link(workspace.path("text.txt"), workspace.path("hard"))
    trees[str(number)] = portable(workspace.tree())
    with book.turn("write a large file") as number:
        workspace.write({"large.bin": b"".join(f"line {line // 5000:12}\n".encode() for line in range(500_000))})
    trees[str(number)] = portable(workspace.tree())
    with book.turn("change, remove, rename\n" + "# a long comment\n" * 400) as number:
        workspace.write({"data/deep/table.csv": "a,b\n3,4\n"})
        os.remove(workspace.path(b"latin\xe9"))
        os.rename(workspace.path("binary.bin"), workspace.path("renamed.bin"))
        os.rmdir(workspace.path("empty"))
        os.chmod(workspace.path("script.sh"), 0o644)
        with open(workspace.path("large.bin"), "ab") as file:
            file.write(b"appended\n")
    trees[str(number)] = portable(workspace.tree())
    book.session.name("a name")
    with book.turn("make many files") as number:
        workspace.write({f"many/{each}": str(each) for each in range(60)})
    trees[str(number)] = portable(workspace.tree())
    book.to(2)
    book.session.undo()
    book.session.redo()
    with book.turn("a new line") as number:
        workspace.write({"new": "line\n"})
    trees[str(number)] = portable(workspace.tree())
    return trees


def main() -> None:
    """Write the store of the present format, unless it is there."""
    target = HERE / f"store-{STORE_VERSION}.tar.gz"
    if target.exists():
        sys.exit(f"{target.name} is frozen.")
    with tempfile.TemporaryDirectory() as scratch:
        workspace, store = TestWorkspace(Path(scratch) / "work"), Path(scratch) / "store"
        with attached(workspace, Path(scratch) / "home", store_dir=str(store)) as book:
            trees = fill(book, workspace)
            book.head()
        (Path(scratch) / "expected.json").write_text(json.dumps(trees, indent=1))
        with tarfile.open(target, "w:gz") as archive:
            for name in ("store", "work", "expected.json"):
                archive.add(Path(scratch) / name, name)


if __name__ == "__main__":
    main()
