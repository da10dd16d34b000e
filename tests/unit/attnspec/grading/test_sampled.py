"""Sampled elements lie within the whole bound, all others are such as an average of the values can be."""

from __future__ import annotations

import numpy as np
import pytest

from attnspec.bounds import precision_of, stacked
from attnspec.cases import Inputs, in_run_dtype, load_suite
from attnspec.cases.generator import Generated, Rise
from attnspec.contract.declarations import resolve_conventions
from attnspec.contract.implementation import Outputs
from attnspec.families.attention.tolerance.sampled import sampled_tolerance
from attnspec.families.attention.tolerance.tolerances import tolerance
from attnspec.grading import grade
from attnspec.validation.one_case import run_of
from attnspec_mistakes.attention.long_mistakes import Tiles

OPERATION = "scaled_dot_product_attention"
CASE = "long/thousands/causal_1000"
MADE = {
    "query": Generated("bell", "q", (2, 4, 37, 8), 2, 0.25, first=2.0),
    "key": Generated("bell", "k", (2, 2, 90, 8), 2, 0.5, rise=Rise(8, 0.25)),
    "value": Generated("bell", "v", (2, 2, 90, 5), 4, 0.0625),
}
PAST = {
    "past_key": Generated("bell", "pk", (2, 2, 11, 8), 2, 0.5),
    "past_value": Generated("bell", "pv", (2, 2, 11, 5), 4, 0.0625),
}
HEADS = np.array([0.5, 0.25, 0.125, 1.0])
EXTRAS = {
    "plain": {},
    "causal": {"is_causal": True},
    "bottom_right": {"is_causal": True, "causal_alignment": "bottom_right"},
    "window": {"window": [9, 3], "causal_alignment": "bottom_right", "softcap": 3.0},
    "sinks": {"sinks": HEADS, "is_causal": True, "window": [20, 0]},
    "alibi": {"alibi_slopes": HEADS, "causal_alignment": "bottom_right", "window": [30, None]},
    "lengths": {
        "key_lengths": np.array([90, 51]),
        "query_lengths": np.array([37, 20]),
        "is_causal": True,
        "causal_alignment": "bottom_right",
    },
    "past": {**PAST, "is_causal": True, "alibi_slopes": HEADS},
}
SAMPLE = {"output": np.arange(0, 2 * 4 * 37 * 5, 7), "logsumexp": np.arange(0, 2 * 4 * 37, 3)}


def both(name, choices):
    extras = EXTRAS[name]
    generated = MADE | {key: entry for key, entry in extras.items() if isinstance(entry, Generated)}
    given = {key: entry for key, entry in extras.items() if isinstance(entry, np.ndarray)}
    attributes = {key: entry for key, entry in extras.items() if not isinstance(entry, Generated | np.ndarray)}
    inputs, conventions = Inputs(given, generated), resolve_conventions(choices, OPERATION)
    runs = [precision_of(dtype, fused=fused) for dtype, fused in (("float64", False), ("bfloat16", False))]
    whole = tolerance(OPERATION, dict(inputs), attributes, stacked(runs), conventions)
    return whole, sampled_tolerance(OPERATION, inputs, attributes, SAMPLE, stacked(runs), conventions)


@pytest.mark.parametrize("choices", [{}, {"logsumexp_base": "2", "alibi_bias": "column"}])
@pytest.mark.parametrize("name", EXTRAS)
def test_a_sampled_element_has_the_tolerance_that_it_has_in_the_whole(name, choices):
    whole, sampled = both(name, choices)
    for output, chosen in SAMPLE.items():
        unspecified = whole.unspecified.get(output, np.zeros(whole.of(output).value.shape, np.bool_)).ravel()[chosen]
        assert np.array_equal(sampled.unspecified.get(output, np.zeros(chosen.size, np.bool_)), unspecified)
        for run in (0, 1):
            expected, found = whole.of(output, run), sampled.of(output, run)
            for one, other in zip(expected[:2], found[:2], strict=True):
                np.testing.assert_allclose(
                    other[~unspecified], np.take(one, chosen)[~unspecified], rtol=1e-6, atol=1e-14
                )


@pytest.mark.parametrize("name", EXTRAS)
def test_what_holds_elsewhere_is_wider_than_any_output(name):
    whole, sampled = both(name, {})
    known = sampled.interval_outside_sample("output", 1)
    value = whole.of("output").value
    outside = ((value < known.lowest) | (value > known.highest)) & ~known.left_open
    assert known.lowest.shape == (2, 4, 1, 5)
    assert not outside.any()
    assert known.left_open.any() == (name == "lengths")


@pytest.fixture(scope="module")
def right():
    case = load_suite(select=(CASE,)).cases[CASE]
    arguments = {**in_run_dtype(case.inputs, "float32"), **case.attributes}
    return run_of(case, "float32", {}), Tiles(tile=256)(**arguments)


def graded(right, change):
    run, got = right
    return grade(run, Outputs(change({name: array.copy() for name, array in got.items()})))


def test_a_right_answer_passes(right):
    assert graded(right, lambda got: got).status == "pass"


@pytest.mark.parametrize("number", [np.nan, np.inf, 2.5, -2.5])
def test_a_number_that_no_average_can_be_fails_although_it_is_not_sampled(right, number):
    position = next(index for index in range(10**4, 10**5) if index not in set(right[0].case.sample["output"].tolist()))

    def change(got):
        got["output"].flat[position] = number
        return got

    verdict = graded(right, change)
    assert (verdict.status, verdict.check) == ("fail", "values")
    assert verdict.worst.index == tuple(map(int, np.unravel_index(position, (1, 2, 1000, 32))))
    assert "no average of the values can be" in verdict.message


def test_a_sampled_element_that_is_wrong_is_reported_by_its_index(right):
    position = int(right[0].case.sample["output"][40])

    def change(got):
        got["output"].flat[position] += 0.125
        return got

    verdict = graded(right, change)
    assert verdict.worst.index == tuple(map(int, np.unravel_index(position, (1, 2, 1000, 32))))
    assert f"1 of {right[0].case.sample['output'].size} sampled elements are wrong" in verdict.message


def test_another_shape_is_reported_whole(right):
    verdict = graded(right, lambda got: {"output": got["output"][:, :, :-1]})
    assert verdict.check == "shape"
    assert verdict.message == "output has the shape (1, 2, 999, 32); expected (1, 2, 1000, 32)"
