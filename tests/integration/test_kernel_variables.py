"""Variables in a real kernel: they go back with the files, forward again, singly, and into the next kernel."""

import pytest

pytestmark = pytest.mark.kernel

ROWS = "__import__('nbrewind').current()"


def test_variables_go_back_forward_and_back_again_with_their_identity(kernel, workspace):
    kernel.run("a = [1]; b = a; open('f', 'w').write('1')")
    kernel.run("b.append(2); c = 3; open('f', 'w').write('2')")

    run = kernel.run("%rewind to 1 --yes")

    assert "1 file, 3 variables" in run.text, run
    assert "c  was 3" in run.text and "list of 2: [1, 2] → list of 1: [1]" in run.text
    assert kernel.value("(a, a is b, 'c' in globals())") == ([1], True, False)
    assert workspace.read("f") == b"1"
    assert kernel.run("%rewind undo").status == "ok"
    assert kernel.value("(a, a is b, c)") == ([1, 2], True, 3)
    assert kernel.run("%rewind redo").status == "ok"
    assert kernel.value("(a, a is b, 'c' in globals())") == ([1], True, False)


def test_a_preview_says_that_variables_stay_only_where_they_do(kernel):
    kernel.run("x = 1; open('f', 'w').write('1')")
    kernel.run("x = 2; open('f', 'w').write('2')")

    assert "Variables stay" not in kernel.run("%rewind to 1").text
    assert "Variables stay as they are now: x." in kernel.run("%rewind to 1 --only files").text
    assert "Variables stay" not in kernel.run("%rewind to 1 --yes").text


def test_a_row_of_the_list_names_the_variables_that_its_cell_changed(kernel):
    kernel.run("x = 1; open('f', 'w').write('1')")
    kernel.run("y = 2")
    kernel.run("None")

    rows = kernel.run("%rewind").text.splitlines()

    assert any(row.startswith("[1]") and "+f, x" in row for row in rows), rows
    assert any(row.startswith("[2]") and "y" in row.removeprefix("[2]  y = 2") for row in rows), rows
    assert any("1 cell changed nothing ([3])" in row for row in rows), rows


def test_back_one_takes_back_the_last_cell_that_changed_a_variable(kernel):
    kernel.run("x = 1; open('f', 'w').write('1')")
    kernel.run("x = 2")
    kernel.run("None")

    assert kernel.run("%rewind back 1 --yes").status == "ok"

    assert kernel.value("x") == 1
    assert kernel.value("open('f').read()") == "1"


def test_only_files_leaves_variables_and_only_variables_leaves_files(kernel, workspace):
    kernel.run("x = 1; open('f', 'w').write('1')")
    kernel.run("x = 2; open('f', 'w').write('2')")

    kernel.run("%rewind to 1 --only files --yes")
    assert (kernel.value("x"), workspace.read("f")) == (2, b"1")
    kernel.run("%rewind undo")
    kernel.run("%rewind to 1 --only variables --yes")
    assert (kernel.value("x"), workspace.read("f")) == (1, b"2")


def test_an_old_value_is_given_and_put_beside_the_present_one(kernel):
    kernel.run("df = [1, 2]")
    kernel.run("df.append(3)")

    assert kernel.run("%rewind get df --from 1").text.strip() == "[1, 2]"
    kernel.run("old = %rewind get df --from 1")
    assert kernel.value("(old, df)") == ([1, 2], [1, 2, 3])
    assert "df as before" in kernel.run("%rewind restore df --from 1 --as before").text
    assert kernel.value("(before, df)") == ([1, 2], [1, 2, 3])
    kernel.run("%rewind undo")
    assert kernel.value("('before' in globals(), df)") == (False, [1, 2, 3])
    kernel.run("%rewind restore df --from 1")
    assert kernel.value("df") == [1, 2]


def test_show_diff_and_history_speak_of_variables(kernel):
    kernel.run("df = [1, 2]")
    kernel.run("df.append(3)")

    assert "list of 2: [1, 2] → list of 3: [1, 2, 3]" in kernel.run("%rewind show 2").text
    assert "list of 2: [1, 2] → list of 3: [1, 2, 3]" in kernel.run("%rewind diff 1").text
    text = kernel.run("%rewind history df").text
    assert text.index("[2]") < text.index("[1]  df = [1, 2]")


@pytest.mark.parametrize("ending", ["1/0", "raise KeyboardInterrupt", "await __import__('asyncio').sleep(0); 1/0"])
def test_an_atomic_cell_that_fails_leaves_nothing_behind(kernel, workspace, ending):
    kernel.run("x = [1]; open('f', 'w').write('1')")

    run = kernel.run(f"%%atomic\nx.append(2); y = 1; open('f', 'w').write('2'); open('g', 'w').write('')\n{ending}")

    assert run.status == "error" and "was taken back" in run.text, run
    assert kernel.value("(x, 'y' in globals())") == ([1], False)
    assert workspace.read("f") == b"1" and not workspace.exists("g")


def test_an_atomic_cell_that_runs_through_is_a_cell_like_any_other(kernel):
    run = kernel.run("%%atomic\nx = 1\nx + 1")

    assert run.status == "ok" and run.text.strip() == "2", run
    assert kernel.value("x") == 1


def test_a_new_kernel_recovers_what_the_killed_one_had_before_its_last_cell(kernel, workspace):
    kernel.run("rows = [1, 2]; open('f', 'w').write('1')")
    kernel.run("import os, signal; rows.append(3)\nos.kill(os.getpid(), signal.SIGKILL)", timeout=5)
    kernel.restart()

    run = kernel.run("%rewind recover")

    assert run.status == "ok", run
    assert kernel.value("rows") == [1, 2]
    assert kernel.value("In[1]") == "rows = [1, 2]; open('f', 'w').write('1')"
    assert "There is nothing to recover" in kernel.run("%rewind recover").text or kernel.value("rows") == [1, 2]


def test_variables_of_somebody_else_are_not_loaded_until_trusted(kernel, workspace, home):
    kernel.run("x = 1; open('f', 'w').write('1')")
    kernel.run("x = 2; open('f', 'w').write('2')")
    key = kernel.value(f"{ROWS}.settings.key_file")
    with open(key, "wb") as file:
        file.write(b"k" * 32)
    kernel.restart()

    run = kernel.run("%rewind to 1 --yes")

    assert "not written by you" in run.text, run
    assert workspace.read("f") == b"1"
    assert kernel.value("'x' in globals()") is False
    kernel.run("%rewind trust --yes")
    kernel.run("%rewind recover 1")
    assert kernel.value("x") == 1


def test_cells_and_listings_make_no_points_by_themselves(kernel):
    kernel.run("x = 1")
    kernel.run("%rewind list")
    kernel.run("%rewind status")

    assert kernel.value(f"[point.kind.value for point in {ROWS}.points()]") == ["attach", "turn"]


def test_of_modules_only_a_persons_own_are_named_after_a_rewind(kernel):
    kernel.run("x = 1")
    kernel.run("!true\nimport colorsys, wave\nx = 2")
    assert "loaded" not in kernel.run("%rewind to 1 --yes").text

    kernel.run("open('mine.py', 'w').write('y = 1')")
    kernel.run("import mine")
    said = kernel.run("%rewind back 1 --yes").text

    assert "imported modules: mine stays loaded; importlib.reload reads a changed file anew" in said


def test_status_and_list_say_what_became_of_variables(kernel):
    kernel.run("x = 1")
    kernel.run("x = 2")
    kernel.run("%rewind restore x --from 1")

    assert "Covered: 0 files, 0 B, variables, outputs and the session log." in kernel.run("%rewind status").text
    rows = kernel.run("%rewind").text.splitlines()
    assert any(row.split()[:4] == ["⟲", "restored", "variables", "x"] for row in rows), rows
    assert "⟲ restored variables  x  2 → 1" in kernel.run("%rewind history x").text


def test_what_cannot_come_back_stands_under_a_head_of_its_own(kernel):
    kernel.run("x = 1")
    kernel.run("!true\ng = (i for i in range(3))")
    kernel.run("y = 2")

    lines = [line.strip() for line in kernel.run("%rewind to 1").text.split("<div")[0].splitlines()]
    head = lines.index("Not all of it can come back:")
    assert lines[head + 1] == '[2] ran "true": what it did outside the workspace cannot come back.'
    lines = [line.strip() for line in kernel.run("%rewind to 2").text.split("<div")[0].splitlines()]
    head = lines.index("Keep their present state:")
    assert lines[head + 1] == "g: the same object, not a copy of then (generator)"


def test_command_line_tells_a_variable_without_loading_it(kernel):
    kernel.run("x = [1, 2]")
    kernel.run("x = 3")
    kernel.run("%rewind to 1 --yes")

    said = kernel.run("!{__import__('sys').executable} -m nbrewind.ui.cli get x --from 1").text

    assert "x, just after [1]: list of 2: [1, 2]" in said
