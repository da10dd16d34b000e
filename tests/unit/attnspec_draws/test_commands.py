"""Wherever the id of a case is taken, the recipe of a draw is taken, too."""

import subprocess
import sys

import numpy as np
import pytest

import attnspec
import attnspec_reference
from attnspec.base.errors import UsageError
from attnspec.cases import load_selected
from attnspec.command_line import main
from attnspec.offline import read_manifest
from attnspec_draws import draw, recipe_from_text

TEXT = "draw:scaled_dot_product_attention/tests/3:float32:elements=200"
WRONG = "draw:scaled_dot_product_attention/tests:float32"
FILE = """
import attnspec_reference


def right(**arguments):
    return attnspec_reference.scaled_dot_product_attention(**arguments)


def wrong(**arguments):
    returned = attnspec_reference.scaled_dot_product_attention(**arguments)
    return returned._replace(output=returned.output + 1)


right.dtypes = wrong.dtypes = ("float32",)
"""


@pytest.fixture
def targets(tmp_path):
    """A function that is right and one that is wrong, as targets."""
    own = tmp_path / "own.py"
    adapter = (
        "\n\nclass Right:\n    dtypes = ('float32',)\n    scaled_dot_product_attention = staticmethod(right)"
        "\n\n\nclass Wrong(Right):\n    scaled_dot_product_attention = staticmethod(wrong)\n"
    )
    own.write_text(FILE + adapter, "utf-8")
    return f"{own}:Right", f"{own}:Wrong"


def test_show_prints_what_was_drawn(capsys):
    assert main(["show", TEXT]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{TEXT} (revision 1): draw 3 of the seed tests\n")
    assert "source      drawn as spec/draws.md says" in said


def test_explain_says_what_it_exercises(capsys):
    assert main(["explain", TEXT]) == 0
    said = capsys.readouterr().out
    assert "Source: drawn as spec/draws.md says" in said
    assert "sdpa.scores: " in said


@pytest.mark.parametrize("command", ["show", "explain"])
def test_a_wrong_recipe_is_reported(command, capsys):
    assert main([command, WRONG]) == 2
    assert f"{WRONG!r} names no draw: write draw:OPERATION/SEED/NUMBER:DTYPE" in capsys.readouterr().err


def test_the_script_of_a_draw_runs_by_itself(capsys, tmp_path):
    assert main(["show", "--python", TEXT]) == 0
    script = tmp_path / "script.py"
    script.write_text(capsys.readouterr().out, "utf-8")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_validate_asks_for_the_draw_alone(targets, capsys):
    right, wrong = targets
    assert main(["validate", right, "--select", TEXT, "--quiet"]) == 0
    assert main(["validate", wrong, "--select", TEXT]) == 1
    assert TEXT in capsys.readouterr().out


def test_validate_tells_a_wrong_recipe(targets, capsys):
    assert main(["validate", targets[0], "--select", WRONG]) == 2
    assert "names no draw" in capsys.readouterr().err


def test_a_report_with_a_draw_is_read_again(targets, tmp_path, capsys):
    report = tmp_path / "report.json"
    assert main(["validate", targets[1], "--select", TEXT, "--report", str(report)]) == 1
    assert TEXT in report.read_text("utf-8")
    assert main(["report", str(report)]) in {0, 1}
    assert main(["validate", targets[1], "--select", TEXT, "--rerun-failed", str(report)]) == 1


def test_debug_calls_it_once(targets, capsys):
    right, wrong = targets
    assert main(["debug", TEXT, right]) == 0
    assert main(["debug", TEXT, wrong]) == 1


def test_golden_cases_and_draws_are_selected_together():
    assert [*load_selected(select=(TEXT,)).cases] == [TEXT]
    both = load_selected(select=("core/plain", TEXT))
    assert [*both.cases] == ["core/plain", TEXT]
    assert {*load_selected(profiles=("core",), select=(TEXT,)).cases} > {"core/plain", TEXT}
    assert both.digest == load_selected(select=("core/plain",)).digest


def test_an_export_of_draws_is_graded(tmp_path, capsys):
    assert main(["export", str(tmp_path / "exported"), "--select", TEXT, "--format", "npz"]) == 0
    (entry,) = read_manifest(tmp_path / "exported").cases
    assert entry.case == TEXT
    assert main(["grade", str(tmp_path / "exported"), "--quiet"]) == 1
    case = attnspec.case(TEXT)
    answer = attnspec_reference.scaled_dot_product_attention(**case.arguments)
    assert ":" not in entry.file
    path = tmp_path / "exported" / entry.file.removesuffix(".npz")
    np.savez(f"{path}.out.npz", output=answer.output)
    assert main(["grade", str(tmp_path / "exported"), "--quiet"]) == 0


def test_a_draw_in_the_hands_of_who_writes_a_test():
    case = attnspec.case(TEXT)
    assert (case.id, case.dtype) == (TEXT, "float32")
    case.check(attnspec_reference.scaled_dot_product_attention(**case.arguments))
    with pytest.raises(AssertionError, match="draw:"):
        case.check(np.ones_like(case.expected["output"], dtype=np.float32) * 77)
    drawn = draw(recipe_from_text(TEXT))
    assert all(np.array_equal(array, drawn.inputs[name], equal_nan=True) for name, array in case.inputs.items())


def test_a_recipe_that_is_written_otherwise_is_the_same_draw():
    assert attnspec.case(TEXT.replace("/3:", "/003:")).id == TEXT


def test_a_draw_is_offered_in_its_own_dtype_alone():
    with pytest.raises(UsageError, match="is not offered in float64; it is in float32"):
        attnspec.case(TEXT, "float64")
    with pytest.raises(UsageError, match="names no draw"):
        attnspec.case(WRONG)
