"""Queries that may attend to no key, and inputs without elements."""

import numpy as np
import pytest

from attnspec_reference import scaled_dot_product_attention

INFINITY = float("inf")


def column(*numbers):
    """One batch entry, one head, a token for each number, one feature."""
    return np.array(numbers, dtype=float).reshape(1, 1, -1, 1)


def mean_of_seen(query_length, values, mask=None, **attributes):
    """The outputs where every allowed key has the same score."""
    value = column(*values)
    result = scaled_dot_product_attention(
        np.zeros((1, 1, query_length, 1)), np.zeros_like(value), value, mask, **attributes
    )
    return result.output[0, 0, :, 0].tolist()


@pytest.mark.parametrize("mask", [[[True, False], [False, False]], [[0.0, -INFINITY], [-INFINITY, -INFINITY]]])
def test_a_query_without_keys_gets_zero_and_leaves_its_neighbour_alone(mask):
    result = scaled_dot_product_attention(column(0, 0), column(0, 0), column(1, 3), np.array(mask))
    assert result.output.ravel().tolist() == [1, 0]
    assert result.weights[0, 0].tolist() == [[1, 0], [0, 0]]
    assert result.logsumexp.ravel().tolist() == [0, -INFINITY]


@pytest.mark.parametrize("whole", [(0, slice(None)), (slice(None), 1)])
def test_a_whole_batch_entry_or_head_may_be_without_keys(whole):
    mask = np.ones((2, 3, 2, 2), dtype=bool)
    mask[whole] = False
    value = np.broadcast_to([[1.0], [3.0]], (2, 3, 2, 1))
    result = scaled_dot_product_attention(np.zeros((2, 3, 2, 1)), np.zeros((2, 3, 2, 1)), value, mask)
    assert np.array_equal(result.output[..., 0], np.where(mask.any(axis=-1), 2.0, 0.0))


@pytest.mark.parametrize(
    ("mask", "attributes", "expected"),
    [
        ([[False, True, True, True]], {"is_causal": True}, [0, 2, 3, 14 / 3]),
        ([[True, False, False, True]], {"window": [0, 0]}, [1, 0, 0, 8]),
        ([[False, False, True, True]], {"window": [1, 0]}, [0, 0, 4, 6]),
    ],
)
def test_exclusions_together_may_leave_a_query_without_keys(mask, attributes, expected):
    assert mean_of_seen(4, [1, 2, 4, 8], np.array(mask), **attributes) == pytest.approx(expected, rel=1e-15)


def test_keys_excluded_up_front_leave_the_attention_over_the_rest():
    generator = np.random.default_rng(2)
    query, key, value = (generator.normal(size=(1, 2, length, 3)) for length in (4, 70, 70))
    mask = np.arange(70)[np.newaxis] >= 64
    assert scaled_dot_product_attention(query, key, value, mask).output == pytest.approx(
        scaled_dot_product_attention(query, key[:, :, 64:], value[:, :, 64:]).output, rel=1e-14
    )


def test_the_lowest_number_twice_is_still_a_number():
    lowest = np.finfo(np.float64).min
    with_causality = mean_of_seen(2, [1, 3], np.array([[0.0, lowest], [lowest, lowest]]), is_causal=True)
    assert with_causality == [1, 2]


def test_very_negative_masks_exclude_nothing():
    lowest = np.finfo(np.float64).min
    assert mean_of_seen(1, [1, 3], np.array([[lowest, lowest]])) == [2]


@pytest.mark.parametrize(
    ("more", "logsumexp"),
    [
        ({}, -INFINITY),
        ({"sinks": np.array([0.5])}, 0.5),
        ({"past_key": np.zeros((1, 1, 0, 1)), "past_value": np.zeros((1, 1, 0, 3))}, -INFINITY),
        (
            {"is_causal": True, "window": [1, 1], "mask": np.zeros((2, 0)), "causal_alignment": "bottom_right"},
            -INFINITY,
        ),
    ],
)
def test_no_keys_at_all(more, logsumexp):
    result = scaled_dot_product_attention(
        np.zeros((1, 1, 2, 1)), np.zeros((1, 1, 0, 1)), np.zeros((1, 1, 0, 3)), **more
    )
    assert result.output[0, 0].tolist() == [[0, 0, 0], [0, 0, 0]]
    assert result.logsumexp[0, 0].tolist() == [logsumexp, logsumexp]
    assert result.weights.shape == (1, 1, 2, 0)


@pytest.mark.parametrize(
    "shape",
    [(0, 2, 3, 4, 5), (2, 0, 3, 4, 5), (2, 2, 0, 4, 5), (2, 2, 3, 4, 0)],
    ids=["no batch", "no heads", "no queries", "no value features"],
)
def test_nothing_to_compute_has_a_shape(shape):
    batch, heads, queries, keys, width = shape
    result = scaled_dot_product_attention(
        np.zeros((batch, heads, queries, 2)), np.zeros((batch, heads, keys, 2)), np.zeros((batch, heads, keys, width))
    )
    assert result.output.shape == (batch, heads, queries, width)
    assert result.weights.shape == (batch, heads, queries, keys)
    assert result.logsumexp.shape == (batch, heads, queries)
