"""Glorot normal: the properties of what is drawn, not the numbers."""

import math

import numpy as np
import pytest

from attnspec_reference import glorot_normal


def test_rows_are_what_enters_and_columns_what_leaves():
    assert glorot_normal(fan_in=3, fan_out=5, seed=0).shape == (3, 5)


@pytest.mark.parametrize(("fan_in", "fan_out"), [(64, 64), (32, 256), (256, 32)])
def test_mean_and_standard_deviation_are_within_six_standard_errors(fan_in, fan_out):
    weights = glorot_normal(fan_in=fan_in, fan_out=fan_out, seed=42)
    deviation = math.sqrt(2 / (fan_in + fan_out))
    assert abs(weights.mean()) < 6 * deviation / math.sqrt(weights.size)
    assert abs(weights.std() - deviation) < 6 * deviation / math.sqrt(2 * weights.size)


def test_the_distribution_is_normal():
    weights = np.sort(glorot_normal(fan_in=64, fan_out=64, seed=7).ravel()) / 0.125
    normal = np.array([0.5 * (1 + math.erf(x / math.sqrt(2))) for x in weights])
    steps = np.arange(weights.size + 1) / weights.size
    distance = max(np.max(steps[1:] - normal), np.max(normal - steps[:-1]))
    # Beyond 3.28 / sqrt(n) the Kolmogorov-Smirnov p-value is less than one in a billion.
    assert distance * math.sqrt(weights.size) < 3.28


def test_the_same_seed_gives_the_same_matrix_and_another_seed_another():
    first = glorot_normal(fan_in=4, fan_out=4, seed=1)
    assert np.array_equal(first, glorot_normal(fan_in=4, fan_out=4, seed=1))
    assert not np.array_equal(first, glorot_normal(fan_in=4, fan_out=4, seed=2))
