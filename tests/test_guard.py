"""The guard that keeps tests inside their folders does so."""

import os
import subprocess
import sys

import pytest

from tests.builders import Symlink, TestKernel, TestWorkspace
from tests.guard import GUARD, OutsideTemporaryFolder


def test_a_write_outside_is_stopped_and_recorded(home):
    outside = os.path.join(os.path.dirname(__file__), "litter.txt")

    with pytest.raises(OutsideTemporaryFolder):
        open(outside, "w")

    assert GUARD.violations == [f"open {outside}"]
    assert not os.path.exists(outside)
    GUARD.violations.clear()


def test_a_removal_through_a_symlink_to_outside_is_stopped(tmp_path):
    (tmp_path / "link").symlink_to(os.path.dirname(__file__))

    with pytest.raises(OutsideTemporaryFolder):
        os.remove(tmp_path / "link" / "conftest.py")

    GUARD.violations.clear()


def test_the_home_is_the_tests_own(home):
    assert os.path.expanduser("~") == str(home)


def test_tree_records_kinds_modes_bytes_and_targets(workspace: TestWorkspace):
    workspace.write({"a": "1", b"latin\xe9": b"\0", "d/empty": None, "link": Symlink("nowhere")})
    os.chmod(workspace.path("a"), 0o600)

    tree = workspace.tree()

    assert sorted(tree) == [b"a", b"d", b"d/empty", b"latin\xe9", b"link"]
    assert (tree[b"a"].mode, tree[b"link"].content, tree[b"d/empty"].kind) == (0o600, "nowhere", "directory")
    before = tree[b"a"]
    workspace.write({"a": "2"})
    assert workspace.tree()[b"a"] != before


@pytest.mark.kernel
def test_a_kernel_starts_in_the_workspace_and_answers(workspace: TestWorkspace, home):
    kernel = TestKernel(workspace.root, home)
    kernel.start()
    try:
        assert kernel.run("print(6*7)").text == "42\n"
        assert kernel.value("__import__('os').getcwd()") == str(workspace.root)
        assert kernel.run("1/0").error.startswith("ZeroDivisionError")
    finally:
        kernel.stop()


def test_git_children_see_the_tests_own_home(home):
    done = subprocess.run(
        [sys.executable, "-c", "import os; print(os.environ['HOME'])"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(home)
