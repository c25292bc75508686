"""The cases that people lost work in, each in a real kernel: run the cells, name the right state, go back, check.

A cell that begins with `#! harness:` is an event that the test makes itself. Where a case has no check of its own, or
an event that needs the host, `test_host_side.py` covers it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.builders import TestKernel, TestWorkspace

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("sound_stores")]

HERE = Path(__file__).parent
CASES = {case["id"]: case for case in json.loads((HERE / "cases.json").read_text())}
OF_VARIABLES = {case["id"]: case for case in json.loads((HERE / "variables.json").read_text())}
HOST_SIDE = {
    "F29": "test_a_file_of_another_process_survives_a_rewind",
    "F36": "test_a_notebook_rewritten_on_disk_is_kept_and_can_be_restored",
    "F42": "test_a_rewind_that_cannot_be_completed_changes_nothing",
    "F43": "test_a_full_disk_in_a_rewind_changes_nothing",
    "F45": "test_a_secret_is_nowhere_in_the_store",
    "S10": "test_run_all_with_an_error_makes_no_turn_of_the_aborted_cell",
    "S18": "test_a_deleted_cells_code_and_output_can_be_listed",
    "S22": "test_loading_twice_makes_one_turn_per_cell",
    "S29": "test_no_git_and_no_writable_home",
}
IN_KERNEL = [name for name, case in CASES.items() if case["check"] and name not in HOST_SIDE]
WITH_VARIABLES = [name for name, case in CASES.items() if case["variables"] and name not in HOST_SIDE]


def do_cell(kernel: TestKernel, cell: str) -> None:
    """Run a cell, or make the event it names."""
    match = re.match(r"#!\s*harness:\s*(\S+)[ \t]*(.*)", cell)
    if not match:
        kernel.run(cell)
        return
    event, argument = match.groups()
    body = "\n".join(cell.split("\n")[1:])
    if event == "interrupt-after":
        kernel.interrupt_after(float(argument), body)
    elif event == "restart-kernel":
        kernel.restart()
    elif event in ("kill-kernel-in-cell", "expects-death"):
        kernel.kill_after(1.0, body)
    elif event == "new-kernel":
        kernel.restart()
    else:
        pytest.fail(f"unknown event {event}")


def play(kernel: TestKernel, case: dict[str, Any]) -> str:
    """Run the cells, go back to the right state, and return what the rewind showed."""
    for number, cell in enumerate(case["cells"], 1):
        do_cell(kernel, cell)
        if number == case["rewind_to"]:
            named = kernel.run('%rewind name "the right state"', silent=True)
            assert named.status == "ok", named
    moved = kernel.run('%rewind to "the right state" --yes', timeout=120)
    assert moved.status == "ok", moved
    return moved.text


def failures(kernel: TestKernel, checks: list[str]) -> list[str]:
    """Return the checks that did not hold, with their errors."""
    runs = [(check, kernel.run(check, silent=True, timeout=30)) for check in checks]
    return [f"{check}: {run.error}" for check, run in runs if run.status != "ok"]


@pytest.mark.parametrize("name", IN_KERNEL)
def test_files_and_history_of_a_case_come_back(name: str, kernel: TestKernel) -> None:
    case, kernel.headless = CASES[name], True

    report = play(kernel, case)

    failed = failures(kernel, case["check"])
    if failed and case["tier"] == "honest":
        assert all(named in report for named in case["must_name_if_not_restored"]), (failed, report)
    else:
        assert not failed, report


@pytest.mark.parametrize("name", WITH_VARIABLES)
def test_variables_of_a_case_come_back(name: str, kernel: TestKernel) -> None:
    play(kernel, CASES[name])

    assert not failures(kernel, CASES[name]["variables"])


@pytest.mark.parametrize("name", OF_VARIABLES)
def test_a_case_of_variables_comes_back(name: str, kernel: TestKernel) -> None:
    case = OF_VARIABLES[name]
    for needed in case["needs"]:
        pytest.importorskip(needed)

    report = play(kernel, case)

    failed = failures(kernel, case["check"])
    if failed and case["tier"] == "honest":
        assert all(named in report for named in case["must_name_if_not_restored"]), (failed, report)
    else:
        assert not failed, report


def test_every_case_is_covered(request: pytest.FixtureRequest) -> None:
    source = (Path(__file__).parent / "test_host_side.py").read_text()
    missing = [name for name, function in HOST_SIDE.items() if f"def {function}(" not in source]
    uncovered = set(CASES) - set(IN_KERNEL) - set(HOST_SIDE) - set(WITH_VARIABLES)
    assert not missing
    assert not uncovered


def test_cases_leave_no_litter_of_ours(kernel: TestKernel, workspace: TestWorkspace) -> None:
    kernel.run("open('a','w').write('1')")
    kernel.run("open('a','w').write('2'); open('b','w').write('2')")

    kernel.run("%rewind to 1 --yes")

    assert sorted(workspace.tree()) == [b"a"]
