"""What happens to scores on their way to weights: softcap, ALiBi, sinks, logsumexp, in numbers to follow by hand."""

import math

import numpy as np
import pytest

from attnspec_reference import scaled_dot_product_attention

INFINITY = float("inf")


def column(*numbers):
    """One batch entry, one head, a token for each number, one feature."""
    return np.array(numbers, dtype=float).reshape(1, 1, -1, 1)


def attend(query, key, value, mask=None, **arguments):
    """Attention over columns of numbers, unscaled."""
    if mask is not None:
        arguments["mask"] = np.array(mask)
    return scaled_dot_product_attention(column(*query), column(*key), column(*value), **{"scale": 1.0} | arguments)


# Softcap


def test_an_excluded_key_is_not_capped():
    assert attend([0], [0, 0], [0, 1], [[True, False]], softcap=2.0).output.item() == 0
    assert attend([0], [0, 0], [0, 1], [[0.0, -INFINITY]], softcap=2.0).output.item() == 0


def test_a_bias_is_added_after_the_cap():
    result = attend([0], [0, 0], [0, 1], [[0.0, 6.0]], softcap=2.0)
    assert result.output.item() == pytest.approx(0.997527, abs=0.5e-6)


def test_large_scores_approach_the_cap():
    result = attend([1], [8, 0], [0, 1], softcap=2.0)
    assert result.weights.ravel()[0] == pytest.approx(0.880656, abs=0.5e-6)
    assert result.scores.ravel().tolist() == [8, 0]
    assert result.logits.ravel() == pytest.approx([2 * math.tanh(4), 0], rel=1e-15)


def test_the_cap_comes_after_the_scale():
    logits = attend([1], [8, 0], [0, 1], softcap=2.0, scale=0.25).logits
    assert logits.ravel() == pytest.approx([2 * math.tanh(1), 0], rel=1e-15)


@pytest.mark.parametrize("key_length", [64, 65])
def test_a_cap_without_a_mask_sees_every_key_and_no_more(key_length):
    value = np.arange(float(key_length))
    result = attend([0], np.zeros(key_length), value, softcap=3.0)
    assert result.output.item() == pytest.approx((key_length - 1) / 2, rel=1e-14)


@pytest.mark.parametrize("softcap", [None, 0, 0.0])
def test_no_cap(softcap):
    result = attend([1], [8, 0], [0, 1], softcap=softcap)
    assert result.logits.ravel().tolist() == [8, 0]


def test_scores_far_beyond_the_cap():
    result = attend([1e300], [1e8, -1e8, 0], [0, 1, 2], softcap=2.0)
    assert result.logits.ravel().tolist() == [2, -2, 0]


@pytest.mark.parametrize("softcap", [-1.0, -INFINITY, INFINITY, math.nan])
def test_refuses_a_cap_that_is_none(softcap):
    with pytest.raises(ValueError, match=f"softcap is {softcap}"):
        attend([1], [8, 0], [0, 1], softcap=softcap)


# ALiBi


def test_alibi_lowers_logits_by_distance():
    result = attend([0] * 3, [0] * 3, [1, 2, 4], is_causal=True, alibi_slopes=np.array([0.25]))
    assert result.logits[0, 0].tolist() == [[0, -INFINITY, -INFINITY], [-0.25, 0, -INFINITY], [-0.5, -0.25, 0]]
    assert result.output[0, 0, 2, 0] == pytest.approx(2.584183, abs=0.5e-6)


def test_alibi_counts_to_both_sides():
    result = attend([0] * 3, [0] * 3, [1, 2, 4], alibi_slopes=np.array([0.25]))
    assert result.logits[0, 0].tolist() == [[0, -0.25, -0.5], [-0.25, 0, -0.25], [-0.5, -0.25, 0]]
    assert result.scores[0, 0].tolist() == [[0, 0, 0]] * 3


def test_every_query_head_has_its_own_slope():
    slopes = np.array([2.0**-4, 2.0**-8, 2.0**-2, 1.0])
    result = scaled_dot_product_attention(
        np.zeros((2, 4, 1, 1)), np.zeros((2, 2, 3, 1)), np.zeros((2, 2, 3, 1)), alibi_slopes=slopes
    )
    assert np.array_equal(result.logits[:, :, 0], np.broadcast_to(-slopes[:, None] * [0, 1, 2], (2, 4, 3)))


@pytest.mark.parametrize(
    ("arguments", "positions"),
    [
        ({}, [0, 1]),
        ({"causal_alignment": "bottom_right"}, [2, 3]),
        ({"causal_alignment": "bottom_right", "key_lengths": np.array([3])}, [1, 2]),
        ({"key_lengths": np.array([3])}, [0, 1]),
        ({"causal_alignment": "bottom_right", "query_lengths": np.array([1])}, [3, 4]),
        ({"past_key": column(0, 0, 0), "past_value": column(0, 0, 0)}, [3, 4]),
    ],
)
def test_distances_are_between_positions(arguments, positions):
    result = attend([0, 0], [0] * 4, [0] * 4, alibi_slopes=np.array([0.5]), **arguments)
    row = result.logits[0, 0, 0]
    distances = np.abs(positions[0] - np.arange(row.size))
    counted = np.arange(row.size) < arguments.get("key_lengths", [row.size])[0]
    assert np.array_equal(row, np.where(counted, -0.5 * distances, -INFINITY))
    if "query_lengths" not in arguments:
        assert result.logits[0, 0, 1, 0] == -0.5 * positions[1]


def test_alibi_is_neither_scaled_nor_capped_and_joins_the_mask():
    arguments = {"alibi_slopes": np.array([4.0]), "softcap": 1.0, "scale": 0.5}
    logits = attend([0], [0, 0, 0], [0, 0, 0], [[1.0, 2.0, 3.0]], **arguments).logits
    assert logits.ravel().tolist() == [1, -2, -5]


@pytest.mark.parametrize("name", ["alibi_slopes", "sinks"])
@pytest.mark.parametrize("shape", [(1,), (2,), (4, 1), ()])
def test_refuses_what_is_not_one_for_each_query_head(name, shape):
    with pytest.raises(ValueError, match=rf"{name} has shape .*; 4 query heads need \(4,\)"):
        scaled_dot_product_attention(
            np.zeros((1, 4, 1, 1)), np.zeros((1, 2, 3, 1)), np.zeros((1, 2, 3, 1)), **{name: np.zeros(shape)}
        )


# Sinks


@pytest.mark.parametrize(
    ("sink", "output", "logsumexp"),
    [
        (0.0, 1.0, math.log(2)),
        (math.log(3), 0.5, math.log(4)),
        (100.0, 7.44015195e-44, 100.0),
        (-100.0, 2.0, 0.0),
        (1000.0, 0.0, 1000.0),
        (-INFINITY, 2.0, 0.0),
    ],
)
def test_a_sink_joins_the_denominator(sink, output, logsumexp):
    result = attend([0], [0], [2], sinks=np.array([sink]))
    assert result.output.item() == pytest.approx(output, rel=1e-8)
    assert result.weights.item() == pytest.approx(output / 2, rel=1e-8)
    assert result.logsumexp.item() == pytest.approx(logsumexp, rel=1e-15)


def test_a_sink_is_neither_scaled_nor_capped_nor_biased():
    result = attend(
        [0],
        [0, 0],
        [2, 2],
        [[-3.0, -3.0]],
        sinks=np.array([5.0]),
        softcap=1.0,
        scale=0.5,
        alibi_slopes=np.array([0.0]),
        window=[0, 0],
    )
    denominator = math.exp(-3) + math.exp(5)
    assert result.weights[0, 0, 0] == pytest.approx([math.exp(-3) / denominator, 0], rel=1e-14)
    assert result.logsumexp.item() == pytest.approx(math.log(denominator), rel=1e-14)


def test_a_sink_is_alone_where_no_key_may_be_attended():
    mask = [[False, False], [True, False]]
    result = attend([0, 0], [0, 0], [2, 4], mask, sinks=np.array([0.5]))
    assert result.output[0, 0, 0, 0] == 0
    assert result.weights[0, 0, 0].tolist() == [0, 0]
    assert result.logsumexp[0, 0, 0] == 0.5
    assert result.logits.shape == (1, 1, 2, 2)


def test_every_query_head_has_its_own_sink():
    sinks = np.log([1.0, 3.0, 7.0, 15.0])
    result = scaled_dot_product_attention(
        np.zeros((2, 4, 1, 1)), np.zeros((2, 2, 1, 1)), np.full((2, 2, 1, 1), 16.0), sinks=sinks
    )
    assert result.output[..., 0, 0].tolist() == [pytest.approx([8, 4, 2, 1], rel=1e-14)] * 2


# logsumexp


def test_logsumexp_adds_the_largest_logit_back():
    assert attend([3], [1, 1], [0, 0]).logsumexp.item() == pytest.approx(3.6931472, abs=0.5e-7)


def test_halves_of_the_keys_merge_by_their_logsumexp():
    generator = np.random.default_rng(3)
    query, key, value = (generator.normal(size=(2, 3, length, 4)) for length in (5, 8, 8))
    whole = scaled_dot_product_attention(query, key, value)
    first, second = (
        scaled_dot_product_attention(query, key[:, :, part], value[:, :, part]) for part in (slice(3), slice(3, None))
    )
    merged = np.logaddexp(first.logsumexp, second.logsumexp)
    shares = [np.exp(part.logsumexp - merged)[..., np.newaxis] for part in (first, second)]
    assert merged == pytest.approx(whole.logsumexp, rel=1e-14)
    assert shares[0] * first.output + shares[1] * second.output == pytest.approx(whole.output, abs=1e-14)
