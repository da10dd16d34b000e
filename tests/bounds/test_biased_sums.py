"""A projection whose sum begins with its bias is right, however large the bias is beside the product."""

import numpy as np
import pytest

from attnspec.bounds.estimates import exactly, linear
from attnspec.bounds.tolerance import precision_of

INNER = 2


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
