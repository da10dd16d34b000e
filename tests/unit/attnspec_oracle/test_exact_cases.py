"""Inputs whose exact results are known without any exponential, and those that need many bits."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from attnspec_oracle import OracleError, evaluate

ULP = 2.0**-52


def attention(query, key, value, mask=None, **attributes):
    """One batch item and one head, from rank-2 arrays."""
    inputs = {"query": query, "key": key, "value": value}
    inputs = {name: np.asarray(array, dtype=np.float64)[None, None] for name, array in inputs.items()}
    if mask is not None:
        inputs["mask"] = np.asarray(mask)
    outputs = evaluate("scaled_dot_product_attention", inputs, attributes)
    return {name: array[0, 0] for name, array in outputs.items()}


def test_a_single_key_passes_its_value_on() -> None:
    value = np.random.default_rng(0).standard_normal((1, 7))
    got = attention([[1.5, -0.25, 3.0]], [[0.3, 0.2, 0.1]], value)
    assert np.array_equal(got["output"], value)
    assert np.array_equal(got["weights"], [[1.0]])
    assert np.array_equal(got["logsumexp"], got["scores"][:, 0])


@pytest.mark.parametrize("keys", [2, 3, 7, 10])
def test_equal_scores_share_evenly(keys: int) -> None:
    value = np.random.default_rng(keys).standard_normal((keys, 5))
    got = attention(np.zeros((2, 3)), np.random.default_rng(1).standard_normal((keys, 3)), value)
    means = [float(sum(Fraction(number) for number in column) / keys) for column in value.T]
    assert np.array_equal(got["output"], [means, means])
    assert np.array_equal(got["weights"], np.full((2, keys), 1 / keys))


@pytest.mark.parametrize(("pair", "expected"), [((1.0, 1.0 + ULP), 1.0), ((1.0 + ULP, 1.0 + 2 * ULP), 1.0 + 2 * ULP)])
def test_a_middle_between_two_numbers_goes_to_the_even_one(pair, expected) -> None:
    value = np.array([[pair[0]], [pair[1]], [pair[0]], [pair[1]]])
    got = attention([[1.0]], [[0.0], [0.0], [1.0], [1.0]], value)
    assert got["output"][0, 0] == expected


def test_a_weight_of_ten_to_the_minus_304_tips_the_balance() -> None:
    got = attention([[1.0]], [[0.0], [0.0], [-700.0]], [[1.0], [1.0 + ULP], [7.0]])
    assert got["weights"][0, 2] < 1e-300
    assert got["output"][0, 0] == 1.0 + ULP


def test_scores_in_the_middle_between_two_numbers_go_to_the_even_one() -> None:
    query = np.ones((1, 9))
    key = np.zeros((2, 9))
    key[0, :2] = 3.0, 3 * 2.0**-53
    key[1, :3] = 3.0, 3 * 2.0**-53, 3 * 2.0**-300
    got = attention(query, key, np.ones((2, 1)), np.array([[True, False]]))
    assert np.array_equal(got["scores"], [[1.0, 1.0 + ULP]])
    assert np.array_equal(got["logsumexp"], [1.0])


def test_scores_are_recognised_as_equal_across_scale_and_mask() -> None:
    # 0.5 * 2 + 0 and 0.5 * 0 + 1 are the same logit, reached in two ways.
    value = [[1.0], [1.0 + ULP], [1.0], [1.0 + ULP]]
    mask = np.array([[0.0, 1.0, 3.0, 3.0]])
    got = attention([[1.0]], [[2.0], [0.0], [0.0], [0.0]], value, mask, scale=0.5)
    assert got["output"][0, 0] == 1.0


def test_a_zero_by_symmetry_is_positive_zero() -> None:
    got = attention([[1.0]], [[0.0], [0.0], [1.0], [1.0]], [[3.0], [-3.0], [0.1], [-0.1]])
    assert got["output"][0, 0] == 0.0
    assert math.copysign(1, got["output"][0, 0]) == 1


def two_equal_heads(values, signs):
    """Multi-head attention whose two heads have equal weights and whose outputs are added with signs."""
    values = np.asarray(values, dtype=np.float64)
    tokens = np.array([[[0.5, 0.5], [2.0, 2.0]]])
    identity = np.eye(2)
    w_output = np.array([[signs[0], 0.0], [signs[1], 0.0]])
    return {
        "query": tokens,
        "key": tokens,
        "value": values[None],
        "w_query": identity,
        "w_key": identity,
        "w_value": identity,
        "w_output": w_output,
    }


def test_heads_that_cancel_give_zero() -> None:
    inputs = two_equal_heads([[0.3, 0.3], [7.0, 7.0]], (1.0, -1.0))
    got = evaluate("multi_head_attention", inputs, {"num_heads": 2})
    assert np.array_equal(got["output"], np.zeros((1, 2, 2)))
    assert not np.signbit(got["output"]).any()


def test_an_undecidable_number_is_named() -> None:
    # Each head alone is irrational; together they are the middle between 1 and its neighbour.
    inputs = two_equal_heads([[1.0, 2.0**-53], [0.5, 0.5 + 2.0**-53]], (1.0, 1.0))
    with pytest.raises(OracleError, match=r"multi_head_attention: output\[0, 0, 0\] is undecided at 16384 bits"):
        evaluate("multi_head_attention", inputs, {"num_heads": 2})


def test_a_row_without_keys_is_zero_and_its_logsumexp_is_minus_infinity() -> None:
    mask = np.array([[True, False], [False, False]])
    got = attention([[1.0], [1.0]], [[1.0], [2.0]], [[5.0], [6.0]], mask)
    assert np.array_equal(got["output"], [[5.0], [0.0]])
    assert np.array_equal(got["weights"], [[1.0, 0.0], [0.0, 0.0]])
    assert np.array_equal(got["logsumexp"], [1.0, -np.inf])
    assert np.array_equal(got["logits"], [[1.0, -np.inf], [-np.inf, -np.inf]])
    assert np.array_equal(got["scores"], [[1.0, 2.0], [1.0, 2.0]])


def test_no_keys_at_all() -> None:
    got = attention(np.ones((2, 3)), np.ones((0, 3)), np.ones((0, 4)))
    assert np.array_equal(got["output"], np.zeros((2, 4)))
    assert got["weights"].shape == (2, 0)
    assert np.array_equal(got["logsumexp"], [-np.inf, -np.inf])


def test_logits_of_ten_thousand_pick_one_key() -> None:
    got = attention([[100.0], [-100.0]], [[100.0], [-100.0]], [[0.1], [0.7]])
    assert np.array_equal(got["output"], [[0.1], [0.7]])
    assert np.array_equal(got["weights"], [[1.0, 0.0], [0.0, 1.0]])
    assert np.array_equal(got["logsumexp"], [10000.0, 10000.0])


def test_weights_pass_through_the_subnormal_range() -> None:
    import mpmath

    gaps = [0.0, -700.0, -708.5, -720.0, -740.0, -744.0, -745.0, -745.2, -746.0]
    got = evaluate("softmax", {"x": np.array(gaps)}, {})["output"]
    with mpmath.workdps(60):
        powers = [mpmath.exp(gap) for gap in gaps]
        units = [power / mpmath.fsum(powers) * mpmath.mpf(2) ** 1074 for power in powers]
        expected = [1.0, *(float(round(Fraction(mpmath.nstr(unit, 50)))) for unit in units[1:])]
    assert np.array_equal(got[3:], np.array(expected[3:]) * 5e-324)
    assert np.count_nonzero(got) == 7


def test_a_finite_mask_is_an_addend_and_no_exclusion() -> None:
    # Every logit is far below what a finite mask of -1e9 would leave of an unmasked one.
    got = attention([[1.0]], [[-4e9], [-4e9 + 1]], [[1.0], [2.0]], np.array([[0.0, -1e9]]))
    assert np.array_equal(got["weights"], [[1.0, 0.0]])
    both = attention([[0.0]], [[1.0], [1.0]], [[1.0], [2.0]], np.array([[-1e9, -1e9]]))
    assert np.array_equal(both["output"], [[1.5]])


def test_a_score_beyond_the_greatest_number_is_infinite_and_still_ranks() -> None:
    got = attention([[1e200]], [[1e200], [2e200]], [[1.0], [2.0]])
    assert np.array_equal(got["scores"], [[np.inf, np.inf]])
    assert np.array_equal(got["output"], [[2.0]])


def test_exact_operations_move_numbers_and_have_one_zero() -> None:
    x = np.arange(2 * 3 * 4, dtype=np.float64).reshape(2, 3, 4)
    x[0, 0, 0] = -0.0
    split = evaluate("split_heads", {"x": x}, {"num_heads": 2})["output"]
    assert split.shape == (2, 2, 3, 2)
    assert np.array_equal(split[1, 1, 2], x[1, 2, 2:])
    assert not np.signbit(split).any()
    assert np.array_equal(evaluate("combine_heads", {"x": split}, {})["output"], x)


def test_causal_mask() -> None:
    lower = np.array([[True, False, False], [True, True, False]])
    assert np.array_equal(evaluate("causal_mask", {}, {"query_length": 2, "key_length": 3})["output"], lower)
    assert evaluate("causal_mask", {}, {"query_length": 4})["output"].shape == (4, 4)
    shifted = evaluate("causal_mask", {}, {"query_length": 2, "key_length": 3, "offset": 1, "additive": True})["output"]
    assert np.array_equal(shifted, [[0.0, 0.0, -np.inf], [0.0, 0.0, 0.0]])
    assert not np.signbit(shifted[0, :2]).any()
