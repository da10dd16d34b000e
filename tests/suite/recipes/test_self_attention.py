"""Self-attention layers that decline all else: the golden cases show what is wrong with each, and say which mistake."""

from types import SimpleNamespace

import numpy as np
import pytest

import attnspec
from attnspec.base.errors import Unsupported
from attnspec.cases import load_suite
from attnspec.reports.formats.screen import cause_lines
from attnspec.reports.problems import problems_of, whole_of

MULTI_HEAD = [case for case in load_suite(profiles=["self_attention"]).cases.values() if "w_query" in case.inputs]
LIMIT = 400_000
"""Bytes that the files of the profile may take."""


def softmax(scores):
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def layer(*, biases, diagonal=0, ignores_the_mask=False, always_causal=False):
    """A layer of self-attention that takes no scale, and has all biases or none, as they are made in many classes."""

    def multi_head_attention(
        query,
        key,
        value,
        w_query,
        w_key,
        w_value,
        w_output,
        b_query=None,
        b_key=None,
        b_value=None,
        b_output=None,
        mask=None,
        *,
        num_heads,
        is_causal=False,
    ):
        given = [bias is not None for bias in (b_query, b_key, b_value, b_output)]
        if query.shape != key.shape or not (np.array_equal(query, key) and np.array_equal(query, value)):
            raise Unsupported("the layer takes one sequence")
        if given != [biases] * 4 or (always_causal and not is_causal):
            raise Unsupported("the layer is not made like that")
        batch, tokens, width = query.shape

        def heads(matrix, bias):
            projected = query @ matrix + (bias if biases else 0)
            return projected.reshape(batch, tokens, num_heads, width // num_heads).transpose(0, 2, 1, 3)

        keys, values = heads(w_key, b_key), heads(w_value, b_value)
        scores = heads(w_query, b_query) @ keys.swapaxes(-1, -2) / np.sqrt(width / num_heads)
        if mask is not None and not ignores_the_mask:
            scores = np.where(mask, scores, -1e30) if mask.dtype == bool else scores + mask
        if is_causal:
            scores = np.where(np.tri(tokens, tokens, diagonal, dtype=bool), scores, -np.inf)
        joined = (softmax(scores) @ values).transpose(0, 2, 1, 3).reshape(batch, tokens, width)
        return joined @ w_output + (b_output if biases else 0)

    conventions = {"input_checks": "lenient", "masked_nonfinite": "propagates", "fully_masked_row": "filled"}
    return SimpleNamespace(multi_head_attention=multi_head_attention, conventions=conventions)


def report_of(made):
    return attnspec.validate(made, select="*multi_head*", dtypes="float64")


def first_problem(report):
    problems = problems_of(report.wrong, report.diagnosis)
    return " ".join(cause_lines(problems[0], whole_of(report.results), alone=len(problems) == 1))


both = pytest.mark.parametrize("biases", [False, True], ids=["without biases", "with biases"])


@both
@pytest.mark.parametrize("always_causal", [False, True], ids=["", "always causal"])
def test_a_right_layer_passes_what_it_takes(biases, always_causal):
    report = report_of(layer(biases=biases, always_causal=always_causal))
    assert not report.wrong
    assert sum(result.establishes for result in report.results) >= (5 if always_causal else 15)


@both
@pytest.mark.parametrize("always_causal", [False, True], ids=["", "always causal"])
def test_an_ignored_mask_is_named(biases, always_causal):
    report = report_of(layer(biases=biases, ignores_the_mask=True, always_causal=always_causal))
    assert len(report.wrong) >= 2
    assert "The mask was ignored." in first_problem(report)


@both
@pytest.mark.parametrize("always_causal", [False, True], ids=["", "always causal"])
@pytest.mark.parametrize(("diagonal", "said"), [(1, "the position after its own"), (-1, "attend to its own position")])
def test_a_wrong_diagonal_is_named(biases, always_causal, diagonal, said):
    report = report_of(layer(biases=biases, diagonal=diagonal, always_causal=always_causal))
    assert len(report.wrong) >= 2
    assert said in first_problem(report)


def test_a_layer_that_declares_what_it_lacks_is_called_with_nothing_else():
    made = layer(biases=False)
    declared = SimpleNamespace(**vars(made), without=("cross_attention", "b_query", "b_key", "b_value", "b_output"))
    by_itself = [result.case.id for result in report_of(made).results if result.establishes]
    assert [result.case.id for result in report_of(declared).results if result.establishes] == by_itself


def test_the_files_are_few_and_small():
    folder = load_suite().folder / "self_attention"
    files = [*folder.glob("*.json")]
    assert 40 <= len(files) <= 60
    assert sum(file.stat().st_size for file in files) < LIMIT


def test_cases_have_the_biases_that_modules_have_and_no_scale():
    biases = [tuple(sorted(name for name in case.inputs if name.startswith("b_"))) for case in MULTI_HEAD]
    all_four, none, output_alone = ("b_key", "b_output", "b_query", "b_value"), (), ("b_output",)
    assert set(biases) == {all_four, none, output_alone}
    assert biases.count(all_four) == biases.count(none)
    assert biases.count(output_alone) >= 3
    for case in MULTI_HEAD:
        assert "scale" not in case.attributes
        assert case.inputs["query"].shape[-1] > case.attributes["num_heads"]
