"""Past, lengths, windows, softcaps, sinks and ALiBi where the exact results are known without any exponential."""

from __future__ import annotations

import math

import numpy as np
import pytest

from attnspec_oracle import evaluate

ULP = 2.0**-52
ARRAYS = ("mask", "past_key", "past_value", "key_lengths", "query_lengths", "sinks", "alibi_slopes")


def attention(query, key, value, **more):
    """One batch item and one head, from rank-2 arrays; the results have their first two axes removed."""
    inputs = {"query": query, "key": key, "value": value}
    inputs |= {name: more.pop(name) for name in ("past_key", "past_value") if name in more}
    inputs = {name: np.asarray(array, dtype=np.float64)[None, None] for name, array in inputs.items()}
    inputs |= {name: np.asarray(more.pop(name)) for name in ARRAYS if name in more}
    outputs = evaluate("scaled_dot_product_attention", inputs, more)
    return {name: array[0, 0] for name, array in outputs.items()}


def uniform(queries: int, keys: int, **more):
    """Queries and keys of zeros: every key that may be attended has the same weight."""
    return attention(np.zeros((queries, 2)), np.zeros((keys, 2)), np.eye(keys), **more)


def counts(got) -> list[list[int]]:
    """Where the weights are not zero; they must be equal there."""
    attended = got["weights"] != 0
    each = 1 / np.maximum(attended.sum(axis=-1, keepdims=True), 1)
    assert np.array_equal(got["weights"], np.where(attended, each, 0.0))
    return attended.astype(int).tolist()


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"window": [1, 0]}, [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0]]),
        ({"window": [0, 1]}, [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]),
        ({"window": [0, 0]}, [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]),
        ({"window": [None, 1]}, [[1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]),
        ({"window": [1, None]}, [[1, 1, 1, 1], [1, 1, 1, 1], [0, 1, 1, 1]]),
        ({"window": [None, None]}, [[1, 1, 1, 1]] * 3),
        ({"window": [9, 9]}, [[1, 1, 1, 1]] * 3),
        ({"window": [1, 1], "is_causal": True}, [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0]]),
        ({"window": [1, 0], "causal_alignment": "bottom_right"}, [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]),
    ],
)
def test_a_window_counts_its_distances_inclusively(attributes, expected) -> None:
    assert counts(uniform(3, 4, **attributes)) == expected


@pytest.mark.parametrize("alignment", ["top_left", "bottom_right"])
def test_a_query_stands_after_the_past(alignment: str) -> None:
    past = {"past_key": np.zeros((3, 2)), "past_value": np.full((3, 2), 7.0)}
    got = attention(
        np.zeros((2, 2)), np.zeros((2, 2)), np.ones((2, 2)), is_causal=True, causal_alignment=alignment, **past
    )
    assert counts(got) == [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]
    assert np.array_equal(got["output"], [[22 / 4] * 2, [23 / 5] * 2])
    assert np.array_equal(got["present_value"], [[7.0, 7.0]] * 3 + [[1.0, 1.0]] * 2)
    assert np.array_equal(got["present_key"], np.zeros((5, 2)))


def test_present_is_what_was_given() -> None:
    key = np.array([[0.1, np.nan], [-np.inf, 5e-324]])
    got = attention(np.ones((1, 2)), key, np.array([[0.3], [0.7]]), past_key=[[1e308, 2.0]], past_value=[[0.9]])
    assert np.array_equal(got["present_key"], [[1e308, 2.0], *key], equal_nan=True)
    assert np.array_equal(got["present_value"], [[0.9], [0.3], [0.7]])


def test_lengths_exclude_and_align_each_batch_item_for_itself() -> None:
    inputs = {"query": np.zeros((3, 1, 3, 2)), "key": np.zeros((3, 1, 4, 2)), "value": np.ones((3, 1, 4, 1))}
    inputs |= {"key_lengths": np.array([4, 2, 0]), "query_lengths": np.array([3, 2, 1])}
    attributes = {"is_causal": True, "causal_alignment": "bottom_right"}
    got = evaluate("scaled_dot_product_attention", inputs, attributes)
    assert (got["weights"][0, 0] != 0).tolist() == [[1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
    assert (got["weights"][1, 0] != 0).tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]]
    assert not got["weights"][2].any()
    assert got["output"][:, 0, :, 0].tolist() == [[1, 1, 1], [1, 1, 0], [0, 0, 0]]
    assert np.array_equal(got["logsumexp"][1, 0], [0.0, math.log(2), -np.inf])
    without = evaluate("scaled_dot_product_attention", inputs, {})
    assert (without["weights"][1, 0] != 0).tolist() == [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]]


def test_a_padded_query_has_logits_and_no_sink() -> None:
    inputs = {"query": np.ones((1, 1, 2, 1)), "key": np.ones((1, 1, 2, 1)), "value": np.full((1, 1, 2, 1), np.inf)}
    inputs |= {"query_lengths": np.array([1]), "sinks": np.array([0.5])}
    got = evaluate("scaled_dot_product_attention", inputs, {})
    assert got["output"][0, 0].tolist() == [[np.inf], [0.0]]
    assert got["weights"][0, 0, 1].tolist() == [0.0, 0.0]
    assert got["logsumexp"][0, 0, 1] == -np.inf
    assert np.array_equal(got["logits"], np.ones((1, 1, 2, 2)))
    assert np.array_equal(got["scores"], np.ones((1, 1, 2, 2)))


def test_a_sink_takes_its_share_and_has_no_column() -> None:
    got = uniform(1, 2, sinks=[0.0])
    assert np.array_equal(got["weights"], [[1 / 3, 1 / 3]])
    assert np.array_equal(got["output"], [[1 / 3, 1 / 3]])
    assert np.array_equal(got["logsumexp"], [math.log(3)])
    assert np.array_equal(got["logits"], [[0.0, 0.0]])


def test_a_sink_alone_is_the_logsumexp_exactly() -> None:
    for mask in ([[False, False]], [[-np.inf, -np.inf]]):
        got = uniform(1, 2, sinks=[0.1], mask=mask)
        assert np.array_equal(got["output"], [[0.0, 0.0]])
        assert np.array_equal(got["weights"], [[0.0, 0.0]])
        assert np.array_equal(got["logsumexp"], [0.1])
    nothing = attention(np.ones((2, 3)), np.ones((0, 3)), np.ones((0, 4)), sinks=[-7.3])
    assert np.array_equal(nothing["output"], np.zeros((2, 4)))
    assert nothing["weights"].shape == (2, 0)
    assert np.array_equal(nothing["logsumexp"], [-7.3, -7.3])


def test_a_sink_of_minus_infinity_is_no_sink() -> None:
    got = uniform(2, 2, sinks=[-np.inf], mask=[[True, False], [False, False]])
    assert np.array_equal(got["weights"], [[1.0, 0.0], [0.0, 0.0]])
    assert np.array_equal(got["logsumexp"], [0.0, -np.inf])


def test_a_sink_is_neither_scaled_nor_capped_nor_biased_nor_masked() -> None:
    more = {"scale": 3.0, "softcap": 0.5, "alibi_slopes": [2.0], "mask": [[-1.0, -np.inf]], "window": [0, 0]}
    got = attention([[0.0]], [[1.0], [1.0]], [[8.0], [9.0]], sinks=[-1.0], **more)
    assert np.array_equal(got["logits"], [[-1.0, -np.inf]])
    assert np.array_equal(got["weights"], [[0.5, 0.0]])
    assert np.array_equal(got["output"], [[4.0]])


def test_a_middle_is_found_when_the_sink_is_in_the_group() -> None:
    # Four equal logits, one of them the sink, whose value is zero: (4 + 2 * ULP) / 4 is a middle.
    got = attention([[0.0]], [[1.0]] * 3, [[2.0], [1.0], [1.0 + 2 * ULP]], sinks=[0.0])
    assert got["output"][0, 0] == 1.0


def test_equal_means_of_groups_do_not_deceive_when_there_is_a_sink() -> None:
    # Without the sink both groups have the mean 1 + ULP / 2; with a far-off sink the middle is missed by a little.
    value = [[1.0], [1.0 + ULP], [1.0], [1.0 + ULP]]
    key = [[0.0], [0.0], [1.0], [1.0]]
    assert attention([[1.0]], key, value)["output"][0, 0] == 1.0
    odd = [[1.0 + ULP], [1.0 + 2 * ULP]] * 2
    assert attention([[1.0]], key, odd)["output"][0, 0] == 1.0 + 2 * ULP
    assert attention([[1.0]], key, odd, sinks=[-300.0])["output"][0, 0] == 1.0 + ULP


@pytest.mark.parametrize("softcap", [None, 0, 0.0])
def test_a_softcap_of_none_or_zero_is_off(softcap) -> None:
    got = attention([[3.0]], [[2.0], [5.0]], [[1.0], [2.0]], softcap=softcap)
    assert np.array_equal(got["logits"], [[6.0, 15.0]])


def test_a_softcap_keeps_zero_and_its_bounds() -> None:
    got = attention([[1.0]], [[0.0], [1e6], [-1e6]], np.ones((3, 1)), softcap=2.5, mask=[[0.5, 1.0, 0.0]])
    assert np.array_equal(got["logits"], [[0.5, 3.5, -2.5]])
    assert np.array_equal(got["scores"], [[0.0, 1e6, -1e6]])


def test_a_softcap_leaves_equal_scores_equal() -> None:
    got = attention([[1.0]], [[0.7], [0.7], [-3.0], [-3.0]], [[1.0], [1.0 + ULP]] * 2, softcap=1.3, scale=0.9)
    assert got["output"][0, 0] == 1.0
    assert got["weights"][0, 0] == got["weights"][0, 1] != got["weights"][0, 2] == got["weights"][0, 3]


def test_a_softcap_orders_scores_that_it_cannot_distinguish() -> None:
    # c * tanh(score / c) differs by less than 1e-8000; the weights are 1/2 to the last bit all the same.
    got = attention([[1.0]], [[1e4], [2e4], [1e4]], [[1.0], [3.0], [1.0]], softcap=1.0, mask=[[0.0, 0.0, -np.inf]])
    assert np.array_equal(got["weights"], [[0.5, 0.5, 0.0]])
    assert got["output"][0, 0] == 2.0


def test_the_greatest_capped_logit_is_found_although_the_greatest_score_is_another() -> None:
    from attnspec_oracle.attention.logits import exact_logits, inverse_root
    from attnspec_oracle.exact import exact_array

    dots = exact_array(np.array([[3.0, 40.0, 50.0, 2.0, 50.0]]))
    biases = exact_array(np.array([[0.5, 0.0, 0.0, 0.25, -1.0]]))
    logits = exact_logits(dots, inverse_root(3), biases, softcap=0.75)
    # 0.75 * tanh(score / 0.75) + bias is greatest, with 1.235, for the first; cap and bias alone give 1.25.
    assert logits.greatest(logits.row(0)) == logits.row(0)[0]
    assert logits.greatest(logits.row(0)[1:3]) == logits.row(0)[2]


def test_an_infinite_score_is_capped_and_nan_stays() -> None:
    got = attention([[np.inf], [1.0]], [[1.0], [-1.0]], [[1.0], [3.0]], softcap=2.0, scale=1.0)
    assert np.array_equal(got["logits"][0], [2.0, -2.0])
    assert np.array_equal(got["scores"][0], [np.inf, -np.inf])
    assert np.isfinite(got["output"]).all()
    spoiled = attention([[np.nan], [1.0]], [[1.0], [-1.0]], [[1.0], [3.0]], softcap=2.0, scale=1.0)
    assert np.isnan(spoiled["output"][0]).all()
    assert np.array_equal(spoiled["output"][1], got["output"][1])


def test_alibi_subtracts_the_slope_times_the_distance() -> None:
    got = uniform(2, 4, alibi_slopes=[0.25])
    assert np.array_equal(got["logits"], [[0.0, -0.25, -0.5, -0.75], [-0.25, 0.0, -0.25, -0.5]])
    moved = uniform(2, 4, alibi_slopes=[0.25], causal_alignment="bottom_right")
    assert np.array_equal(moved["logits"], [[-0.5, -0.25, 0.0, -0.25], [-0.75, -0.5, -0.25, 0.0]])


def test_alibi_can_make_logits_equal() -> None:
    # The score grows by the slope with each step to the left, so that all keys are equal again.
    value = [[1.0], [1.0 + ULP]] * 2
    got = attention([[1.0]], [[0.0], [0.5], [1.0], [1.5]], value, alibi_slopes=[0.5], scale=1.0)
    assert np.array_equal(got["weights"], [[0.25] * 4])
    assert got["output"][0, 0] == 1.0


def test_each_query_head_has_its_slope_and_its_sink() -> None:
    inputs = {"query": np.zeros((1, 4, 1, 1)), "key": np.zeros((1, 2, 2, 1)), "value": np.ones((1, 2, 2, 1))}
    inputs |= {"alibi_slopes": np.array([0.0, 1.0, 2.0, 3.0]), "sinks": np.array([-1.0, -2.0, -4.0, -8.0])}
    inputs["mask"] = np.array([[True, False]])
    got = evaluate("scaled_dot_product_attention", inputs | {"mask": np.array([[False, False]])}, {})
    assert np.array_equal(got["logsumexp"][0, :, 0], [-1.0, -2.0, -4.0, -8.0])
    del inputs["mask"], inputs["sinks"]
    got = evaluate("scaled_dot_product_attention", inputs, {})
    assert np.array_equal(got["logits"][0, :, 0, 1], [0.0, -1.0, -2.0, -3.0])


def test_chunks_with_a_past_are_the_whole_in_bits() -> None:
    generator = np.random.default_rng(9)
    query, key, value = (generator.standard_normal((1, 2, 5, 3)) for _ in range(3))
    whole = evaluate("scaled_dot_product_attention", {"query": query, "key": key, "value": value}, {"is_causal": True})
    rest = {"query": query[:, :, 3:], "key": key[:, :, 3:], "value": value[:, :, 3:]}
    rest |= {"past_key": key[:, :, :3], "past_value": value[:, :, :3]}
    chunk = evaluate("scaled_dot_product_attention", rest, {"is_causal": True})
    for name in ("output", "weights", "logsumexp", "logits"):
        assert np.array_equal(chunk[name], whole[name][:, :, 3:])
    assert np.array_equal(chunk["present_key"], key)
