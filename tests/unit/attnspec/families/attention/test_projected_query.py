"""A projected query is off for all keys at once: what that does to weights and output is allowed for."""

import numpy as np
import pytest

from attnspec.bounds.estimates import exactly
from attnspec.bounds.tolerance import Estimate, precision_of
from attnspec.families.attention.tolerance.error_bound import attention_tolerance
from attnspec.families.attention.tolerance.logit_error import ProjectedQuery

SINGLE = precision_of("float32")


def attention(query, key, value):
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights, weights @ value


def inputs(seed, width, keys):
    numbers = np.random.default_rng(seed)
    return (numbers.standard_normal((1, 2, length, width)) for length in (3, keys, keys))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("keys", [2, 6, 40])
def test_one_feature_that_is_off_moves_weights_and_output_by_what_is_said(seed, keys):
    query, key, value = inputs(seed, 1, keys)
    off = 1e-7
    weights, output = attention(query, key, value)
    moved_weights, moved_output = attention(query + off, key, value)
    projected = ProjectedQuery(np.full(query.shape, off), key, 1.0)
    np.testing.assert_allclose(
        np.abs(moved_weights - weights), projected.moves_of_shares(weights), rtol=1e-4, atol=1e-14
    )
    expected = projected.moves_of_output(weights, value, output)
    np.testing.assert_allclose(np.abs(moved_output - output), expected, rtol=1e-4, atol=1e-14)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("width", [1, 4])
def test_a_query_as_far_off_as_its_error_is_allowed_for(seed, width):
    query, key, value = inputs(seed, width, 6)
    error = np.full(query.shape, 1e-4)
    weights, output = attention(query, key, value)
    bound = attention_tolerance(Estimate(query, error), exactly(key), exactly(value), SINGLE, {})
    for signs in (1.0, -1.0):
        moved_weights, moved_output = attention(query + signs * error / np.sqrt(width), key, value)
        assert np.all(np.abs(moved_weights - weights) <= bound.weights.error / 1.9)
        assert np.all(np.abs(moved_output - output) <= bound.output.error / 1.9)


def test_what_all_keys_share_moves_nothing():
    query, key, value = inputs(3, 4, 6)
    weights, output = attention(query, np.ones_like(key), value)
    projected = ProjectedQuery(np.ones(query.shape), np.ones_like(key), 1.0)
    assert np.all(projected.moves_of_shares(weights) <= 1e-15)
    assert np.all(projected.moves_of_output(weights, value, output) <= 1e-14)


def test_numbers_near_the_largest_are_no_nan():
    key = np.array([1e300, -1e300, 0.0]).reshape(1, 1, 3, 1)
    projected = ProjectedQuery(np.full((1, 1, 1, 1), 1e284), key, 1.0)
    shares = np.array([1.0, 0.0, 0.0]).reshape(1, 1, 1, 3)
    with np.errstate(all="ignore"):
        assert np.all(np.isfinite(projected.moves_of_shares(shares)))
