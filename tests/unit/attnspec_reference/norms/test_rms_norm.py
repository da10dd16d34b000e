"""RMS norm of the reference: its formula, its precision, its refusals."""

import numpy as np
import pytest

from attnspec_reference import rms_norm


def draw(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def by_loops(x, weight, epsilon, offset):
    output = np.empty_like(x)
    for index in np.ndindex(x.shape[:-1]):
        square = sum(float(feature) ** 2 for feature in x[index]) / x.shape[-1]
        for feature in range(x.shape[-1]):
            output[(*index, feature)] = x[(*index, feature)] / (square + epsilon) ** 0.5 * (offset + weight[feature])
    return output


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 4), (2, 1, 3, 7)])
@pytest.mark.parametrize(("word", "offset"), [("zero", 0), ("one", 1)])
@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 0.5])
def test_the_formula(shape, word, offset, epsilon):
    x, weight = draw(*shape), draw(shape[-1], seed=1)
    given = rms_norm(x, weight, epsilon=epsilon, weight_offset=word)
    np.testing.assert_allclose(given, by_loops(x, weight, epsilon, offset), rtol=1e-13)


def test_the_example_of_the_page():
    x, weight = np.array([1.0, 7.0]), np.array([2.0, 0.5])
    np.testing.assert_allclose(rms_norm(x, weight, epsilon=0.0), [0.4, 0.7])
    np.testing.assert_allclose(rms_norm(x, weight, epsilon=0.0, weight_offset="one"), [0.6, 2.1])
    np.testing.assert_allclose(rms_norm(x, np.ones(2), epsilon=11.0), [1 / 6, 7 / 6])


def test_large_features_in_float16_have_squares_in_float32():
    given = rms_norm(np.array([1000.0, -1000.0], np.float16), np.ones(2, np.float16), epsilon=1e-6)
    assert given.dtype == np.float16
    assert given.tolist() == [1.0, -1.0]


@pytest.mark.parametrize("shape", [(3,), (1,), (4, 1), (2, 4), ()])
def test_weights_that_do_not_fit_are_refused(shape):
    with pytest.raises(ValueError, match="one number for each feature"):
        rms_norm(draw(2, 4), np.ones(shape), epsilon=1.0)


def test_an_unknown_offset_is_refused():
    with pytest.raises(ValueError, match="'two'"):
        rms_norm(draw(2, 4), np.ones(4), epsilon=1.0, weight_offset="two")
