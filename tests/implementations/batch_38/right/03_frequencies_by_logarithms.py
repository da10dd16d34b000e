import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math

import numpy as np

dtypes = ("float64",)


def rotary_frequencies(
    width,
    theta=10000,
    scaling="none",
    factor=None,
    original_length=None,
    sequence_length=None,
    low_frequency_factor=None,
    high_frequency_factor=None,
    short_factors=None,
    long_factors=None,
    proportion=1,
    beta_fast=32,
    beta_slow=1,
    truncate=True,
    magnitude_scaling=None,
    magnitude_scaling_all_dimensions=None,
    attention_factor=None,
):
    a = dict(locals())
    """Powers by exponentials of logarithms; blends by np.interp on the other parameter."""
    base.check_frequencies(a)
    theta, half = float(theta), np.arange(width // 2, dtype=np.float64)
    length = original_length if sequence_length is None else sequence_length
    logarithm = math.log(theta)
    if a["scaling"] == "dynamic" and length > original_length:
        logarithm += width / (width - 2) * math.log(factor * length / original_length - factor + 1)
    f = np.exp(half * (-2 / width * logarithm))
    if a["scaling"] == "llama3":
        turns = original_length * f / (2 * math.pi)
        slow = np.interp(-turns, [-high_frequency_factor, -low_frequency_factor], [0.0, 1.0])
        f = f * (1 - slow * (1 - 1 / factor))
    elif a["scaling"] == "yarn":
        low, high = base.yarn_range(a)
        f = f * (1 - np.interp(half, [low, high], [0.0, 1.0]) * (1 - 1 / factor))
    elif a["scaling"] == "linear":
        f = f * (1 / factor)
    elif a["scaling"] == "longrope":
        f = f / np.asarray(long_factors if length > original_length else short_factors, dtype=np.float64)
    elif a["scaling"] == "proportional":
        f = f / (1 if factor is None else factor)
        f[math.floor(proportion * (width // 2)) :] = 0
    return base.frequency_outputs(a, f, base.attention_of(a))
