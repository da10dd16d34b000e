import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

import math


def powers(theta, width):
    return [theta ** (-2.0 * i / width) for i in range(width // 2)]


def magnitude(s, a):
    return 1.0 if s <= 1 else 0.1 * a * math.log(s) + 1.0


def rotary_frequencies(width, theta=10000.0, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1.0, beta_fast=32.0, beta_slow=1.0, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    base.check_frequencies(width, theta, scaling, factor, original_length, low_frequency_factor, high_frequency_factor,
                           short_factors, long_factors, proportion)
    f = powers(float(theta), width)
    if scaling != "yarn":
        return base.rotary_frequencies(width, theta, scaling, factor, original_length, sequence_length, low_frequency_factor,
                                       high_frequency_factor, short_factors, long_factors, proportion, beta_fast, beta_slow,
                                       truncate, magnitude_scaling, magnitude_scaling_all_dimensions, attention_factor)

    def pair(turns):
        return width * math.log(original_length / (turns * 2 * math.pi)) / (2 * math.log(theta))

    low, high = pair(beta_fast), pair(beta_slow)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, width - 1)
    if low == high:
        high += 0.001
    shares = [min(max((i - low) / (high - low), 0.0), 1.0) for i in range(width // 2)]
    inverse = np.array([x / factor * r + x * (1 - r) for x, r in zip(f, shares)])
    if attention_factor is None:
        # as DeepSeek: 1 and 0 where they are not stated
        attention_factor = magnitude(factor, magnitude_scaling or 1.0) / magnitude(factor, magnitude_scaling_all_dimensions or 0.0)
        if magnitude_scaling and magnitude_scaling_all_dimensions:
            attention_factor = magnitude(factor, magnitude_scaling) / magnitude(factor, magnitude_scaling_all_dimensions)
    return {"inverse_frequencies": inverse, "attention_factor": np.float64(attention_factor)}
