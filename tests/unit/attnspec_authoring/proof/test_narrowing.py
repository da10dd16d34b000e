"""A part of the matrix: some mistakes, some cases, and what is said of them."""

import pytest

from attnspec.base.errors import UsageError
from attnspec.command_line import main
from attnspec_authoring.proof import chosen_subjects, narrowed_lines
from attnspec_mistakes import mistakes_of


@pytest.fixture
def said(few, capsys):
    """What the command prints about a few cases, and how it ends."""

    def run(*arguments):
        status = main(["mistakes", "--matrix", "--golden", str(few), "--no-cache", "--processes", "1", *arguments])
        return status, capsys.readouterr()

    return run


def test_one_mistake_says_who_notices_it(said):
    status, printed = said("--mistake", "softmax.no_maximum")
    assert printed.out.startswith("softmax.no_maximum (mistake): 1 of 2 cases notice it: layout/softmax_large\n")
    assert "survives: softmax.no_maximum in float64; 1 of at least 2 cases notice it" in printed.out
    assert "split_heads" not in printed.out
    assert status == 1


def test_mistakes_and_controls_are_chosen_by_patterns(said):
    status, printed = said("--mistake", "softmax.onl*", "--mistake", "causal_mask.inv*")
    assert "softmax.online (control): 0 of 2 cases notice it\n" in printed.out
    assert "causal_mask.inverted (mistake): 1 of 1 cases notice it: layout/causal_mask_square\n" in printed.out
    assert status == 1


def test_one_case_says_what_it_notices(said):
    status, printed = said("--case", "layout/softmax_large")
    line = printed.out.splitlines()[0]
    assert line.startswith("layout/softmax_large: notices ")
    assert f" of {len(mistakes_of('softmax'))} mistakes: " in line
    assert "softmax.no_maximum" in line
    assert "survives" not in printed.out, "other cases may notice the others"
    assert status == 0


def test_a_mistake_and_a_case_meet(said):
    status, printed = said("--mistake", "softmax.no_maximum", "--case", "layout/softmax_*")
    assert "layout/softmax_columns: notices 0 of 1 mistakes\n" in printed.out
    assert "layout/softmax_large: notices 1 of 1 mistakes: softmax.no_maximum\n" in printed.out
    assert status == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--mistake", "softmax.no_maximun"], "no such mistake and no such control. Did you mean softmax.no_maximum"),
        (["--case", "layout/softmax_larg"], "layout/softmax_larg"),
        (["--mistake", "softmax.*", "--case", "layout/split_heads_two"], "of other operations"),
        (["--mistake", "softmax.*", "--write-smoke"], "about the whole matrix"),
        (["--case", "layout/*", "--write-matrix", "x.json"], "about the whole matrix"),
    ],
)
def test_what_cannot_be_run_is_reported_in_a_sentence(said, arguments, words):
    status, printed = said(*arguments)
    assert status == 2
    assert words in printed.err


@pytest.mark.parametrize("option", [["--mistake", "softmax.*"], ["--case", "core/*"], ["--no-cache"]])
def test_only_a_matrix_is_narrowed(option, capsys):
    assert main(["mistakes", *option]) == 2
    assert "give --matrix, too" in capsys.readouterr().err


def test_a_control_that_a_case_fails_and_a_target_that_is_missed_are_amiss(trial, matrix):
    trials = [
        trial("softmax.found", {"float64": ["a/1", "a/2"], "float32": ["a/1", "a/2"]}),
        trial("softmax.missed", {"float64": ["a/2"]}),
        trial("softmax.right", {"float16": ["a/3"]}, kind="control"),
    ]
    made = matrix(trials, targets={"softmax.found": ("a/1",), "softmax.missed": ("a/1",)})
    lines, is_sound = narrowed_lines(made, every_case=False)
    assert "missed: a/1 is there to catch softmax.missed, and does not" in lines
    assert "unjust: a/3 fails the control softmax.right in float16" in lines
    assert not is_sound
    assert narrowed_lines(matrix(trials[:1], targets={"softmax.found": ("a/1",)}), every_case=True)[1]


def test_mistakes_of_operations_without_cases_are_left_out():
    assert chosen_subjects(["softmax.no_maximum", "causal_mask.inverted"], ["softmax"]) == ["softmax.no_maximum"]
    with pytest.raises(UsageError, match="no such mistake"):
        chosen_subjects(["nothing.like_it"], ["softmax"])
