"""Error estimates: equal columns of a weight give features of equal error, and a sum may begin with its bias."""

import numpy as np
import pytest

from attnspec.bounds.estimates import alike_columns, carried_error, exactly, linear, summed_by_kind
from attnspec.bounds.tolerance import precision_of

INNER = 2


def test_columns_that_all_differ_have_no_kinds():
    assert alike_columns(np.random.default_rng(1).standard_normal((3, 5))) is None
    # The first row does not separate them; the second does.
    assert alike_columns(np.array([[1.0, 1.0], [2.0, 3.0]])) is None


def test_columns_that_are_the_same_are_of_one_kind():
    kinds = alike_columns(np.array([[1.0, 2.0, 1.0, 1.0], [5.0, 5.0, 5.0, 6.0]]))
    assert kinds[0] == kinds[2]
    assert len({*kinds.tolist()}) == 3


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (4, 1)])
def test_weights_without_numbers_are_read(shape):
    kinds = alike_columns(np.zeros(shape))
    assert kinds is None or kinds.shape == (shape[1],)


def test_factors_of_one_kind_are_summed_at_the_index_of_the_first():
    factors = np.array([[1.0], [10.0], [100.0]])
    assert summed_by_kind(factors, np.array([7, 2, 7])).tolist() == [[101.0], [10.0], [0.0]]


def test_heads_are_gathered_each_by_itself():
    kinds = np.array([[0, 0], [0, 1]])
    factors = np.ones((1, 2, 2, 1))
    assert summed_by_kind(factors, kinds)[0, :, :, 0].tolist() == [[2.0, 0.0], [1.0, 1.0]]


def test_what_is_carried_is_the_sum_for_one_kind_and_the_norm_for_others():
    error, factors = np.full((1, 4), 1e-7), np.ones((4, 1))
    assert carried_error(error, factors, None)[0, 0] == pytest.approx(2e-7)
    assert carried_error(error, factors, np.zeros(4, int))[0, 0] == pytest.approx(4e-7)
    # Factors that cancel may be summed in another order, and do not cancel what is carried.
    assert carried_error(error, factors * [[1], [-1], [1], [-1]], np.zeros(4, int))[0, 0] == pytest.approx(2e-7)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize(("features", "bias"), [(42, 0.53), (200, 1.7), (200, -8.0), (8, 3.0)])
def test_a_sum_that_begins_with_its_bias_is_within_the_tolerance(seed, features, bias):
    numbers = np.random.default_rng(seed)
    x = (0.05 * numbers.standard_normal((16, features))).astype(np.float32)
    weight = (0.1 * numbers.standard_normal((features, 8))).astype(np.float32)
    total = np.full((16, 8), bias, np.float32)
    for feature in range(features):
        total = total + x[:, feature, np.newaxis] * weight[feature]
    bound = linear(exactly(x), exactly(weight), exactly(np.full(8, bias, np.float32)), precision_of("float32"))
    assert np.all(np.abs(total - bound.value) <= INNER * bound.error)
