"""Glorot normal: random weights of the right size.

Weights drawn with this spread keep the variance of what flows through a layer about the same, forwards and
backwards. It is also called Xavier initialisation. The specification page is
``spec/operations/attention/glorot_normal.md``.
"""

from __future__ import annotations

import math

import numpy as np

from attnspec_reference.precision import Array


def glorot_normal(*, fan_in: int, fan_out: int, seed: int) -> Array:
    """Draw a weight matrix from the normal distribution with variance 2 / (fan_in + fan_out).

    Parameters
    ----------
    fan_in
        Number of features that enter the layer.
    fan_out
        Number of features that leave it.
    seed
        Start of the random sequence: the same seed gives the same matrix.

    Returns
    -------
    output
        Weight matrix (fan_in, fan_out), float64.
    """
    # Choose the standard deviation
    deviation = standard_deviation(fan_in, fan_out)

    # Draw
    drawn = draw_standard_normal((fan_in, fan_out), seed)

    # Stretch
    return drawn * deviation


def standard_deviation(fan_in: int, fan_out: int) -> float:
    """Take the square root of the variance 2 / (fan_in + fan_out)."""
    return math.sqrt(2.0 / (fan_in + fan_out))


def draw_standard_normal(shape: tuple[int, int], seed: int) -> Array:
    """Draw independent numbers with mean 0 and standard deviation 1."""
    return np.random.default_rng(seed).standard_normal(shape)
