"""The documents name files that exist, and the frame names no host and no workplace."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("notebooks/*.md")])


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_files_that_a_document_names_exist(document: Path) -> None:
    named = re.findall(r"`((?:tests|docs|benchmarks|notebooks)/[\w./-]*|(?:[\w-]+/)+[\w-]+\.py)`", document.read_text())
    missing = [name for name in named if not any((root / name).exists() for root in (ROOT, ROOT / "src" / "nbrewind"))]
    assert missing == []


def test_the_lock_file_pins_every_package_and_names_no_host() -> None:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    assert all(re.fullmatch(r"#.*|[A-Za-z0-9._-]+==[\w.!+]+", line) for line in lines)
    assert len(lines) > 50


def test_no_tracked_file_names_a_package_index() -> None:
    done = subprocess.run(
        ["git", "grep", "-lE", r"(--|extra-)index" + "-url"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == ""
